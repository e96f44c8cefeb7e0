"""Items that workers cannot distinguish: usually a row that is in the file twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from annotation.models import Item, Study
from annotation.task_types.base import TaskType
from annotation.task_types.items import Json
from annotation.task_types.registry import get_type

BATCH = 2_000
#: How many groups a message names.
NAMED = 3


def identical_items(study: Study) -> list[list[str]]:
    """Groups of ids of items with the same texts and the same label, in the order of the file."""
    rows = Item.objects.filter(study=study).order_by("position").values_list("external_id", "payload", "role")
    return identical_ids(get_type(study.task_type), rows.iterator(BATCH))


def identical_ids(task: TaskType, items: Iterable[tuple[str, Json, str]]) -> list[list[str]]:
    """Like ``identical_items``, for items given as (id, payload, role)."""
    groups: dict[bytes, list[str]] = {}
    for name, payload, role in items:
        facts = task.describe_item(payload)
        shown = [role, facts.context, facts.parameter, [list(group) for group in facts.texts]]
        groups.setdefault(hashlib.sha256(json.dumps(shown).encode()).digest(), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def identical_in_words(groups: Sequence[Sequence[str]]) -> str:
    """The message for the researcher; empty if all items differ."""
    if not groups:
        return ""
    listed = []
    for names in groups[:NAMED]:
        shown = [name if len(name) <= 40 else f"{name[:39]}…" for name in names[:5]]
        if len(names) > 5:
            listed.append(f"{', '.join(shown)} and {len(names) - 5:,} more")
        else:
            listed.append(f"{', '.join(shown[:-1])} and {shown[-1]}")
    more = f"; and {len(groups) - NAMED:,} more groups" if len(groups) > NAMED + 1 else ""
    more = more or ("; and 1 more group" if len(groups) == NAMED + 1 else "")
    return f"Some items are identical: {'; '.join(listed)}{more}. Check whether a row is in the file twice."
