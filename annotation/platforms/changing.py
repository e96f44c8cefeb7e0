"""Which platform can change what after work was offered."""

from __future__ import annotations

from annotation.platforms.base import Platform
from annotation.platforms.changes import Changes
from annotation.platforms.mturk.changes import MturkChanges

_CHANGES: dict[str, type[Changes]] = {"mturk": MturkChanges}


def changes_of(platform: Platform) -> Changes:
    """What the connected platform can change."""
    return _CHANGES.get(platform.name, Changes)(platform)
