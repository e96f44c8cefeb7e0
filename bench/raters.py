"""How far intervals of raters' severity and consistency can be trusted: ``python -m bench.raters [--sets N]``.

In every simulated study, 120 units are rated by 4 of 10 raters each on 5 points, by the many-facet Rasch model with a
slope per rater. Prints for each rater the truth, the mean estimate, and how many 95% intervals hold the truth.
"""

from __future__ import annotations

import argparse

import numpy as np

from analysis.agreement import Ratings, ratings_from_arrays
from analysis.raters import severities

UNITS, RATERS, PER_UNIT, SPREAD = 120, 10, 4, 1.3
SEVERITY = np.linspace(-1.2, 1.2, RATERS)
THRESHOLDS = np.array([-1.5, -0.5, 0.4, 1.6])


def one_study(consistency: np.ndarray[tuple[int], np.dtype[np.float64]], random: np.random.Generator) -> Ratings:
    rows = []
    for unit, quality in enumerate(random.normal(0, SPREAD, UNITS)):
        for rater in random.choice(RATERS, PER_UNIT, replace=False):
            steps = consistency[rater] * (quality - SEVERITY[rater] - THRESHOLDS)
            odds = np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
            rows.append((unit, int(rater), float(random.choice(len(odds), p=odds / odds.sum()))))
    return ratings_from_arrays(*(np.array(column) for column in zip(*rows, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    consistency = random.permutation(np.exp(np.linspace(-0.5, 0.5, RATERS)))
    consistency /= np.exp(np.log(consistency).mean())
    truths = {"severity": SEVERITY, "consistency": consistency}
    held = {name: np.zeros(RATERS) for name in truths}
    sums = {name: np.zeros(RATERS) for name in truths}
    for _ in range(options.sets):
        raters = severities(one_study(consistency, random)).raters
        for name, truth in truths.items():
            estimates = [getattr(raters[rater], name) for rater in range(RATERS)]
            held[name] += [
                estimate.low <= true <= estimate.high for estimate, true in zip(estimates, truth, strict=True)
            ]
            sums[name] += [estimate.value for estimate in estimates]
    for name, truth in truths.items():
        print(f"\n{name:<12}{'truth':>8}{'mean':>8}{'held':>8}")
        for rater in range(RATERS):
            mean, share = sums[name][rater] / options.sets, held[name][rater] / options.sets
            print(f"rater {rater:<6}{truth[rater]:>8.2f}{mean:>8.2f}{share:>8.1%}")
        print(f"all{held[name].mean() / options.sets:>33.1%}")


if __name__ == "__main__":
    main()
