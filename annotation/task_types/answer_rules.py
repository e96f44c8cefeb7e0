"""How cells of an items file say what an answer must be, where a value does not: ``3..5``, ``a > b``, ``{a, b}``.

A kind of question reads the forms that it owns (`Question.rules_in`) with the readers here. What another kind writes in
the same way stays plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from analysis.quality_control.answer_rules import Above, AnswerRule, ExactOptions, Range
from annotation.task_types.labels import check_number, number_in

_BRACES = re.compile(r"\{([^{}|]*)\}")


class RuleError(ValueError):
    """A rule that cannot be used: ``what`` is wrong, and how to ``fix`` it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


@dataclass(frozen=True, slots=True)
class RulesRead:
    """The rules of a cell, and what is left of it: plain answers between ``|``."""

    rules: Sequence[AnswerRule]
    plain: str = ""


class About(Protocol):
    """What a rule must fit: the questions under one topic about one item, or about one part of it.

    It is found only when a rule asks for it. See `asked_about.AskedAbout`.
    """

    @property
    def topic(self) -> str: ...
    @property
    def questions(self) -> Sequence[Any]:
        """The questions as pages ask them, with their texts. Empty: the item could not be read."""

    @property
    def names(self) -> Sequence[str] | None:
        """The parts that ratings can be about. None: the item could not be read."""


def ranges_in(cell: str, named: Collection[str] = ()) -> RulesRead | None:
    """The ranges ``low..high`` among the answers in a cell; None without one. ``named`` are answers that only look like
    one."""
    parts = [part.strip() for part in cell.split("|") if part.strip()]
    ranges = [part for part in parts if ".." in part and part.casefold() not in named]
    if not ranges:
        return None
    return RulesRead([_range(part) for part in ranges], " | ".join(part for part in parts if part not in ranges))


def _range(part: str) -> Range:
    low, _, high = (end.strip() for end in part.partition(".."))
    if not (low or high) or any(end and check_number(end) for end in (low, high)):
        what = f"“{part[:40]}” is no range."
        raise RuleError(
            what, "Write the lowest and the highest right number, such as 3..5; or one of them, such as 3.."
        )
    span = Range(number_in(low) if low else None, number_in(high) if high else None)
    if span.low is not None and span.high is not None and span.low > span.high:
        raise RuleError(f"The range {part[:40]} is reversed.", f"Write the lower number first: {high}..{low}.")
    return span


def refuse_outside(ranges: Sequence[AnswerRule], low: float | None, high: float | None) -> None:
    """Refuse a range that reaches beyond the ends of the scale, or that is the whole scale."""
    for span in ranges:
        if not isinstance(span, Range):
            continue
        words = f"{'' if span.low is None else f'{span.low:g}'}..{'' if span.high is None else f'{span.high:g}'}"
        for end in (span.low, span.high):
            if end is not None and ((low is not None and end < low) or (high is not None and end > high)):
                limits = " and ".join(
                    f"{name} is {limit:g}" for name, limit in (("lowest", low), ("highest", high)) if limit is not None
                )
                raise RuleError(f"The range {words} is outside the scale.", f"Stay inside it: the {limits}.")
        every_low = span.low is None or (low is not None and span.low <= low)
        every_high = span.high is None or (high is not None and span.high >= high)
        if every_low and every_high:
            raise RuleError("Every answer would be right.", f"Narrow the range {words}.")


def refuse_useless(read: RulesRead, possible: Sequence[float]) -> None:
    """Refuse a range that has none of the possible answers, and ranges that, with the plain answers, have all."""
    plain = [number_in(part) for part in read.plain.split("|") if part.strip()]
    ranges = [rule for rule in read.rules if isinstance(rule, Range)]
    if any(not any(span.holds(number, "") for number in possible) for span in ranges):
        raise RuleError("No answer can meet this: there is none in the range.", "Widen the range.")
    if possible and all(number in plain or any(span.holds(number, "") for span in ranges) for number in possible):
        raise RuleError("Every answer would be right.", "Name fewer answers, or narrow the range.")


def above_in(cell: str, about: About, *, sign: int = 1, most: int | None = None) -> RulesRead | None:
    """The rule ``first > second``, over the parts of the item; None if the cell is none. ``most``: how many different
    figures there can be."""
    if ">" not in cell:
        return None
    order = [name.strip() for name in cell.split(">")]
    names = about.names
    choice = "" if not names else f" of {', '.join(names)}"
    if not all(order):
        raise RuleError(f"“{cell.strip()[:60]}” lacks a name.", f"Write names{choice} with > between them: a > b.")
    if names is not None and len(names) < 2:
        what = f"The question “{about.topic}” rates one thing only, so nothing can be above another."
        raise RuleError(what, "Write the right answer, or name a question about several texts.")
    for number, name in enumerate(order):
        if name in order[:number]:
            raise RuleError(f"“{name[:40]}” cannot be above itself.", f"Name different parts{choice}.")
        if names is not None and name not in names:
            raise RuleError(f"“{name[:40]}” is no part that the question rates.", f"Name some{choice}.")
    if most is not None and len(order) > most:
        what = f"No answer can meet this: {len(order)} parts need {len(order)} different answers; there are {most}."
        raise RuleError(what, f"Name at most {most} parts.")
    return RulesRead([Above(tuple(order), sign)])


def chosen_in(cell: str, options: Collection[str], possible: Callable[[list[str]], bool]) -> RulesRead | None:
    """The rules ``{a, b}``: exactly these options; None if the cell is none. ``possible``: whether people can choose
    these."""
    if "{" not in cell and "}" not in cell:
        return None
    rules: list[AnswerRule] = []
    for part in cell.split("|"):
        braces = _BRACES.fullmatch(part.strip())
        names = [name.strip() for name in braces.group(1).split(",")] if braces else []
        names = [] if names == [""] else names
        if braces is None or not all(names):
            what = f"“{part.strip()[:40]}” cannot be read."
            raise RuleError(what, "Write the options in braces, such as {a, b}; {a} | {a, b} for either.")
        if strange := [name for name in names if name not in options]:
            raise RuleError(f"“{strange[0][:40]}” is no option.", f"Name some of {', '.join(options)}.")
        chosen = sorted(set(names))
        if not possible(chosen):
            raise RuleError(
                "No answer can meet this.", "Name as many options as people may choose, with all they must."
            )
        others = ([name for name in options if (name in chosen) != (name == other)] for other in options)
        if not any(possible(other) for other in others):
            raise RuleError("Every answer would be right.", "People can choose nothing else. Clear the cell.")
        rules.append(ExactOptions(tuple(chosen)))
    return RulesRead(rules)
