"""Means and standard deviations of levels, such as systems: sparse, because an answer is about one level only.

Shapes: N answers, L levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats, Ints, LevelSums
from analysis.inference.contrasts import Contrasts
from analysis.inference.dimensions import Dimensions, Term
from analysis.inference.small_samples import MOST_ANSWERS, Design, multipliers


class LevelFigures(Contrasts):
    """The weighted means of L levels as figures 0 … L − 1, and their variances as figures L … 2L − 1.

    ``codes`` (N,) are the answers' levels; ``answer_counts`` (L,) counts the answers of each. A level
    without answers has NaN.
    """

    def __init__(
        self,
        values: ArrayLike,
        levels: ArrayLike,
        level_count: int,
        dimensions: Dimensions,
        *,
        weights: ArrayLike | None = None,
        level: float = 0.95,
    ) -> None:
        """From N answers: their ``values``, their ``levels`` as codes 0 … L − 1, and how they belong together.

        ``weights``: how much each answer counts in its level's mean (default: all the same). ValueError: lengths
        differ, a NaN, a code outside its range.
        """
        answers, codes = np.asarray(values, dtype=float), np.asarray(levels, dtype=np.int64)
        counts_for = np.ones(len(answers)) if weights is None else np.asarray(weights, dtype=float)
        if not len(answers) == len(codes) == len(counts_for) == len(dimensions):
            raise ValueError("values, levels, weights and dimensions must have one entry for each answer")
        if np.isnan(answers).any() or np.isnan(counts_for).any():
            raise ValueError("an answer is missing: leave out its row")
        if len(codes) and not 0 <= codes.min() <= codes.max() < level_count:
            raise ValueError(f"a level is none of the {level_count}")
        self.level, self.dimensions, self.level_count = level, dimensions, level_count
        self.codes: Ints = codes
        self.answer_counts = np.bincount(codes, minlength=level_count)
        total = np.bincount(codes, counts_for, level_count)
        share = np.divide(counts_for, total[codes], out=np.zeros(len(counts_for)), where=total[codes] > 0)
        start = answers[0] if len(answers) else 0.0  # equal answers then have exactly no spread
        self.means: Floats = np.asarray(start + np.bincount(codes, share * (answers - start), level_count), dtype=float)
        self.means[self.answer_counts == 0] = math.nan
        self.shares: Floats = share
        self._multipliers: dict[bytes, Floats | None] = {}
        away = answers - self.means[codes]
        # n − 1 answers are free to vary: Bessel's correction, also where answers have weights.
        bessel = np.divide(
            self.answer_counts, self.answer_counts - 1, out=np.full(level_count, math.nan), where=self.answer_counts > 1
        )
        self.variances: Floats = np.bincount(codes, share * away**2, level_count).astype(float) * bessel
        self.values = np.concatenate([self.means, self.variances])
        spread = np.nan_to_num(share * (away**2 * bessel[codes] - self.variances[codes]))
        self._influence = (share * away, spread)

    @cached_property
    def sums(self) -> Sequence[tuple[Term, LevelSums]]:
        sums = []
        for term in self.dimensions.terms:
            rows = slice(None) if term.rows is None else term.rows
            influence = [moves[rows] for moves in self._influence]
            sums.append((term, LevelSums(term.codes, self.codes[rows], influence, self.level_count)))
        return sums

    @property
    def ranked_count(self) -> int:
        return self.level_count

    def level_of(self, figure: int) -> int:
        return figure % self.level_count

    def multipliers(self, weights: Floats) -> Floats | None:
        """Those of the means alone: an effect's standard deviation adds little to its variance."""
        of_means = weights[: self.level_count]
        levels = np.nonzero(of_means)[0]
        if not len(levels) or self.answer_counts[levels].sum() > MOST_ANSWERS:
            return None
        key = np.round(of_means / of_means[levels[0]], 9).tobytes()  # the same for a difference and its multiples
        if key not in self._multipliers:
            rows = np.nonzero(of_means[self.codes])[0]
            codes, shares = self.codes[rows], self.shares[rows]
            design = Design(rows, np.searchsorted(levels, codes), shares, shares * of_means[codes])
            self._multipliers[key] = multipliers(design, *self.dimensions.codes.values())
        return self._multipliers[key]

    def answers_used(self, figures: Sequence[int]) -> int:
        return int(self.answer_counts[sorted({self.level_of(figure) for figure in figures})].sum())

    def pooled_sd(self, first: int, second: int) -> float:
        """√((n₁ − 1)s₁² + (n₂ − 1)s₂²)/(n₁ + n₂ − 2), of all answers of two levels; NaN with too few of them."""
        sizes = self.answer_counts[[first, second]]
        if sizes.min() < 1 or sizes.sum() < 3:
            return math.nan
        spread = np.nan_to_num(self.variances[[first, second]])  # of one answer, with weight 0
        return math.sqrt(float((sizes - 1) @ spread) / float(sizes.sum() - 2))

    def effect(self, first: int, second: int) -> Estimate:
        """Cohen's d (1988, §2.2): the difference of two means in pooled standard deviations of single answers, so what
        items and workers add to the spread is in it. Its interval is by the delta method.

        NaN with a note if all answers are equal, or too few.
        """
        sd = self.pooled_sd(first, second)
        used = self.answers_used([first, second])
        # Rounding leaves a trace of a spread that is 0.
        if not sd > 1e-9 * float(np.abs(self.means[[first, second]]).max()):
            note = "a level has no answers" if math.isnan(sd) else "answers do not vary within levels"
            return Estimate(math.nan, n=used, n_of="answers", level=self.level, note=note)
        size = float(self.means[first] - self.means[second]) / sd
        gradient = np.zeros(2 * self.level_count)
        gradient[first], gradient[second] = 1 / sd, -1 / sd
        free = self.answer_counts[[first, second]] - 1
        for level, answers_free in zip((first, second), free, strict=True):
            gradient[self.level_count + level] = -size * answers_free / (2 * sd**2 * free.sum())
        return self.contrast(gradient, value=size)
