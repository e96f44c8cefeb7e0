"""Strengths at equal length, against statsmodels' Logit with a design by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from analysis.inference import Dimensions
from analysis.preference import comparisons_from_choices, relative_differences, style_control
from analysis.preference.style_control import odds

SYSTEMS = ("a", "b", "c")


def arena(seed: int, *, ties: bool, slope: float = 1.0, count: int = 400) -> tuple[Any, Any, Any, Any]:
    """First and second systems, choices, and relative differences of length."""
    rng = np.random.default_rng(seed)
    strengths = dict(zip(SYSTEMS, (0.6, 0.0, -0.6), strict=True))
    pairs = [rng.permutation(SYSTEMS)[:2] for _ in range(count)]
    first, second = (np.array([pair[place] for pair in pairs]) for place in (0, 1))
    difference = relative_differences(rng.integers(20, 200, count), rng.integers(20, 200, count))
    latent = np.array([strengths[one] - strengths[two] for one, two in zip(first, second, strict=True)])
    won = rng.random(count) < 1 / (1 + np.exp(-latent - 3 * slope * difference))
    choices = np.where(won, 1.0, -1.0)
    if ties:
        choices[rng.random(count) < 0.2] = 0.0
    return first, second, choices, difference


@pytest.mark.parametrize("ties", [False, True])
def test_it_is_the_logit_of_statsmodels(ties: bool) -> None:
    first, second, choices, difference = arena(3, ties=ties)
    spread = math.sqrt(np.mean(difference**2))
    # One column for each system but the last, +1 for the first and −1 for the second; ties are halves.
    design = np.column_stack([(first == name).astype(float) - (second == name) for name in ("a", "b")])
    won = (choices + 1) / 2
    plain = sm.Logit(won, design).fit(disp=0)
    reference = sm.Logit(won, np.column_stack([design, difference / spread])).fit(disp=0)

    found = style_control(comparisons_from_choices(first, second, choices), difference)

    for strengths, fitted in ((found.strengths, reference), (found.uncontrolled, plain)):
        assert sum(one.value for one in strengths.values()) == pytest.approx(0, abs=1e-9)
        apart = [strengths[name].value - strengths["c"].value for name in ("a", "b")]
        assert apart == pytest.approx(fitted.params[:2], abs=1e-6)
        # The mean of three strengths is 0, so that of c is −(a − c + b − c) / 3, with the variance of that sum.
        error = math.sqrt(fitted.cov_params()[:2, :2].sum()) / 3
        assert (strengths["c"].high - strengths["c"].low) / 2 == pytest.approx(1.959964 * error, rel=1e-5)
    assert found.length.value == pytest.approx(reference.params[2], abs=1e-6)
    assert (found.length.low, found.length.high) == pytest.approx(tuple(reference.conf_int()[2]), abs=1e-5)
    assert found.spread == pytest.approx(spread)
    ratio = odds(found.length)
    assert (ratio.value, ratio.low) == pytest.approx((math.exp(reference.params[2]), math.exp(found.length.low)))


def test_clusters_of_one_comparison_give_the_robust_interval_of_statsmodels() -> None:
    first, second, choices, difference = arena(5, ties=False)
    design = np.column_stack([(first == name).astype(float) - (second == name) for name in ("a", "b")])
    spread = math.sqrt(np.mean(difference**2))
    robust = sm.Logit((choices + 1) / 2, np.column_stack([design, difference / spread])).fit(disp=0, cov_type="HC0")
    comparisons = comparisons_from_choices(first, second, choices)

    found = style_control(comparisons, difference, dimensions=Dimensions.of(workers=np.arange(len(choices))))

    # The multiway intervals are by t with a correction for few clusters: close to HC0 with 400 clusters.
    assert (found.length.high - found.length.low) / 2 == pytest.approx(1.96 * robust.bse[2], rel=0.03)


def test_a_system_that_wins_by_length_alone_is_no_stronger_at_equal_length() -> None:
    rng = np.random.default_rng(2)
    long = rng.integers(100, 200, 2000)
    short = rng.integers(20, 160, 2000)
    difference = relative_differences(long, short)
    choices = np.where(rng.random(2000) < 1 / (1 + np.exp(-3 * difference)), 1.0, -1.0)
    found = style_control(comparisons_from_choices(["long"] * 2000, ["short"] * 2000, choices), difference)
    assert found.uncontrolled["long"].low > 0.3
    assert found.strengths["long"].low < 0 < found.strengths["long"].high


def test_relative_differences_by_hand() -> None:
    assert relative_differences([3, 0, 1, 0], [1, 5, 1, 0]).tolist() == [0.5, -1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("choices", "difference", "why"),
    [
        ([1, -1, 1, -1], [0, 0, 0, 0], "equally long in every comparison"),
        ([1, -1, 1, -1], [0.5, -0.5, 0.4, -0.1], "do not determine"),
        ([1, -1, 1, -1], [0.5, 0.5, 0.5, 0.5], "cannot be told apart|do not determine"),
        ([1, 1, 1, 1], [0.5, -0.5, 0.4, -0.1], "never"),
        ([1, -1, 1, -1], [0.5], "1 differences"),
    ],
)
def test_what_cannot_be_estimated_is_refused(choices: list[float], difference: list[float], why: str) -> None:
    comparisons = comparisons_from_choices(["a"] * 4, ["b"] * 4, choices)
    with pytest.raises(ValueError, match=why):
        style_control(comparisons, difference)
