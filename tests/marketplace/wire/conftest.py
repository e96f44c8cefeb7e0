"""A requester with a key, money and a running endpoint."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache

from marketplace.models import Requester
from marketplace.services import accounts, payments
from tests.marketplace.wire.clients import Key, boto3_client


@pytest.fixture(autouse=True)
def full_buckets() -> None:
    cache.clear()


def make_requester(name: str, balance: str = "1000.00") -> Requester:
    requester = accounts.create_requester(name=name, email=f"{name.lower()}@example.org", actor="test")
    if Decimal(balance):
        payments.deposit(requester=requester, amount=Decimal(balance), actor="test")
    return requester


def make_key(requester: Requester) -> Key:
    made = accounts.create_access_key(requester=requester, actor="test")
    return Key(made.key.access_key_id, made.secret)


@pytest.fixture
def requester(transactional_db: None) -> Requester:
    return make_requester("Lab")


@pytest.fixture
def key(requester: Requester) -> Key:
    return make_key(requester)


@pytest.fixture
def base_url(live_server: Any) -> str:
    return str(live_server.url)


@pytest.fixture
def client(base_url: str, key: Key) -> Any:
    return boto3_client(base_url, key)


@pytest.fixture
def stranger(base_url: str) -> Any:
    """The client of another requester."""
    return boto3_client(base_url, make_key(make_requester("Stranger")))


@pytest.fixture
def poor(base_url: str) -> Any:
    """The client of a requester without money."""
    return boto3_client(base_url, make_key(make_requester("Poor", balance="0")))


@pytest.fixture
def test_controls(settings: Any, tmp_path: Any) -> Callable[[], None]:
    settings.MARKETPLACE_TEST_CONTROLS = True
    settings.VAR = tmp_path
    return lambda: None
