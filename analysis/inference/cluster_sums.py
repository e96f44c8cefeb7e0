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

#: OpenBLAS uses threads for products of more numbers than 10,000.
PIECE = 8_192


class ByFigure(Protocol):
    def by_level(self, figure: int, rows_of_levels: Sequence[Ints]) -> list[Floats]: ...


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


class LevelClusters:
    """Which clusters of one term each level has. It depends on no values, so all figures of a design share it.

    ``codes`` (N,): the answers' clusters. ``rows_of_levels``: of each level, the numbers of its answers in order.
    ``members`` has each level's clusters, and ``places`` of each of its answers the place of the cluster among them.
    """

    def __init__(self, codes: Ints, rows_of_levels: Sequence[Ints]) -> None:
        self.count = int(codes.max(initial=-1)) + 1
        self.members: list[Ints] = []
        self.places: list[npt.NDArray[np.int32]] = []
        is_here = np.zeros(self.count, dtype=bool)
        is_anywhere = np.zeros(self.count, dtype=bool)
        place = np.zeros(self.count, dtype=np.int32)
        for rows in rows_of_levels:
            clusters = codes[rows]
            is_here[clusters] = True
            members = np.flatnonzero(is_here)
            is_here[members], is_anywhere[members] = False, True
            place[members] = np.arange(len(members))
            self.members.append(members)
            self.places.append(place[clusters])
        self.sizes: Ints = np.array([len(members) for members in self.members], dtype=np.int64)
        self.factors = factor_of(self.sizes)
        self._counts_of_any: dict[tuple[int, ...], int] = {}
        #: No cluster is in two levels.
        self.is_partition = int(self.sizes.sum()) == np.count_nonzero(is_anywhere)

    def count_of_any(self, levels: Sequence[int]) -> int:
        """How many clusters any of these levels has."""
        if self.is_partition or len(levels) == 1:
            return int(self.sizes[levels].sum())
        key = tuple(levels)
        if key not in self._counts_of_any:
            present = np.zeros(self.count, dtype=bool)
            for level in levels:
                present[self.members[level]] = True
            self._counts_of_any[key] = int(np.count_nonzero(present))
        return self._counts_of_any[key]


class LevelSums:
    """For figures of levels, where each of N answers moves only those of its own level.

    ``rows_of_levels``: of each level 0 … L − 1, the numbers of its answers, in the order of ``clusters``.
    ``influence``: by figure of a level, how much each answer (N,) moves it. Figure m of level l has the number
    m · L + l. Memory depends on N, not on N · K: of each level there are only the clusters
    that it has.
    """

    def __init__(self, clusters: LevelClusters, rows_of_levels: Sequence[Ints], influence: ByFigure) -> None:
        self._clusters, self._rows, self._influence = clusters, rows_of_levels, influence
        self._level_count = len(clusters.members)
        self._sums: dict[int, list[Floats]] = {}
        self._squares: dict[tuple[int, int], float] = {}

    def _sums_of(self, figure: int) -> list[Floats]:
        """Of each level, the sums over its clusters with the factor."""
        if figure not in self._sums:
            clusters, moves = self._clusters, self._influence.by_level(figure, self._rows)
            parts = zip(clusters.places, moves, clusters.sizes, clusters.factors, strict=True)
            self._sums[figure] = [
                np.bincount(places, of_level, size) * factor for places, of_level, size, factor in parts
            ]
        return self._sums[figure]

    def _sum_of(self, level: int, weights: Floats) -> Floats:
        """Σ weight · sums over the figures of a level that have a weight; at least one must."""
        parts = [weight * self._sums_of(figure)[level] for figure, weight in enumerate(weights.tolist()) if weight]
        return parts[0] if len(parts) == 1 else np.asarray(np.sum(parts, axis=0))

    def total(self, contrast: Floats) -> Floats:
        weights = contrast.reshape(-1, self._level_count)
        totals = np.zeros(self._clusters.count)
        for level in np.nonzero(weights.any(axis=0))[0].tolist():
            members, sums = self._clusters.members[level], self._sum_of(level, weights[:, level])
            if len(members) == len(totals):
                totals += sums
            else:
                totals[members] += sums
        return totals

    def squares_sum(self, contrast: Floats) -> float:
        weights = contrast.reshape(-1, self._level_count)
        levels = np.nonzero(weights.any(axis=0))[0].tolist()
        if self._clusters.is_partition or len(levels) == 1:  # no cluster has sums of two levels
            return float(sum((self._squares_of(level, weights[:, level]) for level in levels), 0.0))
        return sum_of_squares(self.total(contrast))

    def _squares_of(self, level: int, weights: Floats) -> float:
        """The sum of squares of `_sum_of`. That of one figure with weight 1 or −1 is in every difference of it."""
        chosen = np.nonzero(weights)[0].tolist()
        if len(chosen) > 1 or abs(weights[chosen[0]]) != 1:
            return sum_of_squares(self._sum_of(level, weights))
        key = (chosen[0], level)
        if key not in self._squares:
            self._squares[key] = sum_of_squares(self._sums_of(chosen[0])[level])
        return self._squares[key]

    def counts(self, figures: Sequence[int]) -> Ints:
        return np.asarray(self._clusters.sizes[np.asarray(figures) % self._level_count])

    def count_of_any(self, figures: Sequence[int]) -> int:
        return self._clusters.count_of_any(sorted({figure % self._level_count for figure in figures}))


def sum_of_squares(values: Floats) -> float:
    """A piece at a time: NumPy multiplies longer arrays in threads, which wait for each other, and the last digits of
    the sum would depend on their number."""
    if len(values) <= PIECE:
        return float(values @ values)
    pieces = (values[start : start + PIECE] for start in range(0, len(values), PIECE))
    return float(sum(piece @ piece for piece in pieces))
