"""Sums of figures' influence over the clusters of one term of a variance: dense, or sparse for figures of levels.

Shapes: G clusters, K figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

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


@dataclass
class LevelSums:
    """For figures of levels, where each of N answers moves only those of its own level.

    ``codes`` (N,): the answers' clusters; ``levels`` (N,): their levels, 0 … L − 1; ``influence``: M arrays (N,), one
    for each figure that a level has. Figure m of level l has the number m · L + l. Memory and time depend on N, not on
    N · K.
    """

    codes: Ints
    levels: Ints
    influence: Sequence[Floats]
    level_count: int
    _entries: tuple[sparse.csc_array, ...] = field(init=False)

    def __post_init__(self) -> None:
        shape = (int(self.codes.max(initial=-1)) + 1, self.level_count)
        where = (self.codes, self.levels)
        present = sparse.csc_array((np.ones(len(self.codes)), where), shape=shape)  # sums answers of one cluster
        self._rests_on = present
        factors = sparse.diags_array(factor_of(np.diff(present.indptr).astype(np.int64)))
        self._entries = tuple(
            sparse.csc_array(sparse.csc_array((moves, where), shape=shape) @ factors) for moves in self.influence
        )

    @cached_property
    def _one_level_each(self) -> bool:
        """Whether no cluster has two levels."""
        return self._rests_on.nnz == len(np.unique(self._rests_on.indices))

    def total(self, contrast: Floats) -> Floats:
        weights = contrast.reshape(len(self._entries), self.level_count)
        sums = np.zeros(self._rests_on.shape[0])
        for moves, of_levels in zip(self._entries, weights, strict=True):
            for level in np.nonzero(of_levels)[0]:
                start, end = moves.indptr[level : level + 2]
                sums[moves.indices[start:end]] += of_levels[level] * moves.data[start:end]
        return sums

    def squares_sum(self, contrast: Floats) -> float:
        return float((self.total(contrast) ** 2).sum())

    def counts(self, figures: Sequence[int]) -> Ints:
        sizes = np.diff(self._rests_on.indptr).astype(np.int64)
        return np.asarray(sizes[np.asarray(figures) % self.level_count])

    def count_of_any(self, figures: Sequence[int]) -> int:
        levels = sorted({figure % self.level_count for figure in figures})
        if self._one_level_each:
            return int(self.counts(levels).sum())
        rows = [
            self._rests_on.indices[self._rests_on.indptr[level] : self._rests_on.indptr[level + 1]] for level in levels
        ]
        return len(np.unique(np.concatenate(rows)))
