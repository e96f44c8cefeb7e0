"""How far averaged ratings can be trusted: split-half reliability and the noise ceiling.

Both treat the ratings of a unit as exchangeable, as they are in a crowd: which worker gave which rating plays no part.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import numpy.typing as npt

from analysis.agreement.data import Data, FloatArray, IntArray, Ratings, as_ratings
from analysis.agreement.resample import (
    CHUNK_CELLS,
    check_pairable,
    multiplicities,
    percentile_interval,
    ratio,
    unit_note,
)
from analysis.estimate import Estimate

#: Draws × splits × units that a bootstrap of split halves goes through, some seconds' work.
MOST_WORK = 1_000_000_000


def spearman_brown(correlation: float, factor: float = 2.0) -> float:
    """Reliability of a mean of ``factor`` times as many ratings: f·r / (1 + (f − 1)·r).

    ``correlation`` in [−1, 1]; NaN stays NaN, and where the denominator is not positive the result is NaN.
    ValueError: factor not positive. Source: Spearman 1910; Brown 1910.
    """
    if factor <= 0:
        raise ValueError("the factor of a lengthening must be positive")
    rest = 1 + (factor - 1) * correlation
    return factor * correlation / rest if rest > 0 else math.nan


def split_half(
    data: Data, *, splits: int = 100, draws: int = 1000, seed: int = 0, confidence: float = 0.95
) -> Estimate:
    """Split-half reliability of the mean rating, stepped up by Spearman–Brown, averaged over random splits.

    data: units × raters matrix (NaN missing) or `Ratings`, of numbers. In each split the ratings of every unit are cut
    at random into halves (of an odd number one is left out of that split, so that halves are equal), Pearson's r of
    the half means over units is taken and stepped up to full length. Range: up to 1. n counts units with two ratings
    or more. Interval: percentile bootstrap over units, each draw averaged over the same splits; of very many units over
    the first of them only (``MOST_WORK``, never fewer than ten), and shifted to be centred where all splits are.

    NaN with a note where half means do not vary. ValueError: text values, one rater, no unit with two ratings, fewer
    than three units with two. Source: Spearman 1910; Brown 1910; random splits as in Parsons, Kruijt & Fox 2019.
    """
    ratings = as_ratings(data)
    check_pairable(ratings.counts(), ratings)
    if splits < 1:
        raise ValueError("at least one split is needed")
    sizes = ratings.per_unit
    units = int((sizes >= 2).sum())
    if units < 3:
        raise ValueError("split-half reliability needs at least three units with two ratings")
    rng = np.random.default_rng(seed)
    halves = _half_means(ratings, splits, rng)
    steps = _stepped_up(*halves, np.ones((1, units)))
    value = float(np.nanmean(steps)) if not np.isnan(steps).all() else math.nan
    figures = np.empty(0)
    if draws and not math.isnan(value):
        few = min(splits, max(10, MOST_WORK // (draws * units)))
        chunks = multiplicities(np.ones(units), draws, rng, splits, cells=4 * CHUNK_CELLS)
        first, second = halves[0][:few], halves[1][:few]
        figures = np.concatenate([_mean_defined(_stepped_up(first, second, weights)) for weights in chunks])
        figures += value - float(_mean_defined(steps[:, :few])[0])
    low, high, lost = percentile_interval(figures, confidence)
    flat = "half means do not vary over units" if math.isnan(value) else ""
    note = "; ".join(filter(None, [flat, unit_note(sizes.astype(np.float64)), lost]))
    method = f"percentile bootstrap over units, {draws} draws, {splits} splits, seed {seed}"
    return Estimate(value, low, high, units, level=confidence, method=method if draws else "no interval", note=note)


def noise_ceiling(
    data: Data, *, k: float | None = None, draws: int = 1000, seed: int = 0, confidence: float = 0.95
) -> Estimate:
    """The highest correlation a perfect metric can reach with mean ratings: sqrt(1 − E[s²]/k / Var(mean)).

    data: units × raters matrix (NaN missing) or `Ratings`, of numbers, from which the s² (n − 1 in the denominator)
    and means of units are taken. ``k`` ratings per mean; by default each unit's own number, E[s²/k] in the formula.
    Another ``k`` tells the ceiling of a design with k ratings per unit: the variance of the error in the means is
    exchanged for that of k ratings.

    Range 0 to 1. n counts units with two ratings or more. Interval: percentile bootstrap over units, a draw whose error
    is at least as large as the variance of means counting as 0. NaN with a note where that is so of the data itself.
    ValueError: text values, one rater, no or only one unit with two ratings, k not positive. Source: square root of the
    reliability of a mean (Lord & Novick 1968).
    """
    ratings = as_ratings(data)
    check_pairable(ratings.counts(), ratings)
    mean, variance, sizes = unit_moments(ratings)
    return ceiling_of_means(
        mean,
        variance,
        sizes,
        k=k,
        draws=draws,
        seed=seed,
        confidence=confidence,
        note=unit_note(ratings.per_unit.astype(np.float64)),
    )


def ceiling_of_means(
    means: npt.ArrayLike,
    variances: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    k: float | None = None,
    draws: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    note: str = "",
) -> Estimate:
    """`noise_ceiling` where only each unit's mean, variance s² (n − 1) and number of ratings were kept: (U,) each.

    ``sizes`` may be one number for all. Square a standard deviation before; times n/(n − 1) where n divided it.
    ValueError: shapes differ, fewer than two units, a NaN, a size below 2.
    """
    mean, variance = np.asarray(means, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    size = np.broadcast_to(np.asarray(sizes, dtype=np.float64), mean.shape)
    if mean.ndim != 1 or mean.shape != variance.shape or len(mean) < 2:
        raise ValueError("means and variances of at least two units are needed, one of each per unit")
    if np.isnan([mean, variance, size]).any() or (size < 2).any() or (variance < 0).any():
        raise ValueError("each unit needs a mean, a variance of 0 or more, and two ratings or more")
    if k is not None and k <= 0:
        raise ValueError("the number of ratings per mean must be positive")
    centred = mean - mean.mean()
    parts = np.stack([variance / size, variance, centred, centred**2], axis=1)
    value = float(_ceiling(np.ones((1, len(mean))), parts, k)[0])
    figures = np.empty(0)
    if math.isnan(value):
        note = "; ".join(filter(None, ["the error of means is as large as their variance", note]))
    elif draws:
        chunks = multiplicities(np.ones(len(mean)), draws, np.random.default_rng(seed))
        # A draw without a true variance has a ceiling of 0; left out, it would push the interval above the estimate.
        figures = np.nan_to_num(np.concatenate([_ceiling(weights, parts, k) for weights in chunks]), nan=0.0)
    low, high, lost = percentile_interval(figures, confidence)
    method = f"percentile bootstrap over units, {draws} draws, seed {seed}" if draws else "no interval"
    note = "; ".join(filter(None, [note, lost]))
    return Estimate(value, low, high, len(mean), level=confidence, method=method, note=note)


def unit_moments(ratings: Ratings) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, variance (n − 1) and number of ratings of each unit with two or more, in the order of units."""
    value = ratings.numbers()
    sizes = ratings.per_unit
    mean = np.bincount(ratings.unit, value, minlength=len(sizes)) / np.maximum(sizes, 1)
    squares = np.bincount(ratings.unit, (value - mean[ratings.unit]) ** 2, minlength=len(sizes))
    several = sizes >= 2
    return mean[several], squares[several] / (sizes[several] - 1), sizes[several].astype(np.float64)


