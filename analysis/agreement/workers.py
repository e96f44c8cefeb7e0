"""One row per worker: agreement with the rest, bias, time, straight-lining. A reason to look closer, not a verdict.

Every comparison is leave-one-out: a worker's rating against the *other* ratings of the same unit.
"""

from __future__ import annotations

import math
from typing import Literal, cast

import numpy as np
import pandas as pd

from analysis.agreement.count_tables import ratio
from analysis.agreement.jackknife import distinct
from analysis.agreement.ratings import FloatArray, IntArray, Ratings, in_order_of, ratings_from_frame
from analysis.distributions import normal_quantile, t_quantile

Scale = Literal["nominal", "numeric"]


def worker_diagnostics(
    frame: pd.DataFrame,
    *,
    unit: str = "unit",
    rater: str = "rater",
    value: str = "value",
    seconds: str | None = None,
    scale: Scale = "numeric",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Diagnostics per worker, from a long frame with one row per rating, in the order in which workers gave them.

    ``unit``, ``rater``, ``value`` (and ``seconds``, the time spent) name the columns. Rows without a value are left
    out. The index is the worker; columns:

    - ``ratings``; ``compared``, how many of them are of units that others rated too: the n of the next columns.
    - ``agreement``, ``agreement_low``, ``agreement_high``. Nominal: the mean share of the other ratings of a unit equal
      to the worker's, in [0, 1], normal interval over the worker's units. Numeric: Pearson's r of the worker's ratings
      with the means of the others', in [−1, 1], Fisher's z interval; NaN below three units (four for the interval) or
      where either does not vary.
    - ``bias``, ``bias_low``, ``bias_high`` (numeric only): mean of rating − mean of the others, in scale points;
      Student's t interval over the worker's units.
    - ``seconds_median`` (with ``seconds``): median over rows with a time.
    - ``top_share``: share of the worker's most frequent value; ``longest_run``: most equal ratings in a row;
      ``distinct``: how many values were used. One value throughout (``distinct`` 1) is straight-lining.

    An interval that needs two units is NaN with fewer. Workers who rate the same units make rows dependent, so do not
    test rows against each other. ValueError: repeated (unit, rater), text values with numeric scale, no ratings;
    KeyError: a column is missing.

    Source: item-rest correlation (Nunnally & Bernstein 1994, ch. 8); long strings (Johnson 2005; Meade & Craig 2012).
    """
    if scale not in ("nominal", "numeric"):
        raise ValueError(f'the scale is "nominal" or "numeric", not "{scale}"')
    ratings = ratings_from_frame(frame, unit=unit, rater=rater, value=value)
    if not len(ratings.code):
        raise ValueError("there are no ratings: every value is missing")
    z = float(normal_quantile((1 + confidence) / 2))
    columns: dict[str, FloatArray | IntArray] = {"ratings": _per_rater(ratings)}
    if scale == "nominal":
        columns |= _nominal_agreement(ratings, z)
    else:
        columns |= _numeric_agreement(ratings, z, confidence)
    if seconds is not None:
        if seconds not in frame.columns:
            raise KeyError(f'no column "{seconds}"; the columns are {", ".join(map(str, frame.columns))}')
        median = frame[frame[value].notna()].groupby(rater)[seconds].median()
        columns["seconds_median"] = median.reindex(ratings.raters).to_numpy(dtype=np.float64)
    columns |= _straight_lining(ratings)
    return pd.DataFrame(columns, index=pd.Index(ratings.raters, name=rater))


def _per_rater(ratings: Ratings, weights: FloatArray | None = None) -> FloatArray | IntArray:
    return cast("FloatArray | IntArray", np.bincount(ratings.rater, weights=weights, minlength=len(ratings.raters)))


def _mean_and_error(ratings: Ratings, figure: FloatArray, compared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Per worker, over the ratings with ``compared`` 1: the mean and its standard error (NaN below 2)."""
    n = np.asarray(_per_rater(ratings, compared), dtype=np.float64)
    mean = ratio(np.asarray(_per_rater(ratings, figure * compared)), n)
    deviations = np.where(compared > 0, figure - np.nan_to_num(mean)[ratings.rater], 0.0)
    variance = ratio(np.asarray(_per_rater(ratings, deviations**2)), n - 1)
    return mean, np.sqrt(ratio(variance, n))


def _nominal_agreement(ratings: Ratings, z: float) -> dict[str, FloatArray | IntArray]:
    counts = ratings.counts()
    other_counts = ratings.per_unit[ratings.unit] - 1
    same = np.asarray(counts.table[ratings.unit, ratings.code]).ravel() - 1
    compared = (other_counts > 0).astype(np.float64)
    mean, error = _mean_and_error(ratings, same / np.maximum(other_counts, 1), compared)
    return {
        "compared": np.asarray(_per_rater(ratings, compared)).astype(np.int64),
        "agreement": mean,
        "agreement_low": np.maximum(mean - z * error, 0),
        "agreement_high": np.minimum(mean + z * error, 1),
    }


def _numeric_agreement(ratings: Ratings, z: float, confidence: float) -> dict[str, FloatArray | IntArray]:
    """Pearson's r with the others' means, NaN below 3 ratings or without variance, and the bias."""
    value = ratings.numbers()
    value = value - value.mean()
    total = np.bincount(ratings.unit, value, minlength=len(ratings.units))
    other_counts = ratings.per_unit[ratings.unit] - 1
    compared = (other_counts > 0).astype(np.float64)
    mean_of_others = (total[ratings.unit] - value) / np.maximum(other_counts, 1)
    n = np.asarray(_per_rater(ratings, compared), dtype=np.float64)
    centred = []
    for figure in (value, mean_of_others):
        mean = np.nan_to_num(ratio(np.asarray(_per_rater(ratings, figure * compared)), n))
        centred.append((figure - mean[ratings.rater]) * compared)
    cross, square_a, square_b = (
        np.asarray(_per_rater(ratings, a * b), dtype=np.float64)
        for a, b in (centred, (centred[0], centred[0]), (centred[1], centred[1]))
    )
    scale = max(1.0, float(np.abs(value).max())) ** 2
    varies = (n >= 3) & (square_a > 1e-12 * scale * n) & (square_b > 1e-12 * scale * n)
    r = np.clip(ratio(cross, np.where(varies, np.sqrt(square_a * square_b), math.nan)), -1, 1)
    width = z / np.sqrt(np.where(n > 3, n - 3, np.nan))
    fisher = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15))
    bias, error = _mean_and_error(ratings, value - mean_of_others, compared)
    half = t_quantile((1 + confidence) / 2, np.maximum(n - 1, 1)) * error
    return {
        "compared": n.astype(np.int64),
        "agreement": r,
        "agreement_low": np.tanh(fisher - width),
        "agreement_high": np.tanh(fisher + width),
        "bias": bias,
        "bias_low": bias - half,
        "bias_high": bias + half,
    }


def _straight_lining(ratings: Ratings) -> dict[str, FloatArray | IntArray]:
    """Share of the top value, longest run in the order of rows, number of distinct values, per worker."""
    raters, size = len(ratings.raters), len(ratings.values)
    cell, _, times = distinct(ratings.rater * size + ratings.code)
    top = np.zeros(raters)
    np.maximum.at(top, cell // size, times.astype(np.float64))
    order = in_order_of(ratings.rater)
    rater, code = ratings.rater[order], ratings.code[order]
    starts = np.concatenate([[0], np.nonzero((rater[1:] != rater[:-1]) | (code[1:] != code[:-1]))[0] + 1])
    length = np.diff(np.append(starts, len(rater)))
    longest = np.zeros(raters, dtype=np.int64)
    np.maximum.at(longest, rater[starts], length)
    ratings_per_rater = np.asarray(_per_rater(ratings), dtype=np.float64)
    return {
        "top_share": ratio(top, ratings_per_rater),
        "longest_run": longest,
        "distinct": np.bincount(cell // size, minlength=raters),
    }
