"""Which account on a platform pays for a study, and who may choose it.

The setting ``account`` of a study's platform names the account; without it, the server's own pays. Whoever may use an
account can publish a study with it. From then on, the owners of that study spend its money, as they decide on work.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from accounts.models import MemberRole
from accounts.roles import is_researcher
from annotation.models import PlatformAccount, Study
from annotation.platforms.calls import PlatformTrouble
from common.problems import Problem

#: The setting of a platform that names the account.
ACCOUNT = "account"
#: The roles in a team whose members may spend the money of its accounts.
SPENDERS = (MemberRole.OWNER, MemberRole.PAYER)


AMAZON, SANDBOX = "mturk-requester.us-east-1.amazonaws.com", "mturk-requester-sandbox.us-east-1.amazonaws.com"


def endpoints_of(platform: str) -> list[tuple[str, str]]:
    """The addresses to which this server sends keys that somebody enters, each with what people call it.

    Administrators decide which these are, so that nobody can make the server call any address they like.
    """
    if platform == "prolific":
        return [(settings.PROLIFIC_API, "Prolific")]
    own = f"{settings.BASE_URL}/marketplace/api/"
    addresses = [*([own] if "marketplace" in settings.PARTS else ()), settings.MTURK_ENDPOINT]
    names = {own: "This server’s marketplace"}
    for address in settings.MTURK_ENDPOINTS:
        addresses.append(address)
        host = urlsplit(address).hostname or ""
        names |= {address: "Amazon Mechanical Turk"} if host == AMAZON else {}
        names |= {address: "Amazon’s sandbox, without real money"} if host == SANDBOX else {}
    return [(address, names.get(address, address)) for address in dict.fromkeys(addresses)]


def account_field() -> forms.RegexField:
    """The setting `ACCOUNT`, for platforms with accounts."""
    return forms.RegexField(
        r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z",
        label="Platform account",
        required=False,
        max_length=60,
        help_text="Short name of the platform account that pays. Empty: this server’s account.",
    )


def account_of(study: Study, platform: str) -> PlatformAccount | None:
    """The account that pays for the study on the platform; None: the server's own, which needs no query.

    Raises PlatformTrouble if there is no account of this name.
    """
    slug = study.platforms.get(platform, {}).get(ACCOUNT)
    if not slug:
        return None
    account = PlatformAccount.objects.filter(slug=slug, platform=platform).select_related("user", "team").first()
    if account is None:
        raise PlatformTrouble(
            f"This study’s platform account “{slug}” does not exist any more.",
            "Before it is posted, choose another account. Afterwards, ask your administrator to restore it.",
            may_be_done=False,
        )
    return account


def paying_account(study: Study, platform: str) -> PlatformAccount | None:
    """As `account_of`, for pages: None also if the account does not exist any more."""
    try:
        return account_of(study, platform)
    except PlatformTrouble:
        return None


def refuse_retired(account: PlatformAccount | None) -> None:
    """Raises PlatformTrouble for an account that is retired."""
    if account is not None and account.retired_at is not None:
        raise PlatformTrouble(
            f"The platform account “{account.title}” is retired, so nothing is done with it.",
            f"{account.owner_name.capitalize()} can use it again under Platform accounts. Then this continues.",
            may_be_done=False,
        )


def visible_to(user: User | AnonymousUser) -> QuerySet[PlatformAccount]:
    """The accounts that the user may see: their own, and those of their teams; administrators see all."""
    if not is_researcher(user):
        return PlatformAccount.objects.none()
    rows = PlatformAccount.objects.select_related("user", "team")
    if user.is_superuser:
        return rows
    return rows.filter(Q(user=user) | Q(team__memberships__user=user)).distinct()


def usable_by(user: User | AnonymousUser) -> QuerySet[PlatformAccount]:
    """The accounts with which the user may publish and whose keys they may replace: their own, and those of teams in
    which they are an owner or a payer. Being an administrator is not enough to spend somebody's money."""
    if not is_researcher(user):
        return PlatformAccount.objects.none()
    in_team = Q(team__memberships__user=user, team__memberships__role__in=SPENDERS)
    return PlatformAccount.objects.filter(Q(user=user) | in_team).select_related("user", "team").distinct()


def may_use_servers(user: User) -> bool:
    """Whether the user may publish with the server's own account."""
    return bool(settings.SERVER_ACCOUNT_FOR_ALL) or user.is_superuser


def choice_problems(
    platforms: Mapping[str, Mapping[str, Any]],
    before: Mapping[str, Mapping[str, Any]],
    people: Collection[User] | None,
) -> list[Problem]:
    """Why the accounts that these settings name, and that ``before`` did not, cannot be chosen.

    One of ``people`` must be allowed to use them; None: whoever it is may use all. What exists and what does not is
    the same for everybody else, so that nobody learns the names of others' accounts.
    """
    problems = []
    for platform, chosen in platforms.items():
        slug = chosen.get(ACCOUNT)
        if not slug or slug == before.get(platform, {}).get(ACCOUNT):
            continue
        rows = PlatformAccount.objects.filter(slug=slug, platform=platform, retired_at=None)
        if people is not None:
            usable = [usable_by(user).filter(pk__in=rows).exists() for user in people]
            missing = not any(usable)
        else:
            missing = not rows.exists()
        if missing:
            what = f"“{slug[:60]}” is no account on this platform that you can use."
            fix = "Name one of those under Platform accounts, or leave it out to use this server’s account."
            problems.append(Problem(f"platforms.{platform}.{ACCOUNT}", what, fix))
    return problems


def payer_problems(account: PlatformAccount | None, user: User | None) -> list[Problem]:
    """Why this user may not publish with the account. ``user`` None: a command of whoever runs the server."""
    if user is None:
        return []
    if account is None and not may_use_servers(user):
        what = "Only administrators can publish with this server’s account."
        return [Problem(ACCOUNT, what, "Choose one of your platform accounts in the settings.")]
    if account is not None and not usable_by(user).filter(pk=account.pk).exists():
        what = f"You cannot spend the money of the platform account “{account.title}”."
        whose = f"Ask {account.owner_name} to publish it"
        return [Problem(ACCOUNT, what, f"{whose}, or choose another account in the settings.")]
    return []


def people_called(names: Sequence[str]) -> list[User]:
    """The users with these names. What a command calls itself is no user's name."""
    return list(User.objects.filter(username__in=names))
