"""Ranks of figures, as far as the data tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.inference.crossed import Bounds, Figures, Floats
from analysis.inference.families import holm


@dataclass(frozen=True, slots=True)
class Ranking:
    """K figures from the largest down. ``ranks``: by figure its rank, and the best and worst rank the data allow.

    ``p`` (K, K): two-sided p of every difference, corrected by Holm's method over all pairs; NaN where there is none.
    """

    ranks: Sequence[tuple[int, int, int]]
    p: Floats

    def is_clear(self, at: int) -> bool:
        """Whether the figure's rank is known."""
        _, best, worst = self.ranks[at]
        return best == worst


def ranked_figures(figures: Figures, *, bounds: Bounds | None = None) -> Ranking:
    """Rank the figures; two have different ranks for certain if their difference is significant.

    Holm's correction covers all pairs, so if all figures are equal, any two are told apart in at most 1 − level of
    studies. That needs the cautious test: among many pairs, some have a variance that is small by chance. ``bounds``
    are those of a difference.
    """
    p = np.full((len(figures.values), len(figures.values)), np.nan)
    for one, two in combinations(range(len(p)), 2):
        p[one, two] = p[two, one] = figures.p_difference(one, two, bounds=bounds, cautious=True)
    return ranking_of(figures.values, p, figures.level)


def ranking_of(values: Floats, p: Floats, level: float = 0.95) -> Ranking:
    """The same from figures (K,) and the uncorrected p of each difference (K, K)."""
    many = len(values)
    upper = np.triu_indices(many, 1)
    corrected = np.full((many, many), np.nan)
    corrected[upper] = holm(p[upper])
    corrected.T[upper] = corrected[upper]
    apart, larger = corrected < 1 - level, values[None, :] > values[:, None]
    better, worse = (apart & larger).sum(axis=1), (apart & ~larger).sum(axis=1)
    own = 1 + (values[None, :] > values[:, None] + 1e-12).sum(axis=1)
    ranks = [(int(own[at]), 1 + int(better[at]), many - int(worse[at])) for at in range(many)]
    return Ranking(ranks, corrected)
