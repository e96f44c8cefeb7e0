"""Power of planned studies against closed forms, independent simulation and the whole comparison; what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from analysis.findings import Answers, compare_levels
from analysis.planning.aims import SHARES, Aim, Goal
from analysis.planning.components import Components
from analysis.planning.costs import Work, cost_of
from analysis.planning.plans import Planner, cheapest
from analysis.planning.power import Power, analysis_of, draw_answers, simulate
from analysis.planning.scales import Scale, answer_model
from analysis.planning.study_design import CROSSINGS, Crossing, Design, DesignError, design_for, layout_of
from bench.planned_power import CASES, compared

LINE, LIKERT = Scale(0, 1), Scale(1, 5, 5)
LIKERT_VARIANCES = Components(0.2, 0.3, 0.15, 0.05, 0.7)
SIMULATIONS = 1500
#: Four standard errors of a simulated power of one half.
CLOSE = 4 * math.sqrt(0.25 / SIMULATIONS)


def test_independent_answers_have_the_power_of_the_t_test() -> None:
    """One answer to every text, each by another worker: Student's t test of two samples (statsmodels)."""
    aim = Aim("difference", LINE, Components(residual=1.0), effect=0.6, mean=0.5)
    planned = simulate(aim, Design(2, 40, 1, 80, "one", same_items=False), simulations=SIMULATIONS)
    assert planned.power == pytest.approx(TTestIndPower().power(0.6, 40, 0.05), abs=CLOSE)
    # The interval's mean width: 2 t(0.975; 78) times the mean standard error (c₄ is within a percent of 1).
    assert planned.width == pytest.approx(2 * stats.t.ppf(0.975, 78) * math.sqrt(2 / 40), rel=0.02)


def test_pairs_have_the_power_of_the_paired_t_test() -> None:
    """Every worker rates both texts of one item: items and workers cancel out of the difference."""
    components = Components(2.0, 3.0, 0.2, 0.1, 0.3)
    aim = Aim("difference", LINE, components, effect=0.4, mean=0.5)
    planned = simulate(aim, Design(2, 50, 1, 50, "all"), simulations=SIMULATIONS)
    standardised = 0.4 / math.sqrt(2 * (0.2 + 0.1 + 0.3))
    assert planned.power == pytest.approx(TTestPower().power(standardised, 50, 0.05), abs=CLOSE)


def test_independent_choices_have_the_power_of_the_test_of_a_share() -> None:
    """The exact power of the report's test (t of the logit): the chance of every count that is significant, which lies
    within a few points of the exact binomial test's."""
    aim = Aim("share", SHARES, Components(residual=0.2), effect=0.62)
    planned = simulate(aim, Design(1, 120, 1, 120), simulations=SIMULATIONS)
    counts = np.arange(1, 120)
    shares = counts / 120
    t = np.log(shares / (1 - shares)) * np.sqrt(shares * (1 - shares) * 119)
    significant = 2 * stats.t.sf(np.abs(t), 119) < 0.05
    exact = float(np.sum(stats.binom.pmf(counts[significant], 120, 0.62)))
    assert planned.power == pytest.approx(exact, abs=CLOSE)
    binomial = [k for k in range(121) if stats.binomtest(k, 120).pvalue < 0.05]
    assert planned.power == pytest.approx(float(np.sum(stats.binom.pmf(binomial, 120, 0.62))), abs=CLOSE + 0.06)


def test_equivalence_has_the_power_of_two_one_sided_t_tests() -> None:
    """Schuirmann's formula for no true difference: both one-sided tests succeed if |x̄| < margin − t·s/√n."""
    rng = np.random.default_rng(8)
    differences = rng.normal(0, math.sqrt(2 * 0.6), (20_000, 60))
    means, errors = differences.mean(axis=1), differences.std(axis=1, ddof=1) / math.sqrt(60)
    expected = float((np.abs(means) < 0.5 - stats.t.ppf(0.95, 59) * errors).mean())
    aim = Aim("equivalence", LINE, Components(1.0, 1.0, 0.2, 0.1, 0.3), margin=0.5, mean=0.5)
    planned = simulate(aim, Design(2, 60, 1, 60, "all"), simulations=SIMULATIONS)
    assert planned.power == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("number", [2, 3, 5, 10])
def test_power_is_that_of_studies_made_by_other_code(number: int) -> None:
    """A few designs of `bench.planned_power`: 300 studies, so within four standard errors of a difference."""
    planned, simulated = compared(CASES[number - 1], 300, seed=2, say=lambda line: None)
    assert planned == pytest.approx(simulated, abs=4 * math.sqrt(2 * 0.25 / 300))


