"""Accounts on platforms that users and teams enter: added, checked, given new keys, retired, deleted.

Keys are checked with a call that changes nothing, before anything is saved. The server's log records every change and
never a key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.debug import sensitive_variables

from accounts import log
from accounts.models import Team
from annotation.models import PlatformAccount, Study
from annotation.platforms import platform_class
from annotation.platforms.account_keys import Keys, keys_of, seal_keys
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.paying_accounts import ACCOUNT, endpoints_of, refuse_retired
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted

#: A key has no spaces and nothing but ASCII, on every platform.
KEY = re.compile(r"[!-~]{8,300}")
#: How many short names are tried before the title is refused.
TRIES = 100
MOST_TITLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An account as somebody enters it. ``endpoint``: one of `endpoints_of` the platform."""

    owner: User | Team
    platform: str
    title: str
    endpoint: str
    region: str = ""
    project: str = ""


@sensitive_variables("keys")
def add_account(*, entry: Entry, keys: Keys, unchecked: bool = False, actor: str) -> PlatformAccount:
    """Check the keys and save the account. Raises Invalid, and PlatformTrouble if the platform does not accept them.

    ``unchecked``: save it although the platform cannot be reached. Keys that it refuses are never saved.
    """
    return save_account(account=checked_account(entry=entry, keys=keys, unchecked=unchecked, actor=actor), actor=actor)


@sensitive_variables("keys")
def checked_account(*, entry: Entry, keys: Keys, unchecked: bool = False, actor: str) -> PlatformAccount:
    """A new account whose keys the platform has checked. `save_account` saves it. Raises as `add_account` does."""
    problems = []
    if not entry.title.strip():
        problems.append(Problem("title", "The account has no title.", "Write one, such as Writing lab on MTurk."))
    if entry.endpoint not in dict(endpoints_of(entry.platform)):
        fix = "Choose one from the list. An administrator adds others in HITSERVER_MTURK_ENDPOINTS."
        problems.append(Problem("endpoint", "This server does not send keys to that address.", fix))
    refuse_if_any(problems + _key_problems(entry.platform, keys))
    account = PlatformAccount(
        platform=entry.platform,
        title=entry.title.strip(),
        endpoint=entry.endpoint,
        region=entry.region.strip(),
        project=entry.project.strip(),
        user=entry.owner if isinstance(entry.owner, User) else None,
        team=entry.owner if isinstance(entry.owner, Team) else None,
        created_at=timezone.now(),
        created_by=actor[:150],
    )
    _take_keys(account, keys, unchecked)
    return account


