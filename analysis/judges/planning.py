"""How many ratings by people a judge saves: the width of a prediction-powered interval before anybody rates anything.

An answer is y = μ + item + worker + rest, with variances s_i², s_w², s_e². People rate n of T items, r of W workers an
item, drawn anew for each. A judge rates J of the T items, those n among them, and its ratings correlate by ρ with what
an item is worth (μ + item). With the best weight, the variance of the mean is

    s_i²/n · (1 − ρ² N/(N + n))  +  s_w² (1/W + (1 − r/W)/(n r))  +  s_e²/(n r)        N = J − n

The first part is that of PPI++ (Angelopoulos, Duchi & Zrnic 2023, eq. 3 and section 6) for what an item is worth. No
judge makes the other two smaller: they are what workers and single answers add. In the difference of two systems with
half the items each, workers cancel out but for the chance of who rated which:

    2 · [s_i²/m · (1 − ρ² M/(M + m))  +  s_w² (1 − r/W)/(m r)  +  s_e²/(m r)]          m = n/2, M = N/2

Degrees of freedom are Satterthwaite's, of items and of workers. `bench.judges` compares both with simulated studies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from analysis.distributions import t_quantile

LEAST_ITEMS = 4


@dataclass(frozen=True, slots=True)
class JudgedDesign:
    """``rated``: items that people rate; ``judged``: items that the judge rates, all of those among them; 0: no judge.
    ``correlation`` of the judge with what an item is worth. Standard deviations are on the scale of the answers."""

    rated: int
    per_item: int
    workers: int
    sd_item: float
    sd_worker: float
    sd_answer: float
    judged: int = 0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        """ValueError: numbers that no study can have."""
        if self.rated < LEAST_ITEMS:
            raise ValueError(f"{self.rated} items rated by people are too few; {LEAST_ITEMS} are the least")
        if not 1 <= self.per_item <= self.workers:
            raise ValueError(f"{self.per_item} raters an item need as many workers; there are {self.workers}")
        if self.judged and self.judged < self.rated:
            raise ValueError(f"the judge rates {self.judged} items, fewer than the {self.rated} that people rate")
        if not -1 <= self.correlation <= 1:
            raise ValueError(f"a correlation is from -1 to 1, not {self.correlation:g}")
        if min(self.sd_item, self.sd_worker, self.sd_answer) < 0:
            raise ValueError("a standard deviation cannot be negative")

    @property
    def ratings(self) -> int:
        """By people."""
        return self.rated * self.per_item

    def left(self) -> float:
        """The share of the items' variance that the judge leaves."""
        others = max(0, self.judged - self.rated)
        return 1 - self.correlation**2 * others / (others + self.rated)

    def width(self, *, difference: bool = False, level: float = 0.95) -> float:
        """The expected width of the interval of the mean, or of the difference of two systems."""
        items, times = (self.rated / 2, 2) if difference else (self.rated, 1)
        answers, share = items * self.per_item, 1 - self.per_item / self.workers
        of_items = times * (self.sd_item**2 / items * self.left() + self.sd_answer**2 / answers)
        of_workers = self.sd_worker**2 * (times * share / answers + (0 if difference else 1 / self.workers))
        total = of_items + of_workers
        if total == 0:
            return 0.0
        squares = of_items**2 / (self.rated - times) + of_workers**2 / max(1, self.workers - 1)
        return 2 * float(t_quantile((1 + level) / 2, total**2 / squares)) * math.sqrt(total)


def items_needed(design: JudgedDesign, width: float, *, difference: bool = False, level: float = 0.95) -> int | None:
    """The fewest items that people must rate for an interval of this width, with the rest of ``design``; None if not
    even all of the judged items (or a million, without a judge) are enough."""
    most = design.judged or 1_000_000

    def fits(rated: int) -> bool:
        return replace(design, rated=rated).width(difference=difference, level=level) <= width

    if most < LEAST_ITEMS or not fits(most):
        return None
    low, high = LEAST_ITEMS, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low


def worth_correlation(observed: float, *, per_item: int, sd_item: float, sd_worker: float, sd_answer: float) -> float:
    """The judge's correlation with what items are worth, from that with the mean of ``per_item`` answers.

    It is divided by the root of the means' reliability (Spearman 1904), and at most 1 in size.
    """
    noise = (sd_worker**2 + sd_answer**2) / per_item
    if sd_item == 0:
        return 0.0
    return max(-1.0, min(1.0, observed / math.sqrt(sd_item**2 / (sd_item**2 + noise))))
