"""Bootstrap intervals for statistics that are functions of sums over units.

This includes α, Fleiss' κ, percent agreement and Gwet's coefficients: a `Statistic` maps weights (draws × rows of a
count table) to one figure per row of weights. The point estimate is the same function at weights of one.

Over **units**: units with the same counts are interchangeable. If there are few values, the table is first reduced to
its distinct rows, and a draw is a multinomial over these. Over **raters**: a rater drawn twice counts twice, but is
never paired with the copy, because only pairs of different raters show agreement.

Source: Efron & Tibshirani 1993, ch. 13 (percentile interval); Janssen 1994 (weighted bootstrap of U-statistics) for
leaving out a copy's pair with itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from scipy import sparse

from analysis.agreement.data import Counts, FloatArray, Ratings
from analysis.estimate import DRAWS, NO_WIDTH, SEED, Estimate

Over = Literal["units", "raters"]
Statistic = Callable[[FloatArray], FloatArray]
#: Makes a statistic from a table (rows × values) and the sum of squared rating weights per row (with weights of one:
#: the number of ratings).
Maker = Callable[[sparse.csr_array, FloatArray], Statistic]

CHUNK_CELLS = 2_000_000
MOST_VALUES_TO_REDUCE = 32


@dataclass(frozen=True, slots=True)
class Resampling:
    """How an interval is made: ``draws`` (0: none) with their ``seed``, ``over`` units or raters, at a ``level``."""

    draws: int = DRAWS
    seed: int = SEED
    over: Over = "units"
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.draws < 0:
            raise ValueError("draws must be 0 or more")
        if not 0 < self.level < 1:
            raise ValueError("the level of an interval lies between 0 and 1")
        if self.over not in ("units", "raters"):
            raise ValueError(f'an interval is over "units" or "raters", not "{self.over}"')

    @property
    def method(self) -> str:
        if not self.draws:
            return "no interval"
        return f"percentile bootstrap over {self.over}, {self.draws} draws, seed {self.seed}"


def estimate_with_interval(
    counts: Counts, ratings: Ratings | None, make: Maker, how: Resampling, *, undefined: str, entered_with: int = 1
) -> Estimate:
    """Point estimate and percentile interval of the statistic that ``make`` builds.

    ``ratings`` are what ``counts`` came from, or None if unknown (then raters cannot be resampled). Units with fewer
    than ``entered_with`` ratings are left out of the table; ``Estimate.n`` counts the units with at least two, the note
    counts the others. ``undefined`` is the note for a NaN.

    ValueError: no ratings, no unit with two ratings, only one rater, or ``over="raters"`` if raters are unknown.
    """
    check_pairable(counts, ratings)
    if ratings is None and how.over == "raters":
        raise ValueError("raters cannot be resampled from counts: give Ratings or a units × raters matrix")
    everything = counts.ratings
    entered = everything >= entered_with
    kept = counts.table[entered]
    value = float(make(kept, everything[entered])(np.ones((1, kept.shape[0])))[0])
    notes = [unit_note(everything)]
    if math.isnan(value):
        notes.insert(0, undefined)
        how = Resampling(0)
    if how.draws and (why := _too_few(int((everything >= 2).sum()), ratings, how)):
        notes.insert(0, why)
        how = Resampling(0)
    figures = np.empty(0)
    if how.draws and ratings is not None and how.over == "raters":
        figures = draws_over_raters(ratings, make, how, entered_with)
    elif how.draws:
        figures = draws_over_units(kept, make, how)
    low, high, lost = percentile_interval(figures, how.level)
    notes.append(lost)
    return Estimate(
        value=value,
        low=low,
        high=high,
        n=int((everything >= 2).sum()),
        level=how.level,
        method=how.method,
        note="; ".join(note for note in notes if note),
    )


def _too_few(units: int, ratings: Ratings | None, how: Resampling) -> str:
    """Why resampling would give an interval of zero width; empty if it would not."""
    if how.over == "units":
        return "one unit with two ratings: no interval over units" if units < 2 else ""
    return "only two raters: no interval over raters" if ratings and len(np.unique(ratings.rater)) < 3 else ""


def check_pairable(counts: Counts, ratings: Ratings | None = None) -> None:
    """ValueError if there is no pair of ratings to compare."""
    per_unit = counts.ratings
    if not per_unit.sum():
        raise ValueError("there are no ratings: every cell is missing")
    if ratings is not None and (ratings.rater == ratings.rater[0]).all():
        raise ValueError("there is only one rater: agreement needs two")
    if (per_unit < 2).all():
        raise ValueError("no unit has two ratings: agreement cannot be estimated")


def unit_note(ratings: FloatArray) -> str:
    """A note on how many units had fewer than two ratings; empty if none."""
    few = int((ratings < 2).sum())
    return f"of {len(ratings)} units, {few} with fewer than 2 ratings: no pair" if few else ""


def draws_over_units(table: sparse.csr_array, make: Maker, how: Resampling) -> FloatArray:
    """The statistic on ``how.draws`` resamples of the rows (U) of ``table``, with replacement: (draws,)."""
    rows, times = distinct_rows(table)
    statistic = make(rows, row_sums(rows))
    rng = np.random.default_rng(how.seed)
    return np.concatenate([statistic(weights) for weights in multiplicities(times, how.draws, rng, rows.shape[1])])


def draws_over_raters(ratings: Ratings, make: Maker, how: Resampling, entered_with: int) -> FloatArray:
    """The statistic on ``how.draws`` resamples of the raters, with replacement: (draws,)."""
    shape = (len(ratings.units), len(ratings.values))
    cell, place = np.unique(ratings.unit * shape[1] + ratings.code, return_inverse=True)
    rater_ids, rater = np.unique(ratings.rater, return_inverse=True)
    column, start = cell % shape[1], np.searchsorted(cell, np.arange(shape[0] + 1) * shape[1])
    rng = np.random.default_rng(how.seed)
    figures = np.full(how.draws, np.nan)
    for draw in range(how.draws):
        drawn = rng.integers(0, len(rater_ids), len(rater_ids))
        weight = np.bincount(drawn, minlength=len(rater_ids)).astype(np.float64)[rater]
        data = np.bincount(place, weight, minlength=len(cell))
        squares = np.bincount(ratings.unit, weight**2, minlength=shape[0]).astype(np.float64)
        table = sparse.csr_array((data, column, start), shape=shape)
        sums = row_sums(table)
        if (sums**2 > squares).any():
            kept = sums >= entered_with
            figures[draw] = make(table[kept], squares[kept])(np.ones((1, int(kept.sum()))))[0]
    return figures


def distinct_rows(table: sparse.csr_array) -> tuple[sparse.csr_array, FloatArray]:
    """The distinct rows of ``table`` and how often each occurs, sorted: draws do not depend on the order of units.

    A table with many values keeps all its rows, sorted by a few weighted sums of their counts.
    """
    if table.shape[1] > MOST_VALUES_TO_REDUCE:
        place = np.arange(1.0, table.shape[1] + 1)
        order = np.lexsort([np.asarray(table @ weights) for weights in (place**0, place, place**2, np.sqrt(place))])
        return table[order], np.ones(table.shape[0])
    rows, times = np.unique(table.toarray(), axis=0, return_counts=True)
    return sparse.csr_array(rows), times.astype(np.float64)


def multiplicities(
    times: FloatArray, draws: int, rng: np.random.Generator, width: int = 1, cells: int = CHUNK_CELLS
) -> Iterator[FloatArray]:
    """How often each row enters each draw, in chunks (b × rows) of limited memory.

    ``times`` (rows,) is how many units each row represents; a draw has as many units as the data.
    """
    units = int(times.sum())
    chunk = max(1, cells // max(len(times), width))
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        if units > 8 * len(times):
            yield rng.multinomial(units, times / units, size=size).astype(np.float64)
            continue
        row_of_unit = np.repeat(np.arange(len(times)), times.astype(np.int64))
        weights = np.empty((size, len(times)))
        for row in weights:
            row[:] = np.bincount(row_of_unit[rng.integers(0, units, units)], minlength=len(times))
        yield weights


def percentile_interval(figures: FloatArray, level: float) -> tuple[float, float, str]:
    """Low and high quantile of the defined draws, and a note on undefined draws or zero width."""
    defined = figures[~np.isnan(figures)]
    if not len(defined):
        return math.nan, math.nan, "no draw of the bootstrap was defined" if len(figures) else ""
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    lost = len(figures) - len(defined)
    notes = [NO_WIDTH] if math.isclose(low, high, rel_tol=0, abs_tol=1e-12) else []
    if lost:
        notes.append(f"{lost} of {len(figures)} bootstrap draws undefined and left out")
    return float(low), float(high), "; ".join(notes)


def row_sums(table: sparse.csr_array) -> FloatArray:
    """The sum of each row (U,), such as the number of ratings per unit."""
    return np.asarray(table.sum(axis=1), dtype=np.float64).ravel()


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Elementwise division, NaN (without a warning) if the denominator is 0 or less."""
    out = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return cast(FloatArray, np.divide(numerator, denominator, out=out, where=denominator > 0))
