"""Fleiss' κ and percent agreement, for units with any number of ratings.

Shapes: counts n_ij (U units × V values), n_i ratings of unit i. The agreement of a unit is the share of its pairs of
ratings that are equal, P_i = Σ_j n_ij (n_ij − 1) / (n_i (n_i − 1)). Counts are never rescaled to a common n_i.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse

from analysis.agreement.data import Data, FloatArray, as_counts
from analysis.agreement.resample import Over, Resampling, Statistic, estimate_with_interval, ratio, row_sums
from analysis.estimate import DRAWS, SEED, Estimate


def fleiss_kappa(
    data: Data, *, draws: int = DRAWS, seed: int = SEED, over: Over = "units", confidence: float = 0.95
) -> Estimate:
    """Fleiss' κ = (P̄ − P_e) / (1 − P_e), for any number of ratings, with a percentile bootstrap interval.

    data: units × raters matrix (NaN missing), `Ratings` or `Counts`; values nominal, numbers or text.
    P̄ is the mean of P_i over the units with two or more ratings. P_e = Σ_j p_j², where p_j is the share of value j
    among *all* ratings, including those of units with a single rating. If all n_i are equal, this is Fleiss' own
    formula.

    Range: 1 for full agreement, 0 for chance agreement. n counts units with two or more ratings; the note counts the
    others. The bootstrap resamples units with at least one rating, or raters (``over``); a draw with only one value is
    left out and counted in the note. NaN with a note if every rating has the same value.

    ValueError: no ratings, no unit with two, only one rater.

    Source: Fleiss 1971, "Measuring nominal scale agreement among many raters"; with unequal n_i, P_i
    is averaged over units.
    """
    counts, ratings = as_counts(data)
    return estimate_with_interval(
        counts,
        ratings,
        _make_fleiss,
        Resampling(draws, seed, over, confidence),
        undefined="every rating has the same value: agreement by chance is certain, kappa is undefined",
    )


def percent_agreement(
    data: Data, *, draws: int = DRAWS, seed: int = SEED, over: Over = "units", confidence: float = 0.95
) -> Estimate:
    """Mean over units of the share of pairs of ratings that are equal (P̄), in [0, 1].

    Input, missing ratings, resampling and errors as in `fleiss_kappa`. All units count the same, however many ratings
    they have. It does not correct for chance, so never report it alone. Source: Fleiss 1971.
    """
    counts, ratings = as_counts(data)
    how = Resampling(draws, seed, over, confidence)
    return estimate_with_interval(counts, ratings, _make_percent, how, undefined="no unit has two ratings")


def unit_agreement(table: sparse.csr_array, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P_i (U,), 0 if a unit has no pair, and whether it has one (U,), as 0 or 1."""
    pairs = row_sums(table) ** 2 - squares
    equal = row_sums(table**2) - squares
    return np.nan_to_num(ratio(equal, pairs)), (pairs > 0).astype(np.float64)


def _make_percent(table: sparse.csr_array, squares: FloatArray) -> Statistic:
    agreement, paired = unit_agreement(table, squares)
    return lambda weights: ratio(weights @ agreement, weights @ paired)


def _make_fleiss(table: sparse.csr_array, squares: FloatArray) -> Statistic:
    percent = _make_percent(table, squares)

    def statistic(weights: FloatArray) -> FloatArray:
        margins = np.asarray(weights @ table)
        total = margins.sum(axis=1)
        chance = (margins**2).sum(axis=1) / total**2
        several = (margins > 0).sum(axis=1) > 1
        return cast(FloatArray, np.where(several, 1 - ratio(1 - percent(weights), 1 - chance), np.nan))

    return statistic
