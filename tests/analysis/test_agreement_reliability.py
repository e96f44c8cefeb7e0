"""Split-half reliability and the noise ceiling: formulas by hand, theory on simulated ratings."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.agreement import (
    ceiling_of_means,
    cohen_kappa,
    icc,
    krippendorff_alpha,
    noise_ceiling,
    percent_agreement,
    reliability,
    spearman_brown,
    split_half,
)
from analysis.agreement.cohen import NO_VARIANCE
from analysis.estimate import NO_WIDTH

NAN = math.nan


def ratings_of(units, raters, noise=1.0, seed=0, missing=0.0):
    """True scores with variance 1 and their ratings."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=units)
    scores = truth[:, None] + noise * rng.normal(size=(units, raters))
    scores[rng.random(scores.shape) < missing] = NAN
    return truth, scores


@pytest.mark.parametrize(
    ("correlation", "factor", "expected"), [(0.6, 2, 0.75), (0.5, 3, 0.75), (0.75, 0.5, 0.6), (0, 2, 0)]
)
def test_spearman_brown(correlation, factor, expected):
    assert spearman_brown(correlation, factor) == pytest.approx(expected)


def test_spearman_brown_has_limits():
    assert math.isnan(spearman_brown(-1))
    with pytest.raises(ValueError, match="positive"):
        spearman_brown(0.5, 0)


# --- split halves


def test_two_ratings_of_a_unit_have_one_way_to_split_up_to_sides():
    """Sides of each unit are swapped at random: the mean over splits is near the symmetric correlation, ICC(1,k)."""
    _, scores = ratings_of(400, 2)
    assert split_half(scores, draws=0, splits=500).value == pytest.approx(icc(scores, "1,k").value, abs=0.01)


@pytest.mark.parametrize("raters", [4, 5, 10])
def test_reliability_of_the_mean_is_what_theory_says(raters):
    """Variance 1 between units, 1 within: r of half means is h/(h + 1), stepped up 2h/(2h + 1), h = ⌊n/2⌋."""
    _, scores = ratings_of(5000, raters)
    full = raters // 2 * 2
    estimate = split_half(scores, splits=20, draws=200)
    assert estimate.value == pytest.approx(full / (full + 1), abs=0.02)
    assert estimate.low < full / (full + 1) < estimate.high


def test_the_interval_is_that_of_resampled_units():
    _, scores = ratings_of(80, 4)
    rng = np.random.default_rng(0)
    draws = [split_half(scores[rng.integers(0, 80, 80)], draws=0, splits=50).value for _ in range(400)]
    low, high = np.quantile(draws, [0.025, 0.975])
    estimate = split_half(scores, draws=2000)
    assert [estimate.low, estimate.high] == pytest.approx([low, high], abs=0.15 * (high - low))


def test_units_with_one_rating_are_left_out_and_said():
    _, scores = ratings_of(50, 4)
    scores[:3, 1:] = NAN
    estimate = split_half(scores, draws=10)
    assert estimate.n == 47
    assert "3 with fewer than 2" in estimate.note
    assert estimate == split_half(scores, draws=10)


def test_means_that_do_not_vary_are_undefined():
    assert "do not vary" in split_half(np.full((5, 4), 3.0)).note


# --- the noise ceiling


def test_the_formula_by_hand():
    scores = np.array([[1.0, 2, 3], [2, 4, 6], [7, 8, 9], [3, 3, 3]])
    error = scores.var(axis=1, ddof=1).mean() / 3
    expected = math.sqrt(1 - error / scores.mean(axis=1).var(ddof=1))
    assert noise_ceiling(scores).value == pytest.approx(expected)
    assert noise_ceiling(scores, k=3).value == pytest.approx(expected)
    kept = ceiling_of_means(scores.mean(axis=1), scores.var(axis=1, ddof=1), 3)
    assert kept.value == pytest.approx(expected)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_a_perfect_metric_correlates_with_the_means_as_the_ceiling_says(missing):
    truth, scores = ratings_of(20_000, 6, noise=2.0, missing=missing)
    several = (~np.isnan(scores)).sum(axis=1) >= 2
    correlation = stats.pearsonr(truth[several], np.nanmean(scores[several], axis=1)).statistic
    estimate = noise_ceiling(scores, draws=200)
    assert estimate.value == pytest.approx(correlation, abs=0.01)
    assert estimate.n == several.sum()


