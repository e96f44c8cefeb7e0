"""Distances between two texts, each from 0 (alike) to 1 (nothing in common).

Source: Giulianelli et al. 2023, §3.2. Shapes: a matrix of distances is (k, k), symmetric, with zeros on the diagonal
and NaN where a distance is undefined.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.diversity.metrics import ngrams


def ngram_distance(first: Sequence[str], second: Sequence[str], n: int) -> float:
    """N-gram occurrences of either text that the other one does not have at all, over all occurrences in both.

    ``first`` and ``second`` are tokens (words for the lexical distance, parts of speech for the syntactic one). NaN if
    both have fewer than ``n`` tokens, because there is nothing to compare. ValueError: ``n`` below 1.
    """
    _refuse_order(n)
    return _apart(Counter(ngrams(first, n)), Counter(ngrams(second, n)))


def ngram_matrix(texts: Sequence[Sequence[str]], n: int) -> Floats:
    """`ngram_distance` of every pair of texts, each given as its tokens, (k, k). ValueError: ``n`` below 1."""
    _refuse_order(n)
    counts = [Counter(ngrams(tokens, n)) for tokens in texts]
    matrix = np.zeros((len(texts), len(texts)))
    for left, right in combinations(range(len(texts)), 2):
        matrix[left, right] = matrix[right, left] = _apart(counts[left], counts[right])
    return matrix


def cosine_matrix(vectors: ArrayLike) -> Floats:
    """1 − cosine of every pair of embeddings (k, d), as (k, k); a negative cosine counts as 0, so that 1 is the largest
    distance.

    A vector of zeros has no direction: its distances to all others are NaN. ValueError: not a table of finite numbers.
    """
    embeddings = np.asarray(vectors, dtype=float)
    if embeddings.ndim != 2 or not np.isfinite(embeddings).all():
        raise ValueError("embeddings must be a table of finite numbers, one row per text")
    length = np.sqrt((embeddings**2).sum(axis=1))
    empty = length == 0
    units = embeddings / np.where(empty, 1.0, length)[:, None]
    distances = np.clip(1 - units @ units.T, 0.0, 1.0)
    distances[empty] = distances[:, empty] = math.nan
    np.fill_diagonal(distances, 0.0)
    return np.asarray(distances)


def _apart(left: Counter[tuple[str, ...]], right: Counter[tuple[str, ...]]) -> float:
    total = left.total() + right.total()
    if not total:
        return math.nan
    alone = sum(count for gram, count in left.items() if gram not in right)
    alone += sum(count for gram, count in right.items() if gram not in left)
    return alone / total


def _refuse_order(n: int) -> None:
    if n < 1:
        raise ValueError(f"an n-gram has one token or more, not {n}")
