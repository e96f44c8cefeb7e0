"""The likelihood trap: bins by hand, turning points that were put in, statsmodels' own figures."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from numpy.typing import NDArray
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from analysis.inference import Dimensions
from analysis.preference import binned_means, quadratic_turn, two_lines


def trap(n: int = 400, seed: int = 1, noise: float = 0.4) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quality that peaks at −60: 4 − ((x + 60) / 25)²."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-110, -20, n)
    return x, 4 - ((x + 60) / 25) ** 2 + rng.normal(0, noise, n)


def test_bins_by_hand() -> None:
    found = binned_means([1, 2, 3, 4, 5, 6, math.nan], [1, 1, 2, 4, 5, 9, 7], bins=3)
    assert [(each.low, each.high, each.x, each.mean.value, each.mean.n) for each in found] == [
        (1, 2, 1.5, 1.0, 2),
        (3, 4, 3.5, 3.0, 2),
        (5, 6, 5.5, 7.0, 2),
    ]
    assert "samples, and there are only 2" in found[1].mean.note


def test_equal_values_stay_in_one_bin() -> None:
    found = binned_means([1, 1, 1, 1, 2, 3], [0] * 6, bins=3)
    assert [each.mean.n for each in found] == [4, 2]
    with pytest.raises(ValueError, match="2 samples do not fill 3 bins"):
        binned_means([1, 2], [1, 2], bins=3)


def test_the_quadratic_is_that_of_statsmodels() -> None:
    x, y = trap()
    texts, workers = np.divmod(np.arange(400), 20)
    found = quadratic_turn(x, y, dimensions=Dimensions.of(texts=texts, workers=workers))
    fit = smf.ols("y ~ x + I(x**2)", pd.DataFrame({"x": x, "y": y})).fit()
    variance = cov_cluster_2groups(fit, texts, workers)[0][2, 2]
    half = 2.093024 * math.sqrt(variance)  # t with 19 degrees of freedom
    bounds = fit.params.iloc[2] - half, fit.params.iloc[2] + half
    assert found.curvature.value == pytest.approx(fit.params.iloc[2], rel=1e-6)
    assert (found.curvature.low, found.curvature.high) == pytest.approx(bounds, rel=1e-5)
    assert found.turn.value == pytest.approx(-fit.params.iloc[1] / (2 * fit.params.iloc[2]), rel=1e-6)


def test_a_peak_is_found_and_its_interval_holds_it() -> None:
    x, y = trap()
    curve, lines = quadratic_turn(x, y), two_lines(x, y)
    assert curve.shape == lines.shape == "peak"
    assert curve.p < 1e-10 and max(lines.p_below, lines.p_above) < 1e-6
    assert curve.turn.low < -60 < curve.turn.high
    assert lines.break_at == pytest.approx(-60, abs=6)
    turned = quadratic_turn(x, -y)
    assert turned.shape == two_lines(x, -y).shape == "dip"


def test_the_turns_interval_covers_it() -> None:
    """200 data sets with a turn at −60; a 95% interval misses it 5% of the time (184 of 200 is two s.e. below 190)."""
    held = 0
    for seed in range(200):
        turn = quadratic_turn(*trap(150, seed, 1.0)).turn
        held += turn.low < -60 < turn.high
    assert held >= 184


def test_a_rise_that_levels_off_is_not_a_turn() -> None:
    """Simonsohn 2018: a quadratic finds a turn in a concave curve that only rises; two lines do not."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 10, 500)
    y = np.log(x + 0.1) + rng.normal(0, 0.3, 500)
    assert quadratic_turn(x, y).p < 0.05
    assert two_lines(x, y).shape == "no turn"


def test_groups_widen_the_interval() -> None:
    """Ten contexts, each with its own quality that all of its samples share, and its own likelihoods."""
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(10), 40)
    x = rng.normal(0, 1, 10)[groups] + rng.normal(0, 0.3, 400)
    y = rng.normal(0, 1, 10)[groups] + rng.normal(0, 0.3, 400)
    alone, clustered = quadratic_turn(x, y), quadratic_turn(x, y, dimensions=Dimensions.of(contexts=groups))
    assert clustered.curvature.high - clustered.curvature.low > 2 * (alone.curvature.high - alone.curvature.low)
    assert "clustered" in clustered.curvature.method


def test_a_straight_line_has_no_turn() -> None:
    rng = np.random.default_rng(3)
    x = np.arange(50.0)
    found = quadratic_turn(x, 2 * x + rng.normal(0, 1, 50))
    assert found.shape == "no turn" and found.p == 1
    assert math.isnan(found.turn.low) and "may be anywhere" in found.turn.note


@pytest.mark.parametrize(
    ("x", "message"),
    [(range(9), "9 samples are too few"), ([1, 2] * 6, "3 different values of x, not 2")],
)
def test_data_too_small_for_a_turn_are_refused(x: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quadratic_turn(list(x), [1.0] * len(list(x)))
