"""Means of people's answers that a judge's answers about many more items make more exact, without bias.

People rated some items, the judge rated these and others. The mean of a level is

    θ = ȳ + a (f̄_U − f̄_L)

where ȳ is the mean of people's answers, f̄_L the mean of the judge's ratings over the same answers, and f̄_U its mean
over the items U that only the judge rated. Whatever the judge says, the expectation of the last part is 0 as long as it
was chance which items people rated, so θ is about people. The weight a makes the variance least; it is 0 for a judge
that says nothing about people's answers, and θ is then ȳ.

θ is the mean of y − a f over people's answers, which has the uncertainty of any mean over items and workers
(`inference.crossed`), plus a f̄_U, which rests on other items. The two variances add up; degrees of freedom are
Satterthwaite's. So that the answers do not choose their own weight, the weight for an item is that of all other items.

Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient prediction-powered inference", eq. 3 and section 6 (a is
their λ). New here: clusters of items and workers at once, and weights that leave out the item.

Shapes: N answers of people, M items of the judge, K levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.distributions import t_quantile
from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats, Ints
from analysis.inference.contrasts import Bounds
from analysis.inference.crossed import Figures, ratios
from analysis.inference.dimensions import Dimensions

#: Fewer items that only the judge rated do not say how far its ratings vary.
LEAST_UNRATED = 2


@dataclass(frozen=True, slots=True)
class PoweredLevel:
    """One level: the mean by people alone, by both, and by the judge alone.

    ``weight``: mean weight of the judge's ratings, from 0 to 1. ``rated`` and ``unrated``: items that people rated, and
    items that only the judge did.
    """

    name: str
    people: Estimate
    both: Estimate
    judge: float
    weight: float
    rated: int
    unrated: int


@dataclass(frozen=True)
class PoweredLevels:
    """K levels, and differences between them."""

    levels: Sequence[PoweredLevel]
    people: Figures
    adjusted: Figures
    added: Floats
    added_variance: Floats
    added_freedom: Floats
    bounds: Bounds | None = None

    def difference(self, first: int, second: int) -> tuple[Estimate, Estimate]:
        """The first level minus the second: by people alone, and by both."""
        weights = np.zeros(len(self.added))
        weights[first], weights[second] = 1.0, -1.0
        limits = None if self.bounds is None else (self.bounds[0] - self.bounds[1], self.bounds[1] - self.bounds[0])
        return self.people.difference(first, second, bounds=limits), self._combined(weights, limits)

    def mean(self, level: int) -> Estimate:
        weights = np.zeros(len(self.added))
        weights[level] = 1.0
        return self._combined(weights, self.bounds)

    def _combined(self, weights: Floats, limits: Bounds | None) -> Estimate:
        of_people = self.adjusted.contrast(weights)
        value = float(weights @ (self.adjusted.values + self.added))
        variance = float(weights**2 @ self.added_variance)
        if limits is not None:
            value = min(max(value, limits[0]), limits[1])
        if variance == 0.0 or math.isnan(of_people.low):
            return replace(of_people, value=value)
        spread = self.adjusted.spread(weights)
        total = spread.variance + variance
        parts = np.divide(weights**4 * self.added_variance**2, self.added_freedom)
        freedom = total**2 / (spread.variance**2 / spread.freedom + float(parts.sum()))
        half = float(t_quantile((1 + of_people.level) / 2, freedom)) * math.sqrt(total)
        low, high = value - half, value + half
        if limits is not None:
            low, high = max(low, limits[0]), min(high, limits[1])
        clusters = " and ".join(f"{count:,} {name}" for name, count in spread.clusters.items())
        method = f"prediction-powered, clustered by {clusters}; t with {freedom:.4g} degrees of freedom"
        return replace(of_people, value=value, low=low, high=high, method=method)


def powered_levels(
    values: ArrayLike,
    *,
    items: ArrayLike,
    workers: ArrayLike,
    judged: pd.Series,
    levels: pd.Series | None = None,
    weight: float | None = None,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> PoweredLevels:
    """The means of people's answers ``values`` (N,) about ``items`` (N,) by ``workers`` (N,), by level.

    ``judged``: the judge's rating of each item (M,), by its name. ``levels``: the level of each item (M,), by its name;
    None: all have one. ``weight``: of the judge in all levels; None: the best. ``bounds``: the ends of the scale.

    ValueError: no answers; an item that people rated and the judge did not; an item twice; an item without a level.
    """
    answers, of_items = np.asarray(values, dtype=float), np.asarray(items, dtype=object)
    by_item = pd.Series("", index=judged.index) if levels is None else levels.reindex(judged.index)
    _check(of_items, judged, by_item)
    dimensions = Dimensions.of(items=of_items, workers=np.asarray(workers, dtype=object))
    predicted = judged.reindex(of_items).to_numpy(dtype=float)
    answer_levels = by_item.reindex(of_items).to_numpy(dtype=object)
    names = list(dict.fromkeys(answer_levels))
    flags = np.stack([(answer_levels == name).astype(float) for name in names], axis=1)
    unrated = judged[~judged.index.isin(set(of_items))].astype(float)
    others = [unrated[(by_item.reindex(unrated.index) == name).to_numpy()].to_numpy() for name in names]

    adjusted, weights = np.zeros((len(answers), len(names))), np.zeros(len(names))
    added = np.zeros((3, len(names)))  # what the other items add, its variance, its degrees of freedom
    added[2] = 1.0
    for number, of_level in enumerate(others):
        rows = np.nonzero(flags[:, number])[0]
        of_answers = np.zeros(len(rows))
        if len(of_level) >= LEAST_UNRATED:
            spread = float(of_level.var(ddof=1)) / len(of_level)
            of_answers = np.full(len(rows), weight)
            if weight is None:
                of_answers = _best_weights(answers[rows], predicted[rows], dimensions.codes["items"][rows], spread)
            weights[number] = of_answers.mean()
            added[:, number] = weights[number] * of_level.mean(), weights[number] ** 2 * spread, len(of_level) - 1
        adjusted[rows, number] = answers[rows] - of_answers * predicted[rows]
    people, both = (ratios(column, flags, dimensions, level=level) for column in (answers[:, None] * flags, adjusted))
    powered = PoweredLevels([], people, both, added[0], added[1], added[2], bounds)
    described = []
    for number, name in enumerate(names):
        of_people, of_judge = people.estimate(number, bounds=bounds), float(judged[by_item == name].mean())
        rated = len(np.unique(dimensions.codes["items"][flags[:, number] > 0]))
        counts = (float(weights[number]), rated, len(others[number]))
        described.append(PoweredLevel(str(name), of_people, powered.mean(number), of_judge, *counts))
    return replace(powered, levels=described)


def _check(items: np.ndarray, judged: pd.Series, levels: pd.Series) -> None:
    """ValueError: as `powered_levels` says."""
    if not len(items):
        raise ValueError("there are no answers by people")
    if judged.index.has_duplicates:
        twice = judged.index[judged.index.duplicated()][0]
        raise ValueError(f"the judge rated “{twice}” more than once: give the mean of its ratings")
    if missing := set(items) - set(judged.index):
        raise ValueError(f"the judge has not rated “{min(missing)}”, which people rated")
    if levels.isna().any():
        raise ValueError(f"the item “{levels.index[levels.isna()][0]}” has no level")


def _best_weights(answers: Floats, predicted: Floats, items: Ints, spread: float) -> Floats:
    """For each answer (N,) the weight with the least variance, from the sums over all items but its own.

    ``spread``: the variance of the judge's mean over items that people did not rate. Between 0 and 1.
    """
    centred, ratings = answers - answers.mean(), predicted - predicted.mean()
    codes = pd.factorize(items)[0]
    of_answers, of_judge = np.bincount(codes, centred), np.bincount(codes, ratings)
    product, square = of_answers * of_judge, of_judge**2
    n_items = len(of_answers)
    if n_items < 2:
        return np.zeros(len(answers))
    factor = n_items / (n_items - 1) / len(answers) ** 2
    # Without one item there are fewer terms: the sums are those of as many items as before.
    covariance = (product.sum() - product) * factor * n_items / (n_items - 1)
    variance = (square.sum() - square) * factor * n_items / (n_items - 1) + spread
    best = np.divide(covariance, variance, out=np.zeros(n_items), where=variance > 0)
    return np.asarray(np.clip(best, 0.0, 1.0)[codes])