@pytest.mark.parametrize("crossing", list(CROSSINGS))
@pytest.mark.parametrize("systems", [2, 4])
def test_tests_are_those_of_the_comparison(crossing: Crossing, systems: int) -> None:
    design = Design(systems, 20, 3, 24, crossing)
    aim = Aim("difference", LIKERT, LIKERT_VARIANCES, effect=0.8)
    rng = np.random.default_rng(4)
    layout = layout_of(design, rng)
    analyse = analysis_of(aim, layout, these_workers=False)
    for _ in range(5):
        values = draw_answers(aim.model(systems), layout, rng)
        outcome = analyse(values)
        answers = Answers.of(
            values, items=layout.texts, workers=layout.workers, contexts=layout.items, bounds=LIKERT.bounds
        )
        report = compare_levels(answers, layout.systems, [f"s{index}" for index in range(systems)])
        of_first = [pair for pair in report.differences if "s0" in (pair.first, pair.second)]
        assert outcome.shown.sum() == sum(pair.p_corrected < 0.05 for pair in of_first)
        (first,) = [pair.difference for pair in of_first if "s1" in (pair.first, pair.second)]
        assert abs(outcome.figure) == pytest.approx(abs(first.value))
        assert outcome.width == pytest.approx(first.high - first.low)


def test_no_difference_is_significant_in_five_percent() -> None:
    """A share at its null value is no aim, so the difference is as good as none."""
    aim = Aim("difference", LIKERT, LIKERT_VARIANCES, effect=1e-9)
    planned = simulate(aim, Design(2, 40, 3, 24, "all"), simulations=SIMULATIONS)
    assert planned.power == pytest.approx(0.05, abs=0.025)


@pytest.mark.parametrize("crossing", list(CROSSINGS))
def test_work_is_given_out_as_the_design_says(crossing: Crossing) -> None:
    design = Design(3, 25, 4, 21, crossing)
    layout = layout_of(design, np.random.default_rng(1))
    assert len(layout.items) == design.answers == 300
    pairs = set(zip(layout.texts.tolist(), layout.workers.tolist(), strict=True))
    assert len(pairs) == 300, "nobody rates a text twice"
    assert (np.bincount(layout.texts, minlength=75) == 4).all()
    loads = np.bincount(layout.workers, minlength=21)
    assert loads.max() <= design.busiest and loads.min() >= design.busiest - design.systems
    systems_of_worker = [len(set(layout.systems[layout.workers == worker].tolist())) for worker in range(21)]
    seen = {(item, worker) for item, worker in zip(layout.items.tolist(), layout.workers.tolist(), strict=True)}
    if crossing == "all":
        assert set(systems_of_worker) == {3} and len(seen) == 100
    elif crossing == "one":
        assert set(systems_of_worker) == {1}
    else:
        assert set(systems_of_worker) == {3} and len(seen) > 200


@pytest.mark.parametrize("crossing", list(CROSSINGS))
def test_uneven_loads_differ_as_much_as_wanted(crossing: Crossing) -> None:
    design = Design(2, 400, 3, 60, crossing, uneven=0.8)
    spreads = []
    for seed in range(30):
        layout = layout_of(design, np.random.default_rng(seed))
        assert len(set(zip(layout.texts.tolist(), layout.workers.tolist(), strict=True))) == design.answers
        loads = np.bincount(layout.workers, minlength=60)
        spreads.append(float(loads.std() / loads.mean()))
    # Nobody rates a text twice, so the busiest have less to do than their weight says.
    assert 0.6 < float(np.mean(spreads)) < 0.85


def test_uneven_loads_cost_power() -> None:
    """Workers' liking for systems varies, and Σ load² is 1 + 1.5² times as large, or a bit less."""
    aim = Aim("difference", LIKERT, Components(0.1, 0.1, 0.05, 0.3, 0.5), effect=0.4)
    even, uneven = (
        simulate(aim, Design(2, 60, 3, 40, "all", uneven=spread), simulations=300).power for spread in (0.0, 1.5)
    )
    assert uneven < even - 0.1


