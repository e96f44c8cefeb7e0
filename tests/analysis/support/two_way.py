"""The variance of a mean, or of a difference of two, over items and workers: by large matrices, without shortcuts.

What `analysis.inference` computes from sums, written out: each sum of squares is a quadratic form y′Qy, its expectation
under an effect with the design matrix Z and variance 1 is tr(QZZ′) (Searle, Casella & McCulloch 1992, ch. 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from statsmodels.api import OLS
from statsmodels.stats.sandwich_covariance import cov_cluster

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    value: float
    variance: float
    freedom: float


def indicators(codes: npt.ArrayLike) -> Floats:
    _, positions = np.unique(np.asarray(codes), return_inverse=True)
    return np.eye(int(positions.max()) + 1)[positions]


def reference_spread(
    values: npt.ArrayLike, items: npt.ArrayLike, workers: npt.ArrayLike, levels: npt.ArrayLike | None = None
) -> Reference:
    """Of the mean, or of the mean of level 0 less that of level 1. Every level shares its items and workers with the
    other, or has none of them to itself: Welch's degrees of freedom are not here."""
    y = np.asarray(values, dtype=float)
    level = np.zeros(len(y), dtype=int) if levels is None else np.asarray(levels, dtype=int)
    in_level = indicators(level)
    means = in_level / in_level.sum(axis=0)
    centring = np.eye(len(y)) - in_level @ means.T
    signs = np.array([1.0, -1.0])[: in_level.shape[1]]
    shares = means.sum(axis=1)
    weights = shares * signs[level]
    cells = np.unique(np.stack([np.asarray(items), np.asarray(workers)]), axis=1, return_inverse=True)[1].ravel()

    def form(codes: npt.ArrayLike, weight: Floats) -> Floats:
        clusters = indicators(codes)
        counts = ((clusters.T @ in_level) > 0).sum(axis=0)
        scaled = clusters * (weight * np.sqrt(counts / (counts - 1))[level])[:, None]
        half = scaled.T @ centring
        return np.asarray(half.T @ half)

    forms = [form(codes, weights) for codes in (items, workers, cells)]
    effects = [np.eye(len(y)), indicators(items), indicators(workers)]
    published = [1.0, 1.0, -1.0]
    if len(signs) == 2:
        forms += [form(codes, np.abs(weights)) for codes in (items, workers)]
        effects += [indicators(np.asarray(codes) * 2 + level) for codes in (items, workers)]
        published += [0.0, 0.0]
    expected = np.array([[np.trace(q @ z @ z.T) for q in forms] for z in effects])
    true = np.array([((weights @ z) ** 2).sum() for z in effects])
    size = np.maximum(np.abs(expected).max(axis=1), true)
    keep = size > 1e-9 * size.max()
    expected, true, size = expected[keep], true[keep], size[keep]
    start = np.array(published)
    away = np.linalg.lstsq(expected / size[:, None], (true - expected @ start) / size, rcond=1e-3)[0]
    sums = np.array([y @ q @ y for q in forms])
    variance = max(float((start + away) @ sums), min(sums[0], sums[1]))
    free = [len(np.unique(np.asarray(codes))) - 1 for codes in (items, workers)]
    satterthwaite = variance**2 / (sums[0] ** 2 / free[0] + sums[1] ** 2 / free[1])
    return Reference(float(weights @ y), variance, max(satterthwaite, min(free)))


def one_way_of_statsmodels(values: npt.ArrayLike, codes: npt.ArrayLike) -> float:
    """The variance of a mean, clustered one way, with G/(G − 1) alone."""
    y = np.asarray(values, dtype=float)
    groups = np.unique(np.asarray(codes), return_inverse=True)[1]
    count = int(groups.max()) + 1
    fit = OLS(y, np.ones(len(y))).fit()
    return float(cov_cluster(fit, groups, use_correction=False)[0, 0]) * count / (count - 1)


def anova_of_mean(table: npt.ArrayLike) -> Reference:
    """Every worker (column) rated every item (row): Var = (MS_items + MS_workers − MS_rest)/n, with Satterthwaite's
    degrees of freedom (Searle 1971, ch. 9), neither below what one way alone gives."""
    y = np.asarray(table, dtype=float)
    rows, columns = y.shape
    mean = y.mean()
    of_rows, of_columns = y.mean(axis=1) - mean, y.mean(axis=0) - mean
    rest = y - mean - of_rows[:, None] - of_columns[None, :]
    squares = [columns * (of_rows**2).sum() / (rows - 1), rows * (of_columns**2).sum() / (columns - 1)]
    noise = (rest**2).sum() / ((rows - 1) * (columns - 1))
    variance = max(sum(squares) - noise, min(squares)) / y.size
    parts = (squares[0] / y.size) ** 2 / (rows - 1) + (squares[1] / y.size) ** 2 / (columns - 1)
    return Reference(float(mean), variance, max(variance**2 / parts, min(rows, columns) - 1))
