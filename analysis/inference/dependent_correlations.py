"""Do two measures of the same texts correlate differently with a third, such as people's scores?

Sources: Williams 1959, as Steiger 1980 and Graham & Baldwin 2014 ("Testing for Significance of Increased Correlation
with Human Judgment") recommend it; the permutation test from Deutsch, Dror & Roth 2021, "A Statistical Analysis of
Summarization Evaluation Metrics using Resampling Methods" (PERM-INPUTS). Shapes: n texts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata, t

from analysis.inference.cluster_sums import Floats

FEWEST = 4
DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Williams:
    """Student's t with ``freedom`` degrees, and its two-sided p."""

    t: float
    freedom: int
    p: float


def williams_test(first: float, second: float, between: float, n: int) -> Williams:
    """Whether two correlations with the same third variable differ, over n texts.

    ``first`` and ``second``: the correlation of each measure with it; ``between``: that of the two measures. With a
    positive t, the first is larger. NaN if the measures are the same up to rank. ValueError: fewer than four texts, or
    correlations that are outside −1 to 1 or impossible together.
    """
    if n < FEWEST:
        raise ValueError(f"Williams’ test needs {FEWEST} texts or more, not {n}")
    if any(not -1 <= r <= 1 for r in (first, second, between)):
        raise ValueError("a correlation is between −1 and 1")
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    if determinant < -1e-9:
        raise ValueError("three variables cannot have these correlations")
    mean = (first + second) / 2
    spread = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + mean**2 * (1 - between) ** 3
    if spread <= 0:
        return Williams(math.nan, n - 3, math.nan)
    statistic = (first - second) * math.sqrt((n - 1) * (1 + between) / spread)
    return Williams(statistic, n - 3, float(2 * t.sf(abs(statistic), n - 3)))


def permutation_p(
    first: ArrayLike, second: ArrayLike, scores: ArrayLike, *, draws: int = DRAWS, seed: int = 1
) -> float:
    """Two-sided p that Spearman's ρ of two measures (n,) with ``scores`` (n,) is the same.

    In each draw, the ranks of every text by the two measures change places with probability ½, and both correlations
    are computed again. The observed ranks count as one more draw, so that p is never 0. NaN if a variable is constant.
    ValueError: shapes differ, or fewer than four texts.
    """
    left, right, judged = (rankdata(np.asarray(values, dtype=float)) for values in (first, second, scores))
    if not len(left) == len(right) == len(judged) or len(left) < FEWEST:
        raise ValueError(f"the test needs as many values of each, {FEWEST} or more")
    if min(np.ptp(left), np.ptp(right), np.ptp(judged)) == 0:
        return math.nan
    changed = np.random.default_rng(seed).integers(2, size=(draws + 1, len(left))).astype(float)
    changed[0] = 0
    differences = np.abs(_correlations(left, right, judged, changed) - _correlations(right, left, judged, changed))
    return float((differences >= differences[0] - 1e-12).mean())


def _correlations(own: Floats, other: Floats, judged: Floats, changed: Floats) -> Floats:
    """Pearson's r with ``judged`` (n,) of ``own``, where ``changed`` (D, n) has 1, of ``other``; (D,)."""
    own, other, judged = own - own.mean(), other - own.mean(), judged - judged.mean()
    sums = own.sum() + changed @ (other - own)
    squares = (own**2).sum() + changed @ (other**2 - own**2) - sums**2 / len(own)
    products = (own * judged).sum() + changed @ ((other - own) * judged)
    return np.asarray(products / np.sqrt(np.maximum(squares, 1e-12) * (judged**2).sum()))
