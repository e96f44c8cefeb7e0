"""Quantiles and tails are those of `scipy.stats`, to the last digit."""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.distributions import f_quantile, logistic, normal_quantile, t_above, t_quantile
from analysis.inference.cluster_sums import PIECE, sum_of_squares

RNG = np.random.default_rng(1)
SHARES = RNG.uniform(0.01, 0.99, 500)
FREEDOM = np.append(np.exp(RNG.uniform(0, 12, 499)), np.inf)
VALUES = RNG.normal(scale=5, size=500)


def test_quantiles_are_those_of_scipy() -> None:
    assert (t_quantile(SHARES, FREEDOM) == stats.t.ppf(SHARES, FREEDOM)).all()
    assert (normal_quantile(SHARES) == stats.norm.ppf(SHARES)).all()
    above, below = FREEDOM[:-2], FREEDOM[1:-1]
    assert (f_quantile(SHARES[:-2], above, below) == stats.f.ppf(SHARES[:-2], above, below)).all()


def test_tails_are_those_of_scipy() -> None:
    assert (t_above(VALUES, FREEDOM) == stats.t.sf(VALUES, FREEDOM)).all()
    assert (logistic(VALUES) == stats.logistic.cdf(VALUES)).all()
    assert np.isnan(t_above(np.nan, np.nan))


def test_a_long_sum_of_squares_is_the_sum_of_its_pieces() -> None:
    values = RNG.normal(size=2 * PIECE + 5)

    expected = sum(float(piece @ piece) for piece in (values[:PIECE], values[PIECE:-5], values[-5:]))
    assert sum_of_squares(values) == expected
    assert sum_of_squares(np.empty(0)) == 0.0
