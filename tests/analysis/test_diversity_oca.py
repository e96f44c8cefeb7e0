"""The best threshold, its ties and directions, and what its interval covers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.diversity.evaluation import con_test
from analysis.diversity.oca import best_threshold, oca_estimate
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import wilson

SCORES = st.one_of(st.integers(0, 4).map(float), st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.1 + 2**-54, 0.3]))
LABELLED = st.lists(st.tuples(SCORES, st.integers(0, 1)), min_size=3, max_size=25).filter(
    lambda rows: len({label for _, label in rows}) == 2
)


@given(LABELLED)
@settings(deadline=None)
def test_no_threshold_does_better_and_the_reported_one_achieves_the_accuracy(rows: list[tuple[float, int]]) -> None:
    scores, labels = np.array(rows).T
    cuts = [-math.inf, *scores, math.inf]
    for either, sides in ((True, (0, 1)), (False, (1,))):
        best = best_threshold(scores, labels, either=either)
        assert best.accuracy == max(np.mean((scores >= cut) == (labels == side)) for cut in cuts for side in sides)
        assert np.mean(best.calls_high(scores) == (labels == 1)) == best.accuracy


def test_a_score_that_falls_as_diversity_rises_is_no_better_than_calling_all_the_same() -> None:
    scores, labels = [1, 2, 3, 4, 5], [1, 1, 0, 0, 0]
    assert best_threshold(scores, labels).accuracy == 0.6  # as the paper defines OCA: all low
    assert best_threshold(scores, labels, either=True).accuracy == 1.0
    one_way, both = (con_test(scores, labels, plan=Bootstrap(draws=0), either=either).oca for either in (False, True))
    assert (one_way.value, both.value) == (0.6, 1.0)


@pytest.mark.parametrize(
    ("scores", "labels", "value", "direction", "accuracy"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], 2.5, "above", 1.0),
        ([1, 2, 3, 4], [1, 1, 0, 0], 2.5, "below", 1.0),
        # The two 2s cannot be told apart, whatever their labels: one of them is always wrong.
        ([1, 2, 2, 3], [0, 0, 1, 1], 1.5, "above", 0.75),
        # Classes may be any two numbers; the larger is high.
        ([1, 2, 3, 4], [0.2, 0.2, 1.2, 1.2], 2.5, "above", 1.0),
        # Nothing beats calling all the same; the cut lies beyond the scores.
        ([5, 5, 5, 5], [0, 1, 1, 1], -math.inf, "above", 0.75),
        ([5, 5, 5, 5], [0, 0, 0, 1], math.inf, "above", 0.75),
        # A cut between scores is preferred to one beyond them when both are right three times.
        ([1, 2, 3, 4], [1, 0, 1, 1], 2.5, "above", 0.75),
    ],
)
def test_threshold_by_hand(
    scores: list[float], labels: list[float], value: float, direction: str, accuracy: float
) -> None:
    found = best_threshold(scores, labels, either=True)
    assert (found.value, found.direction, found.accuracy) == (value, direction, accuracy)


def test_neighbouring_floats_are_different_values() -> None:
    low = 0.1
    high = math.nextafter(low, 1)
    found = best_threshold([low, low, high, high], [0, 0, 1, 1])
    assert found.accuracy == 1
    assert found.calls_high(np.array([low, high])).tolist() == [False, True]


def test_monotone_change_of_scores_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 60)
    scores = labels + rng.normal(size=60)
    assert best_threshold(np.exp(scores), labels).accuracy == best_threshold(scores, labels).accuracy
    assert best_threshold(-scores, labels, either=True).accuracy == best_threshold(scores, labels).accuracy


@given(st.integers(1, 60), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_scipys(n: int, share: float, level: float) -> None:
    hits = round(share * n)
    expected = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    assert wilson(hits / n, n, level) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("shared", [0.0, 0.6])
def test_interval_covers_the_accuracy_of_the_best_possible_threshold(shared: float) -> None:
    """Two normals a distance d apart are classified best halfway, with accuracy Φ(d / 2).

    Low and high set share a context effect of variance ``shared``. Of 200 intervals at 95% at least 90% must cover.
    A percentile bootstrap covers about 80% here.
    """
    rng = np.random.default_rng(11)
    distance, contexts = 1.5, 100
    context = np.repeat(np.arange(contexts), 2)
    labels = np.tile([0, 1], contexts)
    covered = 0
    for seed in range(200):
        noise = math.sqrt(shared) * rng.normal(size=contexts)[context]
        scores = noise + math.sqrt(1 - shared) * rng.normal(size=2 * contexts) + distance * labels
        plan = Bootstrap(draws=200, seed=seed)
        oca, _ = oca_estimate(scores, labels, plan=plan, groups=context)
        assert oca.low <= oca.value <= oca.high
        covered += oca.low <= stats.norm.cdf(distance / 2) <= oca.high
    assert covered >= 180


def test_interval_allows_for_the_optimism_of_small_studies() -> None:
    """As above at 50 sets and a distance of 0.5, where OCA is 0.07 too high on average.

    Of 300 intervals at least 265 (88%) must cover; without the correction about 83% do, and percentiles hardly ever.
    """
    rng = np.random.default_rng(12)
    covered = 0
    for seed in range(300):
        labels = rng.integers(0, 2, 50)
        scores = rng.normal(size=50) + 0.5 * labels
        oca, _ = oca_estimate(scores, labels, plan=Bootstrap(draws=200, seed=seed))
        covered += oca.low <= stats.norm.cdf(0.25) <= oca.high
    assert covered >= 265


def test_sets_that_rise_and_fall_together_widen_the_interval() -> None:
    # Twenty copies of each set say no more than one.
    rng = np.random.default_rng(5)
    labels = np.repeat(np.tile([0, 1], 10), 20)
    scores = np.repeat(rng.normal(size=20) + np.tile([0, 1], 10), 20)
    context = np.repeat(np.arange(20), 20)
    plan = Bootstrap(draws=200)
    together = con_test(scores, labels, plan=plan, groups=context).oca
    apart = con_test(scores, labels, plan=plan).oca
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_constant_scores_give_the_larger_class() -> None:
    result = con_test([2.0] * 5, [0, 0, 0, 1, 1])
    assert result.oca.value == pytest.approx(0.6)
    assert "larger class" in result.oca.note
    assert math.isnan(result.rho.value)
    assert "all scores are the same" in result.rho.note
    assert (result.n_low, result.n_high) == (3, 2)
