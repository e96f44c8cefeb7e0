"""Intervals and tests of linear combinations of figures, from the sums of their influence over clusters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from analysis.distributions import logistic, t_above, t_quantile
from analysis.estimate import Estimate
from analysis.inference.cluster_sums import ClusterSums, Floats
from analysis.inference.dimensions import Term
from analysis.inference.small_samples import degrees_of_freedom

Bounds = tuple[float, float]

#: With fewer clusters in a dimension, a variance over it says next to nothing, and there is no interval.
LEAST_CLUSTERS = 5
#: With fewer, 95% intervals are not quite right: docs/uncertainty.md has the shares that are, by the kind of figure.
FEW_CLUSTERS = 15
FEW_REMARK = "with fewer than 15 of either, {} of such 95% intervals are right in simulations"
MEANS, MEANS_IN_A_RANGE, OTHERS = "90 to 98%", "92 to 100%", "88 to 100%"
#: With fewer, intervals of shares near 0 or 1 are too wide, however many clusters there are.
FEW_ANSWERS = 50
FEW_ANSWERS_REMARK = (
    f"with fewer than {FEW_ANSWERS} answers, {MEANS_IN_A_RANGE} of such 95% intervals are right in simulations"
)
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
    def is_linearised(self) -> bool:
        """Whether the figures are no means, so that their influence is that of a first-order approximation."""
        return False

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

        ``cautious``: without multipliers (`small_samples`), V is never less than the larger of the one-way sums, which
        it can only be by chance.
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
        cautious: bool = False,
    ) -> Estimate:
        """The linear combination of the figures with weights ``gradient`` (K,), with its interval.

        With ``value``: a function of the figures that has this value and this gradient (the delta method). ``level``
        of the interval: that of the figures by default. ``cautious`` as in `p_difference`.
        """
        weights = np.asarray(gradient, dtype=float)
        centre_value = self._value(weights) if value is None else value
        n = self.answers_used(np.nonzero(weights)[0].tolist())
        level = self.level if level is None else level
        spread = self.spread(weights, cautious)
        if note := spread.missing(centre_value):
            return Estimate(centre_value, n=n, n_of="answers", level=level, note=note)
        centre, slope = _to_line(centre_value, bounds)
        if not math.isfinite(centre):
            return Estimate(centre_value, n=n, n_of="answers", level=level, note=SAME_ANSWERS)
        half = float(t_quantile((1 + level) / 2, spread.freedom)) * math.sqrt(spread.variance) * slope
        low, high = _from_line(centre - half, bounds), _from_line(centre + half, bounds)
        linearised, method = value is not None or self.is_linearised, spread.method
        if min(spread.fewest.values()) < FEW_CLUSTERS:
            shares = OTHERS if linearised else MEANS if bounds is None else MEANS_IN_A_RANGE
            method += f"; {FEW_REMARK.format(shares)}"
        elif bounds is not None and n < FEW_ANSWERS:
            method += f"; {FEW_ANSWERS_REMARK}"
        return Estimate(centre_value, low, high, n, "answers", level, method)

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
        return float(2 * t_above(abs(t), freedom))

    def p_equivalent(self, first: int, second: int, margin: float) -> float:
        """p of two one-sided tests (TOST; Schuirmann 1987): small if the difference lies within ±``margin``.

        NaN where there is no interval. ValueError: a margin not above 0.
        """
        if not margin > 0:
            raise ValueError(f"the margin of equivalence must be above 0, not {margin:g}")
        weights = self.weights_of(first, second)
        above, freedom = self._t(weights, None, -margin, None, False)
        below, _ = self._t(weights, None, margin, None, False)
        return float(max(t_above(above, freedom), t_above(-below, freedom)))

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
        # A difference, its p, its rank and its equivalence ask for the same; that of the opposite is the same, too.
        signed = 0.0 - weights if weights[np.nonzero(weights)[0][:1]].sum() < 0 else weights
        key = (signed.tobytes(), cautious)
        if key not in self._spreads:
            self._spreads[key] = self._new_spread(weights, cautious)
        return self._spreads[key]

    @cached_property
    def _spreads(self) -> dict[tuple[bytes, bool], Spread]:
        return {}

    def _new_spread(self, weights: Floats, cautious: bool) -> Spread:
        squares = self._squares(weights)
        one_way = squares.one_way
        smallest, largest = min(one_way.values()), max(one_way.values())
        counts = self.multipliers(weights) if squares.crossed else None
        if not squares.crossed:
            variance, degrees = squares.published, min(squares.freedom.values())
        else:
            if counts is None:
                cancels = len(set(squares.separate.values())) == 2  # shared clusters have no part in the difference
                variance = max(squares.published, largest if cancels else smallest)
            else:
                of_means = [
                    sums.squares_sum(np.abs(weights)) if count else 0.0
                    for (_, sums), count in zip(self.sums, counts[3:].tolist(), strict=False)
                ]
                variance = max(float(counts @ [*squares.by_term, *of_means]), smallest)
            # Where every cluster is one cell, the two sums are the same and cancel out.
            parts = {
                dimension: 0.0 if squares.cells == squares.clusters[dimension] else square
                for dimension, square in one_way.items()
            }
            degrees = degrees_of_freedom(variance, parts, squares.freedom)
        cautious = cautious and counts is None
        # Rounding leaves a trace of a variance that is 0.
        variance = max(variance, largest) if cautious or variance <= 1e-12 * largest else variance
        return Spread(variance, degrees, squares.clusters, squares.fewest)

    def _squares(self, weights: Floats) -> _Squares:
        by_level: dict[int, list[int]] = {}
        for figure in np.nonzero(weights)[0].tolist():
            by_level.setdefault(self.level_of(figure), []).append(figure)
        one_of_each = [figures[0] for figures in by_level.values()]
        squares = _Squares()
        for term, sums in self.sums:
            square, dimension = sums.squares_sum(weights), term.dimension
            squares.by_term.append(square)
            squares.published += term.sign * square
            if dimension:
                squares.one_way[dimension] = squares.one_way.get(dimension, 0.0) + term.sign * square
            if term.counts:
                counts, cluster_count = sums.counts(one_of_each), sums.count_of_any(one_of_each)
                squares.clusters[dimension] = cluster_count
                squares.fewest[dimension] = int(counts.min(initial=cluster_count))
                squares.freedom[dimension] = max(float(cluster_count - 1), 1.0)
                squares.separate[dimension] = len(by_level) > 1 and counts.sum() == cluster_count
                if squares.separate[dimension]:  # no cluster is in two of the levels: Welch's degrees of freedom
                    parts = np.array([sums.squares_sum(_only(weights, figures)) for figures in by_level.values()])
                    if parts.sum() > 0:
                        welch = parts.sum() ** 2 / (parts**2 / np.maximum(counts - 1, 1)).sum()
                        squares.freedom[dimension] = float(welch)
            else:
                squares.cells = sums.count_of_any(one_of_each)
        squares.crossed = len(self.sums) == 3 and len(squares.one_way) == 2
        return squares

    def multipliers(self, weights: Floats) -> Floats | None:
        """How much the sums over items, workers and cells count (see `small_samples`); None: as published.

        Only for figures that are means, of which each answer belongs to one level at most.
        """
        return None


@dataclass(slots=True)
class _Squares:
    """The sums of squares of a combination of figures, by term and by dimension, with their numbers of clusters.

    ``published``: their sum with signs, the multiway variance. ``separate``: no cluster of the dimension is in two
    levels. ``crossed``: there are two dimensions, and every answer has one cluster of each.
    """

    by_term: list[float] = field(default_factory=list)
    one_way: dict[str, float] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)
    fewest: dict[str, int] = field(default_factory=dict)
    freedom: dict[str, float] = field(default_factory=dict)
    separate: dict[str, bool] = field(default_factory=dict)
    cells: int = 0
    published: float = 0.0
    crossed: bool = False


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
            return too_few_in_words(count, dimension)
        # Rounding leaves a trace of a variance that is 0.
        return SAME_ANSWERS if self.variance <= (1e-12 * value) ** 2 else ""


def too_few_in_words(count: int, dimension: str) -> str:
    """Why there is no interval, where there are fewer than `LEAST_CLUSTERS` of a dimension such as items."""
    verb = "is" if count == 1 else "are"
    return f"an interval needs at least {LEAST_CLUSTERS} {dimension}, and there {verb} only {count}"


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
    return float(low + (high - low) * logistic(value))