def test_the_ceiling_of_another_design():
    """Variance 1 between units, 4 within: k = 16 gives sqrt(1/(1 + 4/16))."""
    _, scores = ratings_of(20_000, 4, noise=2.0)
    assert noise_ceiling(scores, k=16, draws=0).value == pytest.approx(math.sqrt(0.8), abs=0.01)


def test_its_interval_covers_the_truth():
    covered = 0
    for seed in range(100):
        estimate = noise_ceiling(ratings_of(100, 5, seed=seed)[1], draws=200, seed=seed)
        covered += estimate.low <= math.sqrt(5 / 6) <= estimate.high
    assert 86 <= covered <= 99


def test_more_error_than_variance_is_undefined():
    estimate = noise_ceiling([[1, 5], [5, 1], [2, 4]])
    assert math.isnan(estimate.value)
    assert "error of means" in estimate.note


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: noise_ceiling([[1, 2], [1, NAN]]), "at least two units"),
        (lambda: noise_ceiling([["a", "b"], ["b", "b"]]), "text"),
        (lambda: noise_ceiling([[1, 2], [2, 3]], k=0), "must be positive"),
        (lambda: ceiling_of_means([1, 2], [1, NAN], 3), "variance of 0 or more"),
        (lambda: ceiling_of_means([1, 2], [1, 1], 1), "two ratings or more"),
        (lambda: split_half([[1, 2], [2, 2]]), "at least three units"),
        (lambda: split_half([[1, 2]] * 4, splits=0), "at least one split"),
    ],
)
def test_degenerate_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_interval_of_a_low_noise_ceiling_holds_the_estimate() -> None:
    """Nearly unrelated raters: in about half of the resamples the error exceeds the variance of the means."""
    rng = np.random.default_rng(5)
    matrices = (rng.normal(size=(40, 4)) + 0.1 * rng.normal(size=(40, 1)) for _ in range(40))
    found = [estimate for matrix in matrices if not math.isnan((estimate := noise_ceiling(matrix, draws=200)).value)]
    assert len(found) > 10
    assert all(estimate.low <= estimate.value <= estimate.high for estimate in found)


def test_of_many_units_a_draw_takes_fewer_splits_and_stays_centred(monkeypatch):
    _, scores = ratings_of(150, 6, noise=1.5)
    whole = split_half(scores, draws=400)
    monkeypatch.setattr(reliability, "MOST_WORK", 1)
    fewer = split_half(scores, draws=400)
    assert fewer.value == whole.value
    assert fewer.low == pytest.approx(whole.low, abs=0.02)
    assert fewer.high == pytest.approx(whole.high, abs=0.01)
    assert fewer != whole


@pytest.mark.parametrize("statistic", [split_half, noise_ceiling, percent_agreement, krippendorff_alpha])
def test_an_interval_without_width_says_that_it_shows_no_uncertainty(statistic):
    agreed = np.repeat([[1.0], [2.0], [4.0], [5.0], [3.0], [2.0]], 3, axis=1)
    found = statistic(agreed)
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))
    assert NO_WIDTH in found.note
    agreed[0, 0] = 5.0
    assert NO_WIDTH not in statistic(agreed).note


def test_kappa_of_raters_who_agree_on_everything_says_so_too():
    assert NO_VARIANCE in cohen_kappa([1, 2, 3, 1], [1, 2, 3, 1]).note
    assert NO_VARIANCE not in cohen_kappa([1, 2, 3, 1], [1, 2, 3, 2]).note
