"""Plans of a study side by side: items × raters per item, with power, width, workers, hours and money.

And the smallest design that has the wanted power, or intervals that are narrow enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.planning.aims import Aim
from analysis.planning.costs import Cost, Work, cost_of
from analysis.planning.power import SIMULATIONS, Power, simulate
from analysis.planning.study_design import MOST_ANSWERS, Crossing, Design, design_for

#: The search for the smallest design tries at most so many raters, or times as many items.
MOST_RATERS, MOST_TIMES_ITEMS = 30, 16


@dataclass(frozen=True, slots=True)
class Plan:
    """One design with what it can show and what it costs."""

    power: Power
    cost: Cost

    @property
    def design(self) -> Design:
        return self.power.design

    def record(self) -> dict[str, Any]:
        """For JSON; a figure that there is not is NaN."""
        design, power, cost = self.design, self.power, self.cost
        sizes = ("systems", "items", "raters", "workers", "crossing", "same_items", "answers", "busiest")
        shown = ("simulations", "power", "error", "power_all", "figure", "width", "with_interval", "these_workers")
        spent = {"hits": cost.hits, "submissions": cost.submissions, "cost": str(cost.total)}
        hours = {"hours": None if cost.hours is None else float(cost.hours)}
        named = {name: getattr(design, name) for name in sizes} | {name: getattr(power, name) for name in shown}
        return named | spent | hours


@dataclass(frozen=True, slots=True)
class Planner:
    """What all plans have in common. ``workers``: how many there are; None: as few as can do the work, if each rates at
    most ``texts_per_worker``. ``seconds``: for the simulation of one design, None: as long as it takes. ``uneven``: as
    in `Design`."""

    aim: Aim
    systems: int
    crossing: Crossing = "some"
    same_items: bool = True
    workers: int | None = None
    texts_per_worker: int = 50
    work: Work = field(default_factory=Work)
    simulations: int = SIMULATIONS
    seed: int = 1
    seconds: float | None = None
    uneven: float = 0.0

    def design(self, items: int, raters: int) -> Design:
        """DesignError: no study can have it."""
        if self.workers is not None:
            return Design(self.systems, items, raters, self.workers, self.crossing, self.same_items, self.uneven)
        return design_for(
            self.systems,
            items,
            raters,
            texts_per_worker=self.texts_per_worker,
            crossing=self.crossing,
            same_items=self.same_items,
            uneven=self.uneven,
        )

    def plan(self, items: int, raters: int) -> Plan:
        """ValueError: a design or aim that nothing can come of."""
        design = self.design(items, raters)
        power = simulate(self.aim, design, simulations=self.simulations, seed=self.seed, seconds=self.seconds)
        return Plan(power, cost_of(design, self.work))

    def table(self, items: Sequence[int], raters: Sequence[int]) -> Iterator[Plan]:
        """Every number of items with every number of raters."""
        for item_count in items:
            for rater_count in raters:
                yield self.plan(item_count, rater_count)

    def fewest_raters(
        self, items: int, *, power: float | None = None, width: float | None = None, most: int = MOST_RATERS
    ) -> Plan:
        """The plan with the fewest raters per item that reaches the power or width; if none does, that with the most.

        ValueError as `plan`.
        """
        least = 2 if self.aim.goal == "agreement" else 1
        if self.workers is not None:
            most = min(most, self.workers // self.systems if self.crossing == "one" else self.workers)
        most = max(least, min(most, MOST_ANSWERS // (self.systems * items)))
        return _fewest(lambda raters: self.plan(items, raters), least, most, power, width)

    def fewest_items(self, raters: int, start: int, *, power: float | None = None, width: float | None = None) -> Plan:
        """The plan with the fewest items, from ``start``, that reaches the power or width; else the largest."""
        most = max(start, min(start * MOST_TIMES_ITEMS, MOST_ANSWERS // (self.systems * raters)))
        return _fewest(lambda items: self.plan(items, raters), start, most, power, width)

    def smallest(
        self, items: Sequence[int], raters: int, *, power: float | None = None, width: float | None = None
    ) -> list[Plan]:
        """For every number of items the fewest raters; if none is enough, also the fewest items with ``raters``."""
        plans = [self.fewest_raters(count, power=power, width=width) for count in items]
        if not any(plan.power.reaches(power=power, width=width) for plan in plans):
            plans.append(self.fewest_items(raters, max(items), power=power, width=width))
        return plans


def _fewest(plan: Callable[[int], Plan], least: int, most: int, power: float | None, width: float | None) -> Plan:
    """By doubling, then halving the gap: more never means less power, except for chance."""
    if power is None and width is None:
        raise ValueError("name the power or the width of the interval that is wanted")
    if power is not None and not 0 < power < 1:
        raise ValueError(f"the power is between 0 and 1, such as 0.8, not {power:g}")
    if width is not None and not width > 0:
        raise ValueError(f"the width of an interval is above 0, not {width:g}")
    below, number = least - 1, least
    best = plan(number)
    while not best.power.reaches(power=power, width=width):
        if number >= most:
            return best
        below, number = number, min(most, number * 2)
        best = plan(number)
    while number - below > max(1, number // 50):
        middle = (below + number) // 2
        tried = plan(middle)
        if tried.power.reaches(power=power, width=width):
            number, best = middle, tried
        else:
            below = middle
    return best


def cheapest(plans: Sequence[Plan], *, power: float | None = None, width: float | None = None) -> Plan | None:
    """The cheapest of the plans that reach the power or width: by money, else by answers; None if none does."""
    enough = [plan for plan in plans if plan.power.reaches(power=power, width=width)]
    return min(enough, key=lambda plan: (plan.cost.total, plan.design.answers), default=None)
