"""Which platform can change what after work was offered."""

from __future__ import annotations

from annotation.platforms.base import Platform
from annotation.platforms.changes import Changes
from annotation.platforms.mturk.changes import MturkChanges
from annotation.platforms.panel import PanelChanges
from annotation.platforms.prolific.changes import ProlificChanges

_CHANGES: dict[str, type[Changes]] = {"mturk": MturkChanges, "prolific": ProlificChanges, "panel": PanelChanges}


def changes_class(name: str) -> type[Changes]:
    """What the platform with this name can change. Needs no connection."""
    return _CHANGES.get(name, Changes)


def changes_of(platform: Platform) -> Changes:
    """What the connected platform can change."""
    return changes_class(platform.name)(platform)
