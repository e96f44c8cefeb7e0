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
from analysis.inference.level_design import LevelDesign


class Influence:
    """How much each answer (N,) moves its level's mean, and its variance. It does not hold the figures, which would
    then be freed only with all other garbage."""

    def __init__(self, figures: LevelFigures) -> None:
        self._codes, self._shares = figures.codes, figures.shares
        self._answers, self._means = figures.answers, figures.means
        self._bessel, self._variances = figures.bessel, figures.variances
        self._by_level: dict[tuple[int, int], list[Floats]] = {}

    def __getitem__(self, figure: int) -> Floats:
        return self.on_means if figure == 0 else self.on_variances

    def by_level(self, figure: int, rows_of_levels: Sequence[Ints]) -> list[Floats]:
        """The same by level: of the answers with these numbers. The terms of a variance mostly have the same."""
        key = (figure, id(rows_of_levels))
        if key not in self._by_level:
            moves = self[figure]
            self._by_level[key] = [moves[rows] for rows in rows_of_levels]
        return self._by_level[key]

    @cached_property
    def on_means(self) -> Floats:
        return np.asarray(self._shares * (self._answers - self._means[self._codes]))

    @cached_property
    def on_variances(self) -> Floats:
        away = self._answers - self._means[self._codes]
        spread = self._shares * (away**2 * self._bessel[self._codes] - self._variances[self._codes])
        return np.asarray(np.nan_to_num(spread))


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
        answers = np.asarray(values, dtype=float)
        self._of_design(answers, LevelDesign.of(levels, level_count, dimensions, weights), level)

    @classmethod
    def on(cls, design: LevelDesign, values: ArrayLike, *, level: float = 0.95) -> LevelFigures:
        """The same from a design that other figures share."""
        figures = cls.__new__(cls)
        figures._of_design(np.asarray(values, dtype=float), design, level)
        return figures

    def _of_design(self, answers: Floats, design: LevelDesign, level: float) -> None:
        if len(answers) != len(design.codes):
            raise ValueError("values, levels, weights and dimensions must have one entry for each answer")
        if np.isnan(answers).any():
            raise ValueError("an answer is missing: leave out its row")
        self.level, self.design, self.level_count = level, design, design.level_count
        self.dimensions: Dimensions = design.dimensions
        self.codes: Ints = design.codes
        self.answer_counts: Ints = design.answer_counts
        self.shares: Floats = design.shares
        codes, level_count = design.codes, design.level_count
        start = answers[0] if len(answers) else 0.0  # equal answers then have exactly no spread
        sums = np.bincount(codes, self.shares * (answers - start), level_count)
        self.means: Floats = np.asarray(start + sums, dtype=float)
        self.means[self.answer_counts == 0] = math.nan
        self.answers = answers
        away = answers - self.means[codes]
        # n − 1 answers are free to vary: Bessel's correction, also where answers have weights.
        self.bessel = np.divide(
            self.answer_counts, self.answer_counts - 1, out=np.full(level_count, math.nan), where=self.answer_counts > 1
        )
        squares = np.bincount(codes, self.shares * away**2, level_count)
        self.variances: Floats = squares.astype(float) * self.bessel
        self.values = np.concatenate([self.means, self.variances])

    def free_sums(self) -> None:
        """Give back most of the memory. What was asked before is kept; other intervals take as long as the first."""
        self.__dict__.pop("sums", None)

    @cached_property
    def sums(self) -> Sequence[tuple[Term, LevelSums]]:
        influence = Influence(self)
        return [(term, LevelSums(clusters, rows, influence)) for term, rows, clusters in self.design.clusters]

    @property
    def ranked_count(self) -> int:
        return self.level_count

    def level_of(self, figure: int) -> int:
        return figure % self.level_count

    def multipliers(self, weights: Floats) -> Floats | None:
        """Those of the means alone: an effect's standard deviation adds little to its variance."""
        return self.design.multipliers(weights[: self.level_count])

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
