"""Intervals of agreement for new units and new raters, by leaving out units, raters and single ratings.

Two units share raters, and two ratings share their unit, so a coefficient varies with both. The coefficient without
each unit, each rater and each rating in turn gives its interval (`analysis.inference.left_out`), which stays inside its
range. If there are fewer than five raters, or they are the only ones that matter, units alone are left out, and the
interval is about *these* raters.

Shapes: U units, V values, R raters, N ratings, P distinct rows of counts, k sums. A coefficient is a function of sums
over units: `Coefficient.parts` gives what a unit's counts add, and `Coefficient.figure` makes the coefficient of the
sums. Units with the same counts are interchangeable, so 100,000 units on a scale of five cost little more than their
distinct rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, Protocol

import numpy as np
from scipy import sparse

from analysis.agreement.count_tables import CHUNK_CELLS, check_pairable, row_sums, unit_note
from analysis.agreement.ratings import Counts, FloatArray, IntArray, Ratings
from analysis.distributions import logistic, t_quantile
from analysis.estimate import Estimate
from analysis.inference.left_out import LeftOut, interval_from_left_out
from common.words import counted

#: The interval is about any raters like these, or about exactly these.
Raters = Literal["any", "these"]
LEAST = 5
#: In simulated studies (docs/uncertainty.md): most where there are few raters or ratings of a unit.
SHARE_RIGHT = "89 to 100%"
MOST_VALUES_TO_REDUCE = 32
#: A coefficient this near to the least value of its table may be below it: sizes of units differ.
CLOSE = 1e-6
NO_SPREAD = "the units do not differ in their agreement, so they do not show how uncertain the figure is"
#: The fewest ratings with which a unit has a pair.
PAIR = 2


@dataclass(frozen=True, slots=True)
class Margins:
    """D vectors of margins, (V,) each, as what each lacks of the totals: ``totals`` − ``left_out`` (D × V)."""

    totals: FloatArray
    left_out: sparse.csr_array

    def squares(self) -> FloatArray:
        """Σ_c m_c² of each vector (D,)."""
        return np.asarray((self.totals**2).sum() - 2 * (self.left_out @ self.totals) + row_sums(self.left_out.power(2)))

    def products(self, form: FloatArray) -> FloatArray:
        """Σ_ck m_c form_ck m_k of each vector (D,). ``form`` (V × V) is symmetric."""
        weighted = form @ self.totals
        block = max(1, CHUNK_CELLS // max(1, len(form)))
        parts = (self.left_out[start : start + block] for start in range(0, self.left_out.shape[0], block))
        squares = np.concatenate([row_sums(sparse.csr_array(part.multiply(part @ form))) for part in parts])
        return np.asarray(self.totals @ weighted - 2 * (self.left_out @ weighted) + squares)


class Coefficient(Protocol):
    """A statistic of sums over units."""

    @property
    def least(self) -> float:
        """The smallest value that it can take; the largest is 1."""

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        """What each row of counts (P × V) adds: sums (P × k) and margins (P × V), 0 where a row does not enter."""

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        """The coefficient of D sums (D × k) and margins: (D,), NaN where it is undefined."""


@dataclass(frozen=True)
class BothOrders:
    """A coefficient of units that count in both orders of their values: the first value is also the last, and so on.

    For comparisons of two things of which one is arbitrarily the first: turning a unit around changes nothing.
    """

    coefficient: Coefficient

    @property
    def least(self) -> float:
        return self.coefficient.least

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        sums, margins = self.coefficient.parts(table)
        turned_sums, turned_margins = self.coefficient.parts(sparse.csr_array(table[:, ::-1]))
        return sums + turned_sums, sparse.csr_array(margins + turned_margins)

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        return self.coefficient.figure(sums, margins)


def estimate_of(
    coefficient: Coefficient,
    counts: Counts,
    ratings: Ratings | None,
    *,
    raters: Raters,
    interval: bool,
    level: float,
    undefined: str,
) -> Estimate:
    """The coefficient with its interval. ``ratings`` are what ``counts`` came from, or None if nobody knows who rated.

    ``Estimate.n`` counts units with two ratings or more, the note counts the others. ``undefined`` is the note for a
    NaN. ValueError: no ratings, no unit with two, only one rater, a level outside 0 to 1.
    """
    check_pairable(counts, ratings)
    per_unit = counts.ratings
    paired = per_unit[per_unit >= PAIR]
    return estimate_from_table(
        coefficient,
        _layout_of(counts),
        ratings,
        units=int((per_unit >= PAIR).sum()),
        raters=raters,
        interval=interval,
        level=level,
        notes=(undefined, unit_note(per_unit)),
        least=least_of(coefficient, paired, len(counts.values)) if len(paired) else None,
    )


def least_of(coefficient: Coefficient, sizes: FloatArray, values: int) -> float:
    """The least value that units of such ``sizes`` allow, to the nearest whole number below their mean.

    Corrected for chance, −1/(k − 1); of the share of equal pairs, what is left if k ratings use all values as evenly as
    they can.
    """
    size = math.floor(float(sizes.mean()))
    if math.isinf(coefficient.least):
        return coefficient.least
    if coefficient.least < 0:
        return max(-1 / (size - 1), coefficient.least)
    many, rest = divmod(size, max(values, 1))
    return (rest * (many + 1) * many + (values - rest) * many * (many - 1)) / (size * (size - 1))


def estimate_from_table(
    coefficient: Coefficient,
    layout: Layout,
    ratings: Ratings | None,
    *,
    units: int,
    raters: Raters,
    interval: bool,
    level: float,
    notes: tuple[str, str],
    clusters: IntArray | None = None,
    n_of: str = "units",
    least: float | None = None,
    share_right: str = SHARE_RIGHT,
) -> Estimate:
    """As `estimate_of`, for the layout of any table whose columns ``coefficient`` can read.

    ``units``: how many enter. ``notes``: on a NaN, and on what was left out. ``ratings`` index the rows and columns of
    the table. ``clusters`` (U,): units that are left out together, such as pairs of texts of one context, as codes;
    None: each for itself. ``least``: the least value in such a table, if it is above that of the coefficient.
    ``share_right``: how many of the intervals are right in simulations.
    """
    if not 0 < level < 1:
        raise ValueError("the level of an interval lies between 0 and 1")
    if raters not in ("any", "these"):
        raise ValueError(f'the interval is about "any" or "these" raters, not "{raters}"')
    undefined, left_out = notes
    sample = _Sample(coefficient, layout, clusters)
    point_estimate = Estimate(sample.value, n=units, n_of=n_of, level=level, note=left_out)
    if math.isnan(sample.value):
        return replace(point_estimate, note=_joined(undefined, left_out))
    if not interval:
        return replace(point_estimate, method="no interval")
    if units < LEAST:
        too_few = f"{counted(units, n_of.removesuffix('s'))} with two ratings: an interval needs at least {LEAST}"
        return replace(point_estimate, note=_joined(too_few, left_out))
    rater_count = 0 if ratings is None else len(distinct(ratings.rater)[0])
    without_units, clusters_used = sample.without_units()
    without_raters, without_ratings, undefined_times = None, None, without_units.undefined
    method = "jackknife over " + (f"{units:,} {n_of}" if clusters is None else f"{clusters_used:,} clusters")
    if ratings is not None and raters == "any" and rater_count >= LEAST:
        without_raters, without_ratings = sample.without_raters(ratings)
        undefined_times += without_raters.undefined
        method += f" and {rater_count:,} raters; {share_right} of such 95% intervals are right in simulations"
    elif rater_count:
        method += f", for these {rater_count:,} raters"
    lowest = coefficient.least if least is None or sample.value - least < CLOSE else least
    low, high = interval_from_left_out(
        sample.value, without_units, without_raters, without_ratings, ends=(lowest, 1.0), level=level
    )
    if math.isnan(low):
        return replace(point_estimate, note=_joined(NO_SPREAD, left_out))
    lost = f"undefined without some of the units or raters ({undefined_times:,}), which the interval leaves out"
    note = _joined(lost if undefined_times else "", left_out)
    return replace(point_estimate, low=low, high=high, method=method, note=note)


def interval_inside(
    value: float, variance: float, free: float, bounds: tuple[float, float], level: float
) -> tuple[float, float]:
    """Student's t interval on the logit of the value's place between ``bounds``; NaN at a bound or without variance."""
    low, high = bounds
    below, above = value - low, high - value
    if not (below > 1e-12 and above > 1e-12 and variance > 0 and math.isfinite(variance)):
        return math.nan, math.nan
    centre, slope = math.log(below / above), (high - low) / (below * above)
    half = float(t_quantile((1 + level) / 2, free)) * math.sqrt(variance) * slope
    ends = [float(logistic(end)) for end in (centre - half, centre + half)]
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


class Layout:
    """The distinct rows of a table, and what its ratings are beside them: the same for all coefficients."""

    def __init__(self, table: sparse.csr_array) -> None:
        self.rows, self.times, self.row_of_unit = distinct_rows(table)
        self._cells: tuple[Ratings, Cells] | None = None

    def cells(self, ratings: Ratings) -> Cells:
        if self._cells is None or self._cells[0] is not ratings:
            self._cells = ratings, Cells(self.rows, self.row_of_unit, ratings)
        return self._cells[1]


class Cells:
    """The distinct pairs of a row and a value in it that somebody gave.

    ``row`` (C,): the row of each pair. ``without``: the same rows without that rating (C × V). ``kind`` (N,): the pair
    of each rating. ``times`` (C,): how many ratings are such a pair.
    """

    def __init__(self, rows: sparse.csr_array, row_of_unit: IntArray, ratings: Ratings) -> None:
        values = rows.shape[1]
        keys, self.kind, self.times = distinct(row_of_unit[ratings.unit] * values + ratings.code)
        self.row, column = keys // values, keys % values
        self.without = sparse.csr_array(rows[self.row] - one_hot(column, values))
        self.without.eliminate_zeros()
        self._rater = ratings.rater

    @cached_property
    def of_raters(self) -> sparse.csr_array:
        """How many ratings of each pair every rater gave (R × C)."""
        return sums_by(self._rater, self.kind, len(self.row))


@lru_cache(maxsize=1)  # several coefficients of the same ratings follow each other
def _layout_of(counts: Counts) -> Layout:
    return Layout(counts.table)


class _Sample:
    """A table by its distinct rows, and the coefficient without some of it."""

    def __init__(self, coefficient: Coefficient, layout: Layout, clusters: IntArray | None) -> None:
        self.coefficient, self.clusters, self.layout = coefficient, clusters, layout
        self.times = layout.times
        self.sums, self.margins = coefficient.parts(layout.rows)
        self.totals = self.times @ self.sums
        self.total_margins = np.asarray(self.times @ self.margins)
        none = sparse.csr_array((1, layout.rows.shape[1]))
        self.value = float(self._without(np.zeros((1, len(self.totals))), none)[0])

    def _without(self, sums: FloatArray, margins: sparse.csr_array) -> FloatArray:
        """The coefficient without each of D parts: ``sums`` (D × k) and ``margins`` (D × V) of what is left out."""
        return self.coefficient.figure(self.totals - sums, Margins(self.total_margins, margins))

    def without_units(self) -> tuple[LeftOut, int]:
        """The coefficient without each unit or cluster that enters, and how many these are."""
        sums, margins, times = self.sums, self.margins, self.times
        if self.clusters is not None:
            share = sums_by(self.clusters, self.layout.row_of_unit, len(self.times))
            sums, margins = np.asarray(share @ sums), sparse.csr_array(share @ margins)
            times = np.ones(len(sums))
        entered = np.nonzero(sums.any(axis=1))[0]
        figures = self._without(sums[entered], margins[entered])
        return LeftOut(figures, times[entered]), int(times[entered].sum())

    def without_raters(self, ratings: Ratings) -> tuple[LeftOut, LeftOut]:
        """The coefficient without each rater, and without each rating (of a rater and a cluster of units)."""
        cells = self.layout.cells(ratings)
        sums, margins = self.coefficient.parts(cells.without)
        sums, margins = self.sums[cells.row] - sums, sparse.csr_array(self.margins[cells.row] - margins)
        without_raters = self._left_out(cells.of_raters, sums, margins)
        if self.clusters is None:
            return without_raters, LeftOut(self._without(sums, margins), cells.times.astype(np.float64))
        both = self.clusters[ratings.unit] * (int(ratings.rater.max()) + 1) + ratings.rater
        return without_raters, self._left_out(sums_by(both, cells.kind, len(sums)), sums, margins)

    def _left_out(self, share: sparse.csr_array, sums: FloatArray, margins: sparse.csr_array) -> LeftOut:
        """Without each group of ratings: ``share`` (G × C) has how many of each row of ``sums`` and ``margins``."""
        figures = self._without(np.asarray(share @ sums), sparse.csr_array(share @ margins))
        return LeftOut(figures, np.ones(len(figures)))


def sums_by(groups: IntArray, rows: IntArray, count: int) -> sparse.csr_array:
    """The matrix (G × ``count``) that adds up the given rows by group."""
    _, codes, _ = distinct(groups)
    shape = (int(codes.max(initial=-1)) + 1, count)
    return sparse.coo_array((np.ones(len(rows)), (codes, rows)), shape=shape).tocsr()


def distinct(codes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The distinct codes in order, the index of each code among them, and how often each occurs, as `np.unique` gives.

    Codes from 0 up to about their number are counted, not sorted.
    """
    if not len(codes) or codes.min() < 0 or codes.max() > 4 * len(codes) + 1_000:
        values, inverse, times = np.unique(codes, return_inverse=True, return_counts=True)
        return values, np.asarray(inverse, dtype=np.int64).ravel(), times
    counts = np.bincount(codes)
    values = np.flatnonzero(counts)
    position = np.empty(len(counts), dtype=np.int64)
    position[values] = np.arange(len(values))
    return values, position[codes], counts[values]


