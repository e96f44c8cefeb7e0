"""Means, shares, medians and spreads of answers, each with the interval of crossed designs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from analysis.estimate import Estimate
from analysis.inference.contrasts import Bounds
from analysis.inference.crossed import figures_from_influence, ratios
from analysis.inference.dimensions import Dimensions

#: Of simulated studies of 10 to 100 items by 5 to 50 workers (docs/uncertainty.md).
SD_REMARK = "84 to 97% of such 95% intervals are right in simulations"


def mean_estimate(
    values: ArrayLike, dimensions: Dimensions, *, bounds: Bounds | None = None, level: float = 0.95
) -> Estimate:
    """The mean of all answers (N,), such as a share of answers that are 1; ``bounds`` are the ends of their scale.

    ValueError: no answers, a NaN, or dimensions of another length.
    """
    answers = np.asarray(values, dtype=float)
    if not len(answers):
        raise ValueError("there are no values")
    return ratios(answers, np.ones(len(answers)), dimensions, level=level).estimate(bounds=bounds)


def sd_estimate(values: ArrayLike, dimensions: Dimensions, *, level: float = 0.95) -> Estimate:
    """The standard deviation of all answers (n − 1), linearised: s² moves by ((y − ȳ)² − s²)/n with an answer y.

    NaN for one answer. Otherwise as `mean_estimate`.
    """
    answers = np.asarray(values, dtype=float)
    if not len(answers):
        raise ValueError("there are no values")
    if len(answers) < 2:
        return Estimate(math.nan, n=1, n_of="answers", level=level, note="one answer has no spread")
    squares, sd = (answers - answers.mean()) ** 2, float(answers.std(ddof=1))
    influence = (squares - squares.mean()) / (2 * sd * len(answers)) if sd else np.zeros(len(answers))
    estimate = figures_from_influence(sd, influence, dimensions, level=level).estimate(bounds=(0, math.inf))
    clusters = estimate.method.partition(";")[0]
    # What few workers or items differ in is skewed, and its influence on their own mean is left out.
    return replace(estimate, method=clusters and f"{clusters}; {SD_REMARK}")


def median_estimate(values: ArrayLike, dimensions: Dimensions, *, level: float = 0.95) -> Estimate:
    """The median of all answers. Its interval is that of the share of answers up to the median, turned into values
    (Woodruff 1952). Otherwise as `mean_estimate`.
    """
    answers = np.asarray(values, dtype=float)
    if not len(answers):
        raise ValueError("there are no values")
    middle = float(np.median(answers))
    below = (answers < middle) + (answers == middle) / 2
    share = mean_estimate(below, dimensions, bounds=(0, 1), level=level)
    if math.isnan(share.low):
        return replace(share, value=middle)
    low, high = np.quantile(answers, [share.low, share.high])
    return replace(share, value=middle, low=float(min(low, middle)), high=float(max(high, middle)))
