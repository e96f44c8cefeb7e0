"""Where the texts of items come from, as columns whose names no file of items can have.

Texts that workers wrote in another study have ``from:study``, ``from:arm`` and, for every factor that is declared
there, ``from:<factor>``: the level of the writer's arm, or of the item that they wrote about. Samples have
``from:run``, ``from:model`` and ``from:decoder``. Items of a file have none of these.

If an item has several parts, such as both texts of a pair, each has its own arm, factors, model and decoder:
``from:arm:1`` for the first text, ``from:arm:2`` for the second. The plain column is there too if all parts have the
same. A part that was made of several texts with different origins has all of them, joined by “ + ”.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Q

from annotation.many_ids import among
from annotation.models import Item, Output, Study
from annotation.task_types.items import Json, RowProblem
from annotation.task_types.registry import UnknownTaskType, all_types, get_type
from generation.models import Sample

#: The beginning of the names of the columns. No file of items has such a name: see `reserved_columns`.
FROM = "from:"
BATCH = 5_000
#: What all texts of an item have in common; never numbered.
WHOLE = ("from:study", "from:run")
SEVERAL = " + "

Origin = Mapping[str, str]


def reserved_columns(columns: Iterable[str]) -> list[RowProblem]:
    """A problem for every column of a file whose name is kept for provenance."""
    return [
        RowProblem(
            0,
            name,
            f"The names of columns that begin with “{FROM}” are kept for where texts come from.",
            f"Call the column something else, such as {name[len(FROM) :].strip() or 'origin'}.",
        )
        for name in columns
        if name.startswith(FROM)
    ]


def provenance_columns(study: Study) -> dict[int, Origin]:
    """The columns of every item whose texts come from another study or a run, by the item's number in the database.

    Six queries at most, however many items there are. Items with the same origin share one mapping; do not change it.
    """
    items = Item.objects.filter(study=study).filter(Q(source__has_key="outputs") | Q(source__has_key="samples"))
    groups: dict[int, list[list[int]]] = {}
    kinds: dict[int, str] = {}
    task = all_types().get(study.task_type)
    for pk, source, payload in items.values_list("pk", "source", "payload").iterator(BATCH):
        kinds[pk] = "outputs" if "outputs" in source else "samples"
        ids = source[kinds[pk]]
        # Without the study's type, nobody knows the parts: all texts are one.
        texts = task.describe_item(payload).texts if task is not None and len(ids) > 1 else ()
        groups[pk] = in_parts(ids, texts)
    origins = {
        kind: load({number for pk, parts in groups.items() if kinds[pk] == kind for ids in parts for number in ids})
        for kind, load in (("outputs", origins_of_outputs), ("samples", origins_of_samples))
    }
    shared: dict[tuple[tuple[str, str], ...], Origin] = {}
    columns = {}
    for pk, parts in groups.items():
        of_item = columns_of([[origins[kinds[pk]].get(number, {}) for number in ids] for ids in parts])
        if of_item:
            columns[pk] = shared.setdefault(tuple(of_item.items()), of_item)
    return columns


def in_parts(ids: Sequence[int], texts: Sequence[Sequence[str]]) -> list[list[int]]:
    """The ids of the outputs or samples behind every part of an item, whose texts the type lists by part.

    An id stands for a text, or for all texts of a part. If the numbers do not match, there is one part.
    """
    sizes = [len(group) for group in texts]
    if len(ids) == len(sizes):
        sizes = [1] * len(ids)
    if len(ids) != sum(sizes):
        return [list(ids)]
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [list(ids[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def columns_of(parts: Sequence[Sequence[Origin]]) -> dict[str, str]:
    """One item's columns, from the origins of the texts of each of its parts."""
    merged = [
        {
            name: SEVERAL.join(dict.fromkeys(origin[name] for origin in origins if origin.get(name)))
            for name in dict.fromkeys(name for origin in origins for name in origin)
        }
        for origins in parts
    ]
    columns: dict[str, str] = {}
    for name in dict.fromkeys(name for part in merged for name in part):
        levels = [part.get(name, "") for part in merged]
        if not any(levels):
            continue
        if len(set(levels)) == 1:
            columns[name] = levels[0]
        if len(parts) > 1 and name not in WHOLE:
            columns |= {f"{name}:{number}": level for number, level in enumerate(levels, start=1)}
    return columns


def origins_of_outputs(ids: set[int]) -> dict[int, Origin]:
    """Study, arm and factors of these outputs. Two queries; a third for what their items say."""
    if not ids:
        return {}
    outputs = Output.objects.filter(pk__in=among(ids))
    rows = list(outputs.values_list("pk", "study", "submission__participant__arm", "item"))
    sources = {
        source.pk: source
        for source in Study.objects.filter(pk__in={row[1] for row in rows}).prefetch_related("arms").order_by("pk")
    }
    arms = {arm.pk: arm for source in sources.values() for arm in source.arms.all()}
    levels_of_item = levels_of_items({row[3] for row in rows if row[3] is not None}, sources)
    return {
        pk: {"from:study": sources[study].slug, "from:arm": arms[arm].name}
        | {
            f"{FROM}{name}": level
            for name, level in (levels_of_item.get(item, {}) | dict(arms[arm].factors)).items()
            if f"{FROM}{name}" not in ("from:study", "from:arm")
        }
        for pk, study, arm, item in rows
    }


def levels_of_items(ids: set[int], sources: Mapping[int, Study]) -> dict[int, dict[str, str]]:
    """The levels of these items in the factors of items that their own studies declare."""
    columns = {pk: columns_of_factors(source.factors) for pk, source in sources.items()}
    with_factors = [pk for pk, names in columns.items() if names]
    if not with_factors or not ids:
        return {}
    types = {}
    for pk in with_factors:
        try:
            types[pk] = get_type(sources[pk].task_type)
        except UnknownTaskType:
            continue
    rows = Item.objects.filter(pk__in=among(ids), study__in=list(types)).values_list("pk", "study", "payload")
    levels: dict[int, dict[str, str]] = {}
    for pk, study, payload in rows.iterator(BATCH):
        cells = types[study].export_columns(payload)
        levels[pk] = {name: cells[name].strip() for name in columns[study] if cells.get(name, "").strip()}
    return levels


def columns_of_factors(factors: Json) -> list[str]:
    """The names of the declared factors that are columns of items."""
    return [name for name, settings in factors.items() if settings.get("of", "item") == "item"]


def origins_of_samples(ids: set[int]) -> dict[int, Origin]:
    """Run, model and decoder of these samples. One query."""
    if not ids:
        return {}
    rows = Sample.objects.filter(pk__in=among(ids)).values_list("pk", "run__name", "model__name", "decoder")
    return {
        pk: {"from:run": run, "from:model": model, "from:decoder": decoder}
        for pk, run, model, decoder in rows.iterator(BATCH)
    }
