"""A number that people type, such as an age, a count or a magnitude."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind, Scale
from analysis.quality_control.answer_rules import AnswerRule, Range
from analysis.quality_control.work import as_number
from annotation.languages import gettext, ngettext
from annotation.task_types.answer_rules import (
    About,
    RuleError,
    RulesRead,
    above_in,
    ranges_in,
    refuse_outside,
    refuse_useless,
)
from annotation.task_types.for_judges import ForJudge, number_of, plain_number
from annotation.task_types.numbers import number_typed
from annotation.task_types.questions import Answer, AnswerError, Asked, Form, Question, Right, Sketch, Stored
from annotation.task_types.settings import ConfigForm

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker

#: No answer is further from 0.
LARGEST = 1e12
#: The most numbers that are compared one by one with ranges of right ones.
MOST_COMPARED = 10_000


class NumberForm(ConfigForm):
    """The limits of a number as a study describes them."""

    min_value = forms.FloatField(label="Lowest number", required=False, min_value=-LARGEST, max_value=LARGEST)
    max_value = forms.FloatField(label="Highest number", required=False, min_value=-LARGEST, max_value=LARGEST)
    decimals = forms.IntegerField(
        label="Decimals",
        min_value=0,
        max_value=6,
        initial=0,
        required=False,
        help_text="How many digits after the decimal point are allowed. 0: whole numbers.",
    )
    unit = forms.CharField(label="Unit, shown after the box", max_length=30, required=False)

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        settings["decimals"] = settings.get("decimals") or 0
        low, high = settings.get("min_value"), settings.get("max_value")
        if low is not None and high is not None and low >= high:
            self.add_error("max_value", f"The highest number, {high:g}, must be more than the lowest, {low:g}.")
        return settings


@dataclass(frozen=True, slots=True)
class NumberQuestion(Question):
    """A number on an interval scale without points."""

    kind: ClassVar[Kind] = "number"
    kind_name: ClassVar[str] = "Number"
    settings_form: ClassVar[type[forms.Form] | None] = NumberForm
    min_value: float | None = None
    max_value: float | None = None
    decimals: int = 0
    unit: str = ""

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        names = ("min_value", "max_value", "decimals", "unit")
        own = {name: settings.get(name) for name in names} | {"scale": Scale(asked.topic, "interval")}
        return cls(**(asked.arguments() | own))

    def drawn(self, values: Form) -> dict[str, Any]:
        return {"value": values.get(self.key, "")}

    def for_judge(self) -> ForJudge:
        limits = {"minimum": self.min_value, "maximum": self.max_value}
        schema: dict[str, Any] = {"type": "number" if self.decimals else "integer"}
        schema |= {name: plain_number(limit) for name, limit in limits.items() if limit is not None}
        ask = f"A number with at most {self.decimals} decimals" if self.decimals else "A whole number"
        ask += f" from {self.min_value:g}" if self.min_value is not None else ""
        ask += f" up to {self.max_value:g}" if self.max_value is not None else ""
        ask += f", in {self.unit}" if self.unit else ""
        return ForJudge(ask, schema, lambda value: {self.key: f"{plain_number(number_of(value))}"})

    @property
    def sketch(self) -> Sketch:
        return Sketch("line", 0)

    def clean(self, form: Form) -> Answer:
        raw = form.get(self.key, "").strip()
        if not raw:
            if self.required:
                raise AnswerError(gettext("Please enter a number."))
            return None
        number = number_typed(raw)
        if number is None:
            example = f"{self.min_value:g}" if self.min_value is not None else "12"
            raise AnswerError(gettext("Please enter a number, such as %(example)s.") % {"example": example})
        if round(number, self.decimals) != number:
            most = ngettext(
                "Please use at most %(most)s digit after the decimal point.",
                "Please use at most %(most)s digits after the decimal point.",
                self.decimals,
            )
            what = most % {"most": self.decimals} if self.decimals else gettext("Please enter a whole number.")
            raise AnswerError(what)
        if self.min_value is not None and number < self.min_value:
            raise AnswerError(gettext("Please enter a number of at least %(low)s.") % {"low": f"{self.min_value:g}"})
        if self.max_value is not None and number > self.max_value:
            raise AnswerError(gettext("Please enter a number of at most %(high)s.") % {"high": f"{self.max_value:g}"})
        return number

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: f"{answer:.{self.decimals}f}" if isinstance(answer, int | float) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, int | float)  # noqa: S101 - `clean` made it
        return [Stored(self.target, float(answer))]

    def bounds(self) -> Mapping[str, float]:
        limits = {"min_value": self.min_value, "max_value": self.max_value}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def _limits(self) -> tuple[float, float]:
        """The lowest and highest number, or a range of 100 where there is no limit."""
        low = self.min_value if self.min_value is not None else (self.max_value or 100.0) - 100.0
        return low, self.max_value if self.max_value is not None else low + 100.0

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """``3..5``; of several texts, ``first > second``."""
        read = ranges_in(cell) or above_in(cell, about)
        for part in filter(None, map(str.strip, (cell if read is None else read.plain).split("|"))):
            if as_number(part) is None:
                raise RuleError(
                    f"“{part[:40]}” is not a number.", "Write a number such as 12, or a range such as 3..5."
                )
        if read is not None:
            refuse_outside(read.rules, self.min_value, self.max_value)
            if possible := self._possible(read.rules):
                refuse_useless(read, possible)
        return read

    def _possible(self, rules: Sequence[AnswerRule]) -> list[float]:
        """All numbers between the limits, if there are few, and there are ranges to compare them with."""
        unit = 10**self.decimals
        if self.min_value is None or self.max_value is None or not any(isinstance(rule, Range) for rule in rules):
            return []
        first, last = math.ceil(self.min_value * unit - 1e-9), math.floor(self.max_value * unit + 1e-9)
        return [number / unit for number in range(first, last + 1)] if last - first < MOST_COMPARED else []

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """The true number plus bias and error. A careless worker types any number."""
        low, high = self._limits()
        if true is None:
            true = random.Random(f"{item}/{self.topic}/{self.target}").uniform(low, high)
        number = rng.uniform(low, high) if worker.profile == "careless" else worker.placed(true, low, high, rng)
        inside = min(high, max(low, round(number, self.decimals)))
        return self.typed(inside)

    def alternatives(self, right: Right) -> Iterator[Answer]:
        """The right numbers, and some that are further off."""
        low, high = self._limits()
        numbers = [number for answer in right(self.target) if (number := number_typed(answer)) is not None]
        step = max(round((high - low) / 10, self.decimals), 10.0**-self.decimals)
        beside = [number + by for number in numbers for by in (-step, step)]
        every = [*numbers, *(number for number in [*beside, low, high] if low <= number <= high)]
        yield from dict.fromkeys(round(number, self.decimals) for number in every)
