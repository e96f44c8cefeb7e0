"""Gwet's AC1 (nominal) and AC2 (weighted), which stay stable when one value is frequent.

Shapes: counts n_ik (U units × q categories) and a weight matrix w (q × q), 1 on the diagonal. Units with two or more
ratings show agreement; units with one still show how often categories are used.

Source: Gwet 2008, "Computing inter-rater reliability and its variance in the presence of high agreement"; Gwet
2014, *Handbook of Inter-Rater Reliability*, 4th ed. (AC2, missing ratings, weights).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from analysis.agreement.data import Counts, Data, FloatArray, Labels, Ratings, as_counts, refuse_unordered
from analysis.agreement.resample import (
    CHUNK_CELLS,
    Maker,
    Over,
    Resampling,
    Statistic,
    estimate_with_interval,
    ratio,
    row_sums,
)
from analysis.estimate import DRAWS, SEED, Estimate

#: AC2 holds a matrix of categories × categories.
MOST_CATEGORIES = 2_000

Weights = Literal["linear", "quadratic"]


def gwet_ac1(
    data: Data, *, draws: int = DRAWS, seed: int = SEED, over: Over = "units", confidence: float = 0.95
) -> Estimate:
    """Gwet's AC1 for nominal values, with a percentile bootstrap interval over units (with one or more ratings).

    data: units × raters matrix (NaN missing), `Ratings` or `Counts`; numbers or text. The formula uses the number of
    categories: pass ``categories`` to the converter if the scale has some that nobody used.
    Range: 1 for full agreement, 0 for chance agreement. n counts units with two or more ratings; the note counts the
    others. NaN with a note if there is only one category. ValueError: no ratings, no unit with two, only one rater.
    """
    counts, ratings = as_counts(data)
    return _coefficient(counts, ratings, None, Resampling(draws, seed, over, confidence))


def gwet_ac2(
    data: Data,
    weights: Weights = "quadratic",
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    over: Over = "units",
    confidence: float = 0.95,
) -> Estimate:
    """Gwet's AC2: AC1 with partial credit for values that are close. Everything else is as in `gwet_ac1`.

    ``weights``: ``"linear"`` 1 − |x_k − x_l| / range or ``"quadratic"`` 1 − (x_k − x_l)² / range², on the numbers
    themselves. For text, on the positions of the values, whose order you must give to the converter. Also ValueError:
    text without a known order, more than ``MOST_CATEGORIES`` values (use ICC or α instead).
    """
    counts, ratings = as_counts(data)
    refuse_unordered(counts)
    if len(counts.values) > MOST_CATEGORIES:
        raise ValueError(f"AC2 is for categories, and there are {len(counts.values)} different values")
    table = closeness(counts.values, weights)
    return _coefficient(counts, ratings, table, Resampling(draws, seed, over, confidence))


def closeness(values: Labels, weights: Weights) -> FloatArray:
    """The weight matrix (q × q). ValueError for an unknown name."""
    if weights not in ("linear", "quadratic"):
        raise ValueError(f'weights are "linear" or "quadratic", not "{weights}"')
    numeric = values.dtype.kind == "f"
    place = values.astype(np.float64) if numeric else np.arange(len(values), dtype=np.float64)
    apart = np.abs(place[:, None] - place[None, :])
    widest = apart.max(initial=0.0) or 1.0
    return np.asarray(1 - (apart / widest) ** (1 if weights == "linear" else 2), dtype=np.float64)


def _coefficient(counts: Counts, ratings: Ratings | None, credit: FloatArray | None, how: Resampling) -> Estimate:
    return estimate_with_interval(
        counts,
        ratings,
        _maker(credit, len(counts.values)),
        how,
        undefined="there is only one category: agreement by chance is undefined",
    )


def _maker(credit: FloatArray | None, categories: int) -> Maker:
    """``credit`` is the weight matrix; None means the identity."""
    total_credit = float(categories if credit is None else credit.sum())

    def make(table: sparse.csr_array, squares: FloatArray) -> Statistic:
        sums = row_sums(table)
        pairs = sums**2 - squares
        agreement = np.nan_to_num(ratio(_credit_within_units(table, credit) - squares, pairs))
        paired = (pairs > 0).astype(np.float64)
        shares = sparse.diags_array(np.nan_to_num(ratio(np.ones_like(sums), sums))) @ table

        def statistic(weights: FloatArray) -> FloatArray:
            if categories < 2:
                return np.full(len(weights), np.nan)
            observed = ratio(weights @ agreement, weights @ paired)
            used = np.asarray(weights @ shares)
            used /= used.sum(axis=1, keepdims=True)
            chance = total_credit / (categories * (categories - 1)) * (used * (1 - used)).sum(axis=1)
            return 1 - ratio(1 - observed, 1 - chance)

        return statistic

    return make


def _credit_within_units(table: sparse.csr_array, credit: FloatArray | None) -> FloatArray:
    """Σ_kl n_ik w_kl n_il per unit (U,), self-pairs included; a block of units at a time."""
    if credit is None:
        return row_sums(table**2)
    block = max(1, CHUNK_CELLS // len(credit))
    parts = (table[start : start + block] for start in range(0, table.shape[0], block))
    return np.concatenate([row_sums(part.multiply(part @ credit).tocsr()) for part in parts])
