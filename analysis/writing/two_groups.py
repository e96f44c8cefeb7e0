"""Two independent groups of people, such as writers with and without suggestions.

Source: Clark 2021, §2.6 (arms solo and machine in the loop: independent t-test, Mann–Whitney U).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.estimate import Estimate
from analysis.writing.edits import Shift, mann_whitney


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """The comparison. ``difference``: first mean − second, with the t-test's interval; its ``n`` counts both groups.

    ``t``, ``df`` and ``p`` are of Student's t-test, which assumes equal variances, as published; ``p_welch`` of
    Welch's, which does not. ``shift`` is Mann–Whitney's test. NaN where a test is undefined.
    """

    mean_first: float
    mean_second: float
    difference: Estimate
    t: float
    df: float
    p: float
    p_welch: float
    shift: Shift


def two_groups(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> TwoGroups:
    """Compare two samples of independent values, (n,) and (m,): one value per person. NaN values are left out.

    All tests are two-sided. With fewer than two values on a side, or no variance on both, t is NaN and the note of
    ``difference`` gives the reason. ValueError: a sample is empty.
    """
    samples = [np.asarray(each, dtype=float) for each in (first, second)]
    left, right = (each[~np.isnan(each)] for each in samples)
    shift = mann_whitney(left, right)
    means = float(left.mean()), float(right.mean())
    apart, n = means[0] - means[1], len(left) + len(right)
    why = ""
    if min(len(left), len(right)) < 2:
        why = "a t-test needs two people or more on each side"
    elif np.ptp(left) == 0 and np.ptp(right) == 0:
        why = "all values of a side are equal"
    if why:
        difference = Estimate(apart, n=n, n_of="people", level=level, note=why)
        return TwoGroups(*means, difference, math.nan, math.nan, math.nan, math.nan, shift)
    found = stats.ttest_ind(left, right)
    bounds = found.confidence_interval(level)
    welch = stats.ttest_ind(left, right, equal_var=False)
    difference = Estimate(apart, float(bounds.low), float(bounds.high), n, "people", level, "Student’s t")
    tests = (float(found.statistic), float(found.df), float(found.pvalue), float(welch.pvalue))
    return TwoGroups(*means, difference, *tests, shift)
