"""Stability over subsamples and the design recommended from it."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.diversity.evaluation import con_test, dec_test
from analysis.diversity.ranking import ranking_test
from analysis.diversity.resampling import Bootstrap
from analysis.diversity.stability import StabilityPoint, recommend, stability
from analysis.estimate import Estimate


def study(n: int = 80, each: int = 6, seed: int = 1, binary: bool = True) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    names = [f"s{number}" for number in range(n)]
    labels = np.arange(n) % 2 if binary else rng.uniform(0.2, 1.2, n)
    noise = rng.normal(size=(n, each))
    values = np.clip(np.round(2 * (2.5 + labels[:, None] + noise)) / 2, 1, 5)
    rows = [(name, value) for name, own in zip(names, values, strict=True) for value in own]
    return pd.DataFrame(rows, columns=["item", "value"]), pd.Series(labels, index=names, dtype=float)


def test_the_study_itself_has_the_interval_that_it_reports() -> None:
    """Interval, table and figure come from one method: at full size they are the same numbers."""
    ratings, labels = study()
    means = ratings.groupby("item")["value"].mean().reindex(labels.index)
    groups = pd.Series([f"context {at // 2}" for at in range(80)], index=labels.index)
    plan = Bootstrap(draws=200, seed=3)
    for given in (None, groups):
        whole = stability(ratings, labels, groups=given, sets=[40, 80], ratings_per_set=[2, 6], draws=20, plan=plan)[-1]
        reported = con_test(means, labels, plan=plan, groups=None if given is None else given.tolist())
        assert (whole.sets, whole.ratings, whole.whole) == (80, 6, True)
        assert (whole.rho, whole.oca) == (reported.rho, reported.oca)


def test_ranking_and_parameters_have_the_interval_that_they_report() -> None:
    ratings, labels = study(binary=False)
    means = ratings.groupby("item")["value"].mean().reindex(labels.index)
    (decoded,) = stability(ratings, labels, test="dectest", sets=[80], ratings_per_set=[6])
    assert decoded.rho == dec_test(means, labels).spearman
    ratings = ratings.assign(value=ratings["value"] - 3)
    (ranked,) = stability(ratings, labels - 0.7, test="ranking", sets=[80], ratings_per_set=[6])
    assert ranked.rho == ranking_test(means - 3, labels - 0.7).rho


def test_the_drawn_interval_of_nearly_the_study_is_nearly_its_own() -> None:
    """All sets drawn by the method of smaller designs: the widths agree with those of the report."""
    ratings, labels = study(n=200)
    points = stability(ratings, labels, sets=[199, 200], ratings_per_set=[6], draws=2000)
    near, whole = points
    assert near.width() == pytest.approx(whole.width(), rel=0.1)
    assert near.width("oca") == pytest.approx(whole.width("oca"), rel=0.1)
    assert near.rho.value == pytest.approx(whole.rho.value)


def test_one_rating_of_many_is_each_rating_by_itself() -> None:
    """With one rating per set, ρ averages that of every way to choose one: here 2 × 2 × 2, by hand through SciPy."""
    ratings = pd.DataFrame({"item": list("aabbcc"), "value": [1.0, 2, 2.5, 1.5, 3, 1]})
    labels = pd.Series({"a": 1.0, "b": 2.0, "c": 3.0})
    ways = [(a, b, c) for a in (1, 2) for b in (2.5, 1.5) for c in (3, 1)]
    expected = np.mean([stats.spearmanr(way, (1, 2, 3)).statistic for way in ways])
    point, _ = stability(ratings, labels, test="dectest", sets=[3], ratings_per_set=[1], draws=4000)
    assert point.rho.value == pytest.approx(expected, abs=0.04)


def test_more_sets_are_more_precise_and_more_ratings_find_more() -> None:
    ratings, labels = study(n=200)
    points = {(p.sets, p.ratings): p for p in stability(ratings, labels, sets=[20, 100], ratings_per_set=[1, 5])}
    assert points[20, 1].width() > points[100, 1].width() > points[100, 5].width()
    assert points[20, 1].width("oca") > points[100, 1].width("oca")
    assert points[100, 5].rho.value > points[100, 1].rho.value + 0.1
    assert points[20, 1].rho.value == points[100, 1].rho.value  # the number of sets changes no expectation of rho
    few, many = points[20, 5].oca, points[100, 5].oca
    assert few is not None and many is not None
    assert few.value > many.value  # the best threshold of few sets fits them too well


def test_whole_groups_are_drawn() -> None:
    """Sets of a context that are alike are worth less than as many independent ones."""
    ratings, labels = study(n=80)
    alike = ratings.assign(value=np.where(ratings["item"].str[1:].astype(int) % 4 < 2, 2.0, 4.0))
    labels = pd.Series([at // 2 % 2 for at in range(80)], index=labels.index, dtype=float)
    noisy = alike.assign(
        value=alike["value"] + np.repeat(np.repeat(np.random.default_rng(0).normal(size=20), 4), 6) * 2
    )
    groups = pd.Series([f"c{at // 4}" for at in range(80)], index=labels.index)
    singly = stability(noisy, labels, sets=[40], ratings_per_set=[6])[0]
    together = stability(noisy, labels, sets=[40], ratings_per_set=[6], groups=groups)[0]
    assert together.rho.value == singly.rho.value
    assert together.width() != singly.width()
    assert "groups of sets" in together.rho.method


def test_same_seed_same_points_and_points_of_one_number_of_ratings_stand_alone() -> None:
    ratings, labels = study()
    one = stability(ratings, labels, sets=[20, 40], ratings_per_set=[2], draws=30)
    assert one == stability(ratings, labels, sets=[20, 40], ratings_per_set=[2], draws=30)
    assert one != stability(ratings, labels, sets=[20, 40], ratings_per_set=[2], draws=30, plan=Bootstrap(seed=2))


def test_a_parameter_has_no_oca() -> None:
    ratings, labels = study(binary=False)
    points = stability(ratings, labels, test="dectest", draws=10)
    assert all(point.oca is None and math.isnan(point.width("oca")) for point in points)
    assert sorted({point.sets for point in points}) == [10, 20, 30, 40, 50, 60, 70, 80]
    assert sorted({point.ratings for point in points}) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="two classes"):
        recommend(points, width=0.5, reward=Decimal(1), statistic="oca")


def test_sets_with_too_few_ratings_enter_with_all_they_have() -> None:
    ratings, labels = study(n=10)
    short = ratings.drop(ratings.index[:3])  # s0 keeps 3 of 6
    short.loc[ratings.index[6], "value"] = math.nan  # s1 keeps 5
    point, whole = stability(short, labels, sets=[5], ratings_per_set=[5], draws=10)
    assert (point.sets, point.ratings, whole.sets, whole.ratings) == (5, 5, 10, 6)
    means = short.groupby("item")["value"].mean().reindex(labels.index)
    assert whole.rho.value == pytest.approx(stats.spearmanr(means, labels).statistic)


def test_invalid_input_is_refused() -> None:
    ratings, labels = study(n=10)
    with pytest.raises(ValueError, match="3 sets or more with a rating or more"):
        stability(ratings, labels, sets=[2], ratings_per_set=[1])
    with pytest.raises(ValueError, match="3 sets or more with a rating or more"):
        stability(ratings, labels, sets=[5], ratings_per_set=[0])
    with pytest.raises(ValueError, match="'s9' has no label"):
        stability(ratings, labels.drop("s9"))
    with pytest.raises(ValueError, match="all labels are the same"):
        stability(ratings, labels * 0)
    with pytest.raises(ValueError, match="at least 3, not 0"):
        stability(ratings.iloc[:0], labels)
    with pytest.raises(ValueError, match="no column 'score'"):
        stability(ratings, labels, value="score")


def point(sets: int, ratings: int, width: float, rho: float = 0.7, *, whole: bool = False) -> StabilityPoint:
    oca = Estimate(0.8, 0.8 - width / 4, 0.8 + width / 4)
    return StabilityPoint(sets, ratings, Estimate(rho, rho - width / 2, rho + width / 2), oca, whole)


WHOLE = point(200, 10, 0.1, whole=True)


def test_recommended_is_the_cheapest_narrow_enough_to_the_cent() -> None:
    points = [point(50, 10, 0.3), point(100, 5, 0.25), point(200, 2, 0.35), WHOLE]
    # Reward 0.18 USD (Tevet & Berant 2021) and a fee of 20%: 500 × 0.216 = 108.00.
    found = recommend(points, width=0.3, reward=Decimal("0.18"), fee=Decimal("0.036"))
    assert (found.sets, found.ratings, found.cost) == (100, 5, Decimal("108.00"))
    assert (found.value, found.width) == pytest.approx((0.7, 0.25))
    # 400 × 0.0561 = 22.44; 400 × (0.0561 + 0.00005) = 22.46.
    assert recommend(points, width=0.36, reward=Decimal("0.0561")).cost == Decimal("22.44")
    assert recommend(points, width=0.36, reward=Decimal("0.0561"), fee=Decimal("0.00005")).cost == Decimal("22.46")
    assert recommend(points, width=0.06, reward=Decimal(1), statistic="oca").sets == 200


def test_a_narrow_interval_of_a_lower_rho_is_not_recommended() -> None:
    """One rating per set costs least and is precise, but about a ρ a third lower than that of ten."""
    points = [point(200, 1, 0.1, rho=0.46), point(50, 5, 0.2, rho=0.68), WHOLE]
    assert recommend(points, width=0.2, reward=Decimal(1)).ratings == 5
    assert recommend(points, width=0.2, reward=Decimal(1), keep=0.5).ratings == 1
    turned = [point(200, 1, 0.1, rho=-0.46), point(50, 5, 0.2, rho=-0.68), point(200, 10, 0.1, rho=-0.7, whole=True)]
    assert recommend(turned, width=0.2, reward=Decimal(1)).ratings == 5


def test_designs_of_few_sets_are_not_recommended() -> None:
    points = [point(10, 5, 0.1), point(50, 5, 0.1), WHOLE]
    assert recommend(points, width=0.2, reward=Decimal(1)).sets == 50
    assert recommend(points, width=0.2, reward=Decimal(1), fewest=3).sets == 10


def test_if_no_design_is_narrow_enough_the_nearest_is_named() -> None:
    with pytest.raises(ValueError, match=r"within 0.01; the narrowest, 200 sets with 10 ratings each, has 0.100"):
        recommend([point(50, 10, 0.3), WHOLE], width=0.01, reward=Decimal(1))
    with pytest.raises(ValueError, match="no figure of the whole study"):
        recommend([point(50, 10, 0.3)], width=1, reward=Decimal(1))
    with pytest.raises(ValueError, match="negative"):
        recommend([point(50, 10, 0.1), WHOLE], width=1, reward=Decimal(-1))


# --- simulation: what a pilot predicts is what fresh studies find ---------------------------------------------------


def simulated(sets: int, ratings: int, rng: np.random.Generator, *, slope: float) -> tuple[Any, Any, Any]:
    """A study of contexts with a low and a high set, rated by 40 workers on nine half steps.

    Workers differ in level (s.d. 0.4) and in how far apart they place the classes (s.d. ``slope`` of a mean of 1).
    """
    labels = np.tile([0.0, 1.0], sets // 2)
    truth = 2.5 + labels + np.repeat(0.3 * rng.normal(size=sets // 2), 2) + 0.5 * rng.normal(size=sets)
    level, spread = 0.4 * rng.normal(size=40), slope * rng.normal(size=40)
    who = np.argsort(rng.random((sets, 40)), axis=1)[:, :ratings]
    scores = truth[:, None] + level[who] + spread[who] * labels[:, None] + rng.normal(size=(sets, ratings))
    return np.clip(np.round(2 * scores) / 2, 1, 5), labels, np.repeat(np.arange(sets // 2), 2)


def rho_of(scores: Any, labels: Any) -> float:
    return float(stats.spearmanr(scores.mean(axis=1), labels).statistic)


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "covered", "narrower"), [(0.0, 0.86, 0.12), (0.3, 0.83, 0.2)])
def test_what_a_pilot_predicts_is_what_fresh_studies_find(slope: float, covered: float, narrower: float) -> None:
    """Pilots of 60 sets with 8 ratings; the truth of each design comes from 600 fresh studies of it."""
    rng = np.random.default_rng(5)
    designs = [(30, 2), (60, 3), (60, 8), (120, 3)]
    fresh = {design: [rho_of(*simulated(*design, rng, slope=slope)[:2]) for _ in range(600)] for design in designs}
    means = {
        ratings: np.mean([rho_of(*simulated(1000, ratings, rng, slope=slope)[:2]) for _ in range(40)])
        for ratings in (2, 3, 8)
    }
    found: dict[tuple[int, int], list[Estimate]] = {design: [] for design in designs}
    for seed in range(100):
        scores, labels, contexts = simulated(60, 8, rng, slope=slope)
        frame = pd.DataFrame({"item": np.repeat(np.arange(60), 8), "value": scores.ravel()})
        plan = Bootstrap(draws=200, seed=seed)
        points = stability(
            frame,
            pd.Series(labels),
            groups=pd.Series(contexts).astype(str),
            sets=[30, 60, 120],
            ratings_per_set=[2, 3, 8],
            draws=100,
            plan=plan,
        )
        for each in points:
            if (each.sets, each.ratings) in found:
                found[each.sets, each.ratings].append(each.rho)
    for design, estimates in found.items():
        width = float(np.mean([each.high - each.low for each in estimates]))
        real = float(np.subtract(*np.quantile(fresh[design], [0.975, 0.025])))
        assert np.mean([each.value for each in estimates]) == pytest.approx(means[design[1]], abs=0.035), design
        assert 1 - narrower < width / real < 1.12, (design, width, real)
        if design == (60, 8):
            assert np.mean([each.low <= means[8] <= each.high for each in estimates]) >= covered
