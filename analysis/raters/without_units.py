"""Intervals of raters' figures from fits without each of some groups of units.

Source: Kott 2001, "The delete-a-group jackknife", J. Official Statistics 17.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from analysis.agreement.jackknife import interval_inside
from analysis.agreement.ratings import FloatArray, Ratings
from analysis.estimate import SEED, Estimate

#: Groups of units that are left out in turn.
GROUPS = 20
#: With fewer rated units, a rater's figure has no interval.
FEWEST_UNITS = 20


def shares_without_units(
    ratings: Ratings,
    fit: Callable[[Ratings], FloatArray],
    *,
    name: str,
    groups: int = GROUPS,
    seed: int = SEED,
    confidence: float = 0.95,
) -> list[Estimate]:
    """An estimate for each of the R raters. ``fit`` gives the shares (R,) from 0 to 1, NaN for a rater without ratings.

    ValueError: fewer than two groups, and what ``fit`` raises on all ratings.
    """
    if groups < 2:
        raise ValueError("a jackknife needs two groups or more")
    values = fit(ratings)
    rated = np.nonzero(ratings.per_unit)[0]
    count = min(groups, len(rated))
    group = np.full(len(ratings.units), -1)
    group[np.random.default_rng(seed).permutation(rated)] = np.arange(len(rated)) % count
    squared, fits = np.zeros(len(values)), np.zeros(len(values))
    for left_out in range(count):
        kept = group[ratings.unit] != left_out
        part = replace(ratings, unit=ratings.unit[kept], rater=ratings.rater[kept], code=ratings.code[kept])
        try:
            deviations = fit(part) - values
        except ValueError:
            continue
        squared += np.nan_to_num(deviations) ** 2
        fits += ~np.isnan(deviations)
    sizes = np.bincount(ratings.rater, minlength=len(values))
    estimates = []
    for value, variance, size, defined in zip(values, (count - 1) / count * squared, sizes, fits, strict=True):
        low, high, note = math.nan, math.nan, ""
        if size < FEWEST_UNITS:
            note = f"an interval needs at least {FEWEST_UNITS} ratings by a rater, and there are only {size}"
        elif defined < count:
            note = "some parts of the data leave it undefined"
        else:
            low, high = interval_inside(float(value), float(variance), count - 1, (0.0, 1.0), confidence)
            note = "at its limit: no interval" if math.isnan(low) else ""
        method = f"{name}; fits without each of {count} groups of units"
        estimates.append(Estimate(float(value), low, high, int(size), "ratings", confidence, method, note))
    return estimates
