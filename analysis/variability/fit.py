"""How well a model's productions fit the variability of people's, for one context.

Source: Giulianelli et al. 2023, §3. From a matrix of distances (k, k) between all productions for one context:
the pairs of two human productions (H), of two productions by the model (M), and of one of each (C).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats

#: With this many references or fewer, two halves are too small for a control group (Giulianelli et al. 2023, fn. 11).
TOO_FEW = 5


@dataclass(frozen=True, slots=True)
class Fit:
    """Means of the distances H, M and C; differences of means; Wasserstein-1 distances of M and of C from H.

    ``n_human``, ``n_model`` and ``n_cross`` count pairs with a distance. What needs an empty set of pairs is NaN.
    """

    mu_human: float
    mu_model: float
    mu_cross: float
    model_minus_human: float
    cross_minus_human: float
    w1_model: float
    w1_cross: float
    n_human: int
    n_model: int
    n_cross: int


def self_distances(matrix: Floats, places: Sequence[int]) -> Floats:
    """The distances of all unordered pairs of two different ``places``, without undefined ones."""
    inside = matrix[np.ix_(places, places)]
    distances = inside[np.triu_indices(len(places), 1)]
    return np.asarray(distances[~np.isnan(distances)])


def cross_distances(matrix: Floats, left: Sequence[int], right: Sequence[int]) -> Floats:
    """The distances of all pairs of one of ``left`` and one of ``right``, without undefined ones."""
    distances = matrix[np.ix_(left, right)].ravel()
    return np.asarray(distances[~np.isnan(distances)])


def fit(human: ArrayLike, model: ArrayLike, cross: ArrayLike) -> Fit:
    """Compare the three sets of distances, each (pairs,)."""
    h, m, c = (np.asarray(distances, dtype=float) for distances in (human, model, cross))
    means = [float(distances.mean()) if len(distances) else math.nan for distances in (h, m, c)]
    mu_human, mu_model, mu_cross = means
    return Fit(
        mu_human,
        mu_model,
        mu_cross,
        mu_model - mu_human,
        mu_cross - mu_human,
        wasserstein(h, m),
        wasserstein(h, c),
        len(h),
        len(m),
        len(c),
    )


def wasserstein(first: Floats, second: Floats) -> float:
    """Wasserstein-1 distance of two samples (SciPy's); NaN if one is empty."""
    return float(scipy.stats.wasserstein_distance(first, second)) if len(first) and len(second) else math.nan


def control_fit(matrix: Floats, human: Sequence[int], *, rng: np.random.Generator) -> Fit | None:
    """People against people: one random half of the productions is compared with the other half as if by a model.

    None with `TOO_FEW` productions or fewer. The halves share no production; with an odd number the first is smaller.
    """
    if len(human) <= TOO_FEW:
        return None
    drawn = rng.permutation(np.asarray(human))
    half = len(drawn) // 2
    first, second = drawn[:half].tolist(), drawn[half:].tolist()
    return fit(self_distances(matrix, first), self_distances(matrix, second), cross_distances(matrix, first, second))


def split_by_writer(matrix: Floats, places: Sequence[int], writers: Sequence[str]) -> tuple[Floats, Floats]:
    """Distances within and between writers; ``writers`` names the writer of each. Texts without a writer are left out.

    Source: Giulianelli et al. 2023, §5 (variability of one speaker and of several).
    """
    distances: dict[bool, list[float]] = {True: [], False: []}
    for index, left in enumerate(places):
        for other_index, right in enumerate(places[:index]):
            if writers[index] and writers[other_index] and not math.isnan(matrix[left, right]):
                distances[writers[index] == writers[other_index]].append(float(matrix[left, right]))
    return np.array(distances[True]), np.array(distances[False])
