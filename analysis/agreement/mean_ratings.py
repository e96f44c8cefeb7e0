"""Intervals about new units *and* new raters of how reliable ratings are, alone (ICC form 1) and as means of k.

The published intervals of these figures take the raters of a unit as drawn at random for it. In most studies a rater
rates many units, and raters differ. So the figure without each unit, rater and rating gives the interval
(`analysis.agreement.jackknife`). Shapes: P distinct rows of counts of V values, k sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse

from analysis.agreement.count_tables import ratio, row_sums
from analysis.agreement.jackknife import Margins, estimate_of
from analysis.agreement.ratings import FloatArray, Ratings, numeric_values
from analysis.estimate import Estimate


@dataclass(frozen=True)
class SingleRating:
    """ICC form 1 as a function of sums over units of two ratings or more: number, n, n², Σy, Σy² and (Σy)²/n.

    ``values`` (V,) are the points of the scale less their mean, or less the centre where units count in both orders.
    """

    values: FloatArray
    both_orders: bool
    least: float = -1.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        sizes, linear, square = moments(table, self.values)
        columns = [np.ones(len(sizes)), sizes, sizes**2, linear, square, linear**2 / np.maximum(sizes, 1)]
        paired = (sizes >= 2).astype(np.float64)
        return np.stack(columns, axis=1) * paired[:, None], sparse.csr_array(table.shape)

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        units, total, squared_sizes, linear, square, of_units = sums.T
        free = units - (0 if self.both_orders else 1)
        between = (of_units - (0 if self.both_orders else linear**2 / np.maximum(total, 1))) / np.maximum(free, 1)
        within = (square - of_units) / np.maximum(total - units, 1)
        size = (total - (0 if self.both_orders else squared_sizes / np.maximum(total, 1))) / np.maximum(free, 1)
        return ratio(between - within, between + (size - 1) * within)


@dataclass(frozen=True)
class MeanRating:
    """1 − E[s²/n] / Var(mean), the reliability of units' means: sums of the number, s²/n, the mean and its square."""

    values: FloatArray
    both_orders: bool
    least: float = -np.inf

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        sizes, linear, square = moments(table, self.values)
        mean = linear / np.maximum(sizes, 1)
        error = (square - sizes * mean**2) / np.maximum(sizes * (sizes - 1), 1)
        paired = (sizes >= 2).astype(np.float64)
        columns = [np.ones(len(sizes)), error, mean, mean**2]
        return np.stack(columns, axis=1) * paired[:, None], sparse.csr_array(table.shape)

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        units, error, linear, square = sums.T
        if self.both_orders:
            variance = square / np.maximum(units, 1)
        else:
            variance = (square - linear**2 / np.maximum(units, 1)) / np.maximum(units - 1, 1)
        return 1 - ratio(error / np.maximum(units, 1), variance)


def moments(table: sparse.csr_array, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """n, Σy and Σy² of each row."""
    return row_sums(table), np.asarray(table @ values), np.asarray(table @ values**2)


def single_rating(ratings: Ratings, centre: float | None, level: float) -> Estimate:
    """ICC form 1 with the interval about new units and new raters; NaN if there is none."""
    return _estimate(ratings, SingleRating, centre, level)


def mean_rating(ratings: Ratings, centre: float | None, level: float) -> Estimate:
    """The reliability of units' means with the interval about new units and new raters; NaN if there is none."""
    return _estimate(ratings, MeanRating, centre, level)


@lru_cache(maxsize=2)  # the ICC of means, split-half reliability and the ceiling rest on the same figure
def _estimate(
    ratings: Ratings, coefficient: type[SingleRating | MeanRating], centre: float | None, level: float
) -> Estimate:
    counts = ratings.counts()
    values = numeric_values(counts.values)
    middle = float(ratings.numbers().mean()) if centre is None else centre
    return estimate_of(
        coefficient(values - middle, centre is not None),
        counts,
        ratings,
        raters="any",
        interval=True,
        level=level,
        undefined="units’ means do not vary",
    )
