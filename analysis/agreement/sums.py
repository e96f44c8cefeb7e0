"""Small computations on tables of counts that several coefficients share, and resamples of units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
from scipy import sparse

from analysis.agreement.data import Counts, FloatArray, Ratings
from analysis.estimate import NO_WIDTH

#: The most cells of a temporary array.
CHUNK_CELLS = 2_000_000


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
    notes = []
    if math.isclose(low, high, rel_tol=0, abs_tol=1e-12):
        low, high, notes = math.nan, math.nan, [NO_WIDTH]
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
