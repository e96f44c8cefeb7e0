"""Accounts on this server's own marketplace and on small Prolifics, each with its own keys."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from accounts.models import Team
from annotation.models import PlatformAccount, Study
from annotation.platforms.account_keys import Keys
from annotation.platforms.mturk.api import Account
from annotation.recruiting import platform_accounts
from annotation.studies.storing import change_study
from marketplace.models import Requester
from marketplace.services.accounts import requester_accounts
from marketplace.services.money import payments
from tests.marketplace.support import in_process
from tests.marketplace.support.clients import PATH, Key, boto3_client

MARKET = f"{in_process.ADDRESS}{PATH}"


def in_process_client(account: Account, **_: Any) -> Any:
    """A client for these keys; the marketplace's answers come from this process."""
    assert account.endpoint == MARKET, account.endpoint
    return boto3_client(in_process.ADDRESS, Key(account.access_key_id, account.secret), region=account.region)


def requester_keys(name: str, *, dollars: str = "100.00") -> tuple[Requester, Keys]:
    requester = requester_accounts.create_requester(name=name, email=f"{name}@example.org", actor="test")
    payments.deposit(requester=requester, amount=Decimal(dollars), actor="test")
    made = requester_accounts.create_access_key(requester=requester, actor="test")
    return requester, Keys(access_key_id=made.key.access_key_id, secret=made.secret)


def mturk_account(owner: User | Team, keys: Keys, *, title: str = "Lab") -> PlatformAccount:
    entry = platform_accounts.Entry(owner=owner, platform="mturk", title=title, endpoint=MARKET, region="us-east-1")
    return platform_accounts.add_account(entry=entry, keys=keys, actor="test")


def choose(study: Study, account: PlatformAccount, *, actor: str = "test", **settings: Any) -> Study:
    """The study with this account in its settings."""
    chosen = {account.platform: {"account": account.slug, **settings}}
    return change_study(study=study, platforms=chosen, actor=actor)
