"""Two independent groups of people, such as writers with and without suggestions.

Source: Clark 2021, §2.6 (arms solo and machine in the loop: independent t-test, Mann–Whitney U).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

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
    samples = [np.asarray(values, dtype=float) for values in (first, second)]
    left, right = (sample[~np.isnan(sample)] for sample in samples)
    shift = mann_whitney(left, right)
    means = float(left.mean()), float(right.mean())
    difference_of_means, n = means[0] - means[1], len(left) + len(right)
    reason = ""
    if min(len(left), len(right)) < 2:
        reason = "a t-test needs two people or more on each side"
    elif np.ptp(left) == 0 and np.ptp(right) == 0:
        reason = "all values of a side are equal"
    if reason:
        difference = Estimate(difference_of_means, n=n, n_of="people", level=level, note=reason)
        return TwoGroups(*means, difference, math.nan, math.nan, math.nan, math.nan, shift)
    student = scipy.stats.ttest_ind(left, right)
    bounds = student.confidence_interval(level)
    welch = scipy.stats.ttest_ind(left, right, equal_var=False)
    difference = Estimate(difference_of_means, float(bounds.low), float(bounds.high), n, "people", level, "Student’s t")
    tests = (float(student.statistic), float(student.df), float(student.pvalue), float(welch.pvalue))
    return TwoGroups(*means, difference, *tests, shift)
