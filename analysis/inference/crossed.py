"""Uncertainty in crossed designs: variances from the influence of each answer, clustered by item and by worker.

Answers about one item share its difficulty, and answers of one worker share their leniency. A figure is about new items
*and* new workers, so both vary. For an estimator with influence values ψ of the answers, the two-way variance is

    V = Σ_items (Σ_{r in item} ψ_r)² + Σ_workers (Σ_{r of worker} ψ_r)² − Σ_cells (Σ_{r in cell} ψ_r)²

where a cell is what one worker answered about one item. Each sum carries the factor G/(G − 1) of its G clusters. Of
means and differences of means, the sums are multiplied so that V is right in small studies, too (`small_samples`). V is
never below the smaller of the one-way sums; intervals and p use Student's t with Satterthwaite's degrees of freedom,
not below min(G) − 1. More dimensions enter by inclusion and exclusion, without multipliers, and with min(G) − 1.

A difference of levels that share their workers, but not their items (or the reverse), is not disturbed by what the
shared ones have in common: their effects cancel out. The cells still contain them, so V would be far too small. Without
multipliers, V is then never below the larger of the one-way sums.

An answer may belong to two clusters of one dimension, as a comparison belongs to both of its texts. Two answers that
share a cluster then count once, whichever they share: the sum over clusters, less that over pairs of clusters.

Source: Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering", eq. 2.5 to 2.13; for two clusters
of one dimension Aronow, Samii & Assenova 2015, "Cluster-robust variance estimation for dyadic data". Where clusters
belong to one level only, such as workers to an arm, each level has its own factor, and a difference of two such levels
has Welch's (1947) degrees of freedom.

Shapes: N answers, K figures, G clusters of a dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from analysis.inference.cluster_sums import DenseSums, Flags, Floats, Ints
from analysis.inference.contrasts import Contrasts
from analysis.inference.dimensions import Dimensions, Term
from analysis.inference.small_samples import MOST_ANSWERS, Design, multipliers


@dataclass(frozen=True)
class Figures(Contrasts):
    """K estimates from the same N answers, with what their uncertainty follows from.

    ``values`` (K,); ``influence`` (N, K), how much each answer moves each figure, summing to about 0; ``used`` (N, K),
    whether a figure rests on an answer at all. ``level`` is that of the intervals. ``own_side`` (N, K): where a
    dimension has two clusters for each answer, which of them (0 or 1) is the figure's own, such as a system's text in
    a comparison; only own clusters are counted. None: both are. ``shares`` (N, K): of means, how much of each figure
    is each answer's. ``source``: the figures that these are functions of, with the gradient.
    """

    values: Floats
    influence: Floats
    used: Flags
    dimensions: Dimensions
    level: float = 0.95
    own_side: Ints | None = None
    shares: Floats | None = None
    source: tuple[Figures, Floats] | None = None

    @property
    def is_linearised(self) -> bool:
        return self.shares is None

    def multipliers(self, weights: Floats) -> Floats | None:
        if self.source is not None:
            figures, slopes = self.source
            return figures.multipliers(weights @ slopes)
        chosen = np.nonzero(weights)[0]
        if self.shares is None or not len(chosen) or np.count_nonzero(self.used[:, chosen]) > MOST_ANSWERS:
            return None
        shares = self.shares[:, chosen]
        in_figures = (shares != 0).sum(axis=1)
        if in_figures.max(initial=0) != 1:
            return None  # an answer that two figures rest on has no level of its own
        rows = np.nonzero(in_figures)[0]
        levels = (shares[rows] != 0).argmax(axis=1)
        of_level = shares[rows, levels]
        design = Design(rows, levels, of_level, of_level * weights[chosen][levels])
        return multipliers(design, *self.dimensions.codes.values())

    def combined(self, values: ArrayLike, gradient: ArrayLike) -> Figures:
        """Functions of these figures, by their ``values`` (J,) and ``gradient`` (J, K): the delta method."""
        slopes = np.atleast_2d(np.asarray(gradient, dtype=float))
        used = (self.used.astype(np.int64) @ (slopes != 0).T.astype(np.int64)) > 0
        return Figures(
            np.atleast_1d(np.asarray(values, dtype=float)),
            self.influence @ slopes.T,
            used,
            self.dimensions,
            self.level,
            source=(self, slopes),
        )

    def covariance(self) -> Floats:
        """The multiway covariance (K, K), which may lack a positive diagonal: use `combined` for what is reported."""
        parts = [term.sign * sums.sums.T @ sums.sums for term, sums in self.sums]
        return np.asarray(sum(parts, np.zeros((len(self.values), len(self.values)))))

    @cached_property
    def sums(self) -> list[tuple[Term, DenseSums]]:
        """For each term of the variance the figures' sums over its clusters."""
        sums = []
        for term in self.dimensions.terms:
            clusters = int(term.codes.max(initial=-1)) + 1
            influence = self.influence if term.rows is None else self.influence[term.rows]
            rests_on = self.used if term.rows is None else self.used[term.rows]
            if self.own_side is not None and term.rows is not None and term.sides is not None:
                only_side = np.bincount(term.rows, minlength=len(self.own_side))[term.rows] == 1
                rests_on = rests_on & ((self.own_side[term.rows] == term.sides[:, None]) | only_side[:, None])
            total = np.stack([np.bincount(term.codes, column, clusters) for column in influence.T], axis=1)
            present = np.stack([np.bincount(term.codes, column, clusters) > 0 for column in rests_on.T], axis=1)
            sums.append((term, DenseSums(np.asarray(total, dtype=float), present)))
        return sums

    def answers_used(self, figures: Sequence[int]) -> int:
        return int(self.used[:, figures].any(axis=1).sum())


