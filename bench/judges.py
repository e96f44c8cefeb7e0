"""How far means that use a judge's ratings can be trusted, and what they save: ``python -m bench.judges [--sets N]``.

In every simulated set, people rate 40 of 400 items: five of 20 workers each. Items, workers and single answers vary.
The judge rates all items, and its ratings correlate with what an item is worth by 0, 0.3, 0.6 or 0.9. Prints how many
95% intervals hold the true mean, and their mean width, by people alone and by both; then the same for the difference of
two systems, which have half the items each and truly differ by 0.3. Last, the widths that `analysis.judges.planning`
expects, to compare.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from analysis.estimate import Estimate
from analysis.judges import JudgedDesign, powered_levels

ITEMS, RATED, PER_ITEM, WORKERS = 400, 40, 5, 20
SD_ITEM, SD_WORKER, SD_ANSWER = 0.7, 0.5, 1.0
MEAN, DIFFERENCE = 3.0, 0.3
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)
TITLES = ("mean by people", "mean by both", "difference by people", "difference by both")


def one_set(correlation: float, rng: np.random.Generator, *, rated: int = RATED) -> list[tuple[Estimate, float]]:
    """The four estimates, each with the truth."""
    names = np.array([f"item-{number}" for number in range(ITEMS)])
    systems = np.where(np.arange(ITEMS) % 2, "b", "a")
    worth = rng.normal(0, SD_ITEM, ITEMS)
    judge = 3.5 + 0.8 * (correlation * worth / SD_ITEM + np.sqrt(1 - correlation**2) * rng.normal(size=ITEMS))
    leniency = rng.normal(0, SD_WORKER, WORKERS)
    items = np.repeat(np.arange(rated), PER_ITEM)
    workers = np.concatenate([rng.choice(WORKERS, PER_ITEM, replace=False) for _ in range(rated)])
    answers = MEAN + worth[items] + leniency[workers] + rng.normal(0, SD_ANSWER, len(items))
    judged = pd.Series(judge, index=names)
    whole = powered_levels(answers, items=names[items], workers=workers, judged=judged)
    better = (systems == "b") * DIFFERENCE
    by_system = powered_levels(
        answers + better[items],
        items=names[items],
        workers=workers,
        judged=judged + better,
        levels=pd.Series(systems, index=names),
    )
    order = [level.name for level in by_system.levels]
    people, both = by_system.difference(order.index("b"), order.index("a"))
    return [
        (whole.levels[0].people, MEAN),
        (whole.levels[0].both, MEAN),
        (people, DIFFERENCE),
        (both, DIFFERENCE),
    ]


def expected_widths(correlation: float, *, rated: int = RATED) -> list[float]:
    """The widths of the four intervals by the planner's formulas."""
    alone = JudgedDesign(rated, PER_ITEM, WORKERS, SD_ITEM, SD_WORKER, SD_ANSWER)
    both = JudgedDesign(rated, PER_ITEM, WORKERS, SD_ITEM, SD_WORKER, SD_ANSWER, ITEMS, correlation)
    return [design.width(difference=difference) for difference in (False, True) for design in (alone, both)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{'':12}" + "".join(f"{title:>24}" for title in TITLES))
    for correlation in CORRELATIONS:
        rng = np.random.default_rng([options.seed, int(10 * correlation)])
        held, width = np.zeros(len(TITLES)), np.zeros(len(TITLES))
        for _ in range(options.sets):
            for number, (estimate, truth) in enumerate(one_set(correlation, rng)):
                held[number] += estimate.low <= truth <= estimate.high
                width[number] += estimate.high - estimate.low
        cells = [
            f"{100 * share:.1f}% {wide:.3f}"
            for share, wide in zip(held / options.sets, width / options.sets, strict=True)
        ]
        print(f"ρ = {correlation:<8}" + "".join(f"{cell:>24}" for cell in cells))
        print(f"{'expected':12}" + "".join(f"{wide:>24.3f}" for wide in expected_widths(correlation)))


if __name__ == "__main__":
    main()
