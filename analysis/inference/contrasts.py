"""Intervals and tests of linear combinations of figures, from the sums of their influence over clusters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import ClusterSums, Floats
from analysis.inference.dimensions import Term

Bounds = tuple[float, float]

#: With fewer clusters in a dimension, a variance over it says next to nothing, and there is no interval.
LEAST_CLUSTERS = 5
SAME_ANSWERS = "all answers agree, so they do not show how uncertain the figure is"


def bounds_of_difference(bounds: Bounds | None) -> Bounds | None:
    """The least and the largest difference of two figures between these bounds."""
    return None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])


class Contrasts(ABC):
    """K figures from the same answers. What subclasses add is where the sums come from."""

    values: Floats
    level: float

    @property
    @abstractmethod
    def sums(self) -> Sequence[tuple[Term, ClusterSums]]:
        """For each term of the variance the figures' sums over its clusters."""

    @abstractmethod
    def answers_used(self, figures: Sequence[int]) -> int:
        """How many answers any of these figures rests on."""

    @property
    def ranked_count(self) -> int:
        """How many of the figures, from the first, can be ranked against each other."""
        return len(self.values)

    def level_of(self, figure: int) -> int:
        """The level that the figure is about. Figures of one level rest on the same answers."""
        return figure

    def estimate(self, index: int = 0, *, bounds: Bounds | None = None) -> Estimate:
        """The figure with its interval, which stays inside ``bounds``; NaN bounds with a note where there is none."""
        return self.contrast(self.weights_of(index), bounds=bounds)

    def difference(self, first: int, second: int, *, bounds: Bounds | None = None) -> Estimate:
        """The first figure minus the second, with its interval; ``bounds`` are those of the difference."""
        return self.contrast(self.weights_of(first, second), bounds=bounds)

    def p(self, index: int = 0, *, null: float = 0.0, bounds: Bounds | None = None) -> float:
        """Two-sided p of the hypothesis that the figure is ``null``; NaN where there is no interval."""
        return self.contrast_p(self.weights_of(index), null=null, bounds=bounds)

    def p_difference(self, first: int, second: int, *, bounds: Bounds | None = None, cautious: bool = False) -> float:
        """Two-sided p of the hypothesis that both figures are equal; NaN where there is no interval.

        ``cautious``: V is never less than the larger of the one-way sums, which it can only be by chance.
        """
        return self.contrast_p(self.weights_of(first, second), bounds=bounds, cautious=cautious)

    def standard_error(self, index: int = 0) -> float:
        return math.sqrt(self.spread(self.weights_of(index)).variance)

    def contrast(
        self,
        gradient: ArrayLike,
        *,
        value: float | None = None,
        bounds: Bounds | None = None,
        level: float | None = None,
    ) -> Estimate:
        """The linear combination of the figures with weights ``gradient`` (K,), with its interval.

        With ``value``: a function of the figures that has this value and this gradient (the delta method). ``level``
        of the interval: that of the figures by default.
        """
        weights = np.asarray(gradient, dtype=float)
        centre_value = self._value(weights) if value is None else value
        n = self.answers_used(np.nonzero(weights)[0].tolist())
        level = self.level if level is None else level
        spread = self.spread(weights)
        if note := spread.missing(centre_value):
            return Estimate(centre_value, n=n, n_of="answers", level=level, note=note)
        centre, slope = _to_line(centre_value, bounds)
        if not math.isfinite(centre):
            return Estimate(centre_value, n=n, n_of="answers", level=level, note=SAME_ANSWERS)
        half = float(stats.t.ppf((1 + level) / 2, spread.freedom)) * math.sqrt(spread.variance) * slope
        low, high = _from_line(centre - half, bounds), _from_line(centre + half, bounds)
        return Estimate(centre_value, low, high, n, "answers", level, spread.method)

    def contrast_p(
        self,
        gradient: ArrayLike,
        *,
        value: float | None = None,
        null: float = 0.0,
        bounds: Bounds | None = None,
        cautious: bool = False,
    ) -> float:
        """Two-sided p of the hypothesis that this combination is ``null``; arguments as in `contrast`."""
        t, freedom = self._t(np.asarray(gradient, dtype=float), value, null, bounds, cautious)
        return float(2 * stats.t.sf(abs(t), freedom))

    def p_equivalent(self, first: int, second: int, margin: float) -> float:
        """p of two one-sided tests (TOST; Schuirmann 1987): small if the difference lies within ±``margin``.

        NaN where there is no interval. ValueError: a margin not above 0.
        """
        if not margin > 0:
            raise ValueError(f"the margin of equivalence must be above 0, not {margin:g}")
        weights = self.weights_of(first, second)
        above, freedom = self._t(weights, None, -margin, None, False)
        below, _ = self._t(weights, None, margin, None, False)
        return float(max(stats.t.sf(above, freedom), stats.t.cdf(below, freedom)))

    def _t(
        self, weights: Floats, value: float | None, null: float, bounds: Bounds | None, cautious: bool
    ) -> tuple[float, float]:
        """The test statistic and its degrees of freedom; NaN where there is no interval."""
        centre_value, spread = self._value(weights) if value is None else value, self.spread(weights, cautious)
        if spread.missing(centre_value):
            return math.nan, math.nan
        centre, slope = _to_line(centre_value, bounds)
        if not math.isfinite(centre):
            return math.nan, math.nan
        return (centre - _to_line(null, bounds)[0]) / (math.sqrt(spread.variance) * slope), spread.freedom

    def weights_of(self, first: int, second: int | None = None) -> Floats:
        """The weights (K,) of a figure, or of the first minus the second."""
        weights = np.zeros(len(self.values))
        weights[first] += 1
        if second is not None:
            weights[second] -= 1
        return weights

    def _value(self, weights: Floats) -> float:
        chosen = np.nonzero(weights)[0]  # figures that are not in it may be NaN
        return float(weights[chosen] @ self.values[chosen])

    def spread(self, weights: Floats, cautious: bool = False) -> Spread:
        """Variance, degrees of freedom and the numbers of clusters of a linear combination of figures."""
        chosen = np.nonzero(weights)[0].tolist()
        by_level: dict[int, list[int]] = {}
        for figure in chosen:
            by_level.setdefault(self.level_of(figure), []).append(figure)
        one_of_each = [figures[0] for figures in by_level.values()]
        total, freedom = 0.0, math.inf
        one_way: dict[str, float] = {}
        clusters: dict[str, int] = {}
        fewest: dict[str, int] = {}
        any_separate, any_shared = False, False
        for term, sums in self.sums:
            square = term.sign * sums.squares_sum(weights)
            total += square
            if term.dimension:
                one_way[term.dimension] = one_way.get(term.dimension, 0.0) + square
            if term.counts:
                counts = sums.counts(one_of_each)
                clusters[term.dimension] = sums.count_of_any(one_of_each)
                fewest[term.dimension] = int(counts.min(initial=clusters[term.dimension]))
                separate = len(by_level) > 1 and counts.sum() == clusters[term.dimension]
                degrees = float(clusters[term.dimension] - 1)
                if separate:  # no cluster is in two of the levels: Welch's degrees of freedom
                    parts = np.array([sums.squares_sum(_only(weights, figures)) for figures in by_level.values()])
                    if parts.sum() > 0:
                        degrees = float(parts.sum() ** 2 / (parts**2 / np.maximum(counts - 1, 1)).sum())
                freedom = min(freedom, degrees)
                any_separate, any_shared = any_separate or separate, any_shared or not separate
        largest = max(one_way.values())
        cancels = len(by_level) > 1 and any_separate and any_shared
        # Rounding leaves a trace of a variance that is 0.
        variance = max(total, largest) if cautious or cancels or total <= 1e-12 * largest else total
        return Spread(variance, freedom, clusters, fewest)


