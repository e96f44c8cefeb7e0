"""The export of marks in texts: one row per mark, and one per given mark that a worker removed.

An answer that marks nothing has one row, in which ``mark`` is 0 and the places are empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from analysis.answer_files.columns import OWN
from analysis.spans import Span, spans_in, weight_of
from analysis.spans.marks import COLUMNS
from annotation.instrument import Instrument
from annotation.models import Study
from annotation.record_writers import Record, Sheet, csv_bytes
from annotation.results.exports.ratings import long_sheet
from annotation.results.exports.request import ExportError, Request
from annotation.task_types.form.form_items import SYSTEM
from annotation.task_types.kinds.spans import SpansQuestion
from common.text_length import count_words

_TEXTS = ("study", "worker", "arm", "item", "system", "part", "marked_text")
_FROM_LONG = ("study", "submission", "worker", "synthetic", "included", "confirmation", "arm", "item")


def marks_texts(study: Study) -> bool:
    """Whether a question of the study asks for marks in a text."""
    return bool(_questions(study))


def spans_sheet(request: Request) -> Sheet:
    """In the order of the answers. Raises ExportError if no question of the study asks for marks."""
    if not marks_texts(request.study):
        what = "No question of this study asks for marks in a text."
        raise ExportError(f"{what} Export “long” for what workers answered.")

    def batches() -> Iterator[list[Record]]:
        long = long_sheet(request)
        questions = _questions(request.study)
        names, at = list(long.columns), list(long.columns).index("criterion")
        arm = names.index("arm")
        no, yes = request.yes_no
        for batch in long.batches:
            records: list[Record] = []
            for row in batch:
                if question := questions.get((str(row[arm]), str(row[at]))):
                    records += rows_of_answer(dict(zip(names, row, strict=True)), question, no, yes)
            yield records

    return Sheet(COLUMNS, [COLUMNS.index(name) for name in _TEXTS], batches())


def spans_file(study: Study) -> Iterator[bytes]:
    """The whole sheet as CSV for a bundle. Unlike in exports, cells are not changed for spreadsheets."""
    sheet = replace(spans_sheet(Request(study, yes_no=("false", "true"))), texts=())
    return (data for data, _ in csv_bytes(sheet))


def _questions(study: Study) -> dict[tuple[str, str], SpansQuestion]:
    """The questions that ask for marks, by arm and topic."""
    instruments = [(arm.name, Instrument.of(study, arm)) for arm in study.arms.all()] or [("", Instrument.of(study))]
    return {
        (arm, question.topic): question
        for arm, instrument in instruments
        for question in instrument.task.questions(instrument.config, instrument.texts)
        if isinstance(question, SpansQuestion)
    }


def rows_of_answer(cells: Mapping[str, Any], question: SpansQuestion, no: object, yes: object) -> Iterator[Record]:
    """The rows of one answer. ``cells``: its row of the export ``long``, by column."""
    text, part = str(cells["part_text"]), str(cells["part"])
    spans = spans_in(cells["answer_text"])
    shown = question.of_item({"": text}).with_given(_cell(cells, question.given_column, part))
    given = shown.given if isinstance(shown, SpansQuestion) else ()
    kept = {span.given for span in spans}
    removed = [replace(span, given=number) for number, span in enumerate(given, start=1) if number not in kept]
    special = {(label, severity): weight for label, severity, weight in question.special}
    start = [cells[name] for name in _FROM_LONG]
    start += [_system(cells, part), cells["criterion"], part, len(text), count_words(text)]

    def row(number: int, span: Span | None, origin: str) -> Record:
        end = [cells["value"], cells["seconds"]]
        if span is None:
            return [*start, number, None, None, "", "", "", "", origin, None, None, *end]
        words = text[span.start : span.end]
        place = [number, span.start, span.end, words, span.severity, span.label, yes if span.missing else no]
        weight = weight_of([span], dict(question.weights), special)
        return [*start, *place, origin, span.given or None, weight, *end]

    for number, span in enumerate(spans, start=1):
        yield row(number, span, span.origin)
    if not spans:
        yield row(0, None, "")
    for span in removed:
        yield row(0, span, "removed")


def _cell(cells: Mapping[str, Any], column: str, part: str) -> str:
    """The item's cell for this part, ``SEGMENT/COLUMN``: its columns may be numbered, or begin with the text's name."""
    if not column:
        return ""
    pieces = part.split("/")
    number = next((piece for piece in pieces if piece.isdecimal()), "")
    text_name = next((piece for piece in pieces if piece and not piece.isdecimal()), "")
    name = f"{text_name}_{column}" if text_name else column
    for candidate in (f"{name}_{number}", name):
        for prefix in ("", OWN):
            if cell := cells.get(f"{prefix}{candidate}"):
                return str(cell)
    return ""


def _system(cells: Mapping[str, Any], part: str) -> str:
    """What made the text, if the items file says so; else the column of one of several texts."""
    text_name = next((piece for piece in part.split("/") if piece and not piece.isdecimal()), "")
    if not text_name:
        return str(cells.get("system") or "")
    return str(cells.get(f"{text_name}{SYSTEM}") or text_name)
