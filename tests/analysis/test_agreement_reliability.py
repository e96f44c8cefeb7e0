"""Split-half reliability and the noise ceiling: formulas by hand, theory on simulated ratings."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.agreement import (
    ceiling_of_means,
    icc,
    noise_ceiling,
    reliability,
    spearman_brown,
    split_half,
)
from analysis.agreement.reliability import _means, _shuffles

NAN = math.nan


def ratings_of(units: int, raters: int, noise: float = 1.0, seed: int = 0, missing: float = 0.0) -> Any:
    """True scores with variance 1 and their ratings."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=units)
    scores = truth[:, None] + noise * rng.normal(size=(units, raters))
    scores[rng.random(scores.shape) < missing] = NAN
    return truth, scores


@pytest.mark.parametrize(
    ("correlation", "factor", "expected"), [(0.6, 2, 0.75), (0.5, 3, 0.75), (0.75, 0.5, 0.6), (0, 2, 0)]
)
def test_spearman_brown(correlation: float, factor: float, expected: Any) -> None:
    assert spearman_brown(correlation, factor) == pytest.approx(expected)


def test_spearman_brown_has_limits() -> None:
    assert math.isnan(spearman_brown(-1))
    with pytest.raises(ValueError, match="positive"):
        spearman_brown(0.5, 0)


# --- split halves


@pytest.mark.parametrize("raters", [2, 3, 4, 5, 10])
def test_random_halves_of_any_number_of_ratings_agree_with_the_icc(raters: int) -> None:
    """Under one-way variance both estimate the reliability of the mean: ICC(1,k) of Shrout & Fleiss 1979."""
    _, scores = ratings_of(400, raters, noise=1.5)
    assert split_half(scores, splits=300).value == pytest.approx(icc(scores, "1,k").value, abs=0.01)


@pytest.mark.parametrize("raters", [3, 4, 5, 10])
def test_reliability_of_the_mean_is_what_theory_says(raters: int) -> None:
    """Variance 1 between units and 1 within: the mean of n ratings has reliability n/(n + 1)."""
    _, scores = ratings_of(5000, raters)
    estimate = split_half(scores, splits=20)
    assert estimate.value == pytest.approx(raters / (raters + 1), abs=0.02)
    assert estimate.low < raters / (raters + 1) < estimate.high


def test_units_of_different_numbers_of_ratings_step_up_by_their_own_halves() -> None:
    """Half the units have 2 ratings and half have 5: the error of a mean is the average, 1/2 · (1/2 + 1/5)."""
    _, scores = ratings_of(20_000, 5)
    scores[::2, 2:] = NAN
    assert split_half(scores, splits=10).value == pytest.approx(1 / (1 + 0.35), abs=0.01)


def test_the_step_up_by_hand() -> None:
    """Four units with two ratings each and one split: r of the halves, then 2r/(1 + r)."""
    scores = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 3.0], [5.0, 4.0]])
    sides = [(0, 1) if flip else (1, 0) for flip in (False, True)]
    ways = itertools.product(sides, repeat=4)
    found = {
        round(2 * r / (1 + r), 9)
        for way in ways
        for r in [np.corrcoef(np.array([row[list(side)] for row, side in zip(scores, way, strict=True)]).T)[0, 1]]
    }
    assert round(split_half(scores, splits=1).value, 9) in found


@pytest.mark.slow
@pytest.mark.parametrize("likert", [False, True])
@pytest.mark.parametrize(("units", "raters", "noise"), [(12, 3, 1.0), (12, 10, 2.0), (30, 3, 2.0), (60, 5, 1.0)])
def test_the_interval_covers_the_truth(units: int, raters: int, noise: float, likert: bool) -> None:
    """300 simulated studies; the truth is ICC(1,k) of 100,000 units. A 95% interval covers 92–98% within error."""

    def study(units: int, seed: int) -> Any:
        scores = ratings_of(units, raters, noise, seed)[1]
        return np.clip(np.round(3 + scores), 1, 5) if likert else scores

    truth = icc(study(100_000, 999), "1,k").value
    found = [split_half(study(units, seed), splits=20) for seed in range(300)]
    assert 0.91 <= np.mean([each.low <= truth <= each.high for each in found]) <= 0.985


@pytest.mark.parametrize("statistic", [split_half, noise_ceiling])
def test_the_order_of_units_and_raters_changes_no_digit(statistic: Any) -> None:
    _, scores = ratings_of(40, 5, missing=0.2)
    rng = np.random.default_rng(3)
    shuffled = scores[rng.permutation(40)][:, rng.permutation(5)]
    assert statistic(shuffled) == statistic(scores)
    assert statistic(scores, seed=2) != statistic(scores)


def test_units_with_one_rating_are_left_out_with_a_note() -> None:
    _, scores = ratings_of(50, 4)
    scores[:3, 1:] = NAN
    estimate = split_half(scores)
    assert estimate.n == 47
    assert "3 with fewer than 2" in estimate.note


def test_means_that_do_not_vary_are_undefined() -> None:
    assert "do not vary" in split_half(np.full((5, 4), 3.0)).note


# --- the noise ceiling