@pytest.mark.parametrize("mean", [3.0, 4.3])
def test_answers_have_the_variances_of_the_plan(mean: float) -> None:
    """Points cut from a normal variable have these means, variances and covariances, from many items and workers."""
    model = answer_model(LIKERT, LIKERT_VARIANCES.times(0.7), (mean + 0.2, mean - 0.2))
    rng = np.random.default_rng(6)
    totals = np.zeros(5)
    for _ in range(40):
        items, workers, systems = (index.ravel() for index in np.indices((120, 120, 2)))
        layout = layout_of(Design(2, 120, 120, 120, "all"), rng)
        values = draw_answers(model, layout, rng)
        table = np.full((120, 120, 2), np.nan)
        table[layout.items, layout.workers, layout.systems] = values
        away = table - np.array([mean + 0.2, mean - 0.2])
        assert np.isin(values, [1, 2, 3, 4, 5]).all() and len(items) == len(workers) == len(systems)
        by_item, by_worker = away.mean(axis=1), away.mean(axis=0)
        totals += [
            (by_item[:, 0] * by_item[:, 1]).mean(),
            (by_item**2).mean(),
            (by_worker[:, 0] * by_worker[:, 1]).mean(),
            (by_worker**2).mean(),
            (away**2).mean(),
        ]
    item, text, worker, liking, total = totals / 40
    of = LIKERT_VARIANCES.times(0.7)
    assert item == pytest.approx(of.items, abs=0.02)
    assert text == pytest.approx(of.items + of.item_system, abs=0.03)
    assert worker == pytest.approx(of.workers, abs=0.03)
    assert liking == pytest.approx(of.workers + of.worker_system, abs=0.03)
    assert total == pytest.approx(of.total, rel=0.06)


def test_two_points_covary_as_sheppard_found() -> None:
    """Cut in the middle, 0 and 1 of two normal variables with correlation ρ covary by arcsin(ρ)/2π (Sheppard 1899)."""
    for rho in (0.1, 0.5, 0.8):
        assert SHARES.correlation_for(math.asin(rho) / (2 * math.pi), 0.5, 1.0) == pytest.approx(rho, abs=2e-3)


@pytest.mark.parametrize("rho", [0.2, 0.6])
def test_points_covary_as_the_normal_variables_behind_them_say(rho: float) -> None:
    """E[xy] − E[x]E[y] of points from SciPy's bivariate normal: Σ P(x > cut, y > other cut) over all cuts."""
    mean, sd = 3.9, 1.3
    cuts = (LIKERT.cuts - mean) / sd
    both = stats.multivariate_normal(mean=[0, 0], cov=[[1, rho], [rho, 1]])
    expected = sum(
        float(both.cdf([-first, -second])) - float(stats.norm.sf(first) * stats.norm.sf(second))
        for first in cuts
        for second in cuts
    )
    assert LIKERT.correlation_for(expected, mean, sd) == pytest.approx(rho, abs=1e-4)


def test_the_same_seed_gives_the_same_figures_alone_and_in_a_table() -> None:
    planner = Planner(Aim("difference", LIKERT, LIKERT_VARIANCES, effect=0.3), 2, simulations=50)
    table = {(plan.design.items, plan.design.raters): plan.power for plan in planner.table([50, 100], [2, 3])}
    assert table[100, 3] == planner.plan(100, 3).power
    assert table[100, 3].error == pytest.approx(math.sqrt(table[100, 3].power * (1 - table[100, 3].power) / 50))


def test_alpha_is_planned_by_its_width() -> None:
    """Twice √2 as many items make the interval narrower by about that."""
    aim = Aim("agreement", LIKERT, LIKERT_VARIANCES)
    small, large = (simulate(aim, Design(1, items, 5, 60), simulations=60) for items in (60, 240))
    assert math.isnan(small.power)
    # Answers to an item correlate by (0.2 + 0.15)/1.4 = 0.25, and with many workers α is about that.
    assert large.figure == pytest.approx(0.25, abs=0.03)
    assert large.width < 0.75 * small.width


def test_few_workers_have_a_test_about_these_workers() -> None:
    aim = Aim("difference", LIKERT, LIKERT_VARIANCES, effect=0.3)
    few = simulate(aim, Design(2, 60, 3, 3, "all"), simulations=60)
    assert few.these_workers and math.isnan(few.width) and few.power > 0.4


def test_time_can_cut_a_simulation_short() -> None:
    aim = Aim("difference", LIKERT, LIKERT_VARIANCES, effect=0.3)
    cut = simulate(aim, Design(2, 60, 3, 12), simulations=100_000, seconds=0.01)
    assert 50 <= cut.simulations < 2000


# --- the smallest design, and its cost ---


def planner(**changes: object) -> Planner:
    aim = Aim("difference", LINE, Components(1.0, 1.0, 0, 0, 0.6), effect=0.4, mean=0.5)
    options: dict[str, object] = {"crossing": "all", "texts_per_worker": 2, "simulations": SIMULATIONS}
    return Planner(aim, 2, **(options | changes))  # type: ignore[arg-type]


