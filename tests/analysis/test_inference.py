"""The one core of all intervals: against statsmodels, by hand, and by its own words where it cannot answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from analysis.inference import (
    Dimensions,
    LevelFigures,
    figures_from_influence,
    holm,
    mean_correlation,
    median_estimate,
    ranked_figures,
    ranking_of,
    ratios,
    sd_estimate,
)
from analysis.inference.small_samples import MOST_ANSWERS, Design, degrees_of_freedom, multipliers
from tests.analysis.support.two_way import anova_of_mean, one_way_of_statsmodels, reference_spread

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def crossed_answers(
    items: int = 30, workers: int = 12, per_item: int = 5, *, sd: float = 1.0, seed: int = 1
) -> tuple[Floats, Ints, Ints]:
    """Answers, items and workers of a study in which both have effects."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), per_item)
    worker = np.concatenate([rng.permutation(workers)[:per_item] for _ in range(items)])
    effects = rng.normal(0, sd, items)[item] + rng.normal(0, sd, workers)[worker]
    return effects + rng.normal(size=len(item)), item, worker


def test_a_mean_of_a_complete_table_has_the_variance_of_the_analysis_of_variance() -> None:
    values, items, workers = crossed_answers(per_item=12)
    table = values.reshape(30, 12)[np.arange(30)[:, None], np.argsort(workers.reshape(30, 12), axis=1)]
    reference = anova_of_mean(table)
    figure = ratios(values, np.ones(len(values)), Dimensions.of(items=items, workers=workers))
    assert figure.standard_error() == pytest.approx(math.sqrt(reference.variance), rel=1e-9)
    half = stats.t.ppf(0.975, reference.freedom) * math.sqrt(reference.variance)
    estimate = figure.estimate()
    assert (estimate.low, estimate.high) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-9)
    assert estimate.n == 360
    assert estimate.method.startswith(f"clustered by 30 items and 12 workers; t with {reference.freedom:.4g} degrees")


@pytest.mark.parametrize("per_item", [1, 3, 5])
def test_a_mean_of_an_incomplete_table_has_the_variance_by_moments(per_item: int) -> None:
    """By large matrices; the sums over items and over workers are those of statsmodels."""
    values, items, workers = crossed_answers(per_item=per_item)
    figure = ratios(values, np.ones(len(values)), Dimensions.of(items=items, workers=workers))
    spread = figure.spread(np.array([1.0]))
    reference = reference_spread(values, items, workers)
    assert spread.variance == pytest.approx(reference.variance, rel=1e-9)
    if per_item > 1:  # with one answer an item, items are cells
        assert spread.freedom == pytest.approx(reference.freedom, rel=1e-9)
    for name, codes in (("items", items), ("workers", workers)):
        alone = ratios(values, np.ones(len(values)), Dimensions.of(**{name: codes}))
        assert alone.standard_error() ** 2 == pytest.approx(one_way_of_statsmodels(values, codes), rel=1e-9)


def test_large_studies_have_the_published_variance() -> None:
    """The multipliers tend to (1, 1, −1): statsmodels' two-way variance (Cameron, Gelbach & Miller 2011)."""
    values, items, workers = crossed_answers(items=600, workers=300, per_item=5)
    figure = ratios(values, np.ones(len(values)), Dimensions.of(items=items, workers=workers))
    both = cov_cluster_2groups(sm.OLS(values, np.ones(len(values))).fit(), items, workers)[0]
    assert figure.standard_error() ** 2 == pytest.approx(both[0, 0], rel=0.01)
    assert figure.standard_error() ** 2 != pytest.approx(both[0, 0], rel=1e-6)


