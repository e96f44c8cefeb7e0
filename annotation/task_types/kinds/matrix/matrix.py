"""Several criteria, each on a scale of its own: a table on a wide screen, one after the other on a narrow one.

Each row is a question of its own in the data, so that it has a mean, agreement and findings of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django import forms

from analysis.description import Kind, Point, QuestionDescription, Scale
from analysis.quality_control.work import as_number
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.scale.scale import MOST_POINTS
from annotation.task_types.parts_field import PartsField, entries_in, whole_number
from annotation.task_types.questions import Asked, Group, Question, below_heading
from annotation.task_types.settings import Cell, ConfigForm

POINTS = 5
MOST_ROWS = 20


class RowsField(PartsField):
    """Rows with their scales: how many points, the value of the lowest, and names of the ends or of every point."""

    def __init__(self, **kwargs: Any) -> None:
        cells = [
            Cell("points", "Points", required=False, max_length=6),
            Cell("first", "Value of the lowest point", required=False, max_length=12),
            Cell("low_label", "Name of the lowest point", required=False, max_length=60),
            Cell("high_label", "Name of the highest point", required=False, max_length=60),
            Cell("labels", "A name for every point, separated with |", required=False, max_length=1_000),
            Cell("help", "Help", required=False),
        ]
        super().__init__(label_cell=Cell("label", "Criterion", max_length=300), cells=cells, most=MOST_ROWS, **kwargs)

    def faults_of(self, row: dict[str, str]) -> Iterator[str]:
        labels = entries_in(row["labels"])
        row["points"] = row["points"] or str(len(labels) or POINTS)
        row["first"] = row["first"] or "1"
        points = whole_number(row["points"])
        if points is None or not 2 <= points <= MOST_POINTS:
            yield f"points: “{row['points']}” is not a whole number from 2 to {MOST_POINTS}."
        elif labels and len(labels) != points:
            yield f"labels: there are {len(labels)} for {points} points. Give one for every point, or none."
        if as_number(row["first"]) is None:
            yield f"first: “{row['first']}” is not a number."
        if labels and (row["low_label"] or row["high_label"]):
            yield "labels: they name every point. Leave out low_label and high_label."
        if doubled := next((name for at, name in enumerate(labels) if name and name in labels[:at]), ""):
            yield f"labels: “{doubled[:40]}” is in the list twice."


class MatrixForm(ConfigForm):
    """The rows of a matrix, as a study describes them."""

    rows = RowsField(label="Rows", help_text="Without points: as many as there are labels, or 5. The lowest is 1.")


@dataclass(frozen=True, slots=True)
class RowQuestion(ScaleQuestion):
    """One row. ``heading``: what stands above all rows."""

    settings_form: ClassVar[type[forms.Form] | None] = None
    heading: str = ""

    @property
    def template(self) -> str:
        return "annotation/questions/matrix_row.html"

    def describe(self) -> QuestionDescription:
        """With the heading, which the row alone does not repeat."""
        return replace(ScaleQuestion.describe(self), label=below_heading(self.heading, self.label))


@dataclass(frozen=True, slots=True)
class MatrixQuestion(Group):
    """Rows with scales of their own. The topic of a row is that of the matrix, ``_`` and the key of the row."""

    kind: ClassVar[Kind] = "matrix"
    kind_name: ClassVar[str] = "Rows with their own scales"
    styles: ClassVar[Sequence[str]] = ("matrix.css",)
    settings_form: ClassVar[type[forms.Form] | None] = MatrixForm

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Group:
        rows: list[Question] = []
        for row in settings["rows"]:
            part = asked.part(row["key"], row["label"], help=row["help"])
            count, first = int(row["points"]), float(row["first"])
            labels = entries_in(row["labels"]) or [row["low_label"], *[""] * (count - 2), row["high_label"]]
            points = (Point(round(first + index, 6), label) for index, label in enumerate(labels))
            scale = Scale(part.topic, "ordinal", tuple(points))
            rows.append(RowQuestion(**part.arguments(), scale=scale, heading=asked.label))
        return cls(asked.key, asked.label, tuple(rows), asked.help)
