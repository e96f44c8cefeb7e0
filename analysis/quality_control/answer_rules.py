"""Rules on right answers: what an answer to a gold or attention item must be where one value does not say it.

A rule is data, stored as JSON in the item's `Check`. Server and bundle judge by the same functions here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from analysis.spans import Span, spans_in

#: The least share of characters in common, of all characters in either, for a mark to be in the right place.
OVERLAP = 0.5


class Rated(NamedTuple):
    """One rating about an item, as it is stored."""

    question: str
    target: str
    value: float | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """A number from ``low`` to ``high``, both included. None: no limit on that side."""

    low: float | None = None
    high: float | None = None

    def holds(self, value: float | None, text: str) -> bool:
        if value is None:
            return False
        above = self.low is None or value >= self.low - 1e-9
        return above and (self.high is None or value <= self.high + 1e-9)

    def stored(self) -> dict[str, Any]:
        return {"rule": "range", "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Days:
    """A day from ``first`` to ``last``, both included, as YYYY-MM-DD. Empty: no limit on that side."""

    first: str = ""
    last: str = ""

    def holds(self, value: float | None, text: str) -> bool:
        return bool(text) and self.first <= text and (not self.last or text <= self.last)

    def stored(self) -> dict[str, Any]:
        return {"rule": "days", "first": self.first, "last": self.last}


@dataclass(frozen=True, slots=True)
class WantedMark:
    """A mark that must be there. An empty severity or label: any. A label also stands for those below it."""

    start: int
    end: int
    severity: str = ""
    label: str = ""
    missing: bool = False
    overlap: float = OVERLAP

    def is_met_by(self, span: Span) -> bool:
        if self.severity and span.severity != self.severity:
            return False
        if self.label and span.label != self.label and not span.label.startswith(f"{self.label}/"):
            return False
        if self.missing or span.missing:
            return self.missing and span.missing
        common = max(0, min(self.end, span.end) - max(self.start, span.start))
        either = (self.end - self.start) + (span.end - span.start) - common
        return common > 0 and common / either >= self.overlap - 1e-9


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks that must be there, each met by a mark of its own. Further marks do no harm, unless there must be none."""

    wanted: tuple[WantedMark, ...] = ()

    def holds(self, value: float | None, text: str) -> bool:
        try:
            spans = spans_in(text)
        except ValueError:
            return False
        return _all_met(self.wanted, spans) if self.wanted else not spans

    def stored(self) -> dict[str, Any]:
        marks = [{name: getattr(mark, name) for name in WantedMark.__slots__} for mark in self.wanted]
        return {"rule": "marks", "marks": marks}


@dataclass(frozen=True, slots=True)
class Above:
    """Parts of the item, each rated above the next. ``sign`` is -1 where a lower figure is better, as with ranks."""

    order: tuple[str, ...]
    sign: int = 1

    def judge(self, values: Mapping[str, float]) -> bool | None:
        """``values`` by part; None if one of the parts has none."""
        if not all(name in values for name in self.order):
            return None
        figures = [self.sign * values[name] for name in self.order]
        return all(first > second for first, second in pairwise(figures))

    def stored(self) -> dict[str, Any]:
        return {"rule": "above", "order": list(self.order), "sign": self.sign}


@dataclass(frozen=True, slots=True)
class ExactOptions:
    """Exactly these options are chosen, out of any number."""

    options: tuple[str, ...]

    def judge(self, values: Mapping[str, float]) -> bool | None:
        """``values`` by option: 1 if it was chosen, else 0."""
        if not values:
            return None
        return {option for option, value in values.items() if value == 1} == set(self.options)

    def stored(self) -> dict[str, Any]:
        return {"rule": "chosen", "options": list(self.options)}


#: Rules on one rating, and rules on several that belong together.
OfOne = Range | Days | Marks
OfSeveral = Above | ExactOptions
AnswerRule = OfOne | OfSeveral


def rule_of(stored: Mapping[str, Any]) -> AnswerRule:
    """The rule that `stored` made. Raises ValueError if it is none."""
    try:
        match stored["rule"]:
            case "range":
                low, high = (None if stored[end] is None else float(stored[end]) for end in ("low", "high"))
                return Range(low, high)
            case "days":
                return Days(str(stored["first"]), str(stored["last"]))
            case "marks":
                return Marks(tuple(WantedMark(**mark) for mark in stored["marks"]))
            case "above":
                return Above(tuple(map(str, stored["order"])), int(stored["sign"]))
            case "chosen":
                return ExactOptions(tuple(map(str, stored["options"])))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no rule on answers: {stored!r:.200}") from error
    raise ValueError(f"this is no rule on answers: {stored!r:.200}")


def part_below(question: str, target: str, name: str) -> str | None:
    """The part of a rating below ``name``, a topic or topic/part; None if it is not below it."""
    topic, _, part = name.partition("/")
    if question != topic:
        return None
    if not part:
        return target
    return target.removeprefix(f"{part}/") if target.startswith(f"{part}/") else None


def figures_below(rows: Sequence[Rated], name: str) -> dict[str, float]:
    """By part below ``name``, a topic or topic/part: the figures of its ratings."""
    parts = ((part_below(row.question, row.target, name), row.value) for row in rows)
    return {part: value for part, value in parts if part is not None and value is not None}


def _all_met(wanted: Sequence[WantedMark], spans: Sequence[Span]) -> bool:
    """Whether every wanted mark can have a span of its own: a matching by augmenting paths (Kuhn 1955)."""
    wanted_of: dict[int, int] = {}

    def place(mark: int, tried: set[int]) -> bool:
        for index, span in enumerate(spans):
            if index not in tried and wanted[mark].is_met_by(span):
                tried.add(index)
                if index not in wanted_of or place(wanted_of[index], tried):
                    wanted_of[index] = mark
                    return True
        return False

    return all(place(mark, set()) for mark in range(len(wanted)))