@pytest.mark.parametrize("layout", ["both", "crossed"])
def test_a_difference_of_levels_has_the_variance_by_moments(layout: str) -> None:
    """Items and workers have answers on both systems, once for each cell or twice."""
    values, items, workers = crossed_answers(per_item=5 if layout == "both" else 3)
    system = (items + workers) % 2
    if layout == "crossed":
        values, items, workers = np.append(values, values[::-1]), np.tile(items, 2), np.tile(workers, 2)
        system = np.repeat([0, 1], len(values) // 2)
    below = np.eye(2)[system]
    reference = reference_spread(values, items, workers, system)
    dimensions = Dimensions.of(items=items, workers=workers)
    for figures in (
        ratios(values[:, None] * below, below, dimensions),
        LevelFigures(values, system, 2, dimensions),
    ):
        weights = figures.weights_of(0, 1)
        spread = figures.spread(weights)
        assert figures.difference(0, 1).value == pytest.approx(reference.value)
        assert spread.variance == pytest.approx(reference.variance, rel=1e-9)
        assert spread.freedom == pytest.approx(reference.freedom, rel=1e-9)


def test_levels_with_workers_to_themselves_give_welchs_test() -> None:
    """One answer a worker, two arms, no items: clusters of one dimension are independent samples."""
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(0, 1, 8), rng.normal(0.5, 3, 20)])
    arm = np.repeat([0, 1], [8, 20])
    below = np.stack([arm == 0, arm == 1], axis=1).astype(float)
    figures = ratios(values[:, None] * below, below, Dimensions.of(workers=np.arange(28)))
    welch = stats.ttest_ind(values[:8], values[8:], equal_var=False)
    assert figures.p_difference(0, 1) == pytest.approx(welch.pvalue, rel=1e-9)
    bounds = welch.confidence_interval()
    estimate = figures.difference(0, 1)
    assert (estimate.low, estimate.high) == pytest.approx((bounds.low, bounds.high), rel=1e-9)


def test_one_way_clusters_by_hand() -> None:
    # Ten answers by five workers, their sums of deviations from the mean 3: −4, −2, 0, 2, 4; V = 5/4 · 40/100.
    values = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 2)
    figure = ratios(values, np.ones(10), Dimensions.of(workers=np.repeat(np.arange(5), 2)))
    assert figure.standard_error() == pytest.approx(math.sqrt(0.5))
    t = 2.7764451051977987  # 4 degrees of freedom
    assert figure.estimate().low == pytest.approx(3 - t * math.sqrt(0.5))


def test_a_negative_variance_gives_way_to_the_larger_one_way_sum() -> None:
    """Answers that cancel out within every item and every worker (a Latin square of +1 and −1)."""
    items, workers = np.divmod(np.arange(36), 6)
    values = np.where((items + workers) % 2, 1.0, -1.0)
    values[0] = 1.0
    figure = ratios(values, np.ones(36), Dimensions.of(items=items, workers=workers))
    deviations = values - values.mean()
    one_way = 6 / 5 * sum(deviations[items == item].sum() ** 2 for item in range(6)) / 36**2
    assert figure.standard_error() == pytest.approx(math.sqrt(one_way))


def test_an_interval_stays_inside_the_range_of_its_figure() -> None:
    values, items, workers = crossed_answers(items=8, workers=6, per_item=4, sd=2.0)
    right = (values > -4).astype(float)
    assert 0.85 < right.mean() < 1
    figure = ratios(right, np.ones(len(right)), Dimensions.of(items=items, workers=workers))
    assert figure.estimate().high > 1
    inside = figure.estimate(bounds=(0, 1))
    assert inside.low < right.mean() < inside.high < 1
    # An interval and its test agree: the bound itself has p = 5%.
    assert figure.p(null=inside.low, bounds=(0, 1)) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("items", "workers", "note"),
    [
        (30, 4, "an interval needs at least 5 workers, and there are only 4"),
        (3, 12, "an interval needs at least 5 items, and there are only 3"),
    ],
)
def test_few_clusters_give_no_interval_but_a_reason(items: int, workers: int, note: str) -> None:
    values, item, worker = crossed_answers(items=items, workers=workers, per_item=4)
    figure = ratios(values, np.ones(len(values)), Dimensions.of(items=item, workers=worker))
    estimate = figure.estimate()
    assert estimate.value == pytest.approx(values.mean())
    assert math.isnan(estimate.low) and math.isnan(estimate.high) and math.isnan(figure.p())
    assert estimate.note == note


def test_answers_that_all_agree_give_no_interval() -> None:
    _, item, worker = crossed_answers()
    figure = ratios(np.ones(len(item)), np.ones(len(item)), Dimensions.of(items=item, workers=worker))
    assert math.isnan(figure.estimate(bounds=(0, 1)).low)
    assert "all answers agree" in figure.estimate().note


