"""How much to trust averaged ratings: split-half reliability and the noise ceiling.

Both treat the ratings of a unit as exchangeable, as in a crowd: who gave which rating does not matter. The order of
units and raters does not matter either: the same ratings and seed give the same numbers, however a file is sorted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from analysis.agreement.count_tables import CHUNK_CELLS, check_pairable, ratio, unit_note
from analysis.agreement.mean_ratings import mean_rating
from analysis.agreement.ratings import Data, FloatArray, IntArray, Ratings, as_ratings, in_order_of
from analysis.distributions import t_quantile
from analysis.estimate import DRAWS, NO_WIDTH, SEED, Estimate

#: The most ratings to shuffle over all splits together, which takes a few seconds. There are never fewer splits than
#: FEWEST_SPLITS.
MOST_WORK = 50_000_000
FEWEST_SPLITS = 10
#: NumPy adds up rows of so many numbers from the first to the last, and parts of longer ones first.
MOST_COLUMNS = 7


def spearman_brown(correlation: float, factor: float = 2.0) -> float:
    """Reliability of a mean of ``factor`` times as many ratings: f·r / (1 + (f − 1)·r).

    ``correlation`` in [−1, 1]; NaN stays NaN, and the result is NaN if the denominator is not positive. ValueError:
    factor not positive. Source: Spearman 1910; Brown 1910.
    """
    if factor <= 0:
        raise ValueError("the factor of a lengthening must be positive")
    denominator = 1 + (factor - 1) * correlation
    return factor * correlation / denominator if denominator > 0 else math.nan


def split_half(
    data: Data,
    *,
    splits: int = 100,
    seed: int = SEED,
    confidence: float = 0.95,
    centre: float | None = None,
    crossed: bool = False,
) -> Estimate:
    """Split-half reliability of the mean rating over random splits, stepped up to full length by Spearman–Brown.

    data: units × raters matrix (NaN missing) or `Ratings`, of numbers. Each split shuffles the ratings of every unit
    and cuts them into two halves of h = ⌊n/2⌋ ratings; if n is odd, one rating is left out of that split. Pearson's r
    of the half means over units is averaged over splits, then stepped up by f = mean(1/h) / mean(1/n) over units, the
    factor from the actual halves to the full means: 2 for even numbers, 3 for three ratings, 2.5 for five. Range: up to
    1. n counts units with two or more ratings. A very large number of ratings gets fewer splits (``MOST_WORK``).

    Interval: jackknife over units with Student's t, on the scale log(1 − reliability). In simulations with 12 to 100
    units and 2 to 10 ratings, normal or on five points, it covered 92–98% (docs/statistics.md).

    NaN with a note if half means do not vary. ValueError: text values, one rater, no unit with two ratings, fewer than
    three units with two. Source: Spearman 1910; Brown 1910; random splits as in Parsons, Kruijt & Fox 2019; jackknife:
    Efron & Tibshirani 1993, ch. 11.
    """
    ratings = as_ratings(data)
    check_pairable(ratings.counts(), ratings)
    if splits < 1:
        raise ValueError("at least one split is needed")
    tables = _by_size(ratings, centre)
    units = sum(map(len, tables))
    if units < 3:
        raise ValueError("split-half reliability needs at least three units with two ratings")
    sizes = np.concatenate([np.full(len(table), table.shape[1]) for table in tables]).astype(np.float64)
    splits = min(splits, max(FEWEST_SPLITS, MOST_WORK // int(sizes.sum())))
    correlation, without = _split_correlations(
        tables, splits, seed, both_orders=centre is not None, jackknife=not crossed
    )
    halves, full = 1 / (sizes // 2), 1 / sizes
    value = spearman_brown(correlation, float(halves.mean() / full.mean()))
    if crossed:
        both = mean_rating(ratings, centre, confidence)
        low, high, interval_note = both.low, both.high, both.note
        method = "; ".join(filter(None, [f"{splits} splits, seed {seed}", both.method]))
    else:
        low, high, interval_note = _jackknife_t(
            _log_error(np.array([correlation]), halves.mean() / full.mean())[0],
            _log_error(without, (halves.sum() - halves) / (full.sum() - full)),
            confidence,
        )
        method = f"jackknife over units, {splits} splits, seed {seed}"
    first_note = "half means do not vary over units" if math.isnan(value) else interval_note
    note = "; ".join(filter(None, [first_note, unit_note(ratings.per_unit.astype(np.float64))]))
    return Estimate(value, low, high, units, level=confidence, method=method, note=note)


def noise_ceiling(
    data: Data,
    *,
    k: float | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    confidence: float = 0.95,
    centre: float | None = None,
    crossed: bool = False,
) -> Estimate:
    """The highest correlation a perfect metric can reach with mean ratings: sqrt(1 − E[s²]/k / Var(mean)).

    data: units × raters matrix (NaN missing) or `Ratings`, of numbers, which give the s² (n − 1 in the denominator) and
    mean of each unit. ``k`` is the number of ratings per mean; by default each unit's own number, E[s²/k] in the
    formula. Another ``k`` gives the ceiling of a design with k ratings per unit: it replaces the variance of the error
    in the means with that of k ratings. ``centre`` as in `split_half`: the means vary about it. ``crossed``,
    without another ``k``: the interval is about new units and new raters (`mean_ratings`).

    Range 0 to 1. n counts units with two or more ratings. Interval: percentile bootstrap over units; a draw whose error
    is at least as large as the variance of means counts as 0. NaN with a note if this is true of the data itself.
    ValueError: text values, one rater, fewer than two units with two ratings, k not positive. Source: square root of
    the reliability of a mean (Lord & Novick 1968).
    """
    ratings = as_ratings(data)
    check_pairable(ratings.counts(), ratings)
    mean, variance, sizes = unit_moments(ratings, centre)
    crossed = crossed and k is None
    estimate = ceiling_of_means(
        mean,
        variance,
        sizes,
        k=k,
        draws=0 if crossed else draws,
        seed=seed,
        confidence=confidence,
        note=unit_note(ratings.per_unit.astype(np.float64)),
        centre=None if centre is None else 0.0,
    )
    if not crossed or math.isnan(estimate.value):
        return estimate
    both = mean_rating(ratings, centre, confidence)
    low, high = (math.sqrt(max(end, 0.0)) for end in (both.low, both.high))  # NaN stays NaN
    return replace(estimate, low=low, high=high, method=both.method, note=both.note)


def ceiling_of_means(
    means: npt.ArrayLike,
    variances: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    k: float | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    confidence: float = 0.95,
    note: str = "",
    centre: float | None = None,
) -> Estimate:
    """`noise_ceiling` for data that has only each unit's mean, variance s² (n − 1) and number of ratings: (U,) each.

    ``sizes`` may be one number for all units. Square a standard deviation first, and multiply by n/(n − 1) if its
    denominator was n. ValueError: shapes differ, fewer than two units, a NaN, a size below 2.
    """
    mean, variance = np.asarray(means, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    size = np.broadcast_to(np.asarray(sizes, dtype=np.float64), mean.shape)
    if mean.ndim != 1 or mean.shape != variance.shape or len(mean) < 2:
        raise ValueError("means and variances of at least two units are needed, one of each per unit")
    if np.isnan([mean, variance, size]).any() or (size < 2).any() or (variance < 0).any():
        raise ValueError("each unit needs a mean, a variance of 0 or more, and two ratings or more")
    if k is not None and k <= 0:
        raise ValueError("the number of ratings per mean must be positive")
    free = -1 if centre is None else 0
    centred = mean - (mean.mean() if centre is None else centre)
    linear = centred if centre is None else np.zeros(len(mean))
    parts = np.stack([variance / size, variance, linear, centred**2], axis=1)
    value = float(_ceiling(np.ones((1, len(mean))), parts, k, free)[0])
    low, high = math.nan, math.nan
    if math.isnan(value):
        note = "; ".join(filter(None, ["the error of means is as large as their variance", note]))
    elif draws:
        chunks = _resamples(len(mean), draws, np.random.default_rng(seed))
        # A draw without a true variance has a ceiling of 0; left out, it would push the interval above the estimate.
        ceilings = np.nan_to_num(np.concatenate([_ceiling(weights, parts, k, free) for weights in chunks]), nan=0.0)
        low, high = np.quantile(ceilings, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
        if math.isclose(low, high, rel_tol=0, abs_tol=1e-12):
            low, high, note = math.nan, math.nan, "; ".join(filter(None, [note, NO_WIDTH]))
    method = f"percentile bootstrap over units, {draws} draws, seed {seed}" if draws else "no interval"
    return Estimate(value, low, high, len(mean), level=confidence, method=method, note=note)


def _resamples(units: int, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """How often each unit enters each of ``draws`` resamples, in chunks (b × U) of limited memory."""
    chunk = max(1, CHUNK_CELLS // units)
    for start in range(0, draws, chunk):
        weights = np.empty((min(chunk, draws - start), units))
        for row in weights:
            row[:] = np.bincount(rng.integers(0, units, units), minlength=units)
        yield weights


def unit_moments(ratings: Ratings, centre: float | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, variance (n − 1) and number of ratings of each unit with two or more, in an order that the input's order
    does not change.

    Means are of the ratings minus the overall mean, or minus the ``centre`` and of units turned around so that it does
    not matter which way they came.
    """
    tables = _by_size(ratings, centre)
    if not tables:
        return np.empty(0), np.empty(0), np.empty(0)
    mean = np.concatenate([table.mean(axis=1) for table in tables])
    variance = np.concatenate([table.var(axis=1, ddof=1) for table in tables])
    return mean, variance, np.concatenate([np.full(len(table), float(table.shape[1])) for table in tables])


