"""How often plain and expanded percentile intervals over few workers hold the truth, from the same resamples.

Each study has G workers with five answers each. The figures are those of the report: the mean of a symmetric and of a
skewed quantity, a share of right answers (a half, and nine of ten), and the difference of two arms' means. Student's t
on the workers' own means is beside them.

    python -m bench.intervals [--studies 2000] [--draws 1000] [--seed 1] [--workers 5 10 20 40 130]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.diversity.resampling import bootstrap_weights, expanded_level_of, quantile_interval

Floats = npt.NDArray[np.float64]
ANSWERS = 5
#: What a worker's own share of right answers varies like: the beta distribution's two parameters together.
SPREAD = 20.0
LEVEL = 0.95
METHODS = ("plain", "expanded", "Student's t")


def normal(rng: np.random.Generator, workers: int) -> Floats:
    return np.asarray(rng.normal(size=workers) + rng.normal(size=(ANSWERS, workers)).mean(axis=0))


def skewed(rng: np.random.Generator, workers: int) -> Floats:
    return np.asarray(rng.exponential(size=workers) + rng.exponential(size=(ANSWERS, workers)).mean(axis=0))


def share(mean: float) -> Callable[[np.random.Generator, int], Floats]:
    def drawn(rng: np.random.Generator, workers: int) -> Floats:
        ability = rng.beta(mean * SPREAD, (1 - mean) * SPREAD, workers)
        return np.asarray(rng.binomial(ANSWERS, ability) / ANSWERS)

    return drawn


#: How workers' means are drawn, and the true mean.
FIGURES: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "mean": (normal, 0.0),
    "mean, skewed": (skewed, 2.0),
    "share, 0.5": (share(0.5), 0.5),
    "share, 0.9": (share(0.9), 0.9),
}


def one_sample(values: Floats, draws: int, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    n = len(values)
    resampled = bootstrap_weights(n, n, draws, rng) @ values / n
    plain = quantile_interval(resampled, LEVEL)[:2]
    expanded = quantile_interval(resampled, LEVEL, units=n)[:2]
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n)
    return dict(zip(METHODS, (plain, expanded, (values.mean() - half, values.mean() + half)), strict=True))


def two_samples(first: Floats, second: Floats, draws: int, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    resampled = [bootstrap_weights(len(each), len(each), draws, rng) @ each / len(each) for each in (first, second)]
    apart = resampled[0] - resampled[1]
    level = expanded_level_of(LEVEL, [(resampled[0], len(first)), (resampled[1], len(second))])
    bounds = stats.ttest_ind(first, second, equal_var=False).confidence_interval(LEVEL)
    found = (quantile_interval(apart, LEVEL)[:2], quantile_interval(apart, level)[:2], (bounds.low, bounds.high))
    return dict(zip(METHODS, found, strict=True))


def coverage(workers: int, studies: int, draws: int, seed: int) -> dict[str, Counter[str]]:
    """By figure and method: how many of ``studies`` intervals hold the truth."""
    rng = np.random.default_rng([seed, workers])
    held: dict[str, Counter[str]] = {name: Counter() for name in (*FIGURES, "difference")}
    for _ in range(studies):
        for name, (drawn, truth) in FIGURES.items():
            for method, (low, high) in one_sample(drawn(rng, workers), draws, rng).items():
                held[name][method] += low <= truth <= high
        other = 0.5 * normal(rng, max(2, workers // 2))
        for method, (low, high) in two_samples(normal(rng, workers), other, draws, rng).items():
            held["difference"][method] += low <= 0 <= high
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[5, 10, 20, 40, 130])
    args = parser.parse_args()
    began = time.perf_counter()
    print(f"{'workers':>7}  {'figure':<14}" + "".join(f"{method:>13}" for method in METHODS))
    for workers in args.workers:
        for name, counts in coverage(workers, args.studies, args.draws, args.seed).items():
            shares = "".join(f"{100 * counts[method] / args.studies:>12.1f}%" for method in METHODS)
            print(f"{workers:>7}  {name:<14}{shares}", flush=True)
    print(f"{args.studies} studies of each size, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
