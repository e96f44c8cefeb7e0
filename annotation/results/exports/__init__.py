"""A study's data as files. docs/exports.md explains the kinds and columns.

Kinds: ``long`` (one row per rating), ``wide`` (one row per item), ``diversity-eval`` (the items' own file with the
human scores filled in), ``outputs`` (one row per text from a submission), ``offers`` (one row per live suggestion on a
page), ``turns`` (one row per line of a story), ``events`` (one row per change of a text while it was written),
``final`` (one row per item and label of a coding study), ``questionnaires`` (one row per answer before or after the
tasks), ``spans`` (one row per mark in a text), ``judges`` (one row per answer of a language model), ``tries`` (one row
per answer of the training, or to an item that explains), each as CSV, JSON lines or Parquet. Task types add tables of
their own, such as ``cyoa-script`` for the script of one paper's authors. ``bundle`` is everything in one zip archive
that `analysis.data.read_bundle` reads; ``dataset`` has the tables as Parquet with a card. All are streamed: memory use
does not grow with the size of the study.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from annotation.instrument import asked_around, asks_for_offers
from annotation.models import Study, Submission
from annotation.record_writers import WRITERS
from annotation.results.exports.events import events_file, events_sheet
from annotation.results.exports.extra import EXTRA_EXPORTS, extra_chunks
from annotation.results.exports.final import final_sheet
from annotation.results.exports.items import diversity_sheet, wide_sheet
from annotation.results.exports.judges import has_judges, judges_sheet
from annotation.results.exports.offers import offers_sheet
from annotation.results.exports.outputs import outputs_sheet
from annotation.results.exports.questionnaires import questionnaires_sheet
from annotation.results.exports.ratings import long_sheet
from annotation.results.exports.request import ExportError, Request
from annotation.results.exports.spans import marks_texts, spans_file, spans_sheet
from annotation.results.exports.tries import tries_sheet
from annotation.results.exports.turns import turn_rules, turns_sheet
from annotation.task_types.registry import get_type
from annotation.work.edit_log import records_edits
from annotation.work.left_out import left_out_submissions, not_left_out
from annotation.work.training_rounds import can_try

SHEETS = {
    "long": long_sheet,
    "wide": wide_sheet,
    "diversity-eval": diversity_sheet,
    "outputs": outputs_sheet,
    "offers": offers_sheet,
    "turns": turns_sheet,
    "events": events_sheet,
    "final": final_sheet,
    "questionnaires": questionnaires_sheet,
    "spans": spans_sheet,
    "judges": judges_sheet,
    "tries": tries_sheet,
}
BUNDLE, DATASET = "bundle", "dataset"
PARQUET = "parquet"
#: The formats of each kind. The first is the default.
FORMATS_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SHEETS, (*WRITERS, PARQUET)),
    **dict.fromkeys(EXTRA_EXPORTS, ("tsv",)),
    **dict.fromkeys((BUNDLE, DATASET), ("zip",)),
}
KINDS = tuple(FORMATS_OF)
FORMATS = tuple(dict.fromkeys(format for formats in FORMATS_OF.values() for format in formats))
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson; charset=utf-8",
    PARQUET: "application/vnd.apache.parquet",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "zip": "application/zip",
}
_YES_NO: dict[str, tuple[object, object]] = {"csv": ("false", "true")}
_PIECE = 64 * 1024

__all__ = [
    "BUNDLE",
    "CONTENT_TYPES",
    "DATASET",
    "FORMATS",
    "FORMATS_OF",
    "KINDS",
    "PARQUET",
    "ExportError",
    "export",
    "file_name",
    "kinds_of",
    "pieces",
]


def kinds_of(study: Study) -> list[str]:
    """The kinds for which the study's type has data."""
    task = get_type(study.task_type)
    without = {
        "diversity-eval": all(score.over == "part" for score in task.scores(study.config)),
        "outputs": not task.output_kinds,
        "offers": not asks_for_offers(study),
        "turns": turn_rules(study) is None,
        "events": not records_edits(study),
        "final": not task.adjudicates,
        "questionnaires": not asked_around(study),
        "spans": not marks_texts(study),
        "judges": not has_judges(study),
        "tries": not can_try(study),
        **{
            name: table not in task.extra_exports or not table.fits(study.config)
            for name, table in EXTRA_EXPORTS.items()
        },
    }
    return [kind for kind in KINDS if not without.get(kind)]


