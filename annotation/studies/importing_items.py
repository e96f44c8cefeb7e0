"""Imports items from a table: all of them or, with a list of all problems, none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from annotation.audit import record
from annotation.many_ids import among
from annotation.models import AuditEntry, Item, ItemAuthor, Output, Study
from annotation.studies.images import ALT, IMAGE, Images, attach_images
from annotation.studies.provenance import reserved_columns
from annotation.studies.recordings import Recordings, attach_recordings
from annotation.studies.storing import Frozen, delete_items
from annotation.table_files import ReadingOptions, Table, TableProblems
from annotation.table_files.mapping import target_problems
from annotation.task_types.base import TaskType
from annotation.task_types.checks import EXPLANATION, ROLE, TOLERANCE, attach_checks
from annotation.task_types.items import ItemData, Json, RowProblem
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type
from common.problems import Problem

MAX_ID = 200
BATCH = 1_000
#: Columns that files of every type can have. Those with a colon in their name come on top.
FURTHER_COLUMNS = (IMAGE, ALT, ROLE, TOLERANCE, EXPLANATION)
#: The key in `Item.source` of the ids that an item was made from, by origin.
SOURCE_IDS = {"file": "rows", "run": "samples", "study": "outputs"}


@dataclass(frozen=True, slots=True)
class ItemsRead:
    """The items of a table, with the type and settings that decided how it was read.

    ``sources`` contains what each item came from, in the order of ``items``; ``images`` has the images that they show.
    """

    items: Sequence[ItemData]
    task_type: str
    settings: Json
    origin: str
    name: str
    n_rows: int
    sources: Sequence[Json] = field(default_factory=list)
    images: Images = field(default_factory=Images)
    recordings: Recordings = field(default_factory=Recordings)
    options: ReadingOptions = field(default_factory=ReadingOptions)
    notes: Sequence[str] = ()


def read_items(task_type: str, config: Json, table: Table, images: Images | None = None) -> ItemsRead:
    """All items of a table, with the ``images`` that its column ``image`` names. Raises TableProblems."""
    task = get_type(task_type)
    items, type_problems = task.read_items(table.rows, config)
    problems = list(type_problems) or _id_problems(items)
    images = images or Images()
    if table.origin == "file":
        problems += reserved_columns(table.columns)
        if mapping := table.options.mapping:
            problems += target_problems(mapping, task.columns(config), FURTHER_COLUMNS)
        items, wrong = attach_images(items, table.rows, images)
        problems += wrong
        items, wrong = attach_checks(task, items, table.rows, config)
        problems += wrong
    recordings = Recordings(images.study, images.folder, images.user)
    items, wrong = attach_recordings(items, table.rows, task.columns(config), recordings, images)
    problems += wrong
    if not problems and not items:
        what = "There are no items in this file." if table.origin == "file" else f"{table.name} contains no items."
        problems = [RowProblem(0, "", what, "Add one row per item below the header.")]
    if problems:
        raise TableProblems(problems)
    # The type may not report which rows an item is made from; its source is without ids then.
    ids_of = {row.number: row.sources for row in table.rows}
    added = {row.number: row.file_row for row in table.rows if row.file_row}
    sources: list[Json] = []
    for item in items:
        if from_file := [added[row] for row in item.rows if row in added]:
            sources.append({"file": from_file[0][0], SOURCE_IDS["file"]: [number for _, number in from_file]})
            continue
        ids = item.rows if table.origin == "file" else [source_id for row in item.rows for source_id in ids_of[row]]
        sources.append({table.origin: table.name, SOURCE_IDS[table.origin]: list(dict.fromkeys(ids))})
    settings = settings_of(task, config)
    return ItemsRead(
        items,
        task_type,
        settings,
        table.origin,
        table.name,
        len(table.rows),
        sources,
        images,
        recordings,
        table.options,
    )


def also_in_rows(refused: TableProblems, task_type: str, config: Json, images: Images) -> TableProblems:
    """The problems of a file whose header is wrong, with those in its rows, as far as these can be checked."""
    if refused.table is None or not refused.table.rows:
        return refused
    try:
        read_items(task_type, config, refused.table, images)
    except TableProblems as more:
        columns_refused = {problem.column for problem in refused.problems if problem.row == 0}
        new = [problem for problem in more.problems if problem.row or problem.column not in columns_refused]
        return TableProblems([*refused.problems, *new], refused.total + len(new))
    return refused


def settings_of(task: TaskType, config: Json) -> Json:
    """The settings that decide how items are read."""
    return {name: config.get(name) for name in task.item_settings}


def _id_problems(items: Sequence[ItemData]) -> list[RowProblem]:
    """Problems with ids. Types do not have to check for these themselves."""
    problems = []
    for item in items:
        name = item.external_id
        row = item.rows[0] if item.rows else 0
        if not name.strip():
            problems.append(RowProblem(row, "id", "An item has no id.", "Give each item its own id."))
        elif len(name) > MAX_ID:
            what = f"The id “{name[:40]}…” is {len(name):,} characters long."
            problems.append(RowProblem(row, "id", what, f"Use at most {MAX_ID} characters."))
        elif clean_text(name) != name.strip():
            what = f"The id {name!r:.80} contains a control character."
            problems.append(RowProblem(row, "id", what, "Type it again."))
    counts = Counter(item.external_id for item in items)
    problems += [
        RowProblem(0, "id", f"{count:,} items have the id “{name[:60]}”.", "Give each item its own id.")
        for name, count in counts.items()
        if count > 1
    ]
    return problems


def import_items(*, study: Study, table: Table, actor: str, progress: Callable[[int], None] | None = None) -> int:
    """Replace the draft's items with the table's. Returns how many there are now.

    ``progress`` gets the size of each batch as it is written. Raises TableProblems, or Frozen if the study is no longer
    a draft. Nothing has changed then.
    """
    refuse_unless_draft(study)
    read = read_items(study.task_type, study.config, table, Images(study))
    return store_items(study=study, read=read, actor=actor, progress=progress)


@transaction.atomic
def store_items(*, study: Study, read: ItemsRead, actor: str, progress: Callable[[int], None] | None = None) -> int:
    """The second half of ``import_items``, for items already read, so that the transaction is short."""
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    refuse_unless_draft(now)
    # The table was read outside the transaction. It is valid only if type and settings are still the same.
    if now.task_type != read.task_type or settings_of(get_type(now.task_type), now.config) != read.settings:
        what = "Somebody changed the study's type or settings while the file was being read."
        raise TableProblems([RowProblem(0, "", what, "Reload the page and import the items again.")])
    replaced = delete_items(now)
    read.images.write_rows(now)
    read.recordings.write_rows(now)
    for start in range(0, len(read.items), BATCH):
        batch = range(start, min(start + BATCH, len(read.items)))
        add_items(now, [(read.items[index], read.sources[index]) for index in batch], first=start)
        if progress:
            progress(len(batch))
    now.items_read_with = read.settings
    now.save(update_fields=["items_read_with"])
    record(
        study=now,
        actor=actor,
        action="import items",
        **{"source" if read.origin == "study" else read.origin: read.name},
        rows=read.n_rows,
        old=replaced,
        new=len(read.items),
        **read.options.stored(),
    )
    return len(read.items)


def add_items(study: Study, items: Sequence[tuple[ItemData, Json]], *, first: int) -> list[Item]:
    """Add items with their sources and authors, at positions from ``first``. Runs in the caller's transaction.

    An item with a text by a simulated worker is marked ``simulated`` in its source for as long as the data exist.
    """
    output_ids = {output for _, source in items for output in source.get("outputs", ())}
    simulated: set[int] = set()
    if output_ids:
        synthetic = Output.objects.filter(pk__in=among(output_ids), submission__participant__synthetic=True)
        simulated = set(synthetic.values_list("pk", flat=True))
    stored = Item.objects.bulk_create(
        Item(
            study=study,
            external_id=item.external_id,
            payload=item.payload,
            role=item.role,
            source=source | {"simulated": True} if simulated.intersection(source.get("outputs", ())) else source,
            position=first + offset,
        )
        for offset, (item, source) in enumerate(items)
    )
    outputs = {item.pk: item.source["outputs"] for item in stored if "outputs" in item.source}
    if outputs:
        # Everybody who wrote a text of an item. They never judge that item.
        authors = Output.objects.filter(pk__in=among(output_ids))
        worker_of = dict(authors.values_list("pk", "submission__participant__worker_id"))
        ItemAuthor.objects.bulk_create(
            ItemAuthor(item_id=item, worker_id=worker)
            for item, ids in outputs.items()
            for worker in dict.fromkeys(worker_of[output] for output in ids)
        )
        Study.objects.filter(pk=study.pk).update(has_authors=True)
    return stored


def refuse_unless_draft(study: Study) -> None:
    """Raises Frozen if the study has been launched."""
    if study.status != Study.Status.DRAFT:
        what = "The study has been launched, so its items are locked."
        raise Frozen([Problem("items", what, "Duplicate the study and import other items there.")])


def settings_read_otherwise(study: Study) -> dict[str, tuple[Any, Any]]:
    """Settings that decided how the items were read and have changed since: name → (then, now)."""
    read = study.items_read_with
    return {name: (then, study.config.get(name)) for name, then in read.items() if study.config.get(name) != then}


def last_mapping(study: Study) -> dict[str, str]:
    """The names that columns of the last file got: file column → our column."""
    entry = AuditEntry.objects.filter(study=study, action="import items").order_by("-pk").first()
    return dict(entry.detail.get("columns", {})) if entry else {}
