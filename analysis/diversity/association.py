"""Rank correlation and best-threshold accuracy of many weighted samples at once.

Shapes: D samples ("draws") of up to n sets. Scores are (n,), the same in every draw, or (D, n). Weights are (D, n): how
often each set was drawn, 0 for never. Every function returns (D,), NaN where a draw leaves the statistic undefined. A
bootstrap therefore needs one sort of the scores, not one per resample.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]

# Below this spread, relative to the largest value, a sample is constant up to rounding (SciPy warns at the same
# bound).
_FLAT = 1e-13


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Ranks 1 … of each value within its draw, (D, n); ties share the average rank; weight w counts as w ties."""
    order = np.argsort(values, axis=-1, kind="stable")
    first, last = _tie_ends(np.take_along_axis(values, order, axis=-1))
    order = np.broadcast_to(order, weights.shape)
    arranged = np.take_along_axis(weights, order, axis=1)
    upto = np.cumsum(arranged, axis=1)
    start = np.maximum.accumulate(np.where(first, upto - arranged, 0.0), axis=1)
    end = np.where(last, upto, upto[:, -1:])[:, ::-1]
    end = np.minimum.accumulate(end, axis=1)[:, ::-1]
    ranks = np.empty(weights.shape)
    np.put_along_axis(ranks, order, (start + end + 1) / 2, axis=1)
    return ranks


def spearman_draws(left: Floats, right: Floats, weights: Floats) -> Floats:
    """Spearman's ρ of each draw, ties share the average rank in the draw; NaN if either side is constant."""
    return pearson_draws(weighted_ranks(left, weights), weighted_ranks(right, weights), weights)


def pearson_draws(left: Floats, right: Floats, weights: Floats) -> Floats:
    """Pearson's r of each draw; NaN if either side is constant up to rounding."""
    total = weights.sum(axis=1)
    left_off, left_flat = _deviations(left, weights, total)
    right_off, right_flat = _deviations(right, weights, total)
    left_weighted = weights * left_off
    left_square = (left_weighted * left_off).sum(axis=1)
    right_square = (weights * right_off * right_off).sum(axis=1)
    undefined = (left_square <= left_flat) | (right_square <= right_flat)
    scale = np.sqrt(np.where(undefined, 1.0, left_square * right_square))
    r = np.clip((left_weighted * right_off).sum(axis=1) / scale, -1.0, 1.0)
    return np.where(undefined, np.nan, r)


def oca_draws(scores: Floats, high: Bools, weights: Floats, *, either: bool = False) -> Floats:
    """Best accuracy in each draw of any single threshold that calls the larger scores high, or with ``either``, of one
    in either direction. Equal scores are never split.

    NaN if a draw contains only one class. One sort and one pass: O(n log n).
    """
    total = weights.sum(axis=1)
    hits = cut_hits(scores, high, weights)
    best = np.nanmax(hits, axis=1)
    if either:
        best = np.maximum(best, total - np.nanmin(hits, axis=1))
    n_high = (weights * high).sum(axis=1)
    return np.where((n_high > 0) & (n_high < total), best / total, np.nan)


def cut_hits(scores: Floats, high: Bools, weights: Floats) -> Floats:
    """How many sets "high at or above the cut" gets right, (D, n + 1); NaN at a cut between equal scores.

    Cut c leaves the c smallest scores below. The other direction gets all the others right.
    """
    order = np.argsort(scores, axis=-1, kind="stable")
    first, _ = _tie_ends(np.take_along_axis(scores, order, axis=-1))
    order = np.broadcast_to(order, weights.shape)
    arranged = np.take_along_axis(weights, order, axis=1)
    is_high = np.take_along_axis(np.broadcast_to(high, weights.shape), order, axis=1)
    # Moving a set below the cut loses it if it is high and gains it if it is low.
    gains = np.cumsum(np.where(is_high, -arranged, arranged), axis=1)
    at_zero = np.where(is_high, arranged, 0.0).sum(axis=1, keepdims=True)
    hits = np.concatenate([at_zero, at_zero + gains], axis=1)
    hits[:, :-1][np.broadcast_to(~first, weights.shape)] = np.nan
    return hits


def _tie_ends(arranged: Floats) -> tuple[Bools, Bools]:
    """For sorted values: which values start and which end a run of equal values."""
    edge = arranged[..., 1:] != arranged[..., :-1]
    end = np.ones((*arranged.shape[:-1], 1), dtype=bool)
    return np.concatenate([end, edge], axis=-1), np.concatenate([edge, end], axis=-1)


def _deviations(values: Floats, weights: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Deviations from each draw's mean (D, n), and the sum of squares (D,) up to which they are rounding errors."""
    mean = (weights * values).sum(axis=1) / total
    flat = total * (_FLAT * np.abs(values).max()) ** 2
    return values - mean[:, None], flat