def test_the_fewest_items_are_those_of_the_paired_t_test() -> None:
    """Items, each rated by another worker: statsmodels solves for the number of pairs."""
    pairs = math.ceil(TTestPower().solve_power(0.4 / math.sqrt(1.2), None, 0.05, 0.8))
    fewest = planner(simulations=600).fewest_items(1, 10, power=0.8)
    assert fewest.design.items == pytest.approx(pairs, abs=7)
    assert fewest.power.power >= 0.8


def test_what_no_number_of_raters_reaches_is_said_by_the_plan() -> None:
    aim = Aim("difference", LIKERT, Components(0, 0, 1.0, 0, 0.2), effect=0.2)
    most = Planner(aim, 2, simulations=60).fewest_raters(20, power=0.9)
    assert not most.power.reaches(power=0.9, width=None) and most.design.raters == 30


def test_a_width_is_searched_too_and_the_cheapest_plan_is_chosen() -> None:
    planned = planner(simulations=100, work=Work(2, Decimal("0.10")))
    few, many = planned.plan(20, 1), planned.fewest_raters(20, width=1.0)
    assert many.power.width <= 1.0 and many.design.raters > 0
    assert cheapest([many, few], width=1.0) is (few if few.power.width <= 1.0 else many)
    assert cheapest([few, many], power=0.9999999) is None


@pytest.mark.parametrize(
    ("crossing", "hits", "total"),
    [("some", 20, "86.40"), ("all", 20, "86.40"), ("one", 20, "86.40")],
)
def test_cost_is_to_the_cent(crossing: Crossing, hits: int, total: str) -> None:
    """200 texts, 10 in a hit of $1.20, three raters: 60 hits, $72.00, and 20% for the platform."""
    work = Work(10, Decimal("1.20"), Decimal("6"), Decimal("0.2"))
    cost = cost_of(design_for(2, 100, 3, texts_per_worker=50, crossing=crossing), work)
    assert (cost.hits, cost.submissions, cost.total) == (hits, 60, Decimal(total))
    assert (cost.hours, cost.per_hour) == (Decimal("6"), Decimal("12.00"))


def test_part_of_a_hit_is_paid_like_a_whole_one() -> None:
    """15 texts of one system in hits of 10: two hits; two systems together: 30 texts, three."""
    work = Work(10, Decimal("0.333"))
    cost = cost_of(Design(2, 15, 1, 10, "one"), work)
    assert (cost.hits, cost.rewards, cost.hours) == (4, Decimal("1.33"), None)
    assert cost_of(Design(2, 15, 1, 10, "some"), work).hits == 3


def test_as_few_workers_as_can_do_the_work() -> None:
    assert design_for(2, 100, 3, texts_per_worker=50, crossing="some").workers == 12
    assert design_for(2, 100, 3, texts_per_worker=50, crossing="all").workers == 12
    assert design_for(2, 100, 3, texts_per_worker=50, crossing="one").workers == 12
    assert design_for(3, 10, 2, texts_per_worker=50, crossing="one").workers == 15, "five for each system"


