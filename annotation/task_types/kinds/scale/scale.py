"""One point of a scale, as a row or list of radio buttons."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind, Point, Scale
from annotation.languages import gettext as _
from annotation.languages import spoken_key
from annotation.task_types.answer_rules import About, RulesRead, above_in, ranges_in, refuse_outside, refuse_useless
from annotation.task_types.for_judges import ForJudge, number_of, plain_number, points_in_words
from annotation.task_types.questions import (
    Answer,
    AnswerError,
    Asked,
    Form,
    Question,
    Right,
    Sketch,
    Stored,
    clean_text,
)
from annotation.task_types.settings import ConfigForm, ListField

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker

#: The most points of a scale that a study describes.
MOST_POINTS = 21
#: A scale with more points is a count that nobody sees as a scale.
MOST_SKETCHED = 21


@dataclass(frozen=True, slots=True)
class Button:
    """One radio button. ``spoken`` is what a screen reader adds to the number of an unnamed point."""

    key: str
    label: str
    description: str = ""
    spoken: str = ""


def buttons(scale: Scale) -> tuple[Button, ...]:
    """The points of a scale in the order shown. An unnamed point is described by its two named neighbours."""
    return _buttons(scale, spoken_key())


@lru_cache(maxsize=512)
def _buttons(scale: Scale, _voice: str) -> tuple[Button, ...]:
    points = scale.points
    drawn = []
    for index, point in enumerate(points):
        spoken = ""
        if not point.label and 0 < index < len(points) - 1 and points[index - 1].label and points[index + 1].label:
            neighbours = {"lower": points[index - 1].label, "upper": points[index + 1].label}
            # Translators: what a screen reader says for a point of a scale without a name.
            spoken = _("between “%(lower)s” and “%(upper)s”") % neighbours
        drawn.append(Button(point.key, point.label, point.description, spoken))
    return tuple(drawn)


@lru_cache(maxsize=512)
def layout(scale: Scale) -> str:
    """``ends``: a row of numbers, with names at its ends. ``list``: one below the other on every screen.

    Empty: a row on wide screens and a list on narrow ones.
    """
    if not any(point.label for point in scale.points[1:-1]):
        return "ends"
    return "list" if len(scale.points) > 5 and any(point.description for point in scale.points) else ""


class ScaleForm(ConfigForm):
    """A scale as a study describes it: all points in a row of numbers, named at its ends or everywhere."""

    points = forms.IntegerField(label="Points", min_value=2, max_value=MOST_POINTS, initial=5)
    first = forms.FloatField(label="Value of the lowest point", initial=1, required=False)
    step = forms.FloatField(label="From one point to the next", min_value=0.001, initial=1, required=False)
    low_label = forms.CharField(label="Name of the lowest point", max_length=60, required=False)
    high_label = forms.CharField(label="Name of the highest point", max_length=60, required=False)
    labels = ListField(
        label="A name for every point",
        required=False,
        gaps=True,
        most=MOST_POINTS,
        max_length=120,
        help_text="From the lowest point to the highest. Empty: only the two ends have names.",
    )
    descriptions = ListField(
        label="A description of every point",
        required=False,
        gaps=True,
        most=MOST_POINTS,
        help_text="In the same order.",
    )
    direction = forms.ChoiceField(
        label="Direction",
        choices=[("ascending", "Lowest point first"), ("descending", "Highest point first")],
        initial="ascending",
        required=False,
    )

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        for name, default in (("first", 1.0), ("step", 1.0)):
            if settings.get(name) is None:
                settings[name] = default
        points = settings.get("points")
        for name in ("labels", "descriptions"):
            if settings.get(name) and points and len(settings[name]) != points:
                count = len(settings[name])
                self.add_error(
                    name, f"There are {count} {name} for {points} points. Give one for every point, or none."
                )
        return settings


@dataclass(frozen=True, slots=True)
class ScaleQuestion(Question):
    """One point of a scale, in the order of its points."""

    kind: ClassVar[Kind] = "scale"
    kind_name: ClassVar[str] = "Points of a scale"
    #: Fifty radio buttons cost more time than all queries of a page, and never differ.
    cached: ClassVar[bool] = True
    settings_form: ClassVar[type[forms.Form] | None] = ScaleForm

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        """A scale named after the topic."""
        count = settings["points"]
        names = settings["labels"] or [settings["low_label"], *[""] * (count - 2), settings["high_label"]]
        about = settings["descriptions"] or [""] * count
        points = tuple(
            Point(round(settings["first"] + settings["step"] * index, 6), names[index], about[index])
            for index in range(count)
        )
        ordered = points[::-1] if settings["direction"] == "descending" else points
        return cls(**asked.arguments(), scale=Scale(asked.topic, "ordinal", ordered))

    def drawn(self, values: Form) -> dict[str, Any]:
        return {"buttons": buttons(self.scale), "layout": layout(self.scale)}

    @property
    def sketch(self) -> Sketch:
        return Sketch("dots", len(self.scale.points) if len(self.scale.points) <= MOST_SKETCHED else 0)

    def clean(self, form: Form) -> Answer:
        raw = form.get(self.key, "")
        if not raw.strip():
            if self.required:
                raise AnswerError(_("Please choose one answer."))
            return None
        for point in self.scale.points:
            if raw == point.key:
                return point.value
        strange = _("“%(answer)s” is not one of the answers. Please choose one of those shown.")
        raise AnswerError(strange % {"answer": clean_text(raw)[:40]})

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: f"{answer:g}" if isinstance(answer, int | float) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, int | float)  # noqa: S101 - `clean` made it
        return [Stored(self.target, float(answer))]

    def point_in(self, answer: Answer) -> float | None:
        return float(answer) if isinstance(answer, int | float) else None

    def for_judge(self) -> ForJudge:
        points = self.scale.points
        numbers = [plain_number(point.value) for point in points]
        ask = f"One of these numbers: {points_in_words(points)}"
        return ForJudge(ask, {"type": "number", "enum": numbers}, self._read_number, values=numbers)

    def _read_number(self, value: Any) -> Form:
        return {self.key: f"{number_of(value):g}"}

    def every_answer(self) -> Sequence[Answer]:
        return [point.value for point in self.scale.points]

    def names(self) -> Mapping[float | str, str]:
        return {point.value: point.text for point in self.scale.points}

    def short_names(self) -> Mapping[float | str, str]:
        return {point.value: point.label or point.key for point in self.scale.points}

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        """The true point plus bias and error. A careless worker picks a point at random."""
        points = self.scale.points
        if worker.profile == "careless":
            return self.typed(rng.choice(points).value)
        low, high = self.scale.low, self.scale.high
        if true is None:
            true = random.Random(f"{item}/{self.topic}/{self.target}").uniform(low, high)
        if self.scale.level == "nominal":
            right = min(points, key=lambda point: abs(point.value - true)).value
            return self.typed(right if rng.random() < worker.ability else rng.choice(points).value)
        answer = worker.placed(true, low, high, rng)
        return self.typed(min(points, key=lambda point: abs(point.value - answer)).value)

    def rules_in(self, cell: str, about: About) -> RulesRead | None:
        """``3..5``; of several texts, ``first > second``."""
        named = {point.label.casefold() for point in self.scale.points if point.label}
        if self.scale.level not in ("ordinal", "interval") or cell.strip().casefold() in named:
            return None
        read = ranges_in(cell, named)
        if read is None:
            return above_in(cell, about, most=len(self.scale.points))
        refuse_outside(read.rules, self.scale.low, self.scale.high)
        refuse_useless(replace(read, plain=""), [point.value for point in self.scale.points])
        return read

    def alternatives(self, right: Right) -> Iterator[Answer]:
        yield from self.every_answer()
