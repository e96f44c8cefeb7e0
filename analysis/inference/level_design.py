"""The levels, clusters and shares of answers: what the uncertainty of their means rests on besides their values.

Criteria on which the same workers answered about the same items have one design, and a large study has dozens of
figures on each. Shapes: N answers, L levels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from analysis.inference.cluster_sums import Floats, Ints, LevelClusters
from analysis.inference.dimensions import Dimensions, Term
from analysis.inference.small_samples import MOST_ANSWERS, Design, multipliers


@dataclass(frozen=True, eq=False)
class LevelDesign:
    """``codes`` (N,) are the answers' levels, 0 … L − 1, ``shares`` (N,) how much each is of its level's mean."""

    codes: Ints
    level_count: int
    dimensions: Dimensions
    shares: Floats
    _multipliers: dict[bytes, Floats | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, levels: ArrayLike, level_count: int, dimensions: Dimensions, weights: ArrayLike | None = None
    ) -> LevelDesign:
        """``weights``: how much each answer counts in its level's mean (default: all the same).

        ValueError: lengths differ, a NaN, a code outside its range.
        """
        codes = np.asarray(levels, dtype=np.int64)
        counts_for = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=float)
        if not len(codes) == len(counts_for) == len(dimensions):
            raise ValueError("values, levels, weights and dimensions must have one entry for each answer")
        if np.isnan(counts_for).any():
            raise ValueError("an answer is missing: leave out its row")
        if len(codes) and not 0 <= codes.min() <= codes.max() < level_count:
            raise ValueError(f"a level is none of the {level_count}")
        total = np.bincount(codes, counts_for, level_count)[codes]
        share = np.divide(counts_for, total, out=np.zeros(len(counts_for)), where=total > 0)
        return cls(codes, level_count, dimensions, share)

    @cached_property
    def answer_counts(self) -> Ints:
        return np.bincount(self.codes, minlength=self.level_count)

    @cached_property
    def rows_of_levels(self) -> list[Ints]:
        """Of each level, the numbers of its answers."""
        # Small numbers are sorted by counting.
        by_level = np.argsort(self.codes.astype(np.min_scalar_type(self.level_count)), kind="stable")
        return np.split(by_level, np.cumsum(self.answer_counts)[:-1])

    @cached_property
    def clusters(self) -> list[tuple[Term, list[Ints], LevelClusters]]:
        """For each term of the variance its rows by level, as numbers of answers, and their clusters."""
        parts = []
        for term in self.dimensions.terms:
            if term.rows is None:
                parts.append((term, self.rows_of_levels, LevelClusters(term.codes, self.rows_of_levels)))
                continue
            levels = self.codes[term.rows]
            within = [np.flatnonzero(levels == level) for level in range(self.level_count)]
            rows = [term.rows[places] for places in within]
            parts.append((term, rows, LevelClusters(term.codes, within)))
        return parts

    def multipliers(self, of_means: Floats) -> Floats | None:
        """Those of the sums of squares of a combination of means (L,): see `small_samples`."""
        levels = np.nonzero(of_means)[0]
        if not len(levels) or self.answer_counts[levels].sum() > MOST_ANSWERS:
            return None
        key = np.round(of_means / of_means[levels[0]], 9).tobytes()  # the same for a difference and its multiples
        if key not in self._multipliers:
            rows = np.sort(np.concatenate([self.rows_of_levels[level] for level in levels]))
            codes, shares = self.codes[rows], self.shares[rows]
            design = Design(rows, np.searchsorted(levels, codes), shares, shares * of_means[codes])
            self._multipliers[key] = multipliers(design, *self.dimensions.codes.values())
        return self._multipliers[key]
