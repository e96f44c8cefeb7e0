"""What a planned study wants to find out, and how it would show in answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analysis.planning.components import Components
from analysis.planning.scales import AnswerModel, Scale, answer_model

Goal = Literal["difference", "equivalence", "share", "accuracy", "agreement"]
GOALS: dict[Goal, str] = {
    "difference": "a difference between systems",
    "equivalence": "that systems differ by less than a margin",
    "share": "that a share of choices is not one half",
    "accuracy": "that people are right more often than by chance",
    "agreement": "how much raters agree (Krippendorff’s α)",
}
#: Goals with answers that are 0 or 1, and one figure.
ONE_SHARE: tuple[Goal, ...] = ("share", "accuracy")
SHARES = Scale(0, 1, 2)


@dataclass(frozen=True, slots=True)
class Aim:
    """``effect``: the true difference of the first system from all others, which are alike; for a share or accuracy,
    its true value. ``mean`` of all answers (None: the middle of the scale). ``margin``: differences below it do not
    matter. ``null``: the share or accuracy to rule out. ``significance``: the level of tests; 1 less that is the level
    of intervals. ``reference``: other systems are compared with the first only, not with each other.

    ValueError: an effect, margin or level that is impossible.
    """

    goal: Goal
    scale: Scale
    components: Components
    effect: float = 0.0
    mean: float | None = None
    margin: float = 0.0
    null: float = 0.5
    significance: float = 0.05
    reference: bool = False

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise ValueError(f"the goal is one of {', '.join(GOALS)}, not “{self.goal}”")
        if not 0 < self.significance < 0.5:
            raise ValueError(f"the level of a test is between 0 and 0.5, such as 0.05, not {self.significance:g}")
        if self.goal in ONE_SHARE:
            if self.scale.points != 2:
                raise ValueError(f"answers to a question about a {self.goal} are of two kinds, not on a longer scale")
            if not (0 < self.effect < 1 and 0 < self.null < 1):
                raise ValueError(f"a {self.goal} is between 0 and 1, such as 0.6, not {self.effect:g}")
            if self.effect == self.null:
                raise ValueError(f"the {self.goal} to detect is the one to rule out, {self.null:g}: nothing to detect")
        elif self.scale.points is not None and abs(self.effect) >= self.scale.range:
            raise ValueError(
                f"a difference of {self.effect:g} is larger than the scale from {self.scale.low:g} to "
                f"{self.scale.high:g} allows"
            )
        if self.goal == "difference" and self.effect == 0:
            raise ValueError("the smallest difference that matters is 0: name one above 0")
        if self.goal == "equivalence":
            if not self.margin > 0:
                raise ValueError(f"the margin of equivalence must be above 0, not {self.margin:g}")
            if self.scale.points is not None and self.margin >= self.scale.range:
                raise ValueError(f"a margin of {self.margin:g} covers the whole scale: any two systems are within it")

    @property
    def compares(self) -> bool:
        return self.goal in ("difference", "equivalence")

    def model(self, systems: int) -> AnswerModel:
        """How answers come about. ValueError: one system to compare, several with one share; impossible means."""
        if self.compares and systems < 2:
            raise ValueError("there is one system, so nothing can be compared: plan two or more")
        if not self.compares and systems > 1:
            raise ValueError(f"the plan for {GOALS[self.goal]} is for one set of texts: set the number of systems to 1")
        if self.goal in ONE_SHARE:
            return answer_model(self.scale, self.components, (self.effect,))
        centre = self.scale.middle if self.mean is None else self.mean
        if not self.compares:
            return answer_model(self.scale, self.components, (centre,))
        rest = centre - self.effect / systems
        return answer_model(self.scale, self.components, (rest + self.effect, *[rest] * (systems - 1)))
