"""Marks that an item brings: a column of the items file, checked when it is read, and what becomes of them.

A cell is a JSON list of records with ``start``, ``end``, ``severity`` and perhaps ``label``: code points from 0, the
end exclusive. ``{"missing": true, "severity": "major"}`` is something that the text lacks. An empty cell: no marks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.spans import Span
from annotation.task_types.kinds.spans.marking import overlapping, twice
from common.text_length import is_between_characters

_NAMES = ("start", "end", "severity", "label", "missing")
_EXAMPLE = '[{"start": 4, "end": 7, "severity": "minor"}]'


class GivenError(ValueError):
    """Marks that cannot be shown: ``what`` is wrong, and how to ``fix`` it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


@dataclass(frozen=True, slots=True)
class GivenMarks:
    """What marks of ``text`` may be."""

    text: str
    severities: Collection[str]
    labels: Collection[str]
    overlap: bool
    missing: bool
    most: int

    def read(self, cell: str) -> tuple[Span, ...]:
        """The marks in the order of the cell. Raises GivenError about the first that is wrong."""
        if not cell.strip():
            return ()
        try:
            records = json.loads(cell)
        except (ValueError, RecursionError):
            raise GivenError("These are no marks: the cell is not JSON.", f"Write a list such as {_EXAMPLE}.") from None
        if not isinstance(records, list):
            raise GivenError("These are no marks: the cell is not a list.", f"Write a list such as {_EXAMPLE}.")
        spans = tuple(self._mark(number, record) for number, record in enumerate(records, start=1))
        if len(spans) > self.most:
            fix = "Remove some, or allow more with “most”."
            raise GivenError(f"There are {len(spans)} marks; at most {self.most} are allowed.", fix)
        if not self.overlap and overlapping(spans):
            raise GivenError("Two marks overlap.", "Remove one of them, or set “overlap: true”.")
        if again := twice(spans):
            words = self.text[again.start : again.end][:60]
            raise GivenError(f"“{words}” is marked twice in the same way.", "Remove one of the two.")
        return spans

    def _mark(self, number: int, record: Any) -> Span:
        if not isinstance(record, Mapping):
            raise GivenError(f"Mark {number} is not a record.", f"Write records as in {_EXAMPLE}.")
        if strange := sorted(set(record) - set(_NAMES)):
            names = ", ".join(_NAMES)
            raise GivenError(f"Mark {number}: “{strange[0][:40]}” is unknown.", f"A mark has only {names}.")
        severity = self._one_of(number, "severity", record.get("severity"), self.severities)
        label = self._one_of(number, "label", record.get("label", ""), self.labels or [""])
        if record.get("missing"):
            if not self.missing:
                fix = "Remove it, or set “missing: true”."
                raise GivenError(f"Mark {number}: the study has no marks of something missing.", fix)
            return Span(len(self.text), len(self.text), severity, label, missing=True)
        return Span(*self._place(number, record), severity, label)

    def _one_of(self, number: int, what: str, name: Any, names: Collection[str]) -> str:
        if name not in names:
            written = f"“{str(name)[:40]}” is no {what} of the study." if name else f"the {what} is missing."
            choice = f"Write one of {', '.join(names)}." if any(names) else f"Remove it: the study has no {what}s."
            raise GivenError(f"Mark {number}: {written}", choice)
        return str(name)

    def _place(self, number: int, record: Mapping[str, Any]) -> tuple[int, int]:
        start, end = record.get("start"), record.get("end")
        if type(start) is not int or type(end) is not int:
            fix = "Write the places as code points from 0; the end is the place after the last one."
            raise GivenError(f"Mark {number}: start and end must be whole numbers.", fix)
        if not 0 <= start < end <= len(self.text):
            fix = f"The text has {len(self.text)} code points: 0 ≤ start < end ≤ {len(self.text)}."
            raise GivenError(f"Mark {number}: {start} to {end} is outside the text, or empty.", fix)
        if not (is_between_characters(self.text, start) and is_between_characters(self.text, end)):
            what = f"Mark {number}: {start} to {end} begins or ends inside a character, such as an emoji or an accent."
            raise GivenError(what, "Count code points, and move the end to the next whole character.")
        return start, end


def traced(spans: Sequence[Span], given: Sequence[Span]) -> list[Span]:
    """The marks, each with the given one that it came from: the same, else one at the same place, else one that shares
    a character with it. The others are the worker's own."""
    left = dict(enumerate(given, start=1))
    origins: dict[int, Span] = {}
    rules: list[Callable[[Span, Span], bool]] = [
        lambda span, mark: span == mark,
        lambda span, mark: (span.start, span.end, span.missing) == (mark.start, mark.end, mark.missing),
        lambda span, mark: span.start < mark.end and mark.start < span.end,
    ]
    for agrees in rules:
        for index, span in enumerate(spans):
            number = next((number for number, mark in left.items() if index not in origins and agrees(span, mark)), 0)
            if number:
                origins[index] = replace(span, given=number, changed=left.pop(number) != span)
    return [origins.get(index, span) for index, span in enumerate(spans)]
