"""How workers reach a study: platforms offer studies and identify workers, and some of them pay.

Code outside this package uses `known`, which lists the platforms, and `connect`, which gives one that can make calls.
"""

from __future__ import annotations

from annotation.platforms.base import Platform, PlatformTrouble
from annotation.platforms.link import Link
from annotation.platforms.mturk.platform import Mturk
from annotation.platforms.panel import Panel
from annotation.platforms.prolific.platform import Prolific

__all__ = ["Platform", "PlatformTrouble", "connect", "known", "platform_class"]
_ALL: tuple[type[Platform], ...] = (Link, Mturk, Prolific, Panel)


def known() -> dict[str, type[Platform]]:
    """Every platform by its name, the plain link first."""
    return {each.name: each for each in _ALL}


def platform_class(name: str) -> type[Platform]:
    """The platform with this name, not connected. Raises PlatformTrouble."""
    try:
        return known()[name]
    except KeyError:
        raise PlatformTrouble(
            f"There is no platform “{name[:40]}”.", f"Choose one of {', '.join(known())}.", sent=False
        ) from None


def connect(name: str) -> Platform:
    """The platform, with the keys from the settings. Raises PlatformTrouble if it is unknown or has no keys."""
    return platform_class(name).connected()
