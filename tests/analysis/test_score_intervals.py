"""How often the interval of an item covers the mean of all workers, on bounded scales with few raters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.description import Score
from analysis.scores import item_scores

#: Lowest and highest point and the step between points: five labels, absHDS, seven-point statements.
SCALES = {"five points": (1, 5, 1.0), "half steps": (1, 5, 0.5), "seven points": (1, 7, 1.0)}
MEANS, SPREADS = (0.5, 0.75, 0.95), (0.15, 0.25)
#: With 4,000 items, a share of 0.95 has a standard error of 0.0034.
ITEMS = 4_000


def drawn(
    scale: tuple[float, float, float], mean: float, spread: float, shape: tuple[int, ...], seed: int
) -> np.ndarray:
    """Ratings from a normal distribution, rounded to the scale's points and cut off at its ends."""
    low, high, step = scale
    free = np.random.default_rng(seed).normal(low + mean * (high - low), spread * (high - low), shape)
    return np.clip(low + np.round((free - low) / step) * step, low, high)


def covered(scale: tuple[float, float, float], workers: int) -> tuple[float, float, float]:
    """The lowest and highest share of intervals that cover, over all means and spreads, and how many items have one."""
    low, high, _ = scale
    shares, printed = [], []
    for at, (mean, spread) in enumerate((mean, spread) for mean in MEANS for spread in SPREADS):
        truth = drawn(scale, mean, spread, (400_000,), 100 + at).mean()
        values = drawn(scale, mean, spread, (ITEMS, workers), at)
        frame = pd.DataFrame({"item": np.repeat(np.arange(ITEMS), workers), "target": "", "value": values.ravel()})
        frame["worker"] = np.tile(np.arange(workers), ITEMS)
        found = item_scores(frame, Score("x", "x", low=low, high=high)).dropna(subset=["low"])
        assert ((found["low"] > low) & (found["high"] < high)).all()
        shares.append(float(((found["low"] <= truth) & (truth <= found["high"])).mean()))
        printed.append(len(found) / ITEMS)
    return min(shares), max(shares), min(printed)


#: In percent, the lowest and highest over means and spreads, as docs/statistics-diversity.md prints them.
COVERAGE = {
    "five points": {3: (99.1, 100.0), 5: (96.1, 99.5), 10: (95.0, 98.4)},
    "half steps": {3: (97.8, 99.7), 5: (96.2, 98.4), 10: (94.9, 97.5)},
    "seven points": {3: (99.0, 100.0), 5: (96.2, 98.8), 10: (95.5, 98.3)},
}


@pytest.mark.parametrize("workers", [3, 5, 10])
@pytest.mark.parametrize("name", SCALES)
def test_intervals_cover_the_mean_and_stay_on_the_scale(name: str, workers: int) -> None:
    least, most, printed = covered(SCALES[name], workers)
    assert (round(100 * least, 1), round(100 * most, 1)) == COVERAGE[name][workers]
    assert printed > 0.6
