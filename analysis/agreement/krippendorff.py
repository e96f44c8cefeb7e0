"""Krippendorff's α for any number of raters, any pattern of missing ratings, at four levels of measurement.

Shapes: a table of counts n_uc (U units × V values). The coincidence matrix is never formed. With m_u ratings in unit u,
and δ²(c, k) the difference of two values at the chosen level,

    D_o = (1/n) Σ_u 1/(m_u − 1) Σ_ck n_uc n_uk δ²(c, k)        observed, over units with m_u ≥ 2
    D_e = 1/(n (n − 1)) Σ_ck n_c n_k δ²(c, k)                  expected, n_c = Σ_u n_uc, n = Σ_c n_c
    α   = 1 − D_o / D_e

Nominal, interval and ordinal (which is interval on the mid-ranks of the pooled ratings) have closed-form sums; ratio is
summed over the pairs of values within a unit.

Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; Krippendorff 2004, *Content Analysis*,
ch. 11.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
from scipy import sparse

from analysis.agreement.count_tables import CHUNK_CELLS, ratio, row_sums
from analysis.agreement.jackknife import BothOrders, Coefficient, Margins, Raters, estimate_of
from analysis.agreement.ratings import Counts, Data, FloatArray, as_counts, numeric_values, refuse_unordered
from analysis.estimate import Estimate

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(
    data: Data,
    level: Level = "nominal",
    *,
    raters: Raters = "any",
    interval: bool = True,
    confidence: float = 0.95,
    both_orders: bool = False,
) -> Estimate:
    """Krippendorff's α with a jackknife interval over units and raters (`analysis.agreement.jackknife`).

    data: units × raters matrix with NaN for missing, `Ratings`, or `Counts` (see `analysis.agreement.ratings`).
    level: the level of measurement. ``"ordinal"`` ranks values in their order (numeric, or as categories): gaps
        do not matter, ties share mid-ranks; ``"interval"`` and ``"ratio"`` need numbers; for ratio, 0 or more.
    raters: ``"any"``: the interval is about other raters, too; ``"these"``: only about these, such as two coders. With
        fewer than five raters, or `Counts`, it is always about these.
    interval: False gives the estimate alone, which is faster.
    both_orders: every unit also counts with its values turned around, as comparisons whose order is arbitrary must; the
        values are then all points of a scale, in order.

    Range: 1 for full agreement, 0 for chance agreement, negative below chance. Units with fewer than two ratings are
    left out, as in Krippendorff. n counts the units used; the note counts the others. NaN with a note if all ratings
    that could form pairs have the same value. For the interval at ordinal level, mid-ranks stay those of all ratings.

    ValueError: no ratings, no unit with two, only one rater, negative values at ratio level, text above ordinal level,
    text at ordinal level without categories to give its order.
    """
    if level not in LEVELS:
        raise ValueError(f'the level is one of {", ".join(LEVELS)}, not "{level}"')
    counts, ratings = as_counts(data)
    check_level(counts, level)
    coefficient: Coefficient = alpha_of(counts, level)
    if both_orders:
        twice = sparse.csr_array(counts.table + counts.table[:, ::-1])
        coefficient = BothOrders(alpha_of(replace(counts, table=twice), level))
    return estimate_of(
        coefficient,
        counts,
        ratings,
        raters=raters,
        interval=interval,
        level=confidence,
        undefined="all ratings that pair have the same value: no disagreement by chance, alpha is undefined",
    )


def check_level(counts: Counts, level: Level) -> None:
    """ValueError if the values do not fit this level."""
    if level == "ordinal":
        refuse_unordered(counts)
    if level in ("interval", "ratio"):
        numeric_values(counts.values)
    if level == "ratio" and (numeric_values(counts.values) < 0).any():
        raise ValueError("ratio level needs values of 0 or more, and there are negative ones")


@dataclass(frozen=True)
class Alpha:
    """α as a function of sums: Σ_u of the observed disagreement, n, Σ v and Σ v² of the ratings that pair.

    ``places`` (V,) are the values, or mid-ranks, centred for precision; at nominal level nothing depends on them.
    """

    level: Level
    places: FloatArray
    least: float = -1.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        sums = row_sums(table)
        paired = (sums >= 2).astype(np.float64)
        scale = paired / np.where(sums >= 2, sums - 1, 1.0)
        disagreement = unit_disagreement(self.level, table, np.maximum(sums, 1.0), self.places) * scale
        moments = [paired * (table @ self.places**power) for power in (1, 2)]
        margins = table if self.level in ("nominal", "ratio") else sparse.csr_array(table.shape)
        return np.stack([disagreement, paired * sums, *moments], axis=1), sparse.csr_array(
            sparse.diags_array(paired) @ margins
        )

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        observed, n, linear, square = sums.T
        if self.level == "nominal":
            expected = n**2 - margins.squares()
        elif self.level == "ratio":
            expected = margins.products(ratio_difference(self.places[:, None], self.places[None, :]) ** 2)
        else:
            expected = 2 * (n * square - linear**2)
        # What rounding leaves of a variance that is 0.
        expected = np.where(expected > 1e-12 * n**2 * max(1e-300, float((self.places**2).max())), expected, 0.0)
        return 1 - ratio(np.maximum(observed, 0) * (n - 1), expected)


def alpha_of(counts: Counts, level: Level) -> Alpha:
    """α at this level, with the places of its values. At ordinal level these are mid-ranks of the ratings that pair."""
    if level in ("nominal", "ratio"):
        values = (
            np.arange(len(counts.values), dtype=np.float64) if level == "nominal" else numeric_values(counts.values)
        )
        return Alpha(level, values)
    margins = np.asarray(counts.table[counts.ratings >= 2].sum(axis=0), dtype=np.float64).ravel()
    places = np.cumsum(margins) - margins / 2 if level == "ordinal" else numeric_values(counts.values)
    return Alpha("interval", places - (margins @ places) / max(margins.sum(), 1.0))


def unit_disagreement(level: Level, table: sparse.csr_array, sums: FloatArray, values: FloatArray) -> FloatArray:
    """Σ_ck n_uc n_uk δ²(c, k) per unit (U,); ``sums`` are the ratings per unit."""
    if level == "nominal":
        return sums**2 - row_sums(table**2)
    if level == "interval":
        unit = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        value = values[table.indices]
        mean = np.bincount(unit, table.data * value, minlength=len(sums)) / sums
        spread = np.bincount(unit, table.data * (value - mean[unit]) ** 2, minlength=len(sums))
        return 2 * sums * spread
    return ratio_within_units(table, values)


def ratio_within_units(table: sparse.csr_array, values: FloatArray) -> FloatArray:
    """Σ_ck n_uc n_uk ((c − k)/(c + k))² per unit, over the pairs of its distinct values, in limited memory."""
    width = np.diff(table.indptr)
    total = np.zeros(table.shape[0])
    for distinct in np.unique(width[width > 1]):
        rows = np.nonzero(width == distinct)[0]
        chunk = max(1, CHUNK_CELLS // int(distinct) ** 2)
        for start in range(0, len(rows), chunk):
            part = rows[start : start + chunk]
            cells = table.indptr[part][:, None] + np.arange(distinct)
            count, value = table.data[cells], values[table.indices[cells]]
            differences = ratio_difference(value[:, :, None], value[:, None, :]) ** 2
            total[part] = np.einsum("ui,uij,uj->u", count, differences, count)
    return total


def ratio_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """(c − k)/(c + k), 0 if both are 0."""
    total = first + second
    out = np.zeros(np.broadcast(first, second).shape)
    return cast(FloatArray, np.divide(first - second, total, out=out, where=total > 0))
