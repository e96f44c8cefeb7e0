"""A requester with money and a key at a running endpoint, and other people's tools on their way to it."""

from pathlib import Path
from typing import Any

import pytest

from tests import services
from tests.marketplace.support.clients import Key
from tests.marketplace.support.running import Tool
from tests.marketplace.support.world import World
from tests.marketplace.wire.conftest import (  # noqa: F401 - fixtures
    base_url,
    client,
    full_buckets,
    key,
    over_http,
    requester,
)


@pytest.fixture
def world(client: Any) -> World:  # noqa: F811
    """What happens on the workers' side between a tool's calls, and what boto3 sees of a tool's work."""
    return World(client=client, stranger=None, poor=None)


@pytest.fixture
def tool(over_http: None, base_url: str, key: Key, tmp_path: Path) -> Tool:  # noqa: F811
    return Tool(base_url=base_url, key=key, folder=tmp_path)


@pytest.fixture(scope="session")
def node() -> str:
    try:
        return services.javascript_sdk()
    except services.Missing as reason:
        services.skip_or_fail(reason)
        raise


@pytest.fixture(scope="session")
def curl() -> str:
    try:
        return services.curl_that_signs()
    except services.Missing as reason:
        services.skip_or_fail(reason)
        raise