@transaction.atomic
def save_account(*, account: PlatformAccount, actor: str) -> PlatformAccount:
    """Save a new account under a short name made from its title. Raises Invalid if that is impossible."""
    stem = slugify(account.title)[:50].strip("-") or account.platform
    used_slugs = set(PlatformAccount.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    names = [stem, *(f"{stem}-{number}" for number in range(2, TRIES))]
    for name in names:
        if name in used_slugs:
            continue
        account.slug = name
        try:
            with transaction.atomic():
                account.save(force_insert=True)
        except IntegrityError:
            continue  # somebody has just taken it
        break
    else:
        raise invalid("title", "Too many accounts have this title.", "Choose another.")
    _log(account, actor, "platform account added", checked=account.checked_at is not None)
    return account


@sensitive_variables("keys", "fresh")
def replace_keys(*, account: PlatformAccount, keys: Keys, unchecked: bool = False, actor: str) -> PlatformAccount:
    """Check new keys and save them in place of the old ones. Raises as `add_account` does; then the old ones stay.

    A secret for notices that is not entered again stays.
    """
    refuse_if_any(_key_problems(account.platform, keys))
    fresh = keys
    if not keys.hook_secret and account.hears:
        try:
            fresh = replace(keys, hook_secret=keys_of(account).hook_secret)
        except PlatformTrouble:  # the old keys cannot be opened any more, so notices need their secret again
            fresh = keys
    _take_keys(account, fresh, unchecked)
    with transaction.atomic():
        account.save(update_fields=["sealed", "last_four", "hears", "keys_at", "checked_at", "balance", "trouble"])
        _log(account, actor, "platform account keys replaced", checked=account.checked_at is not None)
    return account


@sensitive_variables("secret")
def get_notices(*, account: PlatformAccount, actor: str) -> PlatformAccount:
    """Get the secret with which the platform signs notices to this account, and save it. Raises PlatformTrouble.

    If the account has none there, the platform makes one. Studies that are published afterwards subscribe to notices.
    """
    refuse_retired(account)
    keys = keys_of(account)
    secret = platform_class(account.platform).for_check(account).notice_secret({})
    seal_keys(account, replace(keys, hook_secret=secret))
    with transaction.atomic():
        account.save(update_fields=["sealed", "hears"])
        _log(account, actor, "platform account gets notices")
    return account


def check_account(*, account: PlatformAccount) -> PlatformAccount:
    """Ask the platform again with the stored keys, and save its answer. Raises PlatformTrouble, which is saved, too."""
    try:
        account.balance = _balance(account)
    except PlatformTrouble as trouble:
        account.trouble = str(trouble)
        account.save(update_fields=["trouble"])
        raise
    account.checked_at, account.trouble = timezone.now(), ""
    account.save(update_fields=["checked_at", "balance", "trouble"])
    return account


@transaction.atomic
def change_account(*, account: PlatformAccount, title: str, project: str, actor: str) -> PlatformAccount:
    """Change what the account is called, and the project on Prolific of studies that name none. Raises Invalid."""
    title = title.strip()
    if not 0 < len(title) <= MOST_TITLE:
        raise invalid("title", "This is no title.", f"Write up to {MOST_TITLE} characters.")
    account.title, account.project = title, project.strip()[:40]
    account.save(update_fields=["title", "project"])
    _log(account, actor, "platform account changed", title=title)
    return account


@transaction.atomic
def retire_account(*, account: PlatformAccount, retired: bool, actor: str) -> PlatformAccount:
    """Stop everything that uses the account, or allow it again. Its studies continue where they stopped."""
    if retired == (account.retired_at is not None):
        return account
    account.retired_at = timezone.now() if retired else None
    account.save(update_fields=["retired_at"])
    _log(account, actor, "platform account retired" if retired else "platform account used again")
    return account


@transaction.atomic
def delete_account(*, account: PlatformAccount, actor: str) -> None:
    """Delete an account that no study uses, with its keys. Raises Invalid if one does."""
    PlatformAccount.objects.select_for_update(of=("self",)).get(pk=account.pk)
    count = studies_of_account(account).count()
    if count or account.qualification_types.exists():
        what = f"{counted(count, 'study uses', 'studies use')} this account." if count else "It made qualifications."
        fix = "Retire it instead: nothing can be done with it then."
        raise invalid(ACCOUNT, what, fix)
    _log(account, actor, "platform account deleted")
    account.delete()


def studies_of_account(account: PlatformAccount) -> QuerySet[Study]:
    """The studies that name the account in their settings, or that were posted with it."""
    named = Q(**{f"platforms__{account.platform}__{ACCOUNT}": account.slug})
    return Study.objects.filter(named | Q(postings__account=account)).distinct().order_by("title", "pk")


def reseal_all() -> tuple[int, list[PlatformAccount]]:
    """Seal all keys with the present secret key. Returns how many, and the accounts whose keys cannot be opened."""
    count, lost = 0, []
    for pk in PlatformAccount.objects.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            account = PlatformAccount.objects.select_for_update(of=("self",)).get(pk=pk)
            try:
                seal_keys(account, keys_of(account))
            except PlatformTrouble:
                lost.append(account)
                continue
            account.save(update_fields=["sealed"])
            count += 1
    return count, lost


def _key_problems(platform: str, keys: Keys) -> list[Problem]:
    names = {"access_key_id": "access key ID", "secret": "secret access key", "token": "token"}
    needed = ("token",) if platform == "prolific" else ("access_key_id", "secret")
    problems = []
    for field in needed:
        value = getattr(keys, field)
        if not value:
            problems.append(Problem(field, f"The {names[field]} is missing.", "Enter it."))
        elif not KEY.fullmatch(value):
            what = (
                f"This is no {names[field]}: it is too short or too long, or contains a space or a letter with accents."
            )
            problems.append(Problem(field, what, "Copy it again from the platform’s site."))
    return problems


def _take_keys(account: PlatformAccount, keys: Keys, unchecked: bool) -> None:
    """Checks the keys and puts them into the account, which the caller saves. Raises PlatformTrouble."""
    account.keys_at, account.checked_at = timezone.now(), None
    account.balance, account.trouble = None, ""
    seal_keys(account, keys)
    try:
        account.balance = _balance(account)
    except PlatformTrouble as trouble:
        if not (unchecked and trouble.again):
            raise
        account.trouble = str(trouble)
    else:
        account.checked_at = timezone.now()


def _balance(account: PlatformAccount) -> Decimal | None:
    """What the platform says is left to spend, in USD. The question changes nothing there. Raises PlatformTrouble."""
    try:
        return platform_class(account.platform).for_check(account).balance({})
    except PlatformTrouble as trouble:
        if trouble.code == "404" and account.project:
            trouble.fix = f"Check the project “{account.project}”: it may be another researcher’s."
            trouble.args = (f"{trouble.what} {trouble.fix}",)
        raise


def _log(account: PlatformAccount, actor: str, action: str, **detail: Any) -> None:
    log.record(
        kind=log.Kind.USERS,
        actor=actor,
        action=action,
        about=account.slug,
        owner=account.owner_name,
        platform=account.platform,
        endpoint=account.endpoint,
        ends_with=account.last_four,
        **detail,
    )
