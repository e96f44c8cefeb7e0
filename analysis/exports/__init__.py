"""A study's data as files, streamed. What the kinds and columns mean is in docs/exports.md.

Kinds: ``long`` (one row per rating), ``wide`` (one row per item), ``diversity-eval`` (the items' own file with the
human scores filled in). Formats: ``csv``, ``jsonl``. Whatever the size of the study, memory stays flat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from analysis.exports.cells import protect_cell, restore_cell
from analysis.exports.items import ExportError, diversity_sheet, wide_sheet
from analysis.exports.ratings import Request, excluded_submissions, long_sheet
from analysis.exports.writers import WRITERS
from annotation.models import Study, Submission

SHEETS = {"long": long_sheet, "wide": wide_sheet, "diversity-eval": diversity_sheet}
KINDS = tuple(SHEETS)
FORMATS = tuple(WRITERS)
CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}
_YES_NO: dict[str, tuple[object, object]] = {"csv": ("false", "true"), "jsonl": (False, True)}

__all__ = [
    "CONTENT_TYPES",
    "FORMATS",
    "KINDS",
    "ExportError",
    "export",
    "file_name",
    "protect_cell",
    "restore_cell",
    "rows",
]


def export(
    study: Study,
    *,
    kind: str,
    format: str,
    out: BinaryIO,
    with_worker_ids: bool = False,
    simulated: bool | None = None,
) -> int:
    """Write the export to ``out`` and return how many rows it has, the header not counted.

    ``simulated``: None for the ratings of everybody, False for those of people, True for those of simulated workers.
    Workers appear under their pseudonym; ``with_worker_ids`` adds who they are on their platform. Raises ExportError.
    """
    count = 0
    for data, records in _chunks(study, kind, format, with_worker_ids, simulated):
        out.write(data)
        count += records
    return count


def rows(
    study: Study, *, kind: str, format: str, with_worker_ids: bool = False, simulated: bool | None = None
) -> Iterator[bytes]:
    """The same in pieces, for a response that is sent as it is made. Raises ExportError before the first piece."""
    chunks = _chunks(study, kind, format, with_worker_ids, simulated)
    return (data for data, _ in chunks)


def file_name(study: Study, *, kind: str, format: str, simulated: bool | None = None) -> str:
    """``<study>-<kind>.<format>``, with ``-simulated`` before the dot as soon as the file counts a simulated rating."""
    marked = simulated is not False and _counts_simulated(study, kind)
    return f"{study.slug}-{kind}{'-simulated' if marked else ''}.{format}"


def _counts_simulated(study: Study, kind: str) -> bool:
    found = Submission.objects.filter(study=study, participant__synthetic=True)
    if kind == "long":
        return found.exists()
    left_out = excluded_submissions(study)
    return any(pk not in left_out for pk in found.values_list("pk", flat=True).iterator(1000))


def _chunks(
    study: Study, kind: str, format: str, with_worker_ids: bool, simulated: bool | None
) -> Iterator[tuple[bytes, int]]:
    if kind not in SHEETS:
        raise ExportError(f"There is no export “{kind}”. There are {', '.join(KINDS)}.")
    if format not in WRITERS:
        raise ExportError(f"There is no format “{format}”. There are {', '.join(FORMATS)}.")
    if with_worker_ids and kind != "long":
        raise ExportError(f"“{kind}” has one row per item and so no workers. Export “long” to have their ids.")
    request = Request(study, simulated, with_worker_ids, _YES_NO[format])
    return WRITERS[format](SHEETS[kind](request))
