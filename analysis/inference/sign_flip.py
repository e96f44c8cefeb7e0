"""Tests of paired differences by flipping their signs: exact for small numbers, and about items alone.

If two levels do not differ, the difference of each item (or context) could as well have had the other sign. p is the
share of sign assignments whose mean is at least as far from 0 (Fisher 1935; Pitman 1937). It is about new items and
these workers, so it is for studies with too few workers for an interval.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

#: Up to this many pairs, all assignments are enumerated (2¹⁶).
MOST_EXACT, DRAWS = 16, 20_000
#: With fewer pairs, p cannot be below 5%.
LEAST_PAIRS = 6


def sign_flip_p(differences: ArrayLike, *, seed: int = 1) -> float:
    """Two-sided p that the mean of the differences (N,) is 0; NaN with fewer than LEAST_PAIRS, or without variation.

    Exact up to MOST_EXACT pairs; above, from DRAWS random assignments with ``seed``, the observed one among them.
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < LEAST_PAIRS or not np.any(values):
        return math.nan
    signs = _signs(len(values), seed)
    extra = 0 if len(values) <= MOST_EXACT else 1
    observed = abs(values.sum())
    as_far = np.abs(signs @ values) >= observed * (1 - 1e-12)
    return float((as_far.sum() + extra) / (len(signs) + extra))


@lru_cache(maxsize=1)
def _signs(count: int, seed: int) -> npt.NDArray[np.int8]:
    """The assignments of signs (A, N); the same for every test of as many pairs, such as those of a simulation."""
    if count <= MOST_EXACT:
        bits = np.arange(2**count)[:, None] >> np.arange(count)
        return np.asarray(1 - 2 * (bits & 1), dtype=np.int8)
    return np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), (DRAWS, count))
