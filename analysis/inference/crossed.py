"""Uncertainty in crossed designs: variances from the influence of each answer, clustered by item and by worker.

Answers about one item share its difficulty, and answers of one worker share their leniency. A figure is about new items
*and* new workers, so both vary. For an estimator with influence values ψ of the answers, the two-way variance is

    V = Σ_items (Σ_{r in item} ψ_r)² + Σ_workers (Σ_{r of worker} ψ_r)² − Σ_cells (Σ_{r in cell} ψ_r)²

where a cell is what one worker answered about one item. Each sum carries the factor G/(G − 1) of its G clusters. If V
is not positive, the larger of the one-way sums takes its place. More dimensions enter in the same way, by inclusion and
exclusion. Intervals and p use Student's t with min(G) − 1 degrees of freedom.

A difference of levels that share their workers, but not their items (or the reverse), is not disturbed by what the
shared ones have in common: their effects cancel out. The cells still contain them, so V would be far too small. There,
V is never below the larger of the one-way sums.

An answer may belong to two clusters of one dimension, as a comparison belongs to both of its texts. Two answers that
share a cluster then count once, whichever they share: the sum over clusters, less that over pairs of clusters.

Source: Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering", eq. 2.5 to 2.13; for two clusters
of one dimension Aronow, Samii & Assenova 2015, "Cluster-robust variance estimation for dyadic data". Where clusters
belong to one level only, such as workers to an arm, each level has its own factor, and a difference of two such levels
has Welch's (1947) degrees of freedom.

Shapes: N answers, K figures, G clusters of a dimension.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from analysis.estimate import Estimate

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bounds = tuple[float, float]

#: With fewer clusters in a dimension, a variance over it says next to nothing, and there is no interval.
LEAST_CLUSTERS = 5
SAME_ANSWERS = "all answers agree, so they do not show how uncertain the figure is"


@dataclass(frozen=True, slots=True)
class Term:
    """One sum of squares of a variance: the answers' ``rows`` (None: all) by their clusters ``codes``, with its sign.

    ``dimension`` is the name if the term is one of a single dimension, "" for an intersection. ``counts``: its codes
    are the clusters of the dimension. ``sides``: which of an answer's two clusters each row is about, 0 or 1.
    """

    sign: int
    rows: Ints | None
    codes: Ints
    dimension: str = ""
    counts: bool = False
    sides: Ints | None = None

    def times(self, other: Term) -> Term:
        """The intersection with a term of another dimension, one of which must cover all rows."""
        if self.rows is None and other.rows is not None:
            return other.times(self)
        if other.rows is not None:
            raise ValueError("only one dimension can have two clusters for each answer")
        of_rows = other.codes if self.rows is None else other.codes[self.rows]
        return Term(-self.sign * other.sign, self.rows, _crossed(self.codes, of_rows))


@dataclass(frozen=True)
class Dimensions:
    """The ways in which answers belong together, by name in the plural: {"items": (N,), "workers": (N,)} as codes.

    One dimension may have two columns (N, 2), such as both texts of a comparison.
    """

    codes: Mapping[str, Ints]

    @classmethod
    def of(cls, **names: ArrayLike) -> Dimensions:
        """From the name of each answer's cluster: ``Dimensions.of(items=[…], workers=[…])``.

        ValueError: no dimension, lengths differ, or an answer has no name.
        """
        codes = {}
        for dimension, clusters in names.items():
            named = np.asarray(clusters)
            codes[dimension] = np.asarray(pd.factorize(named.ravel())[0], dtype=np.int64).reshape(named.shape)
        if len({len(column) for column in codes.values()}) != 1:
            raise ValueError("give at least one dimension, and a name for every answer in each")
        for dimension, column in codes.items():
            if (column < 0).any():
                raise ValueError(f"an answer has no name among the {dimension}")
        return cls(codes)

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    def chosen(self, rows: ArrayLike) -> Dimensions:
        """The dimensions of some of the answers, by their numbers or by a flag for each."""
        return Dimensions({name: codes[np.asarray(rows)] for name, codes in self.codes.items()})

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The sums that make up the variance: those of the single dimensions, then of their intersections."""
        terms: list[Term] = []
        for dimension, codes in self.codes.items():
            if codes.ndim == 1:
                dimension_terms = [Term(1, None, codes, dimension, counts=True)]
            else:
                first, second = codes.T
                rows, different = np.arange(len(codes)), np.nonzero(first != second)[0]
                sides = np.repeat([0, 1], [len(rows), len(different)]).astype(np.int64)
                member_codes = np.concatenate([first, second[different]])
                members = Term(1, np.concatenate([rows, different]), member_codes, dimension, counts=True, sides=sides)
                low, high = np.minimum(first, second)[different], np.maximum(first, second)[different]
                dimension_terms = [members, Term(-1, different, _crossed(low, high), dimension)]
            terms += [*dimension_terms, *(earlier.times(term) for earlier in terms for term in dimension_terms)]
        return tuple(terms)


