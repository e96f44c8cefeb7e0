"""Hours and money of a planned study, to the cent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from analysis.planning.study_design import Design

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Work:
    """``texts_per_hit`` for one ``reward`` (USD), in so many ``minutes`` (None: not known). ``fee``: the platform's, as
    a share of rewards, such as 0.2. ValueError: an amount below 0, or a hit without texts or time."""

    texts_per_hit: int = 10
    reward: Decimal = Decimal(0)
    minutes: Decimal | None = None
    fee: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if self.texts_per_hit < 1:
            raise ValueError(f"a hit has 1 text or more, not {self.texts_per_hit}")
        for name, amount in (("reward", self.reward), ("fee", self.fee)):
            if not (amount.is_finite() and amount >= 0):
                raise ValueError(f"the {name} must be 0 or more, not {amount}")
        if self.minutes is not None and not (self.minutes.is_finite() and self.minutes > 0):
            raise ValueError(f"the minutes for a hit must be above 0, not {self.minutes}")


@dataclass(frozen=True, slots=True)
class Cost:
    """``hours`` of all workers together, and ``per_hour`` in USD, None where the time is not known."""

    hits: int
    submissions: int
    rewards: Decimal
    fees: Decimal
    hours: Decimal | None
    per_hour: Decimal | None

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees


def cost_of(design: Design, work: Work) -> Cost:
    """Every hit of so many texts gets as many submissions as a text gets raters. Where each worker rates one system, a
    hit has texts of one."""
    if design.crossing == "one":
        hits = design.systems * math.ceil(design.items / work.texts_per_hit)
    else:
        hits = math.ceil(design.texts / work.texts_per_hit)
    submissions = hits * design.raters
    rewards = (work.reward * submissions).quantize(CENT, ROUND_HALF_UP)
    fees = (rewards * work.fee).quantize(CENT, ROUND_HALF_UP)
    if work.minutes is None:
        return Cost(hits, submissions, rewards, fees, None, None)
    hours = work.minutes * submissions / 60
    return Cost(
        hits, submissions, rewards, fees, hours, (work.reward * 60 / work.minutes).quantize(CENT, ROUND_HALF_UP)
    )
