"""A place on a line between two ends, such as 0 to 100: a visual analogue scale.

Nothing is chosen at first. Without JavaScript, workers type the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms

from analysis.description import Kind, Point, Scale
from annotation.languages import gettext
from annotation.task_types.for_judges import MOST_SCORED, ForJudge, plain_number
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.numbers import number_typed
from annotation.task_types.questions import Answer, AnswerError, Asked, Form, Question, Right, Sketch
from annotation.task_types.settings import ConfigForm

#: The most places on a line, so that every one can be reached on a phone and the description stays short.
MOST_PLACES = 201


class SliderForm(ConfigForm):
    """The line as a study describes it."""

    low = forms.FloatField(label="Lowest value", initial=0, required=False)
    high = forms.FloatField(label="Highest value", initial=100, required=False)
    step = forms.FloatField(label="Step", initial=1, required=False)
    low_label = forms.CharField(label="Name of the low end", max_length=60, required=False)
    middle_label = forms.CharField(label="Name of the middle", max_length=60, required=False)
    high_label = forms.CharField(label="Name of the high end", max_length=60, required=False)
    show_value = forms.BooleanField(label="Show the number", initial=True, required=False)

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        for name, default in (("low", 0.0), ("high", 100.0), ("step", 1.0)):
            if settings.get(name) is None and name not in self.errors:
                settings[name] = default
        if self.errors:
            return settings
        low, high, step = settings["low"], settings["high"], settings["step"]
        if step <= 0:
            self.add_error("step", "The step must be more than 0.")
        elif low >= high:
            self.add_error("high", f"The highest value, {high:g}, must be more than the lowest, {low:g}.")
        else:
            steps = (high - low) / step
            if abs(steps - round(steps)) > 1e-6:
                self.add_error("step", f"Steps of {step:g} do not lead from {low:g} to {high:g} exactly.")
            elif round(steps) + 1 > MOST_PLACES:
                self.add_error("step", f"That makes {round(steps) + 1:,} places; at most {MOST_PLACES} fit on a line.")
        return settings


@dataclass(frozen=True, slots=True)
class SliderQuestion(ScaleQuestion):
    """A place on a line. The places are the points of an interval scale."""

    kind: ClassVar[Kind] = "slider"
    kind_name: ClassVar[str] = "Slider"
    cached: ClassVar[bool] = False
    scripts: ClassVar[Sequence[str]] = ("slider.js",)
    styles: ClassVar[Sequence[str]] = ("slider.css",)
    settings_form: ClassVar[type[forms.Form] | None] = SliderForm
    show_value: bool = True

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        low, step = settings["low"], settings["step"]
        last = round((settings["high"] - low) / step)
        names = {0: settings["low_label"], last: settings["high_label"]}
        if last % 2 == 0:
            names[last // 2] = settings["middle_label"]
        points = tuple(Point(round(low + step * index, 6), names.get(index, "")) for index in range(last + 1))
        return cls(**asked.arguments(), scale=Scale(asked.topic, "interval", points), show_value=settings["show_value"])

    def drawn(self, values: Form) -> dict[str, Any]:
        points = self.scale.points
        middle = points[len(points) // 2]
        return {
            "low": points[0],
            "high": points[-1],
            "middle": middle if middle.label else None,
            "halfway": middle.key,
            "step": f"{round(points[1].value - points[0].value, 6):g}",
            "value": values.get(self.key, ""),
        }

    @property
    def sketch(self) -> Sketch:
        return Sketch("bar")

    def for_judge(self) -> ForJudge:
        points = self.scale.points
        low, high, step = points[0], points[-1], points[1].value - points[0].value
        named = "".join(f"; {point.key} is “{point.label}”" for point in points if point.label)
        ask = f"A number from {low.key} to {high.key} in steps of {step:g}{named}"
        limits = {"minimum": plain_number(low.value), "maximum": plain_number(high.value)}
        values = [plain_number(point.value) for point in points] if len(points) <= MOST_SCORED else []
        return ForJudge(ask, {"type": "number", **limits}, self._read_number, values=values)

    def clean(self, form: Form) -> Answer:
        raw = form.get(self.key, "").strip()
        if not raw:
            if self.required:
                raise AnswerError(gettext("Please choose a place on the line."))
            return None
        points, number = self.scale.points, number_typed(raw)
        if number is not None:
            nearest = min(points, key=lambda point: abs(point.value - number))
            if abs(nearest.value - number) < 1e-6:
                return nearest.value
        limits = {"low": points[0].key, "high": points[-1].key, "step": f"{points[1].value - points[0].value:g}"}
        raise AnswerError(gettext("Please use a number from %(low)s to %(high)s in steps of %(step)s.") % limits)

    def names(self) -> Mapping[float | str, str]:
        """The names of the places that have one."""
        return {point.value: point.text for point in self.scale.points if point.label}

    def short_names(self) -> Mapping[float | str, str]:
        return {point.value: point.label for point in self.scale.points if point.label}

    def alternatives(self, right: Right) -> Iterator[Answer]:
        """The right answers, the ends, and the places beside the right ones."""
        points = [point.value for point in self.scale.points]
        keys = {point.key: at for at, point in enumerate(self.scale.points)}
        places = [keys[answer] for answer in right(self.target) if answer in keys]
        yield from (points[at] for at in places)
        beside = [at + by for at in places for by in (-1, 1) if 0 <= at + by < len(points)]
        yield from (points[at] for at in dict.fromkeys([*beside, 0, len(points) - 1, len(points) // 2]))
