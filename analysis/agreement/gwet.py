"""Gwet's AC1 (nominal) and AC2 (weighted), which stay stable when one value is frequent.

Shapes: counts n_ik (U units × q categories) and a weight matrix w (q × q), 1 on the diagonal. Units with two or more
ratings show agreement; units with one still show how often categories are used.

Source: Gwet 2008, "Computing inter-rater reliability and its variance in the presence of high agreement"; Gwet
2014, *Handbook of Inter-Rater Reliability*, 4th ed. (AC2, missing ratings, weights).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from analysis.agreement.count_tables import CHUNK_CELLS, ratio, row_sums
from analysis.agreement.jackknife import Margins, Raters, estimate_of
from analysis.agreement.ratings import Counts, Data, FloatArray, Labels, Ratings, as_counts, refuse_unordered
from analysis.estimate import Estimate

#: AC2 holds a matrix of categories × categories.
MOST_CATEGORIES = 2_000

Weights = Literal["linear", "quadratic"]


def gwet_ac1(data: Data, *, raters: Raters = "any", interval: bool = True, confidence: float = 0.95) -> Estimate:
    """Gwet's AC1 for nominal values, with a jackknife interval over units and raters (as in `krippendorff_alpha`).

    data: units × raters matrix (NaN missing), `Ratings` or `Counts`; numbers or text. The formula uses the number of
    categories: pass ``categories`` to the converter if the scale has some that nobody used.
    Range: 1 for full agreement, 0 for chance agreement. n counts units with two or more ratings; the note counts the
    others. NaN with a note if there is only one category. ValueError: no ratings, no unit with two, only one rater.
    """
    counts, ratings = as_counts(data)
    return _coefficient(counts, ratings, None, raters, interval, confidence)


def gwet_ac2(
    data: Data,
    weights: Weights = "quadratic",
    *,
    raters: Raters = "any",
    interval: bool = True,
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
    return _coefficient(counts, ratings, table, raters, interval, confidence)


def closeness(values: Labels, weights: Weights) -> FloatArray:
    """The weight matrix (q × q). ValueError for an unknown name."""
    if weights not in ("linear", "quadratic"):
        raise ValueError(f'weights are "linear" or "quadratic", not "{weights}"')
    numeric = values.dtype.kind == "f"
    positions = values.astype(np.float64) if numeric else np.arange(len(values), dtype=np.float64)
    distances = np.abs(positions[:, None] - positions[None, :])
    largest = distances.max(initial=0.0) or 1.0
    return np.asarray(1 - (distances / largest) ** (1 if weights == "linear" else 2), dtype=np.float64)


def _coefficient(
    counts: Counts,
    ratings: Ratings | None,
    credit: FloatArray | None,
    raters: Raters,
    interval: bool,
    confidence: float,
) -> Estimate:
    return estimate_of(
        Gwet(credit, len(counts.values)),
        counts,
        ratings,
        raters=raters,
        interval=interval,
        level=confidence,
        undefined="there is only one category: agreement by chance is undefined",
    )


@dataclass(frozen=True)
class Gwet:
    """AC1 or AC2 as a function of sums: of units' agreement, units with a pair, units with a rating, and their shares.

    ``credit`` is the weight matrix; None means the identity.
    """

    credit: FloatArray | None
    categories: int
    least: float = -1.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        sums = row_sums(table)
        pairs = sums**2 - sums
        # Σ_kl n_ik w_kl n_il per unit (U,), self-pairs included; a block of units at a time.
        if self.credit is None:
            credited = row_sums(table**2)
        else:
            block = max(1, CHUNK_CELLS // len(self.credit))
            units = (table[start : start + block] for start in range(0, table.shape[0], block))
            credited = np.concatenate([row_sums(part.multiply(part @ self.credit).tocsr()) for part in units])
        agreement = np.nan_to_num(ratio(credited - sums, pairs))
        shares = sparse.csr_array(sparse.diags_array(np.nan_to_num(ratio(np.ones_like(sums), sums))) @ table)
        paired, rated = ((counted > 0).astype(np.float64) for counted in (pairs, sums))
        return np.stack([agreement, paired, rated], axis=1), shares

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        if self.categories < 2:
            return np.full(len(sums), np.nan)
        total = float(self.categories if self.credit is None else self.credit.sum())
        evenness = 1 - ratio(margins.squares(), sums[:, 2] ** 2)
        chance = total / (self.categories * (self.categories - 1)) * evenness
        return 1 - ratio(1 - ratio(sums[:, 0], sums[:, 1]), 1 - chance)