def test_a_level_without_enough_clusters_has_no_interval_even_if_the_study_has() -> None:
    values, item, worker = crossed_answers()
    below = np.stack([item < 3, item >= 3], axis=1).astype(float)
    figures = ratios(values[:, None] * below, below, Dimensions.of(items=item, workers=worker))
    assert "items, and there are only 3" in figures.difference(0, 1).note
    assert not figures.estimate(1).note


def test_the_delta_method_gives_a_difference_like_a_difference() -> None:
    values, item, worker = crossed_answers(per_item=12)
    below = np.stack([(item + worker) % 2 == 0, (item + worker) % 2 == 1], axis=1).astype(float)
    figures = ratios(values[:, None] * below, below, Dimensions.of(items=item, workers=worker))
    apart = figures.values[0] - figures.values[1]
    combined, direct = figures.combined([apart], [[1.0, -1.0]]).estimate(), figures.difference(0, 1)
    assert combined.low == pytest.approx(direct.low, rel=2e-2)
    assert combined.n == direct.n == len(values)


@pytest.mark.parametrize(("sd_items", "sd_workers"), [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0)])
def test_a_true_null_is_rejected_in_about_one_study_of_twenty(sd_items: float, sd_workers: float) -> None:
    """400 studies of 30 items with 5 of 12 workers each: 20 expected, s.d. 4.4. One-way tests reject 60 or more."""
    rng = np.random.default_rng(8)
    item = np.repeat(np.arange(30), 5)
    rejected = 0
    for _ in range(400):
        worker = np.concatenate([rng.permutation(12)[:5] for _ in range(30)])
        effects = rng.normal(0, sd_items, 30)[item] + rng.normal(0, sd_workers, 12)[worker]
        won = (effects + rng.logistic(size=150) > 0).astype(float)
        figure = ratios(won, np.ones(150), Dimensions.of(items=item, workers=worker))
        rejected += figure.p(null=0.5, bounds=(0, 1)) < 0.05
    assert 8 <= rejected <= 33


def test_two_clusters_of_one_dimension_count_shared_answers_once() -> None:
    """Dyadic variance by its definition: the sum over all pairs of answers that share a text or a worker."""
    rng = np.random.default_rng(3)
    texts = np.array([rng.permutation(9)[:2] for _ in range(80)])
    texts[::7, 1] = texts[::7, 0]
    workers, values = rng.integers(0, 6, 80), rng.normal(0.4, 1, 80)
    moved = (values - values.mean()) / 80

    def literal(with_workers: bool) -> float:
        total = 0.0
        for one in range(80):
            for two in range(80):
                shared = bool(set(texts[one]) & set(texts[two])) or (with_workers and workers[one] == workers[two])
                total += moved[one] * moved[two] * shared
        return total

    # Many clusters make the factors G/(G − 1) small: compare without them.
    for dimensions, expected in (
        (Dimensions.of(texts=texts), literal(False)),
        (Dimensions.of(texts=texts, workers=workers), literal(True)),
    ):
        total = 0.0
        for term in dimensions.terms:
            rows = moved if term.rows is None else moved[term.rows]
            total += term.sign * float((np.bincount(term.codes, rows) ** 2).sum())
        assert total == pytest.approx(expected)
    with pytest.raises(ValueError, match="only one dimension"):
        _ = Dimensions.of(texts=texts, others=texts).terms


def test_equal_figures_get_ranks_apart_in_at_most_one_study_of_twenty() -> None:
    """300 studies of 6 equal systems, each answered about by all of 10 workers on 20 items: 15 expected at most."""
    rng = np.random.default_rng(7)
    item, worker, system = (each.ravel() for each in np.indices((20, 10, 6)))
    below = (system[:, None] == np.arange(6)).astype(float)
    dimensions = Dimensions.of(items=item, workers=worker)
    apart = 0
    for _ in range(300):
        effects = rng.normal(0, 1, (20, 6))[item, system] + rng.normal(0, 0.5, (10, 6))[worker, system]
        values = effects + rng.normal(size=len(item))
        ranking = ranked_figures(ratios(values[:, None] * below, below, dimensions))
        apart += any((low, high) != (1, 6) for _, low, high in ranking.ranks)
    assert apart <= 25


