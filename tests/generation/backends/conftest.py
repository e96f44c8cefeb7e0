"""A server with the OpenAI API, for each test that needs one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.generation.support.openai_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()
