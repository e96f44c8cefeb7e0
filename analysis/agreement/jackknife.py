"""Intervals of agreement for new units and new raters, by leaving out units, raters and single ratings.

Two units share raters, and two ratings share their unit, so a coefficient varies with both. Leaving out each unit, each
rater and each rating in turn gives three jackknife variances; the two-way variance is

    V = V_units + V_raters − V_ratings,    V_G = (G − 1)/G · Σ_g (θ without g − θ)²

and not below V_units. Where every rater rated every unit, raters' effects are in every rating, and V is not below
V_raters either. The last term is what the first two count twice. The interval is that of Student's t with
min(units, raters) − 1 degrees of freedom, on the logit of the coefficient's place in its range, so it stays inside. If
there are fewer than five raters, or they are the only ones that matter, V is V_units, and the interval is about *these*
raters.

Sources: Cameron, Gelbach & Miller 2011 (two-way clusters); MacKinnon, Nielsen & Webb 2024 (their jackknife); Efron &
Tibshirani 1993, ch. 11 (jackknife); Aronow, Samii & Assenova 2015 (pairs that share a member).

Shapes: U units, V values, R raters, N ratings, P distinct rows of counts, k sums. A coefficient is a function of sums
over units: `Coefficient.parts` gives what a unit's counts add, and `Coefficient.figure` makes the coefficient of the
sums. Units with the same counts are interchangeable, so 100,000 units on a scale of five cost little more than their
distinct rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from scipy import sparse

from analysis.agreement.count_tables import CHUNK_CELLS, check_pairable, row_sums, unit_note
from analysis.agreement.ratings import Counts, FloatArray, IntArray, Ratings
from analysis.distributions import logistic, t_quantile
from analysis.estimate import Estimate

#: The interval is about any raters like these, or about exactly these.
Raters = Literal["any", "these"]
LEAST = 5
#: With fewer units, some intervals of α and κ are too narrow.
MANY_UNITS = 30
MOST_VALUES_TO_REDUCE = 32
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
    return estimate_from_table(
        coefficient,
        counts.table,
        ratings,
        units=int((per_unit >= PAIR).sum()),
        raters=raters,
        interval=interval,
        level=level,
        notes=(undefined, unit_note(per_unit)),
    )


def estimate_from_table(
    coefficient: Coefficient,
    table: sparse.csr_array,
    ratings: Ratings | None,
    *,
    units: int,
    raters: Raters,
    interval: bool,
    level: float,
    notes: tuple[str, str],
    clusters: IntArray | None = None,
    n_of: str = "units",
) -> Estimate:
    """As `estimate_of`, for any table whose columns ``coefficient`` can read.

    ``units``: how many enter. ``notes``: on a NaN, and on what was left out. ``ratings`` index the rows and columns of
    ``table``. ``clusters`` (U,): units that are left out together, such as pairs of texts of one context, as codes;
    None: each for itself.
    """
    if not 0 < level < 1:
        raise ValueError("the level of an interval lies between 0 and 1")
    if raters not in ("any", "these"):
        raise ValueError(f'the interval is about "any" or "these" raters, not "{raters}"')
    undefined, left_out = notes
    sample = _Sample(coefficient, table, clusters)
    point_estimate = Estimate(sample.value, n=units, n_of=n_of, level=level, note=left_out)
    if math.isnan(sample.value):
        return replace(point_estimate, note=_joined(undefined, left_out))
    if not interval:
        return replace(point_estimate, method="no interval")
    if units < LEAST:
        too_few = f"{units} {n_of.removesuffix('s') if units == 1 else n_of} with two ratings"
        return replace(point_estimate, note=_joined(f"{too_few}: an interval needs at least {LEAST}", left_out))
    rater_count = 0 if ratings is None else len(distinct(ratings.rater)[0])
    variance, clusters_used, undefined_times = sample.variance_over_units()
    freedom = clusters_used - 1.0
    method = "jackknife over " + (f"{units:,} {n_of}" if clusters is None else f"{clusters_used:,} clusters")
    if ratings is not None and raters == "any" and rater_count >= LEAST:
        variance, undefined_times = sample.variance_over_both(ratings, variance, undefined_times)
        freedom = min(freedom, rater_count - 1)
        # In simulated studies (docs/uncertainty.md): too few with few units, too many where raters only guess.
        share_right = "85 to 100%" if clusters_used < MANY_UNITS else "91 to 100%"
        method += f" and {rater_count:,} raters; {share_right} of such 95% intervals are right in simulations"
    elif rater_count:
        method += f", for these {rater_count:,} raters"
    bounds = interval_inside(sample.value, variance, freedom, (coefficient.least, 1.0), level)
    if math.isnan(bounds[0]):
        no_spread = "the units do not differ in their agreement, so they do not show how uncertain the figure is"
        return replace(point_estimate, note=_joined(no_spread, left_out))
    lost = f"undefined without some of the units or raters ({undefined_times:,}), which the interval leaves out"
    note = _joined(lost if undefined_times else "", left_out)
    return replace(point_estimate, low=bounds[0], high=bounds[1], method=method, note=note)


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


class _Sample:
    """A table by its distinct rows, and the coefficient without some of it."""

    def __init__(self, coefficient: Coefficient, table: sparse.csr_array, clusters: IntArray | None) -> None:
        self.coefficient, self.clusters = coefficient, clusters
        self.rows, self.times, self.row_of_unit = distinct_rows(table)
        self.sums, self.margins = coefficient.parts(self.rows)
        self.totals = self.times @ self.sums
        self.total_margins = np.asarray(self.times @ self.margins)
        none = sparse.csr_array((1, table.shape[1]))
        self.value = float(self._without(np.zeros((1, len(self.totals))), none)[0])

    def _without(self, sums: FloatArray, margins: sparse.csr_array) -> FloatArray:
        """The coefficient without each of D parts: ``sums`` (D × k) and ``margins`` (D × V) of what is left out."""
        return self.coefficient.figure(self.totals - sums, Margins(self.total_margins, margins))

    def _spread(self, figures: FloatArray, times: FloatArray) -> tuple[float, int]:
        """(G − 1)/G · Σ times·(figure − θ)² of the figures that are defined, and how many are not."""
        defined = ~np.isnan(figures)
        total_times = times[defined].sum()
        sum_of_squares = float((times[defined] * (figures[defined] - self.value) ** 2).sum())
        return (sum_of_squares * (total_times - 1) / total_times if total_times > 1 else 0.0), int(
            times[~defined].sum()
        )

    def variance_over_units(self) -> tuple[float, int, int]:
        """The variance, how many units or clusters enter, and how many the coefficient is undefined without."""
        sums, margins, times = self.sums, self.margins, self.times
        if self.clusters is not None:
            share = sums_by(self.clusters, self.row_of_unit, len(self.times))
            sums, margins = np.asarray(share @ sums), sparse.csr_array(share @ margins)
            times = np.ones(len(sums))
        entered = np.nonzero(sums.any(axis=1))[0]
        variance, lost = self._spread(self._without(sums[entered], margins[entered]), times[entered])
        return variance, int(times[entered].sum()), lost

    def variance_over_both(self, ratings: Ratings, over_units: float, lost: int) -> tuple[float, int]:
        values = self.rows.shape[1]
        keys, kind, times = distinct(self.row_of_unit[ratings.unit] * values + ratings.code)
        row, column = keys // values, keys % values
        without = sparse.csr_array(self.rows[row] - one_hot(column, values))
        without.eliminate_zeros()
        sums, margins = self.coefficient.parts(without)
        sums, margins = self.sums[row] - sums, sparse.csr_array(self.margins[row] - margins)
        if self.clusters is None:
            over_ratings, _ = self._spread(self._without(sums, margins), times.astype(np.float64))
        else:
            cells = self.clusters[ratings.unit] * (int(ratings.rater.max()) + 1) + ratings.rater
            over_ratings, _ = self._left_out_by(cells, kind, sums, margins)
        over_raters, lost_raters = self._left_out_by(ratings.rater, kind, sums, margins)
        complete = len(ratings.code) == int(self.times.sum()) * len(distinct(ratings.rater)[0])
        lower_bound = max(over_units, over_raters) if complete else over_units
        return max(over_units + over_raters - over_ratings, lower_bound), lost + lost_raters

    def _left_out_by(
        self, groups: IntArray, kind: IntArray, sums: FloatArray, margins: sparse.csr_array
    ) -> tuple[float, int]:
        """`_spread` without each group of ratings; ``kind`` (N,) is each rating's row of ``sums`` and ``margins``."""
        share = sums_by(groups, kind, len(sums))
        figures = self._without(np.asarray(share @ sums), sparse.csr_array(share @ margins))
        return self._spread(figures, np.ones(len(figures)))


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