@dataclass(frozen=True, slots=True)
class Spread:
    variance: float
    freedom: float
    clusters: dict[str, int]
    fewest: dict[str, int]

    @property
    def method(self) -> str:
        counted = " and ".join(f"{count:,} {dimension}" for dimension, count in self.clusters.items())
        return f"clustered by {counted}; t with {self.freedom:.4g} degrees of freedom"

    def missing(self, value: float) -> str:
        """Why there is no interval, or nothing."""
        if not math.isfinite(value):
            return "the figure is undefined"
        too_few = [(count, dimension) for dimension, count in self.fewest.items() if count < LEAST_CLUSTERS]
        if too_few:
            count, dimension = min(too_few)
            counted = f"{count:,} {dimension if count != 1 else dimension.removesuffix('s')}"
            return f"based on {counted} only: an interval needs at least {LEAST_CLUSTERS}"
        # Rounding leaves a trace of a variance that is 0.
        return SAME_ANSWERS if self.variance <= (1e-12 * value) ** 2 else ""


def _only(weights: Floats, figures: Sequence[int]) -> Floats:
    """The weights of these figures alone."""
    rest = np.zeros(len(weights))
    rest[figures] = weights[figures]
    return rest


def _to_line(value: float, bounds: Bounds | None) -> tuple[float, float]:
    """The value on a scale without ends, and the slope there: logit of its place between ``bounds``, or log of its
    distance from the lower one if the upper one is infinite."""
    if bounds is None:
        return value, 1.0
    low, high = bounds
    below, above = value - low, high - value
    if below <= 0 or above <= 0:
        return math.copysign(math.inf, below - above), math.nan
    if math.isinf(high):
        return math.log(below), 1 / below
    return math.log(below / above), (high - low) / (below * above)


def _from_line(value: float, bounds: Bounds | None) -> float:
    if bounds is None:
        return value
    low, high = bounds
    if math.isinf(high):
        return low + math.exp(value)
    return float(low + (high - low) * stats.logistic.cdf(value))