def figures_from_influence(
    values: ArrayLike,
    influence: ArrayLike,
    dimensions: Dimensions,
    *,
    used: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Figures:
    """Figures (K,) by their influence values (N, K) or (N,). ``used``: which answers each rests on (default: all)."""
    columns = np.asarray(influence, dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    flags = np.ones(columns.shape, dtype=bool) if used is None else np.asarray(used, dtype=bool).reshape(columns.shape)
    if len(columns) != len(dimensions):
        raise ValueError(f"the influence of {len(columns)} answers was given, and clusters of {len(dimensions)}")
    return Figures(np.atleast_1d(np.asarray(values, dtype=float)), columns, flags, dimensions, level)


def ratios(above: ArrayLike, below: ArrayLike, dimensions: Dimensions, *, level: float = 0.95) -> Figures:
    """Ratios Σ above / Σ below of K columns (N, K) or of one (N,): means, shares, accuracies, weighted means.

    A mean has 1 below; the mean of a level has 1 below in the level's answers and 0 in others, with 0 above; a mean of
    item means weighs each answer of an item with n answers by 1/n. An answer counts as used where ``below`` is not 0. A
    column without any is NaN. ValueError: shapes differ; a NaN.
    """
    top, bottom = (np.asarray(column, dtype=float) for column in (above, below))
    if top.shape != bottom.shape or len(top) != len(dimensions):
        raise ValueError("above, below and the dimensions must have one row for each answer")
    if np.isnan(top).any() or np.isnan(bottom).any():
        raise ValueError("an answer is missing: leave out its row")
    if top.ndim == 1:
        top, bottom = top[:, None], bottom[:, None]
    total = bottom.sum(axis=0)
    values = np.divide(top.sum(axis=0), total, out=np.full(len(total), math.nan), where=total != 0)
    influence = np.divide(top - bottom * values, total, out=np.zeros(top.shape), where=total != 0)
    shares = np.divide(bottom, total, out=np.zeros(top.shape), where=total != 0)
    return Figures(values, influence, bottom != 0, dimensions, level, shares=shares)
