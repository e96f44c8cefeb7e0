"""Means, shares and differences in many simulated studies of one design at once: what `analysis.inference` computes.

`bench.uncertainty` needs a hundred thousand studies. `tests/analysis/test_uncertainty_grid.py` checks that variances
and degrees of freedom are those of `LevelFigures` and `ratios` for every single study. Shapes: N answers, L levels, S
studies with the same items and workers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.inference.small_samples import Design, multipliers

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Layout:
    """Who answered about what: ``items``, ``workers`` and ``levels``, codes (N,). ``weights`` (L,) of levels' means in
    the figure: 1, or 1 and −1."""

    items: Ints
    workers: Ints
    levels: Ints
    weights: Floats

    @property
    def shares(self) -> Floats:
        """Of each answer in its level's mean (N,)."""
        return np.asarray(1 / np.bincount(self.levels)[self.levels])


def sums_by(codes: Ints, rows: Floats) -> Floats:
    """Sums (G, S) of rows (N, S) by cluster."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.unique(codes))
    return np.asarray(np.add.reduceat(rows[order], starts, axis=0))


def spreads(layout: Layout, values: Floats) -> tuple[Floats, Floats, Floats]:
    """The figure's value, variance and degrees of freedom in each study (S,), from ``values`` (N, S)."""
    levels, shares = layout.levels, layout.shares
    signed = shares * layout.weights[levels]
    centred = values.copy()
    means = np.stack([values[levels == level].mean(axis=0) for level in range(len(layout.weights))])
    centred -= means[levels]
    cells = np.unique(layout.items * (int(layout.workers.max()) + 1) + layout.workers, return_inverse=True)[1]

    def squares(codes: Ints, weights: Floats, level: int | None = None) -> Floats:
        counts = np.array([len(np.unique(codes[levels == at])) for at in range(len(layout.weights))])
        factors = np.sqrt(counts / (counts - 1))[levels]
        rows = slice(None) if level is None else levels == level
        return np.asarray((sums_by(codes[rows], ((weights * factors)[:, None] * centred)[rows]) ** 2).sum(axis=0))

    one_way = [squares(codes, signed) for codes in (layout.items, layout.workers)]
    of_means = [squares(codes, np.abs(signed)) for codes in (layout.items, layout.workers)]
    solved = multipliers(Design(np.arange(len(levels)), levels, shares, signed), layout.items, layout.workers)
    of_cells = squares(cells, signed)
    if solved is None:  # the published formula, and its bound where levels share only items or only workers
        separate = [_is_separate(codes, levels) for codes in (layout.items, layout.workers)]
        bound = np.maximum(*one_way) if separate[0] != separate[1] else np.minimum(*one_way)
        variance = np.maximum(sum(one_way) - of_cells, bound)
    else:
        variance = np.maximum(solved @ np.stack([*one_way, of_cells, *of_means]), np.minimum(*one_way))
    spread = np.zeros(values.shape[1])
    smallest = np.full(values.shape[1], np.inf)
    for codes, square in zip((layout.items, layout.workers), one_way, strict=True):
        counts = np.array([len(np.unique(codes[levels == at])) for at in range(len(layout.weights))])
        clusters = len(np.unique(codes))
        freedom = np.full(values.shape[1], clusters - 1.0)
        if _is_separate(codes, levels):
            parts = [squares(codes, signed, level) for level in range(len(counts))]
            below = sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
            freedom = np.divide(sum(parts) ** 2, below, out=freedom, where=below > 0)
        if clusters < len(np.unique(cells)):
            spread += square**2 / freedom
        smallest = np.minimum(smallest, freedom)
    freedom = np.maximum(smallest, np.divide(variance**2, spread, out=np.zeros_like(spread), where=spread > 0))
    return np.asarray(layout.weights @ means), variance, freedom


def _is_separate(codes: Ints, levels: Ints) -> bool:
    """Whether no cluster is in two levels, of which there are several."""
    pairs = np.unique(np.stack([codes, levels]), axis=1).shape[1]
    return bool(levels.any()) and pairs == len(np.unique(codes))


def holds(layout: Layout, values: Floats, truth: float, bounds: tuple[float, float] | None = None) -> Flags:
    """Whether the 95% interval of each study that has one holds the truth; ``bounds`` as in `analysis.inference`."""
    value, variance, freedom = spreads(layout, values)
    usable = variance > 0
    if bounds is not None:
        low, high = bounds
        usable &= (value > low) & (value < high)
    value, variance, freedom = value[usable], variance[usable], freedom[usable]
    half = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    if bounds is None:
        return np.asarray(np.abs(value - truth) <= half)
    below, above = value - low, high - value
    slope = (high - low) / (below * above)
    at_truth = np.log((truth - low) / (high - truth))
    return np.asarray(np.abs(np.log(below / above) - at_truth) <= half * slope)
