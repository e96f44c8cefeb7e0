"""Sign-flip tests: by hand, against SciPy's permutation test, and the share of false alarms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.inference.sign_flip import sign_flip_p


def test_by_hand() -> None:
    """Of 2⁶ = 64 assignments, only all plus and all minus reach the sum of six positive differences: p = 2/64."""
    assert sign_flip_p([1, 2, 3, 4, 5, 6]) == 2 / 64


def test_the_exact_p_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).normal(0.4, 1, 12)
    reference = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=10**6, alternative="two-sided"
    )
    assert sign_flip_p(values) == pytest.approx(reference.pvalue)


def test_many_pairs_come_close_to_the_paired_t_test() -> None:
    values = np.random.default_rng(2).normal(0.2, 1, 100)
    assert sign_flip_p(values) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.01)


def test_too_few_pairs_or_no_difference_have_no_p() -> None:
    assert math.isnan(sign_flip_p([1, 2, 3, 4, 5]))
    assert math.isnan(sign_flip_p([0.0] * 8))


def test_false_alarms() -> None:
    """Differences around 0, of unequal spread: 5% of 400 is 20, s.d. 4.4."""
    rng = np.random.default_rng(3)
    spread = rng.uniform(0.2, 3, 10)
    assert 8 <= sum(sign_flip_p(rng.normal(0, spread)) < 0.05 for _ in range(400)) <= 33
