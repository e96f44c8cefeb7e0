"""Items from a table: all of them, or none and the list of everything that is in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.models import AuditEntry, Item, Study
from annotation.services import sql
from annotation.services.audit import record
from annotation.services.refusals import FieldProblem, Frozen
from annotation.tables import Table, TableProblems
from annotation.task_types.base import ItemData, Json, Problem
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type

MAX_ID = 200
BATCH = 1_000
ACTION = "import items"

_DELETE = "DELETE FROM annotation_item WHERE study_id = %s"


class Watched(dict[str, Any]):
    """A type's settings that remember which of them were looked at."""

    def __init__(self, config: Json) -> None:
        super().__init__(config)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.read.update(self.keys())
        return super().__iter__()

    def items(self) -> Any:
        self.read.update(self.keys())
        return super().items()

    def values(self) -> Any:
        self.read.update(self.keys())
        return super().values()


@dataclass(frozen=True, slots=True)
class ItemsRead:
    """A table as items, with the type and the settings that decided how it was read."""

    items: Sequence[ItemData]
    task_type: str
    settings: Json
    file: str
    n_rows: int


def read_items(*, task_type: str, config: Json, table: Table) -> ItemsRead:
    """All items of a table. Raises TableProblems."""
    watched = Watched(config)
    items, found = get_type(task_type).read_items(table.rows, watched)
    problems = list(found) or _id_problems(items)
    if not problems and not items:
        problems = [Problem(0, "", "There are no items in this file.", "Add one row per item below the header.")]
    if problems:
        raise TableProblems(problems)
    settings = {name: config[name] for name in sorted(watched.read & config.keys())}
    return ItemsRead(items, task_type, settings, table.name, len(table.rows))


def _id_problems(items: Sequence[ItemData]) -> list[Problem]:
    """What no type has to check for itself. Rows are not known here any more, so the id says which item it is."""
    problems = []
    for item in items:
        name = item.external_id
        if not name.strip():
            problems.append(Problem(0, "id", "An item has no id.", "Give every item an id of its own."))
        elif len(name) > MAX_ID:
            what = f"The id “{name[:40]}…” is {len(name)} characters long."
            problems.append(Problem(0, "id", what, f"Use at most {MAX_ID} characters."))
        elif clean_text(name) != name.strip():
            problems.append(Problem(0, "id", f"The id {name!r:.80} holds a control character.", "Type it anew."))
    counts = Counter(item.external_id for item in items)
    problems += [
        Problem(0, "id", f"{count} items have the id “{name[:60]}”.", "Give every item an id of its own.")
        for name, count in counts.items()
        if count > 1
    ]
    return problems


def import_items(*, study: Study, table: Table, actor: str, progress: Callable[[int], None] | None = None) -> int:
    """Replace the draft's items by the table's; how many there are now.

    ``progress`` is told the size of each batch as it is written. Raises TableProblems, or Frozen once the study has
    left draft; then nothing has changed.
    """
    _refuse_unless_draft(study)
    read = read_items(task_type=study.task_type, config=study.config, table=table)
    return store_items(study=study, read=read, actor=actor, progress=progress)


@transaction.atomic
def store_items(*, study: Study, read: ItemsRead, actor: str, progress: Callable[[int], None] | None = None) -> int:
    """The second half of ``import_items``, for what was read before: the transaction is as short as can be."""
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    _refuse_unless_draft(now)
    _refuse_if_changed(now, read)
    replaced = delete_items(now)
    for start in range(0, len(read.items), BATCH):
        batch = read.items[start : start + BATCH]
        Item.objects.bulk_create(
            Item(study=now, external_id=item.external_id, payload=item.payload, position=start + at)
            for at, item in enumerate(batch)
        )
        if progress:
            progress(len(batch))
    record(
        study=now,
        actor=actor,
        action=ACTION,
        file=read.file,
        rows=read.n_rows,
        old=replaced,
        new=len(read.items),
        settings=read.settings,
    )
    return len(read.items)


def delete_items(draft: Study) -> int:
    """All items of a draft; how many there were.

    Nothing refers to a draft's items, and the database would refuse if anything did. Django would first fetch every
    one of them to find that out.
    """
    return sql.execute(_DELETE, draft.pk)


def _refuse_unless_draft(study: Study) -> None:
    if study.status != Study.Status.DRAFT:
        what = "The study has left draft: its ratings belong to the items it has."
        raise Frozen([FieldProblem("items", what, "Make a new study for other items.")])


def _refuse_if_changed(now: Study, read: ItemsRead) -> None:
    """The table was read outside the transaction; it counts only if type and settings are still those."""
    if now.task_type != read.task_type or any(now.config.get(name) != then for name, then in read.settings.items()):
        what = "The study's type or settings were changed meanwhile, and they say how a file is read."
        raise TableProblems([Problem(0, "", what, "Load the study anew and import the file again.")])


def settings_read_with(study: Study) -> Json:
    """The settings that decided how the study's items were read when they were imported."""
    entry = AuditEntry.objects.filter(study=study, action=ACTION).order_by("-pk").first()
    return dict(entry.detail.get("settings", {})) if entry else {}


def settings_read_otherwise(study: Study) -> dict[str, tuple[Any, Any]]:
    """Settings that decided how the items were read and have been changed since: name → (then, now)."""
    read = settings_read_with(study)
    return {name: (then, study.config.get(name)) for name, then in read.items() if study.config.get(name) != then}
