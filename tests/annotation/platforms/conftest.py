"""A requester on this server's own marketplace, called in process."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from annotation.platforms.mturk.platform import Mturk
from marketplace.models import Requester
from marketplace.services import accounts, payments
from tests.marketplace.support import in_process
from tests.marketplace.support.clients import Key, boto3_client


@pytest.fixture(autouse=True)
def full_buckets(own_var_folder: Path) -> None:
    """No test is throttled because of another's requests."""
    for bucket in (own_var_folder / "marketplace-buckets").glob("*"):
        bucket.unlink()


@pytest.fixture
def requester(db: None) -> Requester:
    made = accounts.create_requester(name="Lab", email="lab@example.org", actor="test")
    payments.deposit(requester=made, amount=Decimal("1000.00"), actor="test")
    return made


@pytest.fixture
def client(requester: Requester) -> Any:
    made = accounts.create_access_key(requester=requester, actor="test")
    return boto3_client(in_process.ADDRESS, Key(made.key.access_key_id, made.secret))


@pytest.fixture
def api(client: Any) -> Mturk:
    return Mturk(client)
