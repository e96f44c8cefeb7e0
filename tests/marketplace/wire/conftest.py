"""A requester with a key, money and an endpoint."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from marketplace.models import Requester
from marketplace.services.accounts import requester_accounts
from marketplace.services.money import payments
from tests.marketplace.support import in_process
from tests.marketplace.support.clients import Key, boto3_client
from tests.marketplace.support.world import World


@pytest.fixture(autouse=True)
def full_buckets(own_var_folder: Path) -> None:
    """No test is throttled because of another's requests."""
    for bucket in (own_var_folder / "marketplace-buckets").glob("*"):
        bucket.unlink()


def make_requester(name: str, balance: str = "1000.00") -> Requester:
    requester = requester_accounts.create_requester(name=name, email=f"{name.lower()}@example.org", actor="test")
    if Decimal(balance):
        payments.deposit(requester=requester, amount=Decimal(balance), actor="test")
    return requester


def make_key(requester: Requester) -> Key:
    made = requester_accounts.create_access_key(requester=requester, actor="test")
    return Key(made.key.access_key_id, made.secret)


@pytest.fixture
def requester(db: None) -> Requester:
    return make_requester("Lab")


@pytest.fixture
def key(requester: Requester) -> Key:
    return make_key(requester)


@pytest.fixture
def base_url(request: pytest.FixtureRequest) -> str:
    """Where clients send their requests: a server if the test asks for one (``over_http``), otherwise this process."""
    if "over_http" in request.fixturenames:
        return str(request.getfixturevalue("live_server").url)
    return in_process.ADDRESS


@pytest.fixture
def over_http(live_server: Any) -> None:
    """The test needs a server and its connections."""


@pytest.fixture
def client(base_url: str, key: Key) -> Iterator[Any]:
    yield from closed_afterwards(boto3_client(base_url, key))


@pytest.fixture
def stranger_key(db: None) -> Key:
    return make_key(make_requester("Stranger"))


@pytest.fixture
def stranger(base_url: str, stranger_key: Key) -> Iterator[Any]:
    """The client of another requester."""
    yield from closed_afterwards(boto3_client(base_url, stranger_key))


@pytest.fixture
def poor(base_url: str) -> Iterator[Any]:
    """The client of a requester without money."""
    yield from closed_afterwards(boto3_client(base_url, make_key(make_requester("Poor", balance="0"))))


@pytest.fixture
def abroad(base_url: str, key: Key) -> Iterator[Any]:
    """The client, signing for another region."""
    yield from closed_afterwards(boto3_client(base_url, key, region="eu-west-1"))


def closed_afterwards(made: Any) -> Iterator[Any]:
    """Otherwise its connection stays open, as do the server's thread and that thread's database connection."""
    yield made
    made.close()


@pytest.fixture
def world(client: Any, stranger: Any, poor: Any, abroad: Any) -> World:
    """What the conformance tests work on."""
    return World(client=client, stranger=stranger, poor=poor, abroad=abroad)


@pytest.fixture
def allowed(settings: Any, tmp_path: Any) -> None:
    """Faults and moves of the clock can be ordered."""
    settings.MARKETPLACE_TEST_CONTROLS, settings.VAR = True, tmp_path