def _ceiling(weights: FloatArray, parts: FloatArray, k: float | None, free: int) -> FloatArray:
    """Of D draws (D × U). The degrees of freedom between units are their number plus ``free``: −1, or 0 if their mean
    is known."""
    units = weights.sum(axis=1)
    error, spread, linear, square = (weights @ parts).T
    variance = (square - linear**2 / units) / (units + free)
    true = variance - error / units
    if k is not None:
        variance = true + spread / units / k
    reliability = ratio(true, variance)
    return cast(FloatArray, np.sqrt(np.where(reliability > 0, np.minimum(reliability, 1), np.nan)))


@lru_cache(maxsize=1)  # split-half reliability and the ceiling of the same ratings follow each other
def _by_size(ratings: Ratings, centre: float | None) -> list[FloatArray]:
    """Centred ratings of units with two or more: one matrix (units × n) for each number n, in a fixed order.

    With a ``centre``, units are turned around it where that makes their smallest rating larger (or the next, if equal).
    """
    sizes = ratings.per_unit
    value = ratings.numbers()
    value = (value - (np.sort(value).mean() if centre is None else centre))[in_order_of(ratings.unit)]
    start = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    tables = []
    for size in np.unique(sizes[sizes >= 2]):
        rows = np.nonzero(sizes == size)[0]
        table = np.sort(value[start[rows][:, None] + np.arange(size)], axis=1)
        if centre is not None:
            turned = -table[:, ::-1]
            first = (turned != table).argmax(axis=1)[:, None]
            larger = np.take_along_axis(turned, first, axis=1) > np.take_along_axis(table, first, axis=1)
            table = np.where(larger, turned, table)
        tables.append(table[np.lexsort(table.T[::-1])])
    return tables


