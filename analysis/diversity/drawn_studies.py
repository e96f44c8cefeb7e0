"""Studies drawn from a study, with other numbers of sets and ratings. `stability` describes the method.

Shapes: a pool of N sets; D studies drawn, each of up to n sets: positions in the pool (D, n), weights (D, n), 0 if a
study has fewer sets than another (groups differ in size).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.diversity.association import Floats, Ints, oca_draws, spearman_draws
from analysis.diversity.checks import high_class, without_noise
from analysis.diversity.oca import around_oca, best_threshold, design_effect
from analysis.diversity.ranking import both_orders
from analysis.diversity.resampling import quantile_interval
from analysis.estimate import Estimate

# Cells of (draws, sets, ratings) held at once: 4 million numbers are 32 MB.
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class Pool:
    """Ratings (N, m), NaN-padded on the right; ratings per set (N,); labels, scores (N,); groups (N,) or None."""

    values: Floats
    counts: Ints
    labels: Floats
    scores: Floats
    groups: Ints | None

    @property
    def members(self) -> list[Ints]:
        """The positions of each group's sets."""
        if self.groups is None:
            return [np.array([position]) for position in range(len(self.scores))]
        return [np.flatnonzero(self.groups == group) for group in range(int(self.groups.max()) + 1)]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Designs with one number of ratings: ρ and OCA of all sets with drawn ratings, and of the studies of each size."""

    rho: float
    oca: float
    rhos: dict[int, Floats]
    ocas: dict[int, Floats]
    draws: int
    unit: str


def points_of_ratings(
    pool: Pool, rated: int, sizes: Sequence[int], draws: int, rng: np.random.Generator, test: str
) -> Drawn:
    """``draws`` studies of each size with ``rated`` ratings per set; for OCA, also of the pool's size."""
    all_sets = np.tile(np.arange(len(pool.scores)), (draws, 1))
    binary = test == "contest"
    high = high_class(pool.labels) if binary else None
    sizes = sorted({*sizes, *([len(pool.scores)] if binary else [])})

    def statistics_of(drawn: Ints, weights: Floats) -> tuple[Floats, Floats]:
        rhos, ocas = [], []
        step = max(1, _CELLS // (drawn.shape[1] * pool.values.shape[1]))
        for start in range(0, len(drawn), step):
            part, part_weights = drawn[start : start + step], weights[start : start + step]
            scores = draw_scores(pool, part, rated, rng)
            labels = pool.labels[part]
            correlate = both_orders if test == "ranking" else spearman_draws
            rhos.append(correlate(scores, labels, part_weights))
            ocas.append(oca_draws(scores, high[part], part_weights) if high is not None else np.full(len(part), np.nan))
        return np.concatenate(rhos), np.concatenate(ocas)

    rho, oca = (_mean(values) for values in statistics_of(all_sets, np.ones(all_sets.shape)))
    by_size = {size: statistics_of(*draw_sets(pool, size, draws, rng)) for size in sizes}
    unit = "sets" if pool.groups is None else "groups of sets"
    rhos, ocas = ({size: statistics[index] for size, statistics in by_size.items()} for index in (0, 1))
    return Drawn(rho, oca, rhos, ocas, draws, unit)


def rho_at(drawn: Drawn, size: int, level: float) -> Estimate:
    """ρ with this number of ratings, and the percentile interval of studies of ``size`` sets."""
    low, high, lost = quantile_interval(drawn.rhos[size], level)
    note = f"undefined in {lost} of {drawn.draws} resamples" if lost else ""
    method = f"percentile bootstrap over {drawn.unit}, ratings drawn, {drawn.draws} resamples"
    return Estimate(drawn.rho, low, high, size, "sets", level, method, note)


def oca_at(drawn: Drawn, size: int, most: int, pool: Pool, level: float) -> Estimate:
    """OCA that a study of ``size`` sets would find, and its interval, both by the rule of `oca.oca_estimate`.

    A study of few sets finds a higher OCA, because the best threshold fits its sets better. Bootstrap optimism at a
    size is the mean OCA of its resamples minus that of the pool.
    """
    optimism = {n: max(0.0, _mean(drawn.ocas[n]) - drawn.oca) for n in (size, most)}
    value = min(1.0, max(0.5, drawn.oca - optimism[most] + optimism[size]))
    best = best_threshold(pool.scores, pool.labels)
    hits = (best.calls_high(pool.scores) == high_class(pool.labels)).astype(float)
    low, high = around_oca(value, optimism[size], size / design_effect(hits, pool.groups), level)
    method = f"Wilson around the OCA less its bootstrap optimism of {optimism[size]:.3f}, {drawn.draws} resamples"
    return Estimate(value, low, high, size, "sets", level, method)


def draw_sets(pool: Pool, size: int, draws: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """``draws`` samples of about ``size`` sets with replacement, whole groups at a time: positions and weights."""
    members = pool.members
    groups_per_study = max(1, round(size * len(members) / len(pool.scores)))
    longest = max(map(len, members))
    table = np.zeros((len(members), longest), dtype=np.int64)
    present = np.zeros((len(members), longest))
    for group, places in enumerate(members):
        table[group, : len(places)] = places
        present[group, : len(places)] = 1
    drawn = rng.integers(len(members), size=(draws, groups_per_study))
    return table[drawn].reshape(draws, -1), present[drawn].reshape(draws, -1)


def draw_scores(pool: Pool, drawn: Ints, rated: int, rng: np.random.Generator) -> Floats:
    """The mean of ``rated`` ratings of each drawn set, (D, n), without replacement; of all its ratings if it has fewer.

    If that is all ratings of a set, the result is its score.
    """
    counts = pool.counts[drawn]
    if rated >= pool.counts.max():
        return pool.scores[drawn]
    values = pool.values[drawn]
    keys = np.where(np.isnan(values), np.inf, rng.random(values.shape))
    picked = np.argpartition(keys, rated - 1, axis=2)[:, :, :rated]
    chosen = np.take_along_axis(values, picked, axis=2)
    means = np.nansum(np.sort(chosen, axis=2), axis=2) / np.minimum(counts, rated)
    return without_noise(np.where(counts <= rated, pool.scores[drawn], means))


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
