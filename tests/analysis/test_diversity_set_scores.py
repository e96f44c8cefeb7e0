"""Set scores from ratings: hand counts, SciPy's t interval, and the released standard deviations."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.diversity.set_scores import set_scores, sim_scores, to_estimates


def ratings(**sets: list[float]) -> pd.DataFrame:
    """One row per rating; worker w0 gave each set's first one."""
    rows = [(item, f"w{place}", value) for item, values in sets.items() for place, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["item", "worker", "value"])


def similarities(*rows: tuple[str, int, int, float]) -> pd.DataFrame:
    return pd.DataFrame([("set", *row) for row in rows], columns=["item", "worker", "first", "second", "value"])


def test_score_and_spread_are_as_released() -> None:
    # con_test_200_with_hds_prompt_gen, first set: metric_abs_hds_mean 4.600, metric_abs_hds_std 0.436. These ten
    # half-step ratings have that mean and, with ddof = 0 only, that standard deviation (ddof = 1 gives 0.459).
    row = set_scores(ratings(s=[5] * 5 + [4.5] * 2 + [4] * 3)).loc["s"]
    assert round(row["score"], 3) == 4.6
    assert round(row["sd"], 3) == 0.436
    assert (row["n"], row["workers"], row["missing"]) == (10, 10, 0)


def test_interval_is_the_t_interval_of_the_mean() -> None:
    values = [3, 4.5, 2, 5, 3.5]
    row = set_scores(ratings(s=values), level=0.9).loc["s"]
    expected = stats.t.interval(0.9, 4, np.mean(values), stats.sem(values))
    assert (row["low"], row["high"]) == pytest.approx(expected)


def test_sets_keep_their_order_and_do_not_mix() -> None:
    table = set_scores(ratings(b=[1, 2], a=[5, 4, 3], c=[2]))
    assert table.index.tolist() == ["b", "a", "c"]
    assert table["score"].tolist() == [1.5, 4, 2]
    assert table["n"].tolist() == [2, 3, 1]
    assert math.isnan(table.loc["c", "low"])
    assert table.loc["c", "sd"] == 0


def test_missing_ratings_enter_nothing_and_are_counted() -> None:
    table = set_scores(ratings(a=[1, math.nan, 3], b=[math.nan]))
    assert table.loc["a", ["score", "n", "missing"]].tolist() == [2, 2, 1]
    assert math.isnan(table.loc["b", "score"])
    assert table.loc["b", ["n", "missing"]].tolist() == [0, 1]
    estimates = to_estimates(table)
    assert estimates["a"].n == 2
    assert estimates["b"].note == "no rating"


def test_columns_may_have_other_names() -> None:
    frame = ratings(a=[1, 2]).set_axis(["set_id", "who", "stars"], axis=1)
    assert set_scores(frame, item="set_id", worker="who", value="stars").loc["a", "score"] == 1.5


def test_sim_score_is_minus_the_mean_over_pairs() -> None:
    # Pair means: 01 → 2, 02 → 4, 12 → 3 (once asked as 21); minus their mean is −3. Workers alone: −2 and −4.
    table = sim_scores(
        similarities(("x", 0, 1, 1), ("x", 0, 2, 3), ("x", 1, 2, 2), ("y", 0, 1, 3), ("y", 0, 2, 5), ("y", 2, 1, 4))
    )
    row = table.loc["set"]
    assert row["score"] == pytest.approx(-3)
    assert row["sd"] == pytest.approx(1)
    assert row["pairs"] == 3
    # All workers rated all pairs: the t interval of the workers' own scores.
    expected = stats.t.interval(0.95, 1, -3, stats.sem([-2, -4]))
    assert (row["low"], row["high"]) == pytest.approx(expected)


def test_each_pair_counts_the_same_however_often_rated() -> None:
    table = sim_scores(similarities(("x", 0, 1, 5), ("y", 0, 1, 5), ("z", 0, 1, 5), ("x", 0, 2, 1), ("x", 1, 2, 1)))
    assert table.loc["set", "score"] == pytest.approx(-(5 + 1 + 1) / 3)


def test_interval_of_pairs_rated_by_different_workers_covers() -> None:
    """Ten pairs, each rated by five workers of its own around its own mean: at least 90% of 300 intervals cover."""
    rng = np.random.default_rng(6)
    means = rng.uniform(1.5, 4.5, 10)
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    rows = [
        (f"set{number}", f"{pair}{worker}", *pair, means[place] + rng.normal())
        for number in range(300)
        for place, pair in enumerate(pairs)
        for worker in range(5)
    ]
    table = sim_scores(pd.DataFrame(rows, columns=["item", "worker", "first", "second", "value"]))
    covered = (table["low"] <= -means.mean()) & (-means.mean() <= table["high"])
    assert 270 <= covered.sum() <= 299


def test_pairs_rated_once_by_several_workers_have_no_interval() -> None:
    table = sim_scores(similarities(("x", 0, 1, 5), ("y", 0, 2, 4), ("z", 1, 2, 3)))
    assert table.loc["set", "score"] == pytest.approx(-4)
    assert math.isnan(table.loc["set", "low"])


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 'item'"):
        set_scores(pd.DataFrame({"worker": [1], "value": [1]}))
    with pytest.raises(ValueError, match="no ratings"):
        set_scores(ratings())
    with pytest.raises(ValueError, match="rated twice"):
        set_scores(pd.concat([ratings(a=[1]), ratings(a=[2])]))
    with pytest.raises(ValueError, match="not a number"):
        set_scores(ratings(a=["good"]))
    with pytest.raises(ValueError, match="two different responses"):
        sim_scores(similarities(("x", 1, 1, 5)))
    with pytest.raises(ValueError, match="rated twice"):
        sim_scores(similarities(("x", 0, 1, 5), ("x", 1, 0, 4)))
    with pytest.raises(ValueError, match="no column 'first'"):
        sim_scores(ratings(a=[1]))
