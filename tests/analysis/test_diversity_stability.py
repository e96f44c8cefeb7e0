"""Stability over subsamples and the design recommended from it."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.diversity.evaluation import dec_test
from analysis.diversity.oca import best_threshold
from analysis.diversity.resampling import Bootstrap
from analysis.diversity.stability import Design, StabilityPoint, recommend, stability
from analysis.estimate import Estimate


def study(n: int = 80, each: int = 6, seed: int = 1, binary: bool = True) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    names = [f"s{number}" for number in range(n)]
    labels = np.arange(n) % 2 if binary else rng.uniform(0.2, 1.2, n)
    noise = rng.normal(size=(n, each))
    values = np.clip(np.round(2 * (2.5 + labels[:, None] + noise)) / 2, 1, 5)
    rows = [(name, value) for name, own in zip(names, values, strict=True) for value in own]
    return pd.DataFrame(rows, columns=["item", "value"]), pd.Series(labels, index=names, dtype=float)


def test_the_whole_pool_gives_its_own_figures_and_no_band() -> None:
    ratings, labels = study()
    means = ratings.groupby("item")["value"].mean().reindex(labels.index)
    (point,) = stability(ratings, labels, sets=[80], ratings_per_set=[6], draws=20)
    expected = stats.spearmanr(means, labels).statistic
    assert point.oca is not None
    assert (point.rho.value, point.rho.low, point.rho.high) == pytest.approx((expected,) * 3)
    assert (point.oca.low, point.oca.high) == pytest.approx((best_threshold(means, labels).accuracy,) * 2)
    assert (point.pool, point.rho.n) == (80, 80)


def test_width_is_that_of_the_interval_a_study_would_report() -> None:
    ratings, labels = study()
    means = ratings.groupby("item")["value"].mean().reindex(labels.index)
    (point,) = stability(ratings, labels, sets=[80], ratings_per_set=[6], draws=8000)
    reported = dec_test(means, labels, plan=Bootstrap(draws=8000)).spearman
    assert point.rho_width == pytest.approx(reported.high - reported.low, rel=0.07)


def test_one_rating_of_many_is_each_rating_by_itself() -> None:
    """With one rating per set, ρ averages that of every way to choose one: here 2 × 2 × 2, by hand through SciPy."""
    ratings = pd.DataFrame({"item": list("aabbcc"), "value": [1.0, 2, 2.5, 1.5, 3, 1]})
    labels = pd.Series({"a": 1.0, "b": 2.0, "c": 3.0})
    ways = [(a, b, c) for a in (1, 2) for b in (2.5, 1.5) for c in (3, 1)]
    expected = np.mean([stats.spearmanr(way, (1, 2, 3)).statistic for way in ways])
    (point,) = stability(ratings, labels, sets=[3], ratings_per_set=[1], draws=4000)
    assert point.rho.value == pytest.approx(expected, abs=0.04)


def test_more_sets_and_more_ratings_are_more_stable() -> None:
    ratings, labels = study(n=200)
    points = {(p.sets, p.ratings): p for p in stability(ratings, labels, sets=[20, 100], ratings_per_set=[1, 5])}
    assert points[20, 1].rho_width > points[100, 1].rho_width > points[100, 5].rho_width
    assert points[100, 5].rho.value > points[100, 1].rho.value + 0.1
    few, many = points[20, 1], points[100, 5]
    assert few.rho.high - few.rho.low > many.rho.high - many.rho.low
    assert few.oca_width is not None
    assert many.oca_width is not None
    assert few.oca_width > many.oca_width


def test_same_seed_same_points_and_points_stand_alone() -> None:
    ratings, labels = study()
    one = stability(ratings, labels, sets=[20, 40], ratings_per_set=[2], draws=30)
    assert one == stability(ratings, labels, sets=[20, 40], ratings_per_set=[2], draws=30)
    assert one != stability(ratings, labels, sets=[20, 40], ratings_per_set=[2], draws=30, seed=1)
    # The order of the rows says nothing, beyond which random draw falls on which set.
    assert one[:1] == stability(ratings, labels, sets=[20], ratings_per_set=[2], draws=30)


def test_a_parameter_has_no_oca() -> None:
    ratings, labels = study(binary=False)
    points = stability(ratings, labels, draws=10)
    assert all(point.oca is None and point.oca_width is None for point in points)
    assert sorted({point.sets for point in points}) == [10, 20, 30, 40, 50, 60, 70, 80]
    assert sorted({point.ratings for point in points}) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="two classes"):
        recommend(points, width=0.5, reward=Decimal(1), statistic="oca")


def test_sets_with_too_few_ratings_do_not_enter() -> None:
    ratings, labels = study(n=10)
    short = ratings.drop(ratings.index[:3])  # s0 keeps 3 of 6
    short.loc[ratings.index[6], "value"] = math.nan  # s1 keeps 5
    points = stability(short, labels, sets=[5], ratings_per_set=[3, 4, 6], draws=10)
    assert [point.pool for point in points] == [10, 9, 8]


def test_what_is_refused() -> None:
    ratings, labels = study(n=10)
    with pytest.raises(ValueError, match="cannot draw 11 sets with 1 ratings each: 10 of 10 sets"):
        stability(ratings, labels, sets=[11], ratings_per_set=[1])
    with pytest.raises(ValueError, match="0 of 10 sets have"):
        stability(ratings, labels, sets=[5], ratings_per_set=[7])
    with pytest.raises(ValueError, match="'s9' has no label"):
        stability(ratings, labels.drop("s9"))
    with pytest.raises(ValueError, match="all labels are the same"):
        stability(ratings, labels * 0)
    with pytest.raises(ValueError, match="at least 3, not 0"):
        stability(ratings.iloc[:0], labels)
    with pytest.raises(ValueError, match="no column 'score'"):
        stability(ratings, labels, value="score")


def point(sets: int, ratings: int, width: float) -> StabilityPoint:
    return StabilityPoint(sets, ratings, 200, Estimate(0.7), width, Estimate(0.8), width / 2)


def test_recommended_is_the_cheapest_narrow_enough_to_the_cent() -> None:
    points = [point(50, 10, 0.3), point(100, 5, 0.25), point(200, 2, 0.35), point(200, 10, 0.1)]
    # Reward 0.18 USD (Tevet & Berant 2021) and a fee of 20%: 500 × 0.216 = 108.00.
    found = recommend(points, width=0.3, reward=Decimal("0.18"), fee=Decimal("0.036"))
    assert found == Design(100, 5, 0.25, Decimal("108.00"))
    # 400 × 0.0561 = 22.44; 400 × (0.0561 + 0.00005) = 22.46.
    assert recommend(points, width=0.35, reward=Decimal("0.0561")).cost == Decimal("22.44")
    assert recommend(points, width=0.35, reward=Decimal("0.0561"), fee=Decimal("0.00005")).cost == Decimal("22.46")
    assert recommend(points, width=0.05, reward=Decimal(1), statistic="oca").sets == 200


def test_no_design_narrow_enough_says_which_comes_nearest() -> None:
    with pytest.raises(ValueError, match=r"within 0.01; the narrowest, 200 sets with 10 ratings each, has 0.100"):
        recommend([point(50, 10, 0.3), point(200, 10, 0.1)], width=0.01, reward=Decimal(1))
    with pytest.raises(ValueError, match="no design with a known width"):
        recommend([point(50, 10, math.nan)], width=1, reward=Decimal(1))
    with pytest.raises(ValueError, match="negative"):
        recommend([point(50, 10, 0.1)], width=1, reward=Decimal(-1))