def distinct_rows(table: sparse.csr_array) -> tuple[sparse.csr_array, FloatArray, IntArray]:
    """The distinct rows of ``table`` (P × V), how often each occurs (P,), and each unit's row (U,).

    A table with many values keeps all its rows.
    """
    units = table.shape[0]
    if table.shape[1] > MOST_VALUES_TO_REDUCE:
        return table, np.ones(units), np.arange(units, dtype=np.int64)
    dense = table.toarray()
    base = dense.max(initial=0.0) + 1
    if base ** table.shape[1] < 2**53 and dense.min(initial=0.0) >= 0 and not (dense % 1).any():
        # Counts are the digits of a number, and numbers are sorted faster than rows, in the same order.
        number = dense @ base ** np.arange(table.shape[1] - 1, -1, -1)
        _, first, row_of_unit, times = np.unique(number, return_index=True, return_inverse=True, return_counts=True)
        rows = dense[first]
    else:
        rows, row_of_unit, times = np.unique(dense, axis=0, return_inverse=True, return_counts=True)
    return sparse.csr_array(rows), times.astype(np.float64), np.asarray(row_of_unit, dtype=np.int64).ravel()


def one_hot(column: IntArray, columns: int) -> sparse.csr_array:
    """Rows with a 1 in the given column each."""
    shape = (len(column), columns)
    return sparse.csr_array((np.ones(len(column)), column, np.arange(len(column) + 1)), shape=shape)


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
