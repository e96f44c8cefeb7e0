"""The export ``spans`` as answers: one row per mark, or one without places for an answer that marks nothing."""

from __future__ import annotations

import math
from typing import Any

from analysis.input_errors import InputError, number_in, shown
from analysis.spans.answers import ALL, MarkedAnswer
from analysis.spans.marks import Span
from analysis.tables import read_texts, require_columns

_NEEDED = ("item", "worker", "criterion", "part", "start", "end", "severity")
_WHOLE = ("characters", "words", "start", "end", "given")


def read_marks(path: str) -> dict[str, list[MarkedAnswer]]:
    """The answers of a file with the columns of the export, by question; marks that were removed do not count, nor what
    is not included. ``weight`` and the columns about the text may be missing. InputError: a cell that cannot be."""
    frame = read_texts(path)
    require_columns(list(frame.columns), path, *_NEEDED)
    answers: dict[tuple[str, ...], list[tuple[Any, dict[str, str]]]] = {}
    names = list(frame.columns)
    for number, *cells in frame.itertuples(name=None):
        row = {name: str(cell or "") for name, cell in zip(names, cells, strict=True)}
        if row.get("included", "true").casefold() == "false":
            continue
        key = tuple(row.get(name, "") for name in ("criterion", "submission", "item", "part", "worker"))
        answers.setdefault(key, []).append((number, row))
    questions: dict[str, list[MarkedAnswer]] = {}
    again: set[tuple[str, ...]] = set()
    for (question, _, item, part, worker), rows in answers.items():
        if (place := (question, item, part, worker)) in again:  # only the first of repeated answers counts
            continue
        again.add(place)
        questions.setdefault(question, []).append(_answer(path, item, part, worker, rows))
    return questions


def _answer(path: str, item: str, part: str, worker: str, rows: list[tuple[Any, dict[str, str]]]) -> MarkedAnswer:
    spans = []
    for number, row in rows:
        whole = {name: _whole(path, number, name, row.get(name, "")) for name in _WHOLE}
        if row["start"] and row.get("origin") != "removed":
            missing = row.get("missing", "").casefold() == "true"
            if not (0 <= whole["start"] < whole["end"] or missing):
                raise InputError(path, f"row {number}", "the mark is empty or outside the text")
            spans.append(
                Span(whole["start"], whole["end"], row["severity"], row.get("label", ""), missing, whole["given"])
            )
    number, first = rows[0]
    weight = number_in(first.get("answer_weight") or "0")
    if weight is None or math.isnan(weight):
        raise InputError(
            path, f'row {number}, column "answer_weight"', f"{shown(first['answer_weight'])} is not a number"
        )
    characters, words = (_whole(path, number, name, first.get(name, "")) for name in ("characters", "words"))
    return MarkedAnswer(item, part, worker, tuple(sorted(spans)), weight, first.get("system") or ALL, characters, words)


def _whole(path: str, number: Any, name: str, cell: str) -> int:
    if not cell:
        return 0
    value = number_in(cell)
    if value is None or value != int(value):
        raise InputError(path, f'row {number}, column "{name}"', f"{shown(cell)} is not a whole number")
    return int(value)
