"""Correlations of items' mean answers with something known of the items: their intervals carry items and workers.

A correlation moves with an item (its mean and its label come or go together), and with an answer, which moves its
item's mean. Both are linearised. An answer's influence is its share of its item's, plus the slope of the correlation
in the item's mean times the answer's distance from that mean.

Sources: influence functions of Pearson's r (Devlin, Gnanadesikan & Kettenring 1975) and of Spearman's ρ (Croux & Dehon
2010), the latter with average ranks for ties. Shapes: n items, N answers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from analysis.estimate import LARGEST, Estimate
from analysis.inference.cluster_sums import Floats, Ints
from analysis.inference.crossed import figures_from_influence
from analysis.inference.dimensions import Dimensions

Kind = Literal["spearman", "pearson"]
FEWEST = 3
#: The share of items and workers with an answer, where every worker rated every item.
FULL = 1.0


def mean_correlation(
    labels: ArrayLike,
    items: ArrayLike,
    answers: ArrayLike,
    dimensions: Dimensions,
    *,
    kind: Kind = "spearman",
    means: ArrayLike | None = None,
    mirrored: bool = False,
    level: float = 0.95,
) -> Estimate:
    """The correlation of items' means with ``labels`` (n,), from N ``answers`` about ``items`` (N,), positions 0 … n−1.

    ``means`` (n,): the items' scores, if these are not plain means of their answers. ``dimensions`` (N,) say which
    answers belong together. ``mirrored`` counts every item a second time with both signs turned, for comparisons whose
    order is arbitrary. Range −1 to 1; NaN with a note where a side is constant. ValueError: fewer than three items; an
    item without answers; shapes differ.
    """
    label_values, of_item, answer_values = (
        np.asarray(labels, dtype=float),
        np.asarray(items, dtype=np.int64),
        np.asarray(answers, float),
    )
    counts = np.bincount(of_item, minlength=len(label_values))
    if len(label_values) < FEWEST:
        raise ValueError(f"a correlation needs {FEWEST} items or more, not {len(label_values)}")
    if len(counts) != len(label_values) or not counts.all():
        raise ValueError("every item needs an answer, and a label")
    plain_means = np.bincount(of_item, answer_values) / counts
    scores = plain_means if means is None else np.asarray(means, dtype=float)
    x, y = (
        (scores, label_values) if not mirrored else (np.append(scores, -scores), np.append(label_values, -label_values))
    )
    if np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        side = "scores" if np.ptp(x) < 1e-12 else "labels"
        return Estimate(math.nan, n=len(answer_values), n_of="answers", level=level, note=f"all {side} are the same")
    deviations = (answer_values - plain_means[of_item]) / counts[of_item]
    step = math.sqrt(float((deviations**2).sum()) / len(label_values))
    if kind == "pearson":
        value, influence, slopes = _pearson(x, y)
    else:
        value, influence, slopes = _spearman(x, y, step)
    if mirrored:
        n = len(label_values)
        influence, slopes = influence[:n] + influence[n:], slopes[:n] - slopes[n:]
    if kind == "pearson":
        influence = _left_out(scores, label_values, value, mirrored)
    cautious = False
    if "workers" in dimensions.codes and not mirrored:
        deviations, cautious = _without_workers(deviations, dimensions.codes["workers"], len(label_values))
    influence_of_answers = (influence / counts)[of_item] + slopes[of_item] * deviations
    figures = figures_from_influence(value, influence_of_answers, dimensions, level=level)
    estimate = figures.contrast([1.0], bounds=(-1, 1), cautious=cautious)
    return replace(estimate, note=LARGEST) if kind == "spearman" and orders_alike(x, y) else estimate


def orders_alike(scores: ArrayLike, labels: ArrayLike) -> bool:
    """Whether the scores (n,) rise, or fall, with every step of the labels (n,), so that no rank correlation with these
    labels is further from 0. Scores of equal labels may differ. Not if all labels are the same."""
    x, y = np.asarray(scores, dtype=float), np.asarray(labels, dtype=float)
    steps, codes = np.unique(y, return_inverse=True)
    if len(steps) < 2:
        return False
    lowest, highest = np.full(len(steps), math.inf), np.full(len(steps), -math.inf)
    np.minimum.at(lowest, codes, x)
    np.maximum.at(highest, codes, x)
    return bool((highest[:-1] < lowest[1:]).all() or (lowest[:-1] > highest[1:]).all())


def _without_workers(deviations: Floats, workers: Ints, items: int) -> tuple[Floats, bool]:
    """What a worker adds to all items cancels out of a correlation, but not out of the cells: V would be too small.

    So it is left out if every worker rated every item; if most did, V must be cautious.
    """
    filled = len(deviations) / (items * len(np.unique(workers)))
    if filled < FULL:
        return deviations, filled > FULL / 2
    return deviations - (np.bincount(workers, deviations) / np.maximum(np.bincount(workers), 1))[workers], False


def _pearson(x: Floats, y: Floats) -> tuple[float, Floats, Floats]:
    """r, each item's influence on it, and its slope in each item's x."""
    n = len(x)
    x_scores, y_scores = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = float((x_scores * y_scores).mean())
    return (
        r,
        (x_scores * y_scores - r * (x_scores**2 + y_scores**2) / 2) / n,
        (y_scores - r * x_scores) / (n * float(x.std())),
    )


def _left_out(x: Floats, y: Floats, r: float, mirrored: bool) -> Floats:
    """Each item's influence on Pearson's r from leaving it out, on Fisher's z: with few items, first-order influence is
    too small by what an item moves its own means and variances. ``mirrored``: with the item's mirror image."""
    count = 2.0 if mirrored else 1.0
    first = np.zeros(len(x)) if mirrored else x - x.mean()
    second = np.zeros(len(x)) if mirrored else y - y.mean()
    x, y = (x, y) if mirrored else (first, second)
    rest = count * (len(x) - 1)
    sums = [count * (values.sum() - values) for values in (x * x, y * y, x * y)]
    mean_x, mean_y = (-first / rest, -second / rest)  # of centred values, without the item
    var_x, var_y = sums[0] / rest - mean_x**2, sums[1] / rest - mean_y**2
    product = np.sqrt(np.maximum(var_x * var_y, 1e-300))
    limit = 1 - 1e-9
    without = np.clip((sums[2] / rest - mean_x * mean_y) / product, -limit, limit)
    z = math.atanh(min(max(r, -limit), limit))
    return np.asarray((len(x) - 1) / len(x) * (z - np.arctanh(without)) * (1 - r**2))


