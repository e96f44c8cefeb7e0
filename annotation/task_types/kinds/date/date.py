"""A day, chosen in the browser's own calendar and stored as YYYY-MM-DD."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind
from analysis.quality_control.answer_rules import Days
from annotation.languages import gettext
from annotation.task_types.answer_rules import About, RuleError, RulesRead
from annotation.task_types.questions import Answer, AnswerError, Asked, Form, Question, Right, Sketch, Stored
from annotation.task_types.settings import ConfigForm

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker

#: Where a simulated worker's dates begin if the study sets no limits.
SOME_DAY = date(2020, 1, 1)


class DateForm(ConfigForm):
    """The limits of a date as a study describes them."""

    first = forms.CharField(label="First day", max_length=10, required=False, help_text="As YYYY-MM-DD.")
    last = forms.CharField(label="Last day", max_length=10, required=False, help_text="As YYYY-MM-DD.")

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("first", "last"):
            if (raw := settings.get(name)) and day_typed(raw) is None:
                self.add_error(name, f"“{raw}” is not a date. Write it as YYYY-MM-DD, such as 2026-03-31.")
        first, last = settings.get("first"), settings.get("last")
        if not self.errors and first and last and first > last:
            self.add_error("last", f"The last day, {last}, is before the first, {first}.")
        return settings


def day_typed(text: str) -> date | None:
    """The day in YYYY-MM-DD; None if there is no such day."""
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class DateQuestion(Question):
    """A day. Its rating is a text."""

    kind: ClassVar[Kind] = "date"
    kind_name: ClassVar[str] = "Date"
    settings_form: ClassVar[type[forms.Form] | None] = DateForm
    first: str = ""
    last: str = ""

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        return cls(**asked.arguments(), first=settings["first"], last=settings["last"])

    def drawn(self, values: Form) -> dict[str, Any]:
        return {"value": values.get(self.key, "")}

    @property
    def sketch(self) -> Sketch:
        return Sketch("line", 0)

    def clean(self, form: Form) -> Answer:
        raw = form.get(self.key, "").strip()
        if not raw:
            if self.required:
                raise AnswerError(gettext("Please enter a date."))
            return None
        if day_typed(raw) is None:
            raise AnswerError(gettext("Please enter a date as YYYY-MM-DD, such as 2026-03-31."))
        if self.first and raw < self.first:
            raise AnswerError(gettext("Please enter %(day)s or a later day.") % {"day": self.first})
        if self.last and raw > self.last:
            raise AnswerError(gettext("Please enter %(day)s or an earlier day.") % {"day": self.last})
        return raw

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: answer if isinstance(answer, str) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, str)  # noqa: S101 - `clean` made it
        return [Stored(self.target, None, answer)]

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """``2026-01-01..2026-03-31``, or one of the two days."""
        first, dots, last = (end.strip() for end in cell.partition(".."))
        if not dots:
            return None
        if not (first or last) or any(end and day_typed(end) is None for end in (first, last)):
            fix = "Write the first and the last right day, such as 2026-01-01..2026-03-31; or one of them."
            raise RuleError(f"“{cell.strip()[:40]}” is no range of days.", fix)
        if first and last and first > last:
            raise RuleError(f"The range {cell.strip()} is reversed.", f"Write the earlier day first: {last}..{first}.")
        if (self.last and first > self.last) or (last and last < self.first):
            limits = " to ".join(filter(None, (self.first, self.last)))
            raise RuleError("No answer can meet this: the range is outside the days allowed.", f"Use days in {limits}.")
        if (not first or first <= self.first) and (not last or (self.last and last >= self.last)):
            raise RuleError("Every answer would be right.", "Narrow the range.")
        return RulesRead([Days(first, last)])

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        first = day_typed(self.first) or SOME_DAY
        last = day_typed(self.last) or first + timedelta(days=365)
        return {self.key: (first + timedelta(days=rng.randint(0, max(0, (last - first).days)))).isoformat()}

    def alternatives(self, right: Right) -> Iterator[Answer]:
        first = day_typed(self.first) or SOME_DAY
        days = [*right(self.target), first.isoformat(), (day_typed(self.last) or first + timedelta(days=1)).isoformat()]
        yield from dict.fromkeys(days)