def _split_correlations(
    tables: list[FloatArray], splits: int, seed: int, *, both_orders: bool, jackknife: bool
) -> tuple[float, FloatArray]:
    """Pearson's r of the means of random halves, averaged over splits: for all units, and without each (units,), which
    is empty without ``jackknife``.

    A split in which either half does not vary has no r and is left out. With ``both_orders`` r is about 0, the mean of
    every unit and its mirror image.
    """
    correlations: list[float] = []
    total, defined = np.zeros(1), np.zeros(1)
    starts = [np.arange(len(table)) * table.shape[1] for table in tables]
    for orders in _shuffles(tuple(table.shape for table in tables), splits, seed):
        first, second = [], []
        for table, start, order in zip(tables, starts, orders, strict=True):
            numbers, half = table.ravel(), table.shape[1] // 2
            first.append(_means([numbers[start + of_column] for of_column in order[:half]]))
            second.append(_means([numbers[start + of_column] for of_column in order[half : 2 * half]]))
        a, b = np.concatenate(first), np.concatenate(second)
        n = len(a)
        a, b = (a, b) if both_orders else (a - a.mean(), b - b.mean())
        ab, aa, bb = a * b, a * a, b * b
        sums = ab.sum(), aa.sum(), bb.sum()
        zero = np.zeros(1)
        correlations.append(float(_pearson(n, zero, zero, *(np.array([of_all]) for of_all in sums))[0]))
        if jackknife:
            linear = (zero, zero) if both_orders else (-a, -b)
            without = _pearson(
                n - 1.0, *linear, *(of_all - part for of_all, part in zip(sums, (ab, aa, bb), strict=True))
            )
            total, defined = total + np.nan_to_num(without), defined + ~np.isnan(without)
    correlations = [r for r in correlations if not math.isnan(r)]
    without_each = ratio(total, defined) if jackknife else np.zeros(0)
    return float(np.mean(correlations)) if correlations else math.nan, without_each


