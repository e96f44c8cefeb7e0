"""Families of tests: corrected p values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.inference.crossed import Floats


def holm(p: ArrayLike) -> Floats:
    """Holm's (1979) corrected p of a family, (T,): compare each with the level itself. NaN stays NaN and counts as no
    test."""
    given = np.asarray(p, dtype=float)
    known = np.nonzero(~np.isnan(given))[0]
    order = known[np.argsort(given[known], kind="stable")]
    corrected = np.full(given.shape, np.nan)
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * given[order]), 1.0)
    return corrected