# --- bad input ---


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ((2, 100, 0, 10), "the number of raters must be 1 or more, not 0"),
        ((0, 100, 3, 10), "the number of systems must be 1 or more"),
        ((2, -1, 3, 10), "the number of items must be 1 or more"),
        ((2, 100, 3, 0), "the number of workers must be 1 or more"),
        ((2, 100, 8, 5), "8 raters per item are more than the 5 workers, and nobody rates a text twice"),
        ((2, 100, 4, 6, "one"), "more than the 3 workers who rate a system"),
        (
            (2, 100, 3, 10, "all", False),
            "no worker can rate all systems of an item if every system has its own items",
        ),
        ((2, 100, 3, 10, "both"), "is one of all, some, one, not “both”"),
        ((31, 10, 3, 40), "at most 30 systems, not 31"),
        ((2, 100, 3, 10, "some", True, -1.0), "how uneven workers’ loads are is between 0 and 5, not -1"),
        ((2, 100_000, 3, 10), "plan at most 100,000"),
    ],
)
def test_designs_that_no_study_can_have_are_refused(design: tuple[object, ...], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        Design(*design)  # type: ignore[arg-type]


def test_a_worker_who_rates_all_systems_rates_that_many_texts() -> None:
    with pytest.raises(DesignError, match="all 5 systems of an item rates at least 5 texts, not 3"):
        design_for(5, 20, 2, texts_per_worker=3, crossing="all")
    with pytest.raises(DesignError, match="a worker rates 1 text or more, not 0"):
        design_for(2, 20, 2, texts_per_worker=0, crossing="some")


@pytest.mark.parametrize(
    ("goal", "scale", "options", "message"),
    [
        ("difference", LIKERT, {"effect": 4.5}, "a difference of 4.5 is larger than the scale from 1 to 5 allows"),
        ("difference", LIKERT, {"effect": 0}, "the smallest difference that matters is 0"),
        ("difference", LIKERT, {"effect": 0.3, "significance": 0}, "between 0 and 0.5"),
        ("equivalence", LIKERT, {"margin": 0}, "must be above 0"),
        ("equivalence", LIKERT, {"margin": 4}, "covers the whole scale"),
        ("share", SHARES, {"effect": 1.0}, "a share is between 0 and 1"),
        ("accuracy", SHARES, {"effect": 0.5}, "nothing to detect"),
        ("share", LIKERT, {"effect": 0.6}, "of two kinds"),
        ("rank", LIKERT, {}, "the goal is one of difference"),
    ],
)
def test_aims_that_are_none_are_refused(goal: Goal, scale: Scale, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Aim(goal, scale, LIKERT_VARIANCES, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("aim", "design", "message"),
    [
        (Aim("difference", LIKERT, LIKERT_VARIANCES, effect=0.3), Design(1, 50, 3, 10), "there is one system"),
        (Aim("share", SHARES, Components(residual=0.2), effect=0.6), Design(2, 50, 3, 10), "number of systems to 1"),
        (Aim("difference", LIKERT, LIKERT_VARIANCES, effect=0.3), Design(2, 4, 3, 10), "fewer than 5 items"),
        (Aim("share", SHARES, Components(residual=0.2), effect=0.6), Design(1, 50, 3, 4), "fewer than 5 workers"),
        (Aim("difference", LIKERT, LIKERT_VARIANCES, effect=0.3), Design(2, 50, 3, 8, "one"), "plan more workers"),
        (Aim("equivalence", LIKERT, LIKERT_VARIANCES, margin=0.3), Design(2, 50, 3, 4, "all"), "plan more workers"),
        (Aim("agreement", LIKERT, LIKERT_VARIANCES), Design(1, 50, 1, 10), "two raters or more"),
        (
            Aim("difference", LIKERT, LIKERT_VARIANCES, effect=3.8, mean=4.5),
            Design(2, 50, 3, 10),
            "impossible on a scale",
        ),
        (Aim("difference", LIKERT, LIKERT_VARIANCES.times(4), effect=0.3), Design(2, 50, 3, 10), "add up to 5.6"),
        (Aim("share", SHARES, Components(0.1, 0.2), effect=0.6), Design(1, 50, 3, 10), "choose smaller variances"),
        (
            Aim("difference", LIKERT, Components(1.2, residual=0.01), effect=0.3),
            Design(2, 50, 3, 10),
            "hardly anything is left for single answers",
        ),
    ],
)
def test_plans_that_no_report_could_test_are_refused(aim: Aim, design: Design, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(aim, design, simulations=10)


@pytest.mark.parametrize(
    ("ends", "message"),
    [((1, 5, 1), "2 to 101 points, not 1"), ((5, 1, 5), "a low end below its high end"), ((1, 5, 500), "not 500")],
)
def test_scales_that_are_none_are_refused(ends: tuple[float, float, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scale(*ends)


@pytest.mark.parametrize(
    ("amounts", "message"),
    [
        ((0, Decimal(1)), "a hit has 1 text or more"),
        ((10, Decimal(-1)), "the reward must be 0 or more"),
        ((10, Decimal(1), Decimal(0)), "the minutes for a hit must be above 0"),
        ((10, Decimal("NaN")), "the reward must be 0 or more"),
    ],
)
def test_work_that_is_none_is_refused(amounts: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Work(*amounts)  # type: ignore[arg-type]


def test_a_power_that_tables_show_as_the_wanted_one_is_enough() -> None:
    """A table that says 80% must not be followed by a sentence that 80% is missed."""
    power = Power(Design(2, 10, 5, 10), 1000, 0.796, 0.013, 0.796, 0.3, 0.5, 1.0)
    assert power.reaches(power=0.8, width=None)
    assert not replace(power, power=0.794).reaches(power=0.8, width=None)
    assert not replace(power, power=math.nan).reaches(power=0.8, width=None)
