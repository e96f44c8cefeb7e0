"""Several texts, each in a named field with limits of its own.

Each field is a question of its own in the data: it is counted, recorded and checked like every text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django import forms

from analysis.description import Kind, QuestionDescription
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.parts_field import OPTIONAL, PartsField, whole_number
from annotation.task_types.questions import MAX_CHARS, Asked, Group, Question, below_heading
from annotation.task_types.settings import Cell, ConfigForm

MOST_FIELDS = 20
MOST_ROWS = 30
LIMITS = {
    "min_words": "At least this many words",
    "max_words": "At most this many words",
    "min_chars": "At least this many characters",
    "max_chars": "At most this many characters",
}


class TextsField(PartsField):
    """Text fields with their limits."""

    def __init__(self, **kwargs: Any) -> None:
        limits = [Cell(name, label, required=False, max_length=6) for name, label in LIMITS.items()]
        rows = Cell("rows", "Height in lines", required=False, max_length=2)
        label = Cell("label", "Label", max_length=300)
        super().__init__(label_cell=label, cells=[*limits, rows, OPTIONAL], most=MOST_FIELDS, **kwargs)

    def faults_of(self, row: dict[str, str]) -> Iterator[str]:
        for name in (*LIMITS, "rows"):
            number = whole_number(row[name])
            least = 0 if name.startswith("min") else 1
            most = {"max_chars": MAX_CHARS, "min_chars": MAX_CHARS, "rows": MOST_ROWS}.get(name)
            if row[name] and (number is None or number < least or (most and number > most)):
                upto = f" to {most:,}" if most else ""
                yield f"{name}: “{row[name]}” is not a whole number from {least}{upto or ' up'}."
        for unit in ("words", "chars"):
            low, high = whole_number(row[f"min_{unit}"]), whole_number(row[f"max_{unit}"])
            if low and high and low > high:
                yield f"min_{unit}: {low} is more than max_{unit}, {high}. Lower it."


class FieldsForm(ConfigForm):
    """The fields as a study describes them."""

    texts = TextsField(label="Fields")


@dataclass(frozen=True, slots=True)
class FieldQuestion(TextQuestion):
    """One field. ``heading``: what stands above all fields."""

    settings_form: ClassVar[type[forms.Form] | None] = None
    heading: str = ""

    def describe(self) -> QuestionDescription:
        return replace(TextQuestion.describe(self), label=below_heading(self.heading, self.label))


@dataclass(frozen=True, slots=True)
class FieldsQuestion(Group):
    """Named text fields. The topic of a field is that of the group, ``_`` and the key of the field."""

    kind: ClassVar[Kind] = "fields"
    kind_name: ClassVar[str] = "Several texts"
    styles: ClassVar[Sequence[str]] = ("fields.css",)
    settings_form: ClassVar[type[forms.Form] | None] = FieldsForm

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Group:
        fields: list[Question] = []
        for row in settings["texts"]:
            part = asked.part(row["key"], row["label"], required=not row["optional"])
            limits = {name: whole_number(row[name]) for name in (*LIMITS, "rows")}
            defaults = {"min_words": 1, "min_chars": 0, "max_chars": MAX_CHARS, "rows": 1}
            own: dict[str, Any] = {name: limit or defaults.get(name) for name, limit in limits.items()}
            fields.append(FieldQuestion(**part.arguments(), **own, heading=asked.label))
        return cls(asked.key, asked.label, tuple(fields), asked.help)
