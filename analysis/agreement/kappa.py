"""Fleiss' κ and percent agreement, for units with any number of ratings.

Shapes: counts n_ij (U units × V values), n_i ratings of unit i. The agreement of a unit is the share of its pairs of
ratings that are equal, P_i = Σ_j n_ij (n_ij − 1) / (n_i (n_i − 1)). Counts are never rescaled to a common n_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.agreement.count_tables import ratio, row_sums
from analysis.agreement.jackknife import BothOrders, Margins, Raters, estimate_of
from analysis.agreement.ratings import Data, FloatArray, as_counts
from analysis.estimate import Estimate


def fleiss_kappa(
    data: Data,
    *,
    raters: Raters = "any",
    interval: bool = True,
    confidence: float = 0.95,
    both_orders: bool = False,
) -> Estimate:
    """Fleiss' κ = (P̄ − P_e) / (1 − P_e), for any number of ratings, with a jackknife interval over units and raters.

    data: units × raters matrix (NaN missing), `Ratings` or `Counts`; values nominal, numbers or text.
    P̄ is the mean of P_i over the units with two or more ratings. P_e = Σ_j p_j², where p_j is the share of value j
    among *all* ratings, including those of units with a single rating. If all n_i are equal, this is Fleiss' own
    formula.

    Range: 1 for full agreement, 0 for chance agreement. n counts units with two or more ratings; the note counts the
    others. ``raters``, ``interval`` and ``both_orders`` as in `krippendorff_alpha`. NaN with a note if every rating has
    the same value.

    ValueError: no ratings, no unit with two, only one rater.

    Source: Fleiss 1971, "Measuring nominal scale agreement among many raters"; with unequal n_i, P_i
    is averaged over units.
    """
    counts, ratings = as_counts(data)
    return estimate_of(
        BothOrders(Fleiss()) if both_orders else Fleiss(),
        counts,
        ratings,
        raters=raters,
        interval=interval,
        level=confidence,
        undefined="every rating has the same value: agreement by chance is certain, kappa is undefined",
    )


def percent_agreement(
    data: Data, *, raters: Raters = "any", interval: bool = True, confidence: float = 0.95
) -> Estimate:
    """Mean over units of the share of pairs of ratings that are equal (P̄), in [0, 1].

    Input, missing ratings, interval and errors as in `fleiss_kappa`. All units count the same, however many ratings
    they have. It does not correct for chance, so never report it alone. Source: Fleiss 1971.
    """
    counts, ratings = as_counts(data)
    return estimate_of(
        Percent(),
        counts,
        ratings,
        raters=raters,
        interval=interval,
        level=confidence,
        undefined="no unit has two ratings",
    )


def unit_agreement(table: sparse.csr_array) -> tuple[FloatArray, FloatArray]:
    """P_i (U,), 0 if a unit has no pair, and whether it has one (U,), as 0 or 1."""
    sums = row_sums(table)
    pairs = sums**2 - sums
    equal = row_sums(table.power(2)) - sums
    return np.nan_to_num(ratio(equal, pairs)), (pairs > 0).astype(np.float64)


@dataclass(frozen=True)
class Percent:
    """P̄ as a function of sums: of P_i, and the number of units with a pair."""

    least: float = 0.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        return np.stack(unit_agreement(table), axis=1), sparse.csr_array(table.shape)

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        return ratio(sums[:, 0], sums[:, 1])


@dataclass(frozen=True)
class Fleiss:
    """κ as a function of sums: of P_i, the number of units with a pair, that of ratings, and how often each value."""

    least: float = -1.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        return np.stack([*unit_agreement(table), row_sums(table)], axis=1), table

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        chance = margins.squares() / sums[:, 2] ** 2
        return 1 - ratio(1 - ratio(sums[:, 0], sums[:, 1]), np.where(chance < 1 - 1e-12, 1 - chance, 0.0))
