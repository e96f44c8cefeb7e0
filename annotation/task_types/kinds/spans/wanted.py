"""Marks that an answer to a gold item must have: a JSON list as in a column of given marks.

A severity or label that is left out may be any. ``overlap`` is how closely the place must be met: characters in common,
of all in either mark.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from analysis.quality_control.answer_rules import OVERLAP, Marks, WantedMark
from annotation.task_types.answer_rules import About, RuleError
from annotation.task_types.kinds.spans.given import GivenError, GivenMarks


def wanted_in(cell: str, about: About, allowed: GivenMarks) -> Marks:
    """The rule in a cell; ``allowed`` says what marks may be. Raises RuleError."""
    asked = about.questions
    if len(asked) > 1:
        targets = [question.target for question in asked]
        what = f"The item has {len(asked)} texts, and marks are in one of them."
        raise RuleError(what, f"Name the text in the column, such as gold:{about.topic}/{targets[0]}.")
    severities, labels = list(allowed.severities), list(allowed.labels)
    above = sorted({label.partition("/")[0] for label in labels} - set(labels))
    try:
        records = json.loads(cell)
    except (ValueError, RecursionError):
        records = None
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        example_cell = '[{"start": 4, "end": 7, "severity": "minor"}]'
        raise RuleError("These are no marks: the cell is no JSON list of records.", f"Write {example_cell}.")
    overlaps: list[float] = []
    for number, record in enumerate(records, start=1):
        overlap = record.pop("overlap", OVERLAP)
        if isinstance(overlap, bool) or not isinstance(overlap, int | float) or not 0 < overlap <= 1:
            fix = "Write a share above 0 and up to 1, such as 0.5."
            raise RuleError(f"Mark {number}: the overlap {str(overlap)[:20]} is no share.", fix)
        overlaps.append(float(overlap))
    anything = {"severity": severities[0]} | ({"label": labels[0]} if labels else {})
    text = asked[0].text if asked else None
    if text is not None:
        given = replace(allowed, text=text, labels=[*labels, *above])
        try:
            given.read(json.dumps([anything | record for record in records]))
        except GivenError as error:
            raise RuleError(error.what, error.fix) from None
    return Marks(tuple(_wanted(*pair, text) for pair in zip(records, overlaps, strict=True)))


def _wanted(record: dict[str, Any], overlap: float, text: str | None) -> WantedMark:
    severity, label = str(record.get("severity", "")), str(record.get("label", ""))
    if record.get("missing"):
        return WantedMark(len(text or ""), len(text or ""), severity, label, missing=True, overlap=overlap)
    return WantedMark(record.get("start", 0), record.get("end", 0), severity, label, overlap=overlap)