def export(
    study: Study,
    *,
    kind: str,
    out: BinaryIO,
    format: str = "",
    with_worker_ids: bool = False,
    simulated: bool | None = None,
) -> int:
    """Write the export to ``out`` and return its number of rows without the header (for a bundle: of ratings).

    ``format``: one of FORMATS_OF the kind, or empty for the first of them. ``simulated``: None for everybody's ratings,
    False for those of people, True for those of simulated workers. Workers appear under their pseudonym;
    ``with_worker_ids`` adds their ids on their platform. Raises ExportError.
    """
    count = 0
    for data, records in _chunks(study, kind, format, with_worker_ids, simulated):
        out.write(data)
        count += records
    return count


def pieces(
    study: Study, *, kind: str, format: str = "", with_worker_ids: bool = False, simulated: bool | None = None
) -> Iterator[bytes]:
    """The same in pieces, for a streamed response. Raises ExportError before the first piece."""
    chunks = _chunks(study, kind, format, with_worker_ids, simulated)
    return (data for data, _ in chunks)


def file_name(study: Study, *, kind: str, format: str = "", simulated: bool | None = None) -> str:
    """``<study>-<kind>.<format>``, with ``-simulated`` before the dot if the file includes any simulated rating."""
    included = Submission.objects.filter(study=study, participant__synthetic=True)
    if kind in ("wide", "diversity-eval", *EXTRA_EXPORTS):
        included = included.filter(not_left_out(left_out_submissions(study)))
    is_marked = simulated is not False and included.exists()
    return f"{study.slug}-{kind}{'-simulated' if is_marked else ''}.{format or FORMATS_OF[kind][0]}"


def _chunks(
    study: Study, kind: str, format: str, with_worker_ids: bool, simulated: bool | None
) -> Iterator[tuple[bytes, int]]:
    if kind not in KINDS:
        raise ExportError(f"There is no export “{kind}”. There are {', '.join(KINDS)}.")
    format = format or FORMATS_OF[kind][0]
    if format not in FORMATS_OF[kind]:
        raise ExportError(f"“{kind}” has no format “{format}”. It has {', '.join(FORMATS_OF[kind])}.")
    if with_worker_ids and kind != "long":
        raise ExportError(f"“{kind}” never says who workers are on their platform. Export “long” to have their ids.")
    if kind == BUNDLE:
        if simulated is not None:
            raise ExportError("A bundle holds everything; its submissions say which are simulated.")
        return _bundle(study)
    if kind in EXTRA_EXPORTS:
        return extra_chunks(Request(study, simulated), kind)
    request = Request(study, simulated, with_worker_ids, _YES_NO.get(format, (False, True)))
    if kind == DATASET:
        from annotation.results.exports.dataset import dataset_chunks  # loads pyarrow

        sheets = [name for name in kinds_of(study) if name in SHEETS and name != "diversity-eval"]
        return dataset_chunks(request, {name: SHEETS[name] for name in sheets})
    if format == PARQUET:
        from annotation.results.exports.parquet import parquet_bytes  # loads pyarrow

        return parquet_bytes(SHEETS[kind](request))
    return WRITERS[format](SHEETS[kind](request))


def _bundle(study: Study) -> Iterator[tuple[bytes, int]]:
    from annotation.results.frames import write_study_bundle  # loads pandas

    files = {"events.csv": events_file(study)} if records_edits(study) else {}
    files |= {"spans.csv": spans_file(study)} if marks_texts(study) else {}
    with tempfile.TemporaryFile() as file:
        ratings = write_study_bundle(study, file, files)
        file.seek(0)
        yield b"", ratings
        while piece := file.read(_PIECE):
            yield piece, 0