def _ceiling(weights: FloatArray, parts: FloatArray, k: float | None) -> FloatArray:
    units = weights.sum(axis=1)
    error, spread, linear, square = (weights @ parts).T
    variance = (square - linear**2 / units) / (units - 1)
    true = variance - error / units
    if k is not None:
        variance = true + spread / units / k
    reliability = ratio(true, variance)
    return cast(FloatArray, np.sqrt(np.where(reliability > 0, np.minimum(reliability, 1), np.nan)))


def _half_means(ratings: Ratings, splits: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Half means (splits × units with two ratings) of random splits, centred; units of one size at a time."""
    sizes = ratings.per_unit
    value = ratings.numbers()
    value = (value - value.mean())[np.argsort(ratings.unit, kind="stable")]
    start = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    place: IntArray = np.cumsum(sizes >= 2) - 1
    means = np.empty((2, splits, int((sizes >= 2).sum())))
    for size in np.unique(sizes[sizes >= 2]):
        rows = np.nonzero(sizes == size)[0]
        matrix = value[start[rows][:, None] + np.arange(size)]
        half = int(size) // 2
        for split in range(splits):
            shuffled = rng.permuted(matrix, axis=1)
            means[0, split, place[rows]] = shuffled[:, :half].mean(axis=1)
            means[1, split, place[rows]] = shuffled[:, half : 2 * half].mean(axis=1)
    return means[0], means[1]


def _stepped_up(first: FloatArray, second: FloatArray, weights: FloatArray) -> FloatArray:
    """Pearson's r of the halves under weights (draws × units), stepped up: (draws × splits)."""
    n = weights.sum(axis=1)[:, None]
    a, b = weights @ first.T, weights @ second.T
    cov = weights @ (first * second).T - a * b / n
    square_a = weights @ (first**2).T - a**2 / n
    square_b = weights @ (second**2).T - b**2 / n
    floor = 1e-12 * n
    varies = (square_a > floor) & (square_b > floor)
    r = np.clip(cov / np.sqrt(np.where(varies, square_a * square_b, 1.0)), -1, 1)
    return ratio(2 * np.where(varies, r, np.nan), np.where(varies, 1 + r, np.nan))


def _mean_defined(figures: FloatArray) -> FloatArray:
    """Mean over splits of those defined; NaN where none is."""
    defined = ~np.isnan(figures)
    return ratio(np.where(defined, figures, 0).sum(axis=1), defined.sum(axis=1).astype(np.float64))
