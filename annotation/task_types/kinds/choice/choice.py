"""One of several options without an order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from analysis.description import Kind, Point, Scale
from analysis.quality_control.work import as_number
from annotation.task_types.for_judges import ForJudge, NoAnswer, words_of
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.scale.scale import buttons
from annotation.task_types.questions import Answer, Asked, Form, Question, Sketch
from annotation.task_types.settings import Cell, ConfigForm, TableField

#: How many options of a choice fit next to each other on a wide screen, and the maximum length of each in characters.
MOST_IN_ROW, LONGEST_IN_ROW = 4, 24


@lru_cache(maxsize=512)
def layout(scale: Scale) -> str:
    """Empty for a few short options, which fit into a row on a wide screen; otherwise ``list``."""
    short = len(scale.points) <= MOST_IN_ROW and all(
        len(point.label) <= LONGEST_IN_ROW and not point.description for point in scale.points
    )
    return "" if short else "list"


class ChoiceForm(ConfigForm):
    """Options as a study describes them. The value is what the data hold; it stays when the wording changes."""

    options = TableField(
        cells=[
            Cell("value", "Number in the data", max_length=12),
            Cell("label", "Option", max_length=300),
            Cell("description", "Description", required=False),
        ],
        least=2,
        most=30,
        label="Options",
    )

    def clean_options(self) -> list[dict[str, str]]:
        options: list[dict[str, str]] = self.cleaned_data["options"]
        values = [option["value"] for option in options]
        for number, value in enumerate(values, start=1):
            if (as_number(value)) is None:
                raise ValidationError(f"Entry {number}, value: “{value}” is not a number.", code="number")
            if as_number(value) in map(as_number, values[: number - 1]):
                raise ValidationError(f"Entry {number}, value: {value} is in the list twice.", code="twice")
        return options


@dataclass(frozen=True, slots=True)
class ChoiceQuestion(ScaleQuestion):
    """One of several options without an order. The options are the points of a nominal scale."""

    kind: ClassVar[Kind] = "choice"
    kind_name: ClassVar[str] = "One of several options"
    settings_form: ClassVar[type[forms.Form] | None] = ChoiceForm

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        options = settings["options"]
        points = tuple(Point(float(row["value"]), row["label"], row["description"]) for row in options)
        return cls(**asked.arguments(), scale=Scale(asked.topic, "nominal", points))

    def drawn(self, values: Form) -> dict[str, Any]:
        return {"buttons": buttons(self.scale), "layout": layout(self.scale)}

    def for_judge(self) -> ForJudge:
        """Options are answered by name: their numbers in the data could name a side or a text."""
        points = self.scale.points
        words = words_of([point.label for point in points])
        described = []
        for (word, name), point in zip(words.items(), points, strict=True):
            about = "; ".join(filter(None, ("" if word == name else name, point.description)))
            described.append(f'"{word}" ({about})' if about else f'"{word}"')
        keys = {word.casefold(): point.key for word, point in zip(words, points, strict=True)}

        def read(value: Any) -> Form:
            key = keys.get(value.strip().casefold()) if isinstance(value, str) else None
            if key is None:
                raise NoAnswer(f"one of {', '.join(words)}")
            return {self.key: key}

        schema = {"type": "string", "enum": list(words)}
        return ForJudge(f"One of {', '.join(described)}", schema, read, values=list(words))

    @property
    def sketch(self) -> Sketch:
        return Sketch("dot", len(self.scale.points))

    def point_in(self, answer: Answer) -> float | None:
        """None: options have no order."""
        return None