def test_the_formula_by_hand() -> None:
    scores = np.array([[1.0, 2, 3], [2, 4, 6], [7, 8, 9], [3, 3, 3]])
    error = scores.var(axis=1, ddof=1).mean() / 3
    expected = math.sqrt(1 - error / scores.mean(axis=1).var(ddof=1))
    assert noise_ceiling(scores).value == pytest.approx(expected)
    assert noise_ceiling(scores, k=3).value == pytest.approx(expected)
    kept = ceiling_of_means(scores.mean(axis=1), scores.var(axis=1, ddof=1), 3)
    assert kept.value == pytest.approx(expected)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_a_perfect_metric_correlates_with_the_means_as_the_ceiling_says(missing: float) -> None:
    truth, scores = ratings_of(20_000, 6, noise=2.0, missing=missing)
    several = (~np.isnan(scores)).sum(axis=1) >= 2
    correlation = stats.pearsonr(truth[several], np.nanmean(scores[several], axis=1)).statistic
    estimate = noise_ceiling(scores, draws=200)
    assert estimate.value == pytest.approx(correlation, abs=0.01)
    assert estimate.n == several.sum()


def test_the_ceiling_of_another_design() -> None:
    """Variance 1 between units, 4 within: k = 16 gives sqrt(1/(1 + 4/16))."""
    _, scores = ratings_of(20_000, 4, noise=2.0)
    assert noise_ceiling(scores, k=16, draws=0).value == pytest.approx(math.sqrt(0.8), abs=0.01)


def test_its_interval_covers_the_truth() -> None:
    covered = 0
    for seed in range(100):
        estimate = noise_ceiling(ratings_of(100, 5, seed=seed)[1], draws=200, seed=seed)
        covered += estimate.low <= math.sqrt(5 / 6) <= estimate.high
    assert 86 <= covered <= 99


def test_more_error_than_variance_is_undefined() -> None:
    estimate = noise_ceiling([[1, 5], [5, 1], [2, 4]])
    assert math.isnan(estimate.value)
    assert "error of means" in estimate.note


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: noise_ceiling([[1, 2], [1, NAN]]), "at least two units"),  # type: ignore[arg-type]
        (lambda: noise_ceiling([["a", "b"], ["b", "b"]]), "text"),
        (lambda: noise_ceiling([[1, 2], [2, 3]], k=0), "must be positive"),
        (lambda: ceiling_of_means([1, 2], [1, NAN], 3), "variance of 0 or more"),
        (lambda: ceiling_of_means([1, 2], [1, 1], 1), "two ratings or more"),
        (lambda: split_half([[1, 2], [2, 2]]), "at least three units"),
        (lambda: split_half([[1, 2]] * 4, splits=0), "at least one split"),
    ],
)
def test_degenerate_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_interval_of_a_low_noise_ceiling_holds_the_estimate() -> None:
    """Nearly unrelated raters: in about half of the resamples the error exceeds the variance of the means."""
    rng = np.random.default_rng(5)
    matrices = (rng.normal(size=(40, 4)) + 0.1 * rng.normal(size=(40, 1)) for _ in range(40))
    found = [estimate for matrix in matrices if not math.isnan((estimate := noise_ceiling(matrix, draws=200)).value)]
    assert len(found) > 10
    assert all(estimate.low <= estimate.value <= estimate.high for estimate in found)


def test_very_many_ratings_have_fewer_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    _, scores = ratings_of(150, 6, noise=1.5)
    whole = split_half(scores)
    monkeypatch.setattr(reliability, "MOST_WORK", 1)
    fewer = split_half(scores)
    assert "10 splits" in fewer.method
    assert (fewer.value, fewer.low, fewer.high) == pytest.approx((whole.value, whole.low, whole.high), abs=0.05)


# --- comparisons of which either side may be the first


@pytest.mark.parametrize("statistic", [split_half, noise_ceiling])
def test_which_of_two_things_comes_first_changes_no_digit(statistic: Any) -> None:
    _, scores = ratings_of(40, 5, missing=0.2)
    scores = np.round(scores + 0.5)  # the first is mostly better
    turned = np.where(np.arange(40)[:, None] % 2, 6 - (scores + 3), scores + 3)
    assert statistic(turned, centre=3) == statistic(scores + 3, centre=3)
    assert statistic(turned).value != pytest.approx(statistic(scores + 3).value, abs=0.005)


def test_the_ceiling_of_comparisons_is_that_of_every_pair_in_both_orders() -> None:
    """By hand: the means vary about the middle of the scale, √(1 − E[s²]/k / E[(mean − 3)²])."""
    _, scores = ratings_of(60, 4)
    expected = math.sqrt(1 - scores.var(axis=1, ddof=1).mean() / 4 / (scores.mean(axis=1) ** 2).mean())
    assert noise_ceiling(scores + 3, centre=3).value == pytest.approx(expected)
    assert split_half(scores + 3, centre=3, splits=400).value == pytest.approx(expected**2, abs=0.01)


@pytest.mark.parametrize("ratings", range(2, 22))
def test_halves_are_shuffled_and_averaged_as_numpy_does(ratings: int) -> None:
    """The same random halves, and the last digit of every mean, as from NumPy's own shuffles and means."""
    table = np.random.default_rng(ratings).normal(size=(40, ratings))
    half, own, theirs = ratings // 2, _shuffles(((40, ratings),), 3, 5), np.random.default_rng(5)
    rows = np.arange(40)
    for (order,), shuffled in zip(own, (theirs.permuted(table, axis=1) for _ in range(3)), strict=True):
        assert (np.stack([table[rows, places] for places in order], axis=1) == shuffled).all()
        columns = [table[rows, places] for places in order[:half]]
        assert (_means(columns) == shuffled[:, :half].mean(axis=1)).all()
