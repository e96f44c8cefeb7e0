"""A server with the chat API, for each test that needs one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from generation.registry import open_models
from tests.generation.support.openai_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    open_models.close_all()
    running.close()
