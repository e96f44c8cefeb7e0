"""Means, shares, medians and spreads of answers, each with the interval of crossed designs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats, Ints
from analysis.inference.contrasts import Bounds
from analysis.inference.crossed import figures_from_influence, ratios
from analysis.inference.dimensions import Dimensions
from analysis.inference.left_out import LeftOut, interval_from_left_out

#: Of simulated studies of 10 to 100 items by 5 to 50 workers (docs/uncertainty.md).
SD_REMARK = "81 to 99% of such 95% intervals are right in simulations"


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
    """The standard deviation of all answers (n − 1). Its interval is from leaving out items, workers and answers, on
    the scale of logarithms (`left_out`).

    NaN for one answer. Otherwise as `mean_estimate`.
    """
    answers = np.asarray(values, dtype=float)
    if not len(answers):
        raise ValueError("there are no values")
    if len(answers) < 2:
        return Estimate(math.nan, n=1, n_of="answers", level=level, note="one answer has no spread")
    sd, codes = float(answers.std(ddof=1)), list(dimensions.codes.values())
    squares = (answers - answers.mean()) ** 2
    influence = (squares - squares.mean()) / (2 * sd * len(answers)) if sd else np.zeros(len(answers))
    estimate = figures_from_influence(sd, influence, dimensions, level=level).estimate(bounds=(0, math.inf))
    if math.isnan(estimate.low) or len(codes) > 2 or any(column.ndim > 1 for column in codes):
        return estimate
    centred = answers - answers.mean()
    first, *others = (sd_without(centred, column) for column in codes)
    cells = sd_without(centred, dimensions.cells) if others else None
    low, high = interval_from_left_out(
        sd, first, others[0] if others else None, cells, ends=(0.0, math.inf), level=level
    )
    clusters = " and ".join(
        f"{np.count_nonzero(np.bincount(column)):,} {name}" for name, column in dimensions.codes.items()
    )
    return replace(estimate, low=low, high=high, method=f"jackknife over {clusters}, log scale; {SD_REMARK}")


def sd_without(centred: Floats, clusters: Ints) -> LeftOut:
    """The standard deviation of centred answers (N,) without each cluster; NaN if one answer or none is left."""
    counts = np.bincount(clusters).astype(float)
    used = counts > 0
    rest = len(centred) - counts[used]
    linear = centred.sum() - np.bincount(clusters, centred)[used]
    square = (centred**2).sum() - np.bincount(clusters, centred**2)[used]
    variances = np.divide(
        square - linear**2 / np.maximum(rest, 1), rest - 1, out=np.full(len(rest), math.nan), where=rest > 1
    )
    return LeftOut(np.sqrt(np.maximum(variances, 0.0)), np.ones(len(rest)))


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
