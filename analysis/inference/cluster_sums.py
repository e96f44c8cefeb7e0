"""Sums of figures' influence over the clusters of one term of a variance: dense, or sparse for figures of levels.

Shapes: G clusters, K figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class ClusterSums(Protocol):
    """What the variance of a contrast needs. Every sum carries the factor G/(G − 1) of its figure's clusters."""

    def total(self, contrast: Floats) -> Floats:
        """The sums (G,) of a linear combination of the figures (K,)."""

    def counts(self, figures: Sequence[int]) -> Ints:
        """How many clusters each of these figures rests on."""

    def count_of_any(self, figures: Sequence[int]) -> int:
        """How many clusters any of them rests on."""

    def squares_sum(self, contrast: Floats) -> float:
        """The sum of squares of `total`."""


def factor_of(counts: Ints) -> Floats:
    """√(G/(G − 1)) of each figure; 1 for a single cluster."""
    factors: Floats = np.sqrt(np.divide(counts, counts - 1, out=np.ones(len(counts)), where=counts > 1))
    return factors


class DenseSums:
    """From sums (G, K) without factors, and which clusters each figure rests on (G, K)."""

    def __init__(self, sums: Floats, present: Flags) -> None:
        self.present = present
        self.sums = sums * factor_of(present.sum(axis=0))

    def total(self, contrast: Floats) -> Floats:
        chosen = np.nonzero(contrast)[0]
        return np.asarray(self.sums[:, chosen] @ contrast[chosen])

    def squares_sum(self, contrast: Floats) -> float:
        return float((self.total(contrast) ** 2).sum())

    def counts(self, figures: Sequence[int]) -> Ints:
        return np.asarray(self.present[:, figures].sum(axis=0))

    def count_of_any(self, figures: Sequence[int]) -> int:
        return int(self.present[:, figures].any(axis=1).sum())


class LevelSums:
    """For figures of levels, where each of N answers moves only those of its own level.

    ``codes`` (N,): the answers' clusters; ``levels`` (N,): their levels, 0 … L − 1; ``influence``: M arrays (N,), one
    for each figure that a level has. Figure m of level l has the number m · L + l. Memory depends on N, not on N · K:
    of each level there are only the clusters that it has.
    """

    def __init__(self, codes: Ints, levels: Ints, influence: Sequence[Floats], level_count: int) -> None:
        self._clusters = int(codes.max(initial=-1)) + 1
        self._level_count = level_count
        by_level = np.argsort(levels, kind="stable")
        ends = np.cumsum(np.bincount(levels, minlength=level_count))
        self._members: list[Ints] = []  # of each level, its clusters
        self._sums: list[list[Floats]] = []  # of each level, by figure, their sums with the factor
        for level, end in enumerate(ends.tolist()):
            rows = by_level[0 if level == 0 else ends[level - 1] : end]
            clusters = codes[rows]
            members = np.nonzero(np.bincount(clusters, minlength=self._clusters))[0]
            factor = factor_of(np.array([len(members)]))[0]
            of_figures = [np.bincount(clusters, moves[rows], self._clusters)[members] * factor for moves in influence]
            self._members.append(members)
            self._sums.append(of_figures)
        self._sizes: Ints = np.array([len(members) for members in self._members], dtype=np.int64)
        self._is_partition = int(self._sizes.sum()) == len(np.nonzero(np.bincount(codes))[0])

    def _level_totals(self, contrast: Floats) -> list[tuple[Ints, Floats]]:
        """Of each level with a weight, its clusters and their weighted sums over the figures."""
        weights = contrast.reshape(-1, self._level_count)
        return [
            (self._members[level], sum_of(self._sums[level], weights[:, level]))
            for level in np.nonzero(weights.any(axis=0))[0].tolist()
        ]

    def total(self, contrast: Floats) -> Floats:
        totals = np.zeros(self._clusters)
        for members, sums in self._level_totals(contrast):
            totals[members] += sums
        return totals

    def squares_sum(self, contrast: Floats) -> float:
        by_level = self._level_totals(contrast)
        if self._is_partition or len(by_level) == 1:  # no cluster has sums of two levels
            return float(sum((sums @ sums for _, sums in by_level), 0.0))
        totals = self.total(contrast)
        return float(totals @ totals)

    def counts(self, figures: Sequence[int]) -> Ints:
        return np.asarray(self._sizes[np.asarray(figures) % self._level_count])

    def count_of_any(self, figures: Sequence[int]) -> int:
        levels = sorted({figure % self._level_count for figure in figures})
        if self._is_partition or len(levels) == 1:
            return int(self.counts(levels).sum())
        present = np.zeros(self._clusters, dtype=bool)
        for level in levels:
            present[self._members[level]] = True
        return int(present.sum())


def sum_of(of_figures: Sequence[Floats], weights: Floats) -> Floats:
    """Σ weight · sums over the figures of a level that have a weight; at least one must."""
    parts = [weight * sums for weight, sums in zip(weights.tolist(), of_figures, strict=True) if weight]
    return parts[0] if len(parts) == 1 else np.asarray(np.sum(parts, axis=0))
