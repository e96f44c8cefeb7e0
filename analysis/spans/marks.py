"""Spans of a text and their stored form, a JSON list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

#: The columns of the export ``spans``.
COLUMNS = (
    *("study", "submission", "worker", "synthetic", "included", "confirmation", "arm", "item", "system", "criterion"),
    *("part", "characters", "words", "mark", "start", "end", "marked_text", "severity", "label", "missing"),
    *("origin", "given", "weight", "answer_weight", "seconds"),
)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a text, in code points from 0, with how bad and what it is.

    A ``missing`` span marks something that the text lacks; it is empty and stands at the end of the text.
    ``given``: the number, from 1, of the mark that the page showed and that this one came from; 0 for a mark of the
    worker's own. ``changed``: whether it differs from that one.
    """

    start: int
    end: int
    severity: str
    label: str = ""
    missing: bool = False
    given: int = 0
    changed: bool = False

    @property
    def origin(self) -> str:
        """Where the mark comes from: ``own``, or from one that the page showed, as it was or changed."""
        return "own" if not self.given else "changed" if self.changed else "given"

    @property
    def mark(self) -> Span:
        """The mark alone, whatever it came from."""
        return replace(self, given=0, changed=False)


def spans_text(spans: Iterable[Span]) -> str:
    """The stored form: JSON records in the order of the text. The same spans always have the same form."""
    records = []
    for span in sorted(spans):
        record: dict[str, object] = {"start": span.start, "end": span.end, "severity": span.severity}
        if span.label:
            record["label"] = span.label
        if span.missing:
            record["missing"] = True
        if span.given:
            record["given"] = span.given
        if span.changed:
            record["changed"] = True
        records.append(record)
    return json.dumps(records, ensure_ascii=False, separators=(",", ":"))


def spans_in(text: str) -> list[Span]:
    """The spans of a stored form. Raises ValueError if it is none."""
    records = json.loads(text)
    if not isinstance(records, list):
        raise ValueError("spans are a JSON list")
    try:
        return [
            Span(
                int(record["start"]),
                int(record["end"]),
                str(record["severity"]),
                str(record.get("label", "")),
                bool(record.get("missing", False)),
                int(record.get("given", 0)),
                bool(record.get("changed", False)),
            )
            for record in records
        ]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("each span needs start, end and severity") from None


def weight_of(spans: Sequence[Span], weights: Mapping[str, float], special: Mapping[tuple[str, str], float]) -> float:
    """The penalty of a text: the sum of its spans' weights.

    ``weights``: by severity. ``special``: by (label, severity), in place of the severity's own, such as 0.1 for minor
    punctuation and 25 for a text that is no translation in MQM (Freitag et al. 2021, §3.2, table 2). A label also has
    the special weight of the label above it: ``fluency/punctuation`` that of ``fluency``.
    """
    total = 0.0
    for span in spans:
        label, weight = span.label, weights[span.severity]
        while label:
            if (label, span.severity) in special:
                weight = special[label, span.severity]
                break
            label = label.rpartition("/")[0]
        total += weight
    return total