@lru_cache(maxsize=1)  # the questions of a study mostly have the same units, raters and seed
def _shuffles(shapes: tuple[tuple[int, int], ...], splits: int, seed: int) -> list[list[IntArray]]:
    """For each split and table (units × n) a random order of the ratings of each unit, as places (n × units)."""
    rng = np.random.default_rng(seed)
    places = [np.tile(np.arange(n, dtype=np.min_scalar_type(n)), (units, 1)) for units, n in shapes]
    return [[np.ascontiguousarray(rng.permuted(of_table, axis=1).T) for of_table in places] for _ in range(splits)]


def _means(columns: list[FloatArray]) -> FloatArray:
    """The mean of each row, from its columns (R,) each: added up in the order of NumPy's mean of short rows, which
    takes many times as long."""
    if len(columns) > MOST_COLUMNS:
        return np.asarray(np.stack(columns, axis=1).mean(axis=1))
    return np.asarray(sum(columns[1:], columns[0]) / len(columns))


def _pearson(n: float, a: FloatArray, b: FloatArray, ab: FloatArray, aa: FloatArray, bb: FloatArray) -> FloatArray:
    """r from n, Σa, Σb, Σab, Σa², Σb²; NaN if either does not vary."""
    square_a, square_b = aa - a**2 / n, bb - b**2 / n
    varies = (square_a > 1e-12 * n) & (square_b > 1e-12 * n)
    r = (ab - a * b / n) / np.sqrt(np.where(varies, square_a * square_b, 1.0))
    return np.where(varies, np.clip(r, -1, 1), np.nan)


def _log_error(r: FloatArray, factor: FloatArray | float) -> FloatArray:
    """log(1 − reliability) of correlations stepped up by ``factor``; −∞ for full agreement, NaN if undefined."""
    denominator = 1 + (np.asarray(factor) - 1) * r
    error_share = ratio(1 - r, np.where(np.isnan(r), 0.0, denominator))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(error_share, 0)))


def _jackknife_t(value: float, without: FloatArray, confidence: float) -> tuple[float, float, str]:
    """The interval of the reliability from log(1 − reliability) of all units and without each of them, and a note."""
    if math.isnan(value):
        return math.nan, math.nan, ""
    if math.isinf(value):
        return math.nan, math.nan, NO_WIDTH
    n = len(without)
    if not np.isfinite(without).all():
        return math.nan, math.nan, "no interval: without one of the units the figure is not defined"
    error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
    half = float(t_quantile((1 + confidence) / 2, n - 1)) * error
    return 1 - math.exp(min(value + half, 700.0)), 1 - math.exp(value - half), "" if half > 1e-12 else NO_WIDTH
