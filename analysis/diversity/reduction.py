"""From pairwise similarity to the diversity of a set: minus the mean over unordered pairs.

Shapes: a set of k items; its similarities as a k × k matrix or as a callable on two items. Source: Tevet & Berant 2021,
§5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

Item = TypeVar("Item")


def reduce_pairs(items: Sequence[Item], similarity: Callable[[Item, Item], float]) -> float:
    """Minus the mean of ``similarity(a, b)`` over the k(k−1)/2 pairs a before b, in the unit of the
    similarity.

    Assumes a symmetric similarity: computes each unordered pair once, in the order of the items. A NaN similarity gives
    NaN. Raises ValueError for fewer than two items.
    """
    if len(items) < 2:
        raise ValueError(f"a set needs at least 2 items to have a pair, not {len(items)}")
    values = [similarity(left, right) for left, right in combinations(items, 2)]
    return -math.fsum(values) / len(values)


def reduce_matrix(similarities: ArrayLike) -> float:
    """Minus the mean of a k × k matrix of similarities outside its diagonal, in the unit of the similarity.

    For a symmetric matrix this is minus the mean over unordered pairs; for any other matrix, each pair counts with the
    mean of its two directions. The diagonal is ignored; NaN elsewhere gives NaN. Raises ValueError unless the matrix is
    square with k ≥ 2.
    """
    matrix = np.asarray(similarities, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ValueError(f"similarities must be a k × k matrix with k of 2 or more, not of shape {matrix.shape}")
    outside = ~np.eye(len(matrix), dtype=bool)
    return -float(matrix[outside].mean())
