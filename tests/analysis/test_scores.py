"""Scores of items: counted by hand, SciPy's t interval, and the released standard deviations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.description import TEXT, Scale, Score
from analysis.scores import item_means, item_scores, own_scores

DIVERSE = Score("diversity", "absHDS", low=1, high=5)
SIMILAR = Score("similarity", "simHDS", -1, low=1, high=5)


def ratings(**sets: list[float]) -> pd.DataFrame:
    """One row per rating; worker w0 gave each set's first one."""
    rows = [(item, "", f"w{place}", value) for item, values in sets.items() for place, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["item", "target", "worker", "value"])


def similarities(*rows: tuple[str, str, float]) -> pd.DataFrame:
    """Worker, pair, value of one set."""
    return pd.DataFrame(
        [("set", pair, worker, value) for worker, pair, value in rows], columns=["item", "target", "worker", "value"]
    )


def test_score_and_spread_are_as_released() -> None:
    # con_test_200_with_hds_prompt_gen, first set: metric_abs_hds_mean 4.600, metric_abs_hds_std 0.436. These ten
    # half-step ratings have that mean and, with ddof = 0 only, that standard deviation (ddof = 1 gives 0.459).
    row = item_scores(ratings(s=[5] * 5 + [4.5] * 2 + [4] * 3), DIVERSE).loc["s"]
    assert round(row["score"], 3) == 4.6
    assert round(row["sd"], 3) == 0.436
    assert (row["n"], row["workers"]) == (10, 10)


def test_interval_of_ratings_without_known_limits_is_the_t_interval_of_the_mean() -> None:
    values = [3, 4.5, 2, 5, 3.5]
    row = item_scores(ratings(s=values), replace(DIVERSE, low=None, high=None), level=0.9).loc["s"]
    expected = stats.t.interval(0.9, 4, np.mean(values), stats.sem(values))
    assert (row["low"], row["high"]) == pytest.approx(expected)


def test_interval_between_the_limits_of_the_scale() -> None:
    # 2, 5, 5 on 1 to 5: mean 4, share 0.75, standard error of the share 1 / 4. Student's t with two degrees of freedom
    # is 4.302653 at 97.5%. logit(0.75) = ln 3 = 1.098612; ± 4.302653 × 0.25 / 0.1875 = 5.736871, which gives −4.638259
    # and 6.835483, as shares 0.009581 and 0.998927.
    row = item_scores(ratings(s=[2, 5, 5]), DIVERSE).loc["s"]
    assert (row["low"], row["high"]) == pytest.approx((1 + 4 * 0.009581, 1 + 4 * 0.998927), abs=1e-5)


@pytest.mark.parametrize("values", [[2, 2, 2, 2], [2, 5], [3.3, 3.3, 3.3], [1, 1, 1], [5, 5, 5, 5, 5]])
def test_ratings_that_say_nothing_about_other_workers_have_no_interval(values: list[float]) -> None:
    row = item_scores(ratings(s=values), DIVERSE).loc["s"]
    assert np.isnan([row["low"], row["high"]]).all()


def test_limits_are_the_widest_scale_that_an_arm_uses() -> None:
    seven, five = (Scale.numbered("agreement", points, low="no", high="yes") for points in (7, 5))
    score = Score("x", "x").within(five).within(seven).within(TEXT)
    assert (score.low, score.high) == (1, 7)


def test_sets_keep_their_order_and_do_not_mix() -> None:
    table = item_scores(ratings(b=[1, 2], a=[5, 4, 3], c=[2]), DIVERSE)
    assert table.index.tolist() == ["b", "a", "c"]
    assert table["score"].tolist() == [1.5, 4, 2]
    assert table["n"].tolist() == [2, 3, 1]
    assert math.isnan(table["low"]["c"])
    assert table.loc["c", "sd"] == 0


def test_missing_ratings_do_not_enter() -> None:
    table = item_scores(ratings(a=[1, math.nan, 3], b=[math.nan]), DIVERSE)
    assert [table[name]["a"] for name in ("score", "n")] == [2, 2]
    assert math.isnan(table["score"]["b"])
    assert table.loc["b", "n"] == 0


def test_no_ratings_give_no_scores() -> None:
    table = item_scores(ratings(), DIVERSE)
    assert table.empty
    assert table.columns.tolist() == ["score", "sd", "n", "workers", "low", "high"]


def test_a_second_rating_by_one_worker_does_not_count() -> None:
    table = item_scores(pd.concat([ratings(a=[1, 2]), ratings(a=[5])]), DIVERSE)
    assert [table[name]["a"] for name in ("score", "n")] == [1.5, 2]


def test_only_the_ratings_on_the_topic_count() -> None:
    frame = ratings(a=[1, 5], b=[2, 3]).assign(question=["diversity", "quality", "diversity", "quality"])
    assert item_scores(frame, DIVERSE)["score"].tolist() == [1, 2]