@dataclass(frozen=True)
class Figures:
    """K estimates from the same N answers, with what their uncertainty follows from.

    ``values`` (K,); ``influence`` (N, K), how much each answer moves each figure, summing to about 0; ``used`` (N, K),
    whether a figure rests on an answer at all. ``level`` is that of the intervals. ``own_side`` (N, K): where a
    dimension has two clusters for each answer, which of them (0 or 1) is the figure's own, such as a system's text in
    a comparison; only own clusters are counted. None: both are.
    """

    values: Floats
    influence: Floats
    used: Flags
    dimensions: Dimensions
    level: float = 0.95
    own_side: Ints | None = None

    def combined(self, values: ArrayLike, gradient: ArrayLike) -> Figures:
        """Functions of these figures, by their ``values`` (J,) and ``gradient`` (J, K): the delta method."""
        slopes = np.atleast_2d(np.asarray(gradient, dtype=float))
        used = (self.used.astype(np.int64) @ (slopes != 0).T.astype(np.int64)) > 0
        return Figures(
            np.atleast_1d(np.asarray(values, dtype=float)), self.influence @ slopes.T, used, self.dimensions, self.level
        )

    def estimate(self, index: int = 0, *, bounds: Bounds | None = None) -> Estimate:
        """The figure with its interval, which stays inside ``bounds``; NaN bounds with a note where there is none."""
        return self._estimated(self._contrast(index, None), bounds)

    def difference(self, first: int, second: int, *, bounds: Bounds | None = None) -> Estimate:
        """The first figure minus the second, with its interval; ``bounds`` are those of the difference."""
        return self._estimated(self._contrast(first, second), bounds)

    def p(self, index: int = 0, *, null: float = 0.0, bounds: Bounds | None = None) -> float:
        """Two-sided p of the hypothesis that the figure is ``null``; NaN where there is no interval."""
        return self._tested(self._contrast(index, None), null, bounds)

    def p_difference(self, first: int, second: int, *, bounds: Bounds | None = None, cautious: bool = False) -> float:
        """Two-sided p of the hypothesis that both figures are equal; NaN where there is no interval.

        ``cautious``: V is never less than the larger of the one-way sums, which it can only be by chance.
        """
        return self._tested(self._contrast(first, second), 0.0, bounds, cautious)

    def standard_error(self, index: int = 0) -> float:
        return math.sqrt(self._spread(self._contrast(index, None)).variance)

    def covariance(self) -> Floats:
        """The multiway covariance (K, K), which may lack a positive diagonal: use `combined` for what is reported."""
        parts = [term.sign * sums.T @ sums for term, sums, _ in self._sums]
        return np.asarray(sum(parts, np.zeros((len(self.values), len(self.values)))))

    @cached_property
    def _sums(self) -> list[tuple[Term, Floats, Flags]]:
        """For each term of the variance the figures' sums (G, K) with their factors, and which clusters each has."""
        sums = []
        for term in self.dimensions.terms:
            clusters = int(term.codes.max(initial=-1)) + 1
            influence = self.influence if term.rows is None else self.influence[term.rows]
            rests_on = self.used if term.rows is None else self.used[term.rows]
            if self.own_side is not None and term.rows is not None and term.sides is not None:
                only_side = np.bincount(term.rows, minlength=len(self.own_side))[term.rows] == 1
                rests_on = rests_on & ((self.own_side[term.rows] == term.sides[:, None]) | only_side[:, None])
            total = np.stack([np.bincount(term.codes, column, clusters) for column in influence.T], axis=1)
            present = np.stack([np.bincount(term.codes, column, clusters) > 0 for column in rests_on.T], axis=1)
            count = present.sum(axis=0)
            factor = np.sqrt(np.divide(count, count - 1, out=np.ones(len(count)), where=count > 1))
            sums.append((term, total * factor, present))
        return sums

    def _contrast(self, first: int, second: int | None) -> Floats:
        weights = np.zeros(len(self.values))
        weights[first] += 1
        if second is not None:
            weights[second] -= 1
        return weights

    def _value(self, contrast: Floats) -> float:
        chosen = np.nonzero(contrast)[0]  # figures that are not in it may be NaN
        return float(contrast[chosen] @ self.values[chosen])

    def _spread(self, contrast: Floats, cautious: bool = False) -> _Spread:
        """Variance, degrees of freedom and the numbers of clusters of a linear combination of figures."""
        chosen = np.nonzero(contrast)[0]
        total, freedom = 0.0, math.inf
        one_way: dict[str, float] = {}
        clusters: dict[str, int] = {}
        fewest: dict[str, int] = {}
        any_separate, any_shared = False, False
        for term, sums, present in self._sums:
            square = term.sign * float(((sums[:, chosen] @ contrast[chosen]) ** 2).sum())
            total += square
            if term.dimension:
                one_way[term.dimension] = one_way.get(term.dimension, 0.0) + square
            if term.counts:
                counts = present[:, chosen].sum(axis=0)
                clusters[term.dimension] = int(present[:, chosen].any(axis=1).sum())
                fewest[term.dimension] = int(counts.min(initial=len(present)))
                parts = (sums[:, chosen] ** 2).sum(axis=0) * contrast[chosen] ** 2
                separate = len(chosen) > 1 and counts.sum() == clusters[term.dimension]
                degrees = float(clusters[term.dimension] - 1)
                if separate and parts.sum() > 0:  # no cluster is in two of the levels: Welch's degrees of freedom
                    degrees = float(parts.sum() ** 2 / (parts**2 / np.maximum(counts - 1, 1)).sum())
                freedom = min(freedom, degrees)
                any_separate, any_shared = any_separate or separate, any_shared or not separate
        largest = max(one_way.values())
        cancels = len(chosen) > 1 and any_separate and any_shared
        # Rounding leaves a trace of a variance that is 0.
        variance = max(total, largest) if cautious or cancels or total <= 1e-12 * largest else total
        return _Spread(variance, freedom, clusters, fewest)

    def _estimated(self, contrast: Floats, bounds: Bounds | None) -> Estimate:
        value = self._value(contrast)
        n = int(self.used[:, np.nonzero(contrast)[0]].any(axis=1).sum())
        spread = self._spread(contrast)
        note = spread.missing(value)
        method = spread.method
        if note:
            return Estimate(value, n=n, n_of="answers", level=self.level, note=note)
        centre, slope = _to_line(value, bounds)
        if not math.isfinite(centre):
            return Estimate(value, n=n, n_of="answers", level=self.level, note=SAME_ANSWERS)
        half = float(stats.t.ppf((1 + self.level) / 2, spread.freedom)) * math.sqrt(spread.variance) * slope
        low, high = _from_line(centre - half, bounds), _from_line(centre + half, bounds)
        return Estimate(value, low, high, n, "answers", self.level, method)

    def _tested(self, contrast: Floats, null: float, bounds: Bounds | None, cautious: bool = False) -> float:
        value, spread = self._value(contrast), self._spread(contrast, cautious)
        if spread.missing(value):
            return math.nan
        centre, slope = _to_line(value, bounds)
        if not math.isfinite(centre):
            return math.nan
        t = (centre - _to_line(null, bounds)[0]) / (math.sqrt(spread.variance) * slope)
        return float(2 * stats.t.sf(abs(t), spread.freedom))


