"""Ranks of figures, as far as the data tell them apart, and corrected p of families of tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from analysis.inference.cluster_sums import Floats
from analysis.inference.contrasts import Bounds, Contrasts


def holm(p: ArrayLike) -> Floats:
    """Holm's (1979) corrected p of a family, (T,): compare each with the level itself. NaN stays NaN and counts as no
    test."""
    p_values = np.asarray(p, dtype=float)
    defined = np.nonzero(~np.isnan(p_values))[0]
    order = defined[np.argsort(p_values[defined], kind="stable")]
    corrected = np.full(p_values.shape, np.nan)
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return corrected


@dataclass(frozen=True, slots=True)
class Ranking:
    """K figures from the largest down. ``ranks``: by figure its rank, and the best and worst rank the data allow.

    ``p`` (K, K): two-sided p of every difference, corrected by Holm's method over all pairs; NaN where there is none.
    """

    ranks: Sequence[tuple[int, int, int]]
    p: Floats

    def is_clear(self, index: int) -> bool:
        """Whether the figure's rank is known."""
        _, best, worst = self.ranks[index]
        return best == worst


def ranked_figures(figures: Contrasts, *, bounds: Bounds | None = None) -> Ranking:
    """Rank the figures; two have different ranks for certain if their difference is significant.

    Holm's correction covers all pairs, so if all figures are equal, any two are told apart in at most 1 − level of
    studies. Figures that are no means need the cautious test: some pairs have a variance that is small by chance.
    ``bounds`` are those of a difference.
    """
    p = np.full((figures.ranked_count, figures.ranked_count), np.nan)
    for first, second in combinations(range(len(p)), 2):
        p[first, second] = p[second, first] = figures.p_difference(first, second, bounds=bounds, cautious=True)
    return ranking_of(figures.values[: figures.ranked_count], p, figures.level)


def ranking_of(values: Floats, p: Floats, level: float = 0.95) -> Ranking:
    """The same from figures (K,) and the uncorrected p of each difference (K, K)."""
    count = len(values)
    upper = np.triu_indices(count, 1)
    corrected = np.full((count, count), np.nan)
    corrected[upper] = holm(p[upper])
    corrected.T[upper] = corrected[upper]
    different, larger = corrected < 1 - level, values[None, :] > values[:, None]
    better, worse = (different & larger).sum(axis=1), (different & ~larger).sum(axis=1)
    rank = 1 + (values[None, :] > values[:, None] + 1e-12).sum(axis=1)
    ranks = [(int(rank[index]), 1 + int(better[index]), count - int(worse[index])) for index in range(count)]
    return Ranking(ranks, corrected)