def test_equal_means_are_equal_numbers() -> None:
    # (0.1 + 0.2) / 2 and 0.3 / 2 differ in their last bit; they must tie in ranks.
    table = item_scores(ratings(a=[0.1, 0.2], b=[0.15, 0.15]), DIVERSE)
    assert table["score"]["a"] == table["score"]["b"]


def test_a_negative_sign_turns_score_and_interval() -> None:
    values = [1.0, 2.0, 4.0]
    up = item_scores(ratings(s=values), DIVERSE).loc["s"]
    down = item_scores(ratings(s=values), replace(DIVERSE, sign=-1)).loc["s"]
    assert (down["score"], down["low"], down["high"]) == pytest.approx((-up["score"], -up["high"], -up["low"]))
    assert down["sd"] == up["sd"]


def test_similarity_is_minus_the_mean_over_pairs() -> None:
    # Pair means: 0-1 → 2, 0-2 → 4, 1-2 → 3; minus their mean is −3. Workers alone: −2 and −4.
    frame = similarities(
        ("x", "0-1", 1), ("x", "0-2", 3), ("x", "1-2", 2), ("y", "0-1", 3), ("y", "0-2", 5), ("y", "1-2", 4)
    )
    row = item_scores(frame, SIMILAR).loc["set"]
    assert row["score"] == pytest.approx(-3)
    assert row["sd"] == pytest.approx(1)
    assert dict(own_scores(frame, SIMILAR)[["worker", "value"]].to_numpy()) == {"x": -2, "y": -4}


def test_interval_of_pairs_that_all_workers_rated_is_that_of_their_own_scores() -> None:
    # Own scores −2, −4 and −3.
    own = {"x": 2, "y": 4, "z": 3}
    frame = similarities(*((worker, pair, value) for worker, value in own.items() for pair in ("0-1", "0-2")))
    row = item_scores(frame, replace(SIMILAR, low=None, high=None)).loc["set"]
    assert (row["low"], row["high"]) == pytest.approx(stats.t.interval(0.95, 2, -3, stats.sem([-2, -4, -3])))


@pytest.mark.parametrize(("sign", "expected"), [(1, (5 + 1 + 1) / 3), (-1, -(5 + 1 + 1) / 3)])
def test_each_part_counts_the_same_however_often_rated(sign: int, expected: float) -> None:
    frame = similarities(("x", "0-1", 5), ("y", "0-1", 5), ("z", "0-1", 5), ("x", "0-2", 1), ("x", "1-2", 1))
    score = DIVERSE if sign > 0 else SIMILAR
    row = item_scores(frame, score).loc["set"]
    assert row["score"] == pytest.approx(expected)
    # The workers' own scores are 7/3, 5 and 5; over three of them their s.d. is sqrt(2)/3 × (5 − 7/3).
    assert row["sd"] == pytest.approx(math.sqrt(2) / 3 * (5 - 7 / 3))


def test_interval_of_pairs_rated_by_different_workers_covers() -> None:
    """Ten pairs, each rated by five different workers around its own mean: at least 90% of 300 intervals cover."""
    rng = np.random.default_rng(6)
    means = rng.uniform(1.5, 4.5, 10)
    pairs = [f"{i}-{j}" for i in range(5) for j in range(i + 1, 5)]
    rows = [
        (f"set{number}", pair, f"{pair}{worker}", means[place] + rng.normal())
        for number in range(300)
        for place, pair in enumerate(pairs)
        for worker in range(5)
    ]
    table = item_scores(pd.DataFrame(rows, columns=["item", "target", "worker", "value"]), SIMILAR)
    covered = (table["low"] <= -means.mean()) & (-means.mean() <= table["high"])
    assert 270 <= covered.sum() <= 299


def test_pairs_rated_once_by_several_workers_have_no_interval() -> None:
    table = item_scores(similarities(("x", "0-1", 5), ("y", "0-2", 4), ("z", "1-2", 3)), SIMILAR)
    assert table.loc["set", "score"] == pytest.approx(-4)
    assert math.isnan(table["low"]["set"])


def test_invalid_input_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 'item'"):
        item_scores(pd.DataFrame({"worker": [1], "value": [1]}), DIVERSE)
    with pytest.raises(ValueError, match="not a number"):
        item_scores(ratings(a=[1]).assign(value="good"), DIVERSE)


@pytest.mark.parametrize("frame", [ratings(b=[1, 2], a=[5, 4, 3], c=[2]), ratings(a=[1, math.nan, 3], b=[math.nan])])
def test_means_alone_are_those_of_the_scores(frame: pd.DataFrame) -> None:
    assert item_means(frame, DIVERSE).equals(item_scores(frame, DIVERSE)[["score", "n"]])
