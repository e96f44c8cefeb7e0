"""The ranking test, the pairs it compares, and nuggets."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.diversity.evaluation import con_test
from analysis.diversity.metrics import distinct_n
from analysis.diversity.nuggets import nuggets
from analysis.diversity.ranking import pair_differences, ranking_test
from analysis.diversity.resampling import Bootstrap


def test_values_by_hand() -> None:
    # Signs agree in the 1st, 2nd and 5th pair; the 3rd has no score difference and the 4th the wrong one.
    scores = [0.5, -1.0, 0.0, -0.5, 2.0]
    parameters = [0.2, -0.4, 0.3, 0.1, 0.6]
    result = ranking_test(scores, parameters)
    assert result.accuracy.value == pytest.approx(3 / 5)
    x, y = ([*values, *(-value for value in values)] for values in (scores, parameters))
    assert result.rho.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert (result.rho.n, result.rho.n_of, result.accuracy.n_of) == (5, "pairs", "pairs")
    wilson = stats.binomtest(3, 5).proportion_ci(method="wilson")
    assert (result.accuracy.low, result.accuracy.high) == pytest.approx((wilson.low, wilson.high))


def test_ties_of_either_kind_are_misses() -> None:
    result = ranking_test([0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0])
    assert result.accuracy.value == pytest.approx(1 / 4)
    assert result.accuracy.note == "pairs with equal parameters, which count as misses: 2 of 4"


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=20),
    st.lists(st.booleans(), min_size=20, max_size=20),
)
def test_neither_the_first_set_of_a_pair_nor_the_order_of_pairs_changes_a_digit(
    pairs: list[tuple[int, int]], turned: list[bool]
) -> None:
    plan = Bootstrap(draws=10)
    flipped = [(-x, -y) if turn else (x, y) for (x, y), turn in zip(pairs, turned, strict=False)][::-1]
    one = ranking_test(*zip(*pairs, strict=True), plan=plan)
    two = ranking_test(*zip(*flipped, strict=True), plan=plan)
    assert repr(one) == repr(two)  # nan is not equal to itself
    assert one.accuracy.value == pytest.approx(np.mean([np.sign(x) == np.sign(y) != 0 for x, y in pairs]))


@pytest.mark.released
def test_shuffled_rows_of_the_released_sets_give_the_same_figures(released: Path) -> None:
    """conTest, replies: as filed every pair has its diverse set first, and ρ of one order alone was 0.185."""
    frame = pd.read_csv(released / "diversity-eval" / "conTest" / "con_test_200_with_hds_resp_gen.csv")
    found = []
    for seed in (1, 2):
        shuffled = frame.sample(frac=1, random_state=seed)
        columns = shuffled["metric_abs_hds_mean"], shuffled["label_value"]
        keys, (scores, labels) = pair_differences(shuffled["context"], *columns)
        unequal = labels != 0
        found.append(ranking_test(scores[unequal], labels[unequal], groups=keys[unequal]))
    assert found[0] == found[1]
    assert found[0].rho.value == pytest.approx(0.808, abs=5e-4)


def test_pairs_that_share_sets_are_resampled_by_group() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 10)
    parameters = rng.normal(size=200)
    right = np.repeat(rng.random(20) < 0.7, 10)
    scores = np.where(right, parameters, -parameters)
    apart = ranking_test(scores, parameters)
    together = ranking_test(scores, parameters, groups=groups)
    for wide, narrow in ((together.accuracy, apart.accuracy), (together.rho, apart.rho)):
        assert wide.value == narrow.value
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_constant_differences_have_no_correlation() -> None:
    same_parameters = ranking_test([1, -1, 2], [0, 0, 0])
    assert math.isnan(same_parameters.rho.value)
    assert same_parameters.rho.note == "no pair differs in its parameters"
    assert math.isnan(ranking_test([0, 0, 0], [1, -1, 2]).rho.value)


def test_pairs_of_one_gap_correlate_by_their_signs() -> None:
    """Over both orders, ranks of 1, −1, 2, −1, 1, −2 against those of 1, 1, 1, −1, −1, −1."""
    both = ([1, -1, 2, -1, 1, -2], [1, 1, 1, -1, -1, -1])
    assert ranking_test([1, -1, 2], [1, 1, 1]).rho.value == pytest.approx(stats.spearmanr(*both).statistic)


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        ranking_test([1, 2], [1, 2])
    with pytest.raises(ValueError, match="parameter differences are missing"):
        ranking_test([1, 2, 3], [1, 2, math.nan])


def test_pairs_are_all_rows_of_one_key() -> None:
    keys, (scores, labels) = pair_differences(["a", "b", "a", "c", "a"], [5, 9, 3, 9, 2], [1, 0, 0.5, 0, 0])
    assert keys.tolist() == ["a", "a", "a"]
    assert scores.tolist() == [2, 3, 1]
    assert labels.tolist() == [0.5, 1, 0.5]


def test_keys_without_a_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="no two sets share a key"):
        pair_differences(["a", "b"], [1, 2])


def test_nuggets_by_hand() -> None:
    # By score, in fours: labels 0 0 1 0 | 1 1 0 1 | 1 1. Each group gives as many of both as its rarer class has.
    labels = [0, 0, 1, 0, 1, 1, 0, 1, 1, 1]
    scores = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    chosen = nuggets(scores, labels, group_size=4)
    assert {2, 6} <= set(chosen.tolist())
    assert len(chosen) == 4
    assert len({0, 1, 3} & set(chosen.tolist())) == 1
    assert len({4, 5, 7} & set(chosen.tolist())) == 1


def test_nuggets_group_sets_by_score_not_by_place() -> None:
    rng = np.random.default_rng(8)
    place = rng.permutation(10)
    scores, labels = np.arange(1.0, 11), np.array([0, 0, 1, 0, 1, 1, 0, 1, 1, 1])
    chosen = nuggets(scores[place], labels[place], group_size=4)
    assert {3.0, 7.0} <= set(scores[place][chosen].tolist())
    assert (np.diff(chosen) > 0).all()


def test_another_seed_draws_other_nuggets() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 400)
    scores = labels + rng.normal(size=400)
    drawn = {tuple(nuggets(scores, labels, seed=seed).tolist()) for seed in (0, 0, 1)}
    assert len(drawn) == 2


def test_nuggets_of_one_class_are_refused() -> None:
    with pytest.raises(ValueError, match="two classes"):
        nuggets([1, 2, 3], [1, 1, 1])
    with pytest.raises(ValueError, match="2 sets or more"):
        nuggets([1, 2, 3], [1, 0, 1], group_size=1)


@pytest.mark.released
@pytest.mark.parametrize("task", ["story", "resp", "prompt"])
def test_distinct_n_is_blind_on_nuggets(released: Path, task: str) -> None:
    # Tevet & Berant 2021, McDiv nuggets: chosen so that distinct-n's correlation vanishes; on all of McDiv it is 0.5.
    path = released / "diversity-eval" / "McDiv" / f"mcdiv_all_no_hds_{task}_gen.csv"
    frame = pd.read_csv(path, keep_default_na=False)
    scores = np.array([distinct_n(row) for row in frame.filter(regex=r"^resp_\d+$").to_numpy().tolist()])
    chosen = nuggets(scores, frame["label_value"])
    labels = frame["label_value"].to_numpy()[chosen]
    assert (labels == 1).sum() == (labels == 0).sum() > 300
    assert abs(con_test(scores[chosen], labels, plan=Bootstrap(draws=50)).rho.value) < 0.05


def test_differences_that_are_equal_but_for_rounding_are_equal() -> None:
    _, (apart, scores) = pair_differences(["a", "a", "b", "b"], [0.3, 0.6, 0.6, 0.9], [1e9 + 0.5, 1e9, np.nan, 1.0])
    assert apart[0] == apart[1] == pytest.approx(-0.3)
    assert scores[0] == 0.5
    assert np.isnan(scores[1])