def test_ranks_by_hand() -> None:
    # Only the first differs from the others: Holm's factors are 3, 2, 1.
    p = np.array([[np.nan, 0.01, 0.02], [0.01, np.nan, 0.5], [0.02, 0.5, np.nan]])
    ranking = ranking_of(np.array([2.0, 1.0, 0.5]), p)
    assert ranking.p[0, 1] == pytest.approx(0.03) and ranking.p[0, 2] == pytest.approx(0.04)
    assert list(ranking.ranks) == [(1, 1, 1), (2, 2, 3), (3, 2, 3)]
    assert ranking.is_clear(0) and not ranking.is_clear(1)


def test_a_spread_and_a_median_have_intervals() -> None:
    values, items, workers = crossed_answers(items=40, workers=15, per_item=6)
    dimensions = Dimensions.of(items=items, workers=workers)
    spread, middle = sd_estimate(values, dimensions), median_estimate(values, dimensions)
    assert spread.value == pytest.approx(values.std(ddof=1)) and 0 < spread.low < spread.value < spread.high
    # Woodruff 1952: the values between which the share of one half lies.
    share = ratios((values < np.median(values)).astype(float), np.ones(240), dimensions).estimate(bounds=(0, 1))
    assert (middle.low, middle.high) == pytest.approx(tuple(np.quantile(values, [share.low, share.high])))
    assert math.isnan(sd_estimate([1.0], Dimensions.of(items=["a"])).value)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_a_correlation_of_items_has_the_error_of_the_jackknife(kind: Literal["pearson", "spearman"]) -> None:
    """One answer an item, ties on one side: Tukey's jackknife with SciPy's coefficients."""
    rng = np.random.default_rng(0)
    answers = rng.normal(size=150)
    labels = np.round(answers + rng.normal(size=150))
    coefficients: dict[str, Callable[..., Any]] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
    of = coefficients[kind]
    left_out = np.array([of(np.delete(answers, at), np.delete(labels, at)).statistic for at in range(150)])
    error = math.sqrt(149 / 150 * ((left_out - left_out.mean()) ** 2).sum())
    found = mean_correlation(labels, np.arange(150), answers, Dimensions.of(items=np.arange(150)), kind=kind)
    r = of(answers, labels).statistic
    assert found.value == pytest.approx(r)
    half = stats.t.ppf(0.975, 149) * error / (1 - r**2)
    assert (found.low, found.high) == pytest.approx(
        (math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)), abs=0.01
    )


def test_a_correlation_carries_workers_who_differ() -> None:
    """Eight workers, each of whom follows the label more or less: the interval over items alone misses too often."""
    rng = np.random.default_rng(4)
    item, worker = (each.ravel() for each in np.indices((40, 8)))
    missed = {"items": 0, "items and workers": 0}
    for _ in range(200):
        labels = rng.integers(0, 2, 40).astype(float)
        values = rng.normal(size=40)[item] + labels[item] * rng.normal(0.8, 0.8, 8)[worker] + rng.normal(size=320)
        ways = {"items": Dimensions.of(items=item), "items and workers": Dimensions.of(items=item, workers=worker)}
        for name, dimensions in ways.items():
            found = mean_correlation(labels, item, values, dimensions, kind="pearson")
            # The correlation of so many items and workers that nothing is left to chance: 0.4 / √(0.16 + 1 + 1/8).
            missed[name] += not found.low <= 0.4 / math.sqrt(0.16 + 1 + 0.125 + 0.04) <= found.high
    assert missed["items"] > 20 >= missed["items and workers"]


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="a name for every answer"):
        Dimensions.of(items=["a", "b"], workers=["w"])
    with pytest.raises(ValueError, match="no name among the workers"):
        Dimensions.of(items=["a", "b"], workers=np.array(["w", None], dtype=object))
    with pytest.raises(ValueError, match="an answer is missing"):
        ratios([1.0, math.nan], [1.0, 1.0], Dimensions.of(items=["a", "b"]))
    with pytest.raises(ValueError, match="clusters of 2"):
        figures_from_influence([0.5], [0.1, 0.2, 0.3], Dimensions.of(items=["a", "b"]))


