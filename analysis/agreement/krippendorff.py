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

from typing import Literal, cast

import numpy as np
from scipy import sparse

from analysis.agreement.data import Counts, Data, FloatArray, Labels, as_counts, numeric_values, refuse_unordered
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

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(
    data: Data,
    level: Level = "nominal",
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    over: Over = "units",
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's α with a percentile bootstrap interval.

    data: units × raters matrix with NaN for missing, `Ratings`, or `Counts` (see `analysis.agreement.data`).
    level: the level of measurement. ``"ordinal"`` ranks values in their order (numeric, or as categories): gaps
        do not matter, ties share mid-ranks; ``"interval"`` and ``"ratio"`` need numbers; for ratio, 0 or more.
    draws: 0 gives the estimate alone. Same seed, same numbers.
    over: ``"units"`` resamples units with two ratings or more, and recomputes both disagreements; ``"raters"``
        resamples raters, who must be known, for findings about raters in general; slower.

    Range: 1 for full agreement, 0 for chance agreement, negative below chance. Units with fewer than two ratings are
    left out, as in Krippendorff. n counts the units used; the note counts the others. NaN with a note if all ratings
    that could form pairs have the same value. Draws without variation are left out and counted in the note.

    ValueError: no ratings, no unit with two, only one rater, negative values at ratio level, text above ordinal level,
    text at ordinal level without categories to give its order.
    """
    if level not in LEVELS:
        raise ValueError(f'the level is one of {", ".join(LEVELS)}, not "{level}"')
    counts, ratings = as_counts(data)
    check_level(counts, level)
    return estimate_with_interval(
        counts,
        ratings,
        alpha_maker(level, counts.values),
        Resampling(draws, seed, over, confidence),
        undefined="all ratings that pair have the same value: no disagreement by chance, alpha is undefined",
        entered_with=2,
    )


def check_level(counts: Counts, level: Level) -> None:
    """ValueError if the values do not fit this level."""
    if level == "ordinal":
        refuse_unordered(counts)
    if level in ("interval", "ratio"):
        numeric_values(counts.values)
    if level == "ratio" and (numeric_values(counts.values) < 0).any():
        raise ValueError("ratio level needs values of 0 or more, and there are negative ones")


def alpha_maker(level: Level, labels: Labels) -> Maker:
    """The function that builds α's statistic from a table. Units without a pair have no weight."""
    values = np.arange(len(labels), dtype=np.float64)
    if level in ("interval", "ratio"):
        values = numeric_values(labels)

    def make(table: sparse.csr_array, squares: FloatArray) -> Statistic:
        sums = row_sums(table)
        pairs = sums**2 - squares
        paired = pairs > 0
        table, sums, squares = table[paired], sums[paired], squares[paired]
        scale = sums / pairs[paired]
        fixed = None if level == "ordinal" else unit_disagreement(level, table, sums, values) * scale

        def statistic(weights: FloatArray) -> FloatArray:
            weights = weights[:, paired]
            margins = np.asarray(weights @ table)
            n = margins.sum(axis=1)
            if fixed is None:
                ranks = mid_ranks(margins)
                observed = rank_disagreement(table, sums, scale, ranks, weights)
            else:
                ranks = None
                observed = weights @ fixed
            expected = margin_disagreement(level, margins, values, ranks)
            return 1 - ratio(np.maximum(observed, 0) * (n**2 - weights @ squares), expected * n)

        return statistic

    return make


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
            apart = ratio_difference(value[:, :, None], value[:, None, :])
            total[part] = np.einsum("ui,uij,uj->u", count, apart, count)
    return total


def ratio_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """((c − k)/(c + k))², 0 if both are 0."""
    total = first + second
    out = np.zeros(np.broadcast(first, second).shape)
    return cast(FloatArray, np.divide(first - second, total, out=out, where=total > 0) ** 2)


def mid_ranks(margins: FloatArray) -> FloatArray:
    """Mid-rank of each value (draws × V) among the pooled ratings, centred on 0 for precision."""
    ranks = np.cumsum(margins, axis=1) - margins / 2
    return cast(FloatArray, ranks - margins.sum(axis=1, keepdims=True) / 2)


def rank_disagreement(
    table: sparse.csr_array, sums: FloatArray, scale: FloatArray, ranks: FloatArray, weights: FloatArray
) -> FloatArray:
    """Σ_u w_u scale_u Σ_ck n_uc n_uk (rank_c − rank_k)² for each draw (draws,).

    The caller's chunk limits memory: U × draws for the sums of ranks.
    """
    linear = np.asarray(table @ ranks.T)
    square = np.asarray(table @ (ranks**2).T)
    spread = 2 * (sums[:, None] * square - linear**2)
    return cast(FloatArray, np.einsum("bu,ub,u->b", weights, spread, scale))


def margin_disagreement(level: Level, margins: FloatArray, values: FloatArray, ranks: FloatArray | None) -> FloatArray:
    """Σ_ck n_c n_k δ²(c, k) of the pooled ratings, for each draw (draws,)."""
    n = margins.sum(axis=1)
    if level == "nominal":
        return cast(FloatArray, n**2 - (margins**2).sum(axis=1))
    if level == "ratio":
        return _ratio_of_margins(margins, values)
    place = values - values.mean() if ranks is None else ranks
    mean = (margins * place).sum(axis=1) / n
    return cast(FloatArray, 2 * n * (margins * (place - mean[:, None]) ** 2).sum(axis=1))


def _ratio_of_margins(margins: FloatArray, values: FloatArray) -> FloatArray:
    """The sum for the ratio level, one block of values against all at a time: time V², limited memory."""
    total = np.zeros(len(margins))
    block = max(1, CHUNK_CELLS // len(values))
    for start in range(0, len(values), block):
        part = slice(start, start + block)
        apart = ratio_difference(values[part, None], values[None, :])
        total += ((margins[:, part] @ apart) * margins).sum(axis=1)
    return total
