"""decTest and conTest: SciPy, coverage on simulated data, and the figures of Tevet & Berant 2021 on their data."""

import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.diversity.evaluation import con_test, dec_test, subsampled
from analysis.diversity.metrics import METRICS
from analysis.diversity.resampling import Bootstrap, context_groups
from analysis.estimate import LARGEST


def sample(n: int = 120, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Scores in half steps, hence with ties, and the temperatures they rise with."""
    rng = np.random.default_rng(seed)
    labels = np.round(rng.uniform(0.2, 1.2, n), 2)
    return np.round(2 * (1 + 3 * labels + rng.normal(size=n))) / 2, labels


def test_values_are_scipys() -> None:
    scores, labels = sample()
    result = dec_test(scores, labels)
    assert result.spearman.value == pytest.approx(stats.spearmanr(scores, labels).statistic, abs=1e-12)
    assert result.pearson.value == pytest.approx(stats.pearsonr(scores, labels).statistic, abs=1e-12)
    assert (result.spearman.n, result.spearman.n_of, result.spearman.level) == (120, "sets", 0.95)


def test_intervals_are_those_of_scipys_bootstrap() -> None:
    scores, labels = sample()
    result = dec_test(scores, labels, plan=Bootstrap(draws=4000))
    for estimate, statistic in ((result.spearman, stats.spearmanr), (result.pearson, stats.pearsonr)):
        expected = stats.bootstrap(
            (scores, labels),
            lambda x, y, statistic=statistic: statistic(x, y).statistic,
            paired=True,
            vectorized=False,
            method="percentile",
            n_resamples=2000,
            rng=np.random.default_rng(2),
        ).confidence_interval
        assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), abs=0.015)


def test_log10_is_taken_of_the_label() -> None:
    scores, labels = sample()
    straight, logged = dec_test(scores, labels), dec_test(scores, labels, log10=True)
    assert logged.pearson.value == pytest.approx(stats.pearsonr(scores, np.log10(labels)).statistic, abs=1e-12)
    assert logged.spearman == straight.spearman


def test_same_seed_same_numbers() -> None:
    scores, labels = sample()
    assert dec_test(scores, labels) == dec_test(scores, labels)
    assert dec_test(scores, labels) != dec_test(scores, labels, plan=Bootstrap(seed=7))
    high = labels > 0.7
    assert con_test(scores, high) == con_test(scores, high)


def test_wider_level_wider_interval() -> None:
    scores, labels = sample()
    wide = dec_test(scores, labels, plan=Bootstrap(level=0.99)).spearman
    narrow = dec_test(scores, labels, plan=Bootstrap(level=0.8)).spearman
    assert wide.low < narrow.low < narrow.high < wide.high


def test_half_size_resamples_are_wider_by_the_root_of_two() -> None:
    # Stasaski & Hearst 2022: 1,000 resamples of half the size.
    scores, labels = sample(400)
    whole = dec_test(scores, labels, plan=Bootstrap(draws=4000)).pearson
    half = dec_test(scores, labels, plan=Bootstrap(draws=4000, size=200)).pearson
    assert (half.high - half.low) / (whole.high - whole.low) == pytest.approx(math.sqrt(2), rel=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_intervals_cover(rho: float) -> None:
    """Of 200 intervals at 95% on normal data between 90% and 99.5% cover; ρ_S = 6/π asin(ρ/2) (Pearson 1907)."""
    rng = np.random.default_rng(7)
    true_spearman = 6 / math.pi * math.asin(rho / 2)
    covered = np.zeros(2)
    for seed in range(200):
        x = rng.normal(size=80)
        y = rho * x + math.sqrt(1 - rho**2) * rng.normal(size=80)
        result = dec_test(x, y, plan=Bootstrap(draws=400, seed=seed))
        covered += [
            result.spearman.low <= true_spearman <= result.spearman.high,
            result.pearson.low <= rho <= result.pearson.high,
        ]
    assert (covered >= 180).all()
    assert (covered <= 199).all()


def test_groups_are_resampled_whole() -> None:
    # Five copies of every set, drawn apart, seem to be five times the data; drawn together they are not.
    scores, labels = sample(60)
    context = np.tile([f"c{number}" for number in range(60)], 5)
    once = dec_test(scores, labels, plan=Bootstrap(draws=3000)).spearman
    copied = np.tile(scores, 5), np.tile(labels, 5)
    together = dec_test(*copied, plan=Bootstrap(draws=3000), groups=context).spearman
    apart = dec_test(*copied, plan=Bootstrap(draws=3000)).spearman
    assert together.high - together.low == pytest.approx(once.high - once.low, rel=0.1)
    assert apart.high - apart.low < 0.6 * (once.high - once.low)


def test_subsamples_of_a_thousand_sets() -> None:
    scores, labels = sample(1000, seed=4)
    spread = subsampled(scores, labels, size=200, repeats=100, seed=3)
    assert spread.spearman.value == pytest.approx(stats.spearmanr(scores, labels).statistic, abs=0.02)
    # The s.d. of r over samples of 200 from 1,000 without replacement: (1 − r²)/√199 · √(800/999) (Fisher 1915,
    # finite population correction).
    r = stats.pearsonr(scores, labels).statistic
    assert spread.pearson_sd == pytest.approx((1 - r**2) / math.sqrt(199) * math.sqrt(800 / 999), rel=0.3)
    assert spread.spearman.low < spread.spearman.value < spread.spearman.high
    assert spread == subsampled(scores, labels, size=200, repeats=100, seed=3)


def test_subsample_of_everything_has_no_spread() -> None:
    scores, labels = sample(50)
    spread = subsampled(scores, labels, size=50, repeats=5)
    assert spread.spearman.value == pytest.approx(stats.spearmanr(scores, labels).statistic)
    assert spread.spearman_sd == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([], [], "at least 3 scores, not 0"),
        ([1, 2], [0, 1], "at least 3 scores, not 2"),
        ([1, 2, 3], [0, 1], "shapes"),
        ([[1, 2, 3]], [[0, 1, 1]], "shapes"),
        ([1, math.nan, 3], [0, 1, 1], "1 of 3 scores are missing or infinite, the first at position 1"),
        ([1, 2, 3], [0, 1, math.inf], "1 of 3 labels are missing or infinite, the first at position 2"),
        ([1, 2, 3], [1, 1, 1], "all labels are"),
    ],
)
def test_data_that_cannot_be_tested_are_refused(scores: list[float], labels: list[float], message: str) -> None:
    for test in (dec_test, con_test):
        with pytest.raises(ValueError, match=message):
            test(scores, labels)


def test_each_test_of_a_score_refuses_unsuitable_labels() -> None:
    with pytest.raises(ValueError, match="two classes, not 3 values from 0 to 2"):
        con_test([1, 2, 3], [0, 1, 2])
    with pytest.raises(ValueError, match="above 0 to take their logarithm"):
        dec_test([1, 2, 3], [0, 1, 2], log10=True)
    with pytest.raises(ValueError, match="size from 3 to 3"):
        subsampled([1, 2, 3], [0, 1, 2], size=4)
    with pytest.raises(ValueError, match="one group for each"):
        con_test([1, 2, 3], [0, 1, 1], groups=["a"])
    with pytest.raises(ValueError, match="all sets are in one group"):
        con_test([1, 2, 3], [0, 1, 1], groups=["a", "a", "a"])
    with pytest.raises(ValueError, match="level"):
        Bootstrap(level=95)
    with pytest.raises(ValueError, match="two draws or more; 0 for none"):
        Bootstrap(draws=1)


@pytest.mark.parametrize("groups", [None, [f"c{at // 2}" for at in range(120)]])
def test_the_order_of_sets_changes_no_digit(groups: list[str] | None) -> None:
    scores, labels = sample(120)
    high, order = (labels > 0.7).astype(float), np.random.default_rng(0).permutation(120)
    moved = None if groups is None else [groups[at] for at in order]
    assert con_test(scores[order], high[order], groups=moved) == con_test(scores, high, groups=groups)
    assert dec_test(scores[order], labels[order], groups=moved) == dec_test(scores, labels, groups=groups)


def test_no_draws_no_interval() -> None:
    scores, labels = sample()
    found = con_test(scores, labels > 0.7, plan=Bootstrap(draws=0))
    assert math.isnan(found.rho.low) and math.isnan(found.oca.low)
    assert found.rho.method == found.oca.method == "no interval"


def test_sets_without_a_context_are_resampled_singly() -> None:
    assert context_groups(["a", "a", "b"]) == ["context a", "context a", "context b"]
    assert context_groups(["a", "a", "", ""]) == ["context a", "context a", "set 2", "set 3"]
    assert context_groups(["a", "a", "a"]) is None  # nothing to resample
    assert context_groups(["a", "b", "c"]) is None


def test_constant_scores_are_undefined_not_zero() -> None:
    result = dec_test([1.5] * 4, [1, 2, 3, 4])
    for estimate in (result.spearman, result.pearson):
        assert math.isnan(estimate.value)
        assert math.isnan(estimate.low)
        assert "all scores are the same" in estimate.note


def test_undefined_resamples_are_counted() -> None:
    # With one odd score of ten, about 0.9¹⁰ = 35% of the resamples are constant.
    estimate = dec_test([1.0] * 9 + [2.0], range(10)).spearman
    lost = int(estimate.note.split()[0])
    assert 300 < lost < 400


def test_a_thousand_resamples_of_two_hundred_are_quick() -> None:
    scores, labels = sample(200)
    start = time.perf_counter()
    dec_test(scores, labels)
    # About 0.02 s here; a loop over SciPy takes 1 s.
    assert time.perf_counter() - start < 0.5


def released_sets(released: Path, name: str) -> pd.DataFrame:
    path = next((released / "diversity-eval").glob(f"*/{name}.csv"))
    return pd.read_csv(path, keep_default_na=False)


@pytest.mark.released
@pytest.mark.parametrize(("task", "rho"), [("story", 0.69), ("resp", 0.81), ("prompt", 0.79)])
def test_published_dec_test_of_human_scores(released: Path, task: str, rho: float) -> None:
    # Tevet & Berant 2021, decTest with absHDS.
    frame = released_sets(released, f"dec_test_200_with_hds_{task}_gen")
    found = dec_test(frame["metric_abs_hds_mean"], frame["label_value"]).spearman
    assert round(found.value, 2) == rho
    assert found.low < rho < found.high


@pytest.mark.released
@pytest.mark.parametrize(
    ("name", "column", "rho", "oca"),
    [
        ("con_test_200_with_hds_story_gen", "metric_abs_hds_mean", 0.85, 0.95),
        ("con_test_200_with_hds_resp_gen", "metric_abs_hds_mean", 0.63, 0.81),
        ("con_test_200_with_hds_prompt_gen", "metric_abs_hds_mean", 0.78, 0.89),
        ("con_test_200_with_hds_story_gen", "metric_AveragedDistinctNgrams", 0.57, 0.77),
        ("con_test_200_with_hds_resp_gen", "metric_AveragedDistinctNgrams", 0.35, 0.68),
        ("con_test_200_with_hds_prompt_gen", "metric_AveragedDistinctNgrams", 0.33, 0.68),
        ("con_test_200_with_hds_story_gen", "metric_AveragedCosineSimilarity", 0.56, 0.77),
        ("con_test_200_with_hds_resp_gen", "metric_AveragedCosineSimilarity", 0.33, 0.66),
        ("con_test_200_with_hds_prompt_gen", "metric_AveragedCosineSimilarity", 0.36, 0.67),
        ("mcdiv_all_no_hds_story_gen", "metric_AveragedDistinctNgrams", 0.53, 0.74),
        ("mcdiv_all_no_hds_resp_gen", "metric_AveragedDistinctNgrams", 0.52, 0.74),
        ("mcdiv_all_no_hds_prompt_gen", "metric_AveragedDistinctNgrams", 0.48, 0.75),
        ("mcdiv_all_no_hds_story_gen", "metric_AveragedCosineSimilarity", 0.53, 0.74),
        ("mcdiv_all_no_hds_resp_gen", "metric_AveragedCosineSimilarity", 0.52, 0.74),
        ("mcdiv_all_no_hds_prompt_gen", "metric_AveragedCosineSimilarity", 0.60, 0.77),
    ],
)
def test_published_con_test(released: Path, name: str, column: str, rho: float, oca: float) -> None:
    # 0.675 is a tie in decimals, so: within half of the second decimal.
    frame = released_sets(released, name)
    found = con_test(frame[column], frame["label_value"], plan=Bootstrap(draws=50))
    assert found.rho.value == pytest.approx(rho, abs=0.005)
    assert found.oca.value == pytest.approx(oca, abs=0.005 + 1e-9)
    metric = {"metric_AveragedDistinctNgrams": "distinct-n", "metric_AveragedCosineSimilarity": "cos-sim"}.get(column)
    if metric is not None:
        texts = frame.filter(regex=r"^resp_\d+$").to_numpy().tolist()
        own = con_test([METRICS[metric](text) for text in texts], frame["label_value"], plan=Bootstrap(draws=50))
        # The columns are rounded to three decimals, which ties scores that differ: OCA is up to 0.005 lower there.
        assert own.rho.value == pytest.approx(found.rho.value, abs=0.001)
        assert 0 <= own.oca.value - found.oca.value <= 0.0051


@pytest.mark.parametrize(
    ("scores", "labels", "largest"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], True),
        ([4, 3, 2, 1], [0, 0, 1, 1], True),  # as far from 0 on the other side
        ([1, 3, 2, 4], [0, 0, 1, 1], False),
        ([1, 2, 2, 4], [0, 0, 1, 1], False),  # a tie across the classes
        ([1, 2, 5, 9], [0.1, 0.2, 0.3, 0.4], True),
    ],
)
def test_a_correlation_at_its_largest_says_that_this_is_not_certainty(
    scores: list[float], labels: list[float], largest: bool
) -> None:
    note = dec_test(scores, labels, plan=Bootstrap(draws=50)).spearman.note
    assert (LARGEST in note) == largest