def _spearman(x: Floats, y: Floats, step: float) -> tuple[float, Floats, Floats]:
    """ρ, each item's influence on it, and its slope in each item's x, over ± ``step``."""
    n = len(x)
    left, right = _centred(x), _centred(y)
    variances = [float((ranks**2).mean()) for ranks in (left, right)]
    norm = math.sqrt(variances[0] * variances[1])
    rho = float((left * right).mean()) / norm
    products = left * right + _above(x, right, x) + _above(y, left, y)
    squares = [ranks**2 + 2 * _above(of, ranks, of) for of, ranks in ((x, left), (y, right))]
    centred_products, *centred_squares = (values - values.mean() for values in (products, *squares))
    influence = centred_products / norm - rho / 2 * (
        centred_squares[0] / variances[0] + centred_squares[1] / variances[1]
    )
    slopes = np.zeros(n)
    if step > 0:
        up, down = x + step, x - step
        ranks_apart = _share_below(x, up) - _share_below(x, down)
        slopes = (right * ranks_apart + _above(x, right, up) - _above(x, right, down)) / (2 * step * norm * n)
    return rho, influence / n, slopes


def _centred(values: Floats) -> Floats:
    """Ranks as shares, less their mean; ties share the average."""
    return _share_below(values, values) - 0.5


def _share_below(values: Floats, points: Floats) -> Floats:
    """The share of the values below each point, equal ones half."""
    ordered = np.sort(values)
    ends: list[Ints] = [np.searchsorted(ordered, points, side=side) for side in ("left", "right")]
    return np.asarray((ends[0] + ends[1]) / (2 * len(values)))


def _above(values: Floats, weights: Floats, points: Floats) -> Floats:
    """The mean over all values of the weight if the value is above each point, half of it if it is equal."""
    order = np.argsort(values, kind="stable")
    upto = np.concatenate([[0.0], np.cumsum(weights[order])])
    ordered = values[order]
    low, high = (upto[np.searchsorted(ordered, points, side=side)] for side in ("left", "right"))
    return np.asarray((upto[-1] - (low + high) / 2) / len(values))
