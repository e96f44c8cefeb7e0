"""Expanded percentile intervals: the level by a table of t, the interval as Student's t, coverage with few workers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.clusters import cluster_mean
from analysis.diversity.resampling import Bootstrap, expanded_level, expanded_level_of, quantile_interval
from bench.intervals import coverage

#: A thousandth of a normal distribution in every value.
NORMAL = stats.norm.ppf((np.arange(100_001) + 0.5) / 100_001)


def test_the_level_by_hand() -> None:
    # A table of t: 2.2622 for 9 degrees of freedom; 2.2622 / √0.9 = 2.3845; Φ(2.3845) = 0.99145.
    assert expanded_level(0.95, 10) == pytest.approx(2 * 0.99145 - 1, abs=2e-5)
    # With two units t is 12.706, and the interval is all that the resamples span.
    assert expanded_level(0.95, 2) == pytest.approx(1)
    assert expanded_level(0.95, 1_000_000) == pytest.approx(0.95, abs=1e-5)


@pytest.mark.parametrize("units", [5, 10, 130])
def test_resamples_that_vary_as_a_mean_does_give_students_interval(units: int) -> None:
    draws = NORMAL * math.sqrt((units - 1) / units)  # the s.d. of resampled means, in standard errors
    low, high, _ = quantile_interval(draws, 0.95, units=units)
    t = stats.t.ppf(0.975, units - 1)
    assert (low, high) == pytest.approx((-t, t), abs=2e-3)


def test_two_samples_have_welchs_degrees_of_freedom() -> None:
    # Standard errors² 4 and 1 of 5 and 11 units: df = 25 / (16/4 + 1/10). Resamples vary by 4/5 and 10/11 of them.
    one, other = 2 * math.sqrt(4 / 5) * NORMAL, math.sqrt(10 / 11) * NORMAL
    level = expanded_level_of(0.95, [(one, 5), (other, 11)])
    half = stats.t.ppf(0.975, 25 / 4.1) / math.sqrt((3.2 + 10 / 11) / 5)
    assert level == pytest.approx(2 * stats.norm.cdf(half) - 1, abs=1e-4)
    assert expanded_level_of(0.95, [(np.ones(9), 5)]) == 0.95  # nothing varies


def test_means_over_clusters_have_expanded_intervals_and_other_sizes_do_not() -> None:
    values, clusters = np.arange(12.0), np.repeat(np.arange(6), 2)
    found = cluster_mean(values, clusters, plan=Bootstrap(draws=4000), n_of="workers")
    half = cluster_mean(values, clusters, plan=Bootstrap(draws=4000, size=6), n_of="workers")
    # Cluster means 0.5, 2.5 … 10.5: mean 5.5, s.d. √14, t 2.5706.
    t = 2.5706 * math.sqrt(14 / 6)
    assert (found.low, found.high) == pytest.approx((5.5 - t, 5.5 + t), abs=0.35)
    assert found.method == "expanded percentile bootstrap over workers, 4000 resamples"
    assert half.method == "percentile bootstrap over workers, 4000 resamples of 6"
    assert half.high - half.low < 0.85 * (found.high - found.low)


@pytest.mark.slow
def test_expanded_intervals_of_few_workers_hold_more_often() -> None:
    """600 studies of ten workers. With exactly 95%, 570 are expected to hold (s.d. 5.3)."""
    held = coverage(10, studies=600, draws=400, seed=5)
    for name in ("mean", "difference"):
        assert held[name]["plain"] < 555 < held[name]["expanded"] < 586
        assert abs(held[name]["expanded"] - held[name]["Student's t"]) < 10