@dataclass(frozen=True, slots=True)
class _Spread:
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


def figures_from_influence(
    values: ArrayLike,
    influence: ArrayLike,
    dimensions: Dimensions,
    *,
    used: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Figures:
    """Figures (K,) by their influence values (N, K) or (N,). ``used``: which answers each rests on (default: all)."""
    columns = np.asarray(influence, dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    flags = np.ones(columns.shape, dtype=bool) if used is None else np.asarray(used, dtype=bool).reshape(columns.shape)
    if len(columns) != len(dimensions):
        raise ValueError(f"the influence of {len(columns)} answers was given, and clusters of {len(dimensions)}")
    return Figures(np.atleast_1d(np.asarray(values, dtype=float)), columns, flags, dimensions, level)


def ratios(above: ArrayLike, below: ArrayLike, dimensions: Dimensions, *, level: float = 0.95) -> Figures:
    """Ratios Σ above / Σ below of K columns (N, K) or of one (N,): means, shares, accuracies, weighted means.

    A mean has 1 below; the mean of a level has 1 below in the level's answers and 0 in others, with 0 above; a mean of
    item means weighs each answer of an item with n answers by 1/n. An answer counts as used where ``below`` is not 0. A
    column without any is NaN. ValueError: shapes differ; a NaN.
    """
    top, bottom = (np.asarray(column, dtype=float) for column in (above, below))
    if top.shape != bottom.shape or len(top) != len(dimensions):
        raise ValueError("above, below and the dimensions must have one row for each answer")
    if np.isnan(top).any() or np.isnan(bottom).any():
        raise ValueError("an answer is missing: leave out its row")
    if top.ndim == 1:
        top, bottom = top[:, None], bottom[:, None]
    total = bottom.sum(axis=0)
    values = np.divide(top.sum(axis=0), total, out=np.full(len(total), math.nan), where=total != 0)
    influence = np.divide(top - bottom * values, total, out=np.zeros(top.shape), where=total != 0)
    return Figures(values, influence, bottom != 0, dimensions, level)


def _crossed(first: Ints, second: Ints) -> Ints:
    """Codes of the combinations of two codes."""
    return np.asarray(pd.factorize(first * (int(second.max(initial=0)) + 1) + second)[0], dtype=np.int64)


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
