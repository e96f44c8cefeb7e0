"""How workers reach a study: platforms offer studies and identify workers, and some of them pay.

Code outside this package uses `all_platforms`, which lists them, `connect`, which gives one that can make calls for a
study, and `changes_of`, which gives what can be done to work after it was posted there.
"""

from __future__ import annotations

from annotation.models import PlatformAccount, Study
from annotation.platforms.base import Platform
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.changes import Changes
from annotation.platforms.link import Link
from annotation.platforms.mturk.changes import MturkChanges
from annotation.platforms.mturk.platform import Mturk
from annotation.platforms.panel import Panel, PanelChanges
from annotation.platforms.paying_accounts import account_of, refuse_retired
from annotation.platforms.prolific.changes import ProlificChanges
from annotation.platforms.prolific.platform import Prolific

__all__ = [
    "Platform",
    "PlatformTrouble",
    "account_of",
    "all_platforms",
    "changes_class",
    "changes_of",
    "connect",
    "connect_account",
    "offline",
    "platform_class",
]
_ALL: tuple[type[Platform], ...] = (Link, Mturk, Prolific, Panel)
_CHANGES: dict[str, type[Changes]] = {"mturk": MturkChanges, "prolific": ProlificChanges, "panel": PanelChanges}


def all_platforms() -> dict[str, type[Platform]]:
    """Every platform by its name, the plain link first."""
    return {platform.name: platform for platform in _ALL}


def platform_class(name: str) -> type[Platform]:
    """The platform with this name, not connected. Raises PlatformTrouble."""
    try:
        return all_platforms()[name]
    except KeyError:
        raise PlatformTrouble(
            f"There is no platform “{name[:40]}”.", f"Choose one of {', '.join(all_platforms())}.", may_be_done=False
        ) from None


def connect(name: str, study: Study) -> Platform:
    """The platform, with the keys of the account that pays for the study. Raises PlatformTrouble if the platform is
    unknown, or the account has no keys or is retired."""
    return connect_account(name, account_of(study, name))


def connect_account(name: str, account: PlatformAccount | None) -> Platform:
    """The platform, with the keys of this account; None: those from the settings. Raises PlatformTrouble as above."""
    refuse_retired(account)
    return platform_class(name).connected(account)


def offline(name: str, study: Study) -> Platform:
    """The platform as it is for the study's account, without keys and calls. Raises PlatformTrouble if the platform or
    the account does not exist."""
    return platform_class(name).offline(account_of(study, name))


def changes_class(name: str) -> type[Changes]:
    """What the platform with this name can change. Needs no connection."""
    return _CHANGES.get(name, Changes)


def changes_of(platform: Platform) -> Changes:
    """What the connected platform can change."""
    return changes_class(platform.name)(platform)
