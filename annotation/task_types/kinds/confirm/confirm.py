"""Statements that people confirm by ticking them, such as conditions of taking part.

Each statement gives a rating: 1 if it was ticked, and then with its words, else 0.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind
from annotation.languages import gettext
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.parts_field import OPTIONAL, PartsField
from annotation.task_types.questions import Answer, AnswerError, Asked, Form, Option, Question, Right, Stored
from annotation.task_types.settings import Cell, ConfigForm

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker


class ConfirmForm(ConfigForm):
    """The statements as a study describes them."""

    statements = PartsField(
        label="Statements", label_cell=Cell("label", "Statement", max_length=1_000), cells=[OPTIONAL]
    )


@dataclass(frozen=True, slots=True)
class ConfirmQuestion(ChoicesQuestion):
    """Statements to tick. ``optional``: the keys of those that may stay empty; all may if no answer is required."""

    kind: ClassVar[Kind] = "confirm"
    kind_name: ClassVar[str] = "Statements to confirm"
    settings_form: ClassVar[type[forms.Form] | None] = ConfirmForm
    optional: tuple[str, ...] = ()

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        statements = settings["statements"]
        options = tuple(Option(row["key"], row["label"]) for row in statements)
        optional = tuple(row["key"] for row in statements if row["optional"] or not asked.required)
        return cls(**asked.arguments(), options=options, optional=optional)

    def drawn(self, values: Form) -> dict[str, Any]:
        rows = [
            (option, self.field(option), values.get(self.field(option), ""), option.key in self.optional)
            for option in self.options
        ]
        return {"rows": rows}

    def clean(self, form: Form) -> Answer:
        ticked = [option.key for option in self.options if form.get(self.field(option))]
        if any(option.key not in ticked and option.key not in self.optional for option in self.options):
            raise AnswerError(gettext("Please tick every statement that is not optional."))
        return ticked

    def stored(self, answer: Answer) -> list[Stored]:
        """With the words that were ticked."""
        words = self.names()
        rows = ChoicesQuestion.stored(self, answer)
        return [
            Stored(row.target, row.value, words[option.key] if row.value else "")
            for row, option in zip(rows, self.options, strict=True)
        ]

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """Everybody ticks what is needed, and half of the rest."""
        keys = [option.key for option in self.options]
        return self.typed([key for key in keys if key not in self.optional or rng.random() < 0.5])

    def alternatives(self, right: Right) -> Iterator[Answer]:
        """Those of all options with check boxes that have every statement that is needed."""
        needed = {option.key for option in self.options} - set(self.optional)
        yield from (
            answer
            for answer in ChoicesQuestion.alternatives(self, right)
            if isinstance(answer, list) and needed <= set(answer)
        )
