"""Small computations on tables of counts that several coefficients share."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse

from analysis.agreement.ratings import Counts, FloatArray, Ratings

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
    too_few = int((ratings < 2).sum())
    return f"of {len(ratings)} units, {too_few} with fewer than 2 ratings: no pair" if too_few else ""


def row_sums(table: sparse.csr_array) -> FloatArray:
    """The sum of each row (U,), such as the number of ratings per unit."""
    return np.asarray(table.sum(axis=1), dtype=np.float64).ravel()


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Elementwise division, NaN (without a warning) if the denominator is 0 or less."""
    out = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return cast(FloatArray, np.divide(numerator, denominator, out=out, where=denominator > 0))