def test_holms_correction_is_that_of_statsmodels() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.2])
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert holm([0.04, math.nan, 0.01])[[0, 2]] == pytest.approx([0.04, 0.02])
    assert math.isnan(holm([0.04, math.nan, 0.01])[1])


@pytest.mark.parametrize("mirrored", [False, True])
def test_pearsons_r_varies_as_leaving_out_each_item_shows(mirrored: bool) -> None:
    """One answer an item: the jackknife of Fisher's z over items (SciPy's r without each), (n − 1)/n · Σ (z without −
    z)². The mean of the z without each item is not taken, as in the variances of agreement."""
    rng = np.random.default_rng(12)
    labels = rng.normal(0.3, 1, 14)
    answers = 0.6 * labels + rng.normal(size=14)

    def r_of(rows: Ints) -> float:
        x, y = answers[rows], labels[rows]
        if mirrored:
            x, y = np.append(x, -x), np.append(y, -y)
        return float(stats.pearsonr(x, y).statistic)

    everything = np.arange(14)
    whole = r_of(everything)
    left_out = [np.arctanh(r_of(np.delete(everything, item))) for item in everything]
    variance = 13 / 14 * sum((z - np.arctanh(whole)) ** 2 for z in left_out)
    estimate = mean_correlation(
        labels, everything, answers, Dimensions.of(items=everything), kind="pearson", mirrored=mirrored
    )
    assert estimate.value == pytest.approx(whole)
    half = stats.t.ppf(0.975, 13) * math.sqrt(variance)
    ends = (math.tanh(math.atanh(whole) - half), math.tanh(math.atanh(whole) + half))
    assert (estimate.low, estimate.high) == pytest.approx(ends, rel=1e-6)


def test_degrees_of_freedom_are_those_of_satterthwaite_and_not_below_the_smaller_number() -> None:
    """By hand: (2 + 3)²/(2²/4 + 3²/9) = 12.5; with what cells take away, 1²/2 = 0.5 gives way to the smaller, 4."""
    parts, freedom = {"items": 2.0, "workers": 3.0}, {"items": 4.0, "workers": 9.0}
    assert degrees_of_freedom(5.0, parts, freedom) == pytest.approx(12.5)
    assert degrees_of_freedom(1.0, parts, freedom) == 4.0


def test_a_design_that_says_nothing_has_the_published_formula() -> None:
    """More answers than MOST_ANSWERS; or two workers for everything, of whom centring takes away one half."""
    design = Design(np.arange(6), np.zeros(6, dtype=np.int64), np.full(6, 1 / 6), np.full(6, 1 / 6))
    assert multipliers(design, np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])) is None
    many = MOST_ANSWERS + 1
    large = Design(np.arange(many), np.zeros(many, dtype=np.int64), np.full(many, 1 / many), np.full(many, 1 / many))
    assert multipliers(large, np.arange(many) // 5, np.arange(many) % 5) is None


def test_a_standard_deviation_leaves_out_items_workers_and_answers_as_one_would_by_hand() -> None:
    """Miller's (1968) jackknife of the logarithm, over items, workers and cells, of which the last counts against."""
    rng = np.random.default_rng(2)
    items, workers = (index.ravel() for index in np.indices((9, 6)))
    values = rng.normal(size=9)[items] + rng.normal(size=6)[workers] + rng.normal(size=54)

    def place(rows: Any) -> float:
        return math.log(float(np.std(values[rows], ddof=1)))

    whole = place(slice(None))
    parts = [
        [place(items != item) - whole for item in range(9)],
        [place(workers != worker) - whole for worker in range(6)],
        [place(np.arange(54) != answer) - whole for answer in range(54)],
    ]
    spread = [(len(part) - 1) / len(part) * sum(step**2 for step in part) for part in parts]
    bias = [(len(part) - 1) / len(part) * sum(part) for part in parts]
    centre = whole - (bias[0] + bias[1] - bias[2])
    half = 2.570581835636314 * math.sqrt(max(spread[0] + spread[1] - spread[2], spread[0]))  # t with 5 degrees
    estimate = sd_estimate(values, Dimensions.of(items=items, workers=workers))
    assert (estimate.low, estimate.high) == pytest.approx((math.exp(centre - half), math.exp(centre + half)))
