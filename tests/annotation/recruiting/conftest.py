"""A requester on this server's own marketplace, called in process, and one on a small Prolific."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from annotation.platforms.mturk.platform import Mturk
from annotation.platforms.prolific.api import Account, Api
from annotation.platforms.prolific.platform import Prolific
from marketplace.models import Requester
from marketplace.services.accounts import requester_accounts
from marketplace.services.money import payments
from tests.annotation.recruiting.prolific_server import TOKEN, prolific_server
from tests.annotation.recruiting.prolific_server import Prolific as ProlificServer
from tests.marketplace.support import in_process
from tests.marketplace.support.clients import Key, boto3_client


@pytest.fixture(autouse=True)
def full_buckets(own_var_folder: Path) -> None:
    """No test is throttled because of another's requests."""
    for bucket in (own_var_folder / "marketplace-buckets").glob("*"):
        bucket.unlink()


@pytest.fixture
def requester(db: None) -> Requester:
    made = requester_accounts.create_requester(name="Lab", email="lab@example.org", actor="test")
    payments.deposit(requester=made, amount=Decimal("1000.00"), actor="test")
    return made


@pytest.fixture
def client(requester: Requester) -> Any:
    made = requester_accounts.create_access_key(requester=requester, actor="test")
    return boto3_client(in_process.ADDRESS, Key(made.key.access_key_id, made.secret))


@pytest.fixture
def api(client: Any) -> Mturk:
    return Mturk(client)


@pytest.fixture
def server(settings: Any) -> Iterator[ProlificServer]:
    """A small Prolific, at the address in the settings."""
    with prolific_server() as state:
        settings.PROLIFIC_API, settings.PROLIFIC_TOKEN = state.address, TOKEN
        yield state


@pytest.fixture
def prolific(server: ProlificServer) -> Prolific:
    """The platform, connected to that; it never waits before it asks again."""
    return Prolific(Api(Account(server.address, TOKEN), sleep=lambda seconds: None))
