"""Intervals of agreement: against leaving out by hand, against simulated studies, and what has no interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss

from analysis.agreement import (
    cohen_kappa,
    counts_from_table,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
    mean_cohen_kappa,
    noise_ceiling,
    percent_agreement,
    ratings_from_arrays,
    ratings_from_matrix,
    split_half,
)

NAN = math.nan


def labels(units: int = 30, raters: int = 8, missing: float = 0.4, seed: int = 0) -> Any:
    """Three labels by raters who are right or guess, the first raters more often right, with missing ratings."""
    rng = np.random.default_rng(seed)
    right = rng.random((units, raters)) < np.linspace(0.9, 0.4, raters)
    matrix = np.where(right, rng.integers(1, 4, (units, 1)), rng.integers(1, 4, (units, raters))).astype(float)
    matrix[rng.random(matrix.shape) < missing] = NAN
    return matrix


def without_each(statistic: Callable[[Any], float], matrix: Any) -> list[list[float]]:
    """The statistic without each unit, each rater and each rating."""
    units = [statistic(np.delete(matrix, unit, axis=0)) for unit in range(len(matrix))]
    raters = [statistic(np.delete(matrix, rater, axis=1)) for rater in range(matrix.shape[1])]
    ratings = []
    for unit, rater in np.argwhere(~np.isnan(matrix)):
        fewer = matrix.copy()
        fewer[unit, rater] = NAN
        ratings.append(statistic(fewer))
    return [units, raters, ratings]


def interval_by_hand(whole: float, parts: list[list[float]], *, free: int, least: float) -> tuple[float, float]:
    """The bias-corrected jackknife on the logit of the place between ``least`` and 1: over units, or units, raters and
    ratings, of which the last counts against the others."""

    def place(figure: float) -> float:
        return math.log((figure - least) / (1 - figure))

    signs = [1, 1, -1][: len(parts)]
    away = [[place(figure) - place(whole) for figure in figures] for figures in parts]
    spread = [(len(part) - 1) / len(part) * sum(step**2 for step in part) for part in away]
    bias = [(len(part) - 1) / len(part) * sum(part) for part in away]
    variance = max(sum(sign * part for sign, part in zip(signs, spread, strict=True)), spread[0])
    centre = place(whole) - sum(sign * part for sign, part in zip(signs, bias, strict=True))
    half = float(stats.t.ppf(0.975, free)) * math.sqrt(variance)
    ends = [1 / (1 + math.exp(-end)) for end in (centre - half, centre + half)]
    return least + (1 - least) * ends[0], least + (1 - least) * ends[1]


def chance_end(matrix: Any) -> float:
    """−1/(k − 1), the least intraclass correlation of k ratings (Fisher 1925), k being their mean number cut off."""
    return -1 / (math.floor(float((~np.isnan(matrix)).sum(axis=1).mean())) - 1)


def variance_of(estimate: Any, free: int, least: float = -1.0) -> float:
    """The variance that an interval on the logit of the place in [least, 1] was made from."""
    ends = [math.log((end - least) / (1 - end)) for end in (estimate.low, estimate.high)]
    slope = (1 - least) / ((estimate.value - least) * (1 - estimate.value))
    return float((((ends[1] - ends[0]) / 2) / stats.t.ppf(0.975, free) / slope) ** 2)


@pytest.mark.parametrize("level", ["nominal", "interval", "ratio"])
def test_alpha_leaves_out_units_raters_and_ratings_as_one_would_by_hand(level: Any) -> None:
    """Reference: the `krippendorff` package on the matrix without a row, a column or a cell."""
    matrix = labels()
    matrix = matrix[(~np.isnan(matrix)).sum(axis=1) >= 2]

    def alpha(rest: Any) -> float:
        return float(krippendorff.alpha(rest.T, level_of_measurement=level))

    parts = without_each(alpha, matrix)
    expected = interval_by_hand(alpha(matrix), parts, free=7, least=chance_end(matrix))
    estimate = krippendorff_alpha(matrix, level)
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-6)
    method = (
        f"jackknife over {len(matrix)} units and 8 raters; 89 to 100% of such 95% intervals are right in simulations"
    )
    assert estimate.method == method


def test_ordinal_alpha_does_so_too_but_for_the_ranks_which_stay() -> None:
    matrix = labels()
    matrix = matrix[(~np.isnan(matrix)).sum(axis=1) >= 2]

    def alpha(rest: Any) -> float:
        return float(krippendorff.alpha(rest.T, level_of_measurement="ordinal"))

    expected = interval_by_hand(alpha(matrix), without_each(alpha, matrix), free=7, least=chance_end(matrix))
    estimate = krippendorff_alpha(matrix, "ordinal")
    assert (estimate.low, estimate.high) == pytest.approx(expected, abs=0.02)


COEFFICIENTS: dict[str, Callable[..., Any]] = {
    "Fleiss": fleiss_kappa,
    "percent": percent_agreement,
    "AC1": gwet_ac1,
    "AC2": gwet_ac2,
}


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_the_others_leave_out_as_one_would_by_hand(name: str) -> None:
    """Reference: the coefficient itself, which other tests check, of the matrix without a row, a column or a cell."""
    statistic = COEFFICIENTS[name]
    matrix = labels(seed=3)
    matrix = matrix[(~np.isnan(matrix)).sum(axis=1) >= 2]
    categories = [1.0, 2.0, 3.0]

    def value(rest: Any) -> float:
        return float(statistic(ratings_from_matrix(rest, categories=categories), interval=False).value)

    # Four ratings of three values, as evenly as they can be, are 2, 1 and 1: one of six pairs is equal.
    assert math.floor((~np.isnan(matrix)).sum(axis=1).mean()) == 4
    least = 1 / 6 if name == "percent" else -1 / 3
    expected = interval_by_hand(value(matrix), without_each(value, matrix), free=7, least=least)
    estimate = statistic(ratings_from_matrix(matrix, categories=categories))
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-6)


def test_full_tables_of_fleiss_match_statsmodels_without_each_unit() -> None:
    """These three raters: units alone vary."""
    matrix = labels(missing=0)[:, :3]
    whole = reference_fleiss(aggregate_raters(matrix)[0])
    left = [reference_fleiss(aggregate_raters(np.delete(matrix, unit, axis=0))[0]) for unit in range(30)]
    expected = interval_by_hand(whole, [left], free=29, least=-1 / 2)
    estimate = fleiss_kappa(matrix)
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-9)
    assert estimate.method == "jackknife over 30 units, for these 3 raters"


def test_two_raters_have_about_the_variance_of_statsmodels() -> None:
    """The large-sample variance (Fleiss, Cohen & Everitt 1969) of 400 units."""
    matrix = labels(units=400, missing=0)[:, :2].astype(int) - 1
    table = np.zeros((3, 3))
    np.add.at(table, (matrix[:, 0], matrix[:, 1]), 1)
    for weighting in ("unweighted", "quadratic"):
        expected = cohens_kappa(table, wt=None if weighting == "unweighted" else weighting).var_kappa
        for estimate in (
            cohen_kappa(matrix[:, 0], matrix[:, 1], weighting),
            mean_cohen_kappa(matrix, weighting),
        ):
            assert variance_of(estimate, free=399) == pytest.approx(expected, rel=0.03)
            assert "these 2 raters" in estimate.method


def test_pools_leave_out_raters_as_one_would_by_hand() -> None:
    matrix = labels(missing=0.2)
    scale = [1.0, 2.0, 3.0]

    def value(rest: Any) -> float:
        first = rest[:, : rest.shape[1] - 4] if rest.shape[1] == 8 else None
        assert first is not None
        return float(cohen_kappa(first, rest[:, 4:], categories=scale).value)

    whole = value(matrix)

    def blanked(unit: Any, rater: Any) -> float:
        fewer = matrix.copy()
        fewer[unit, rater] = NAN
        return value(fewer)

    parts = [
        [blanked(unit, slice(None)) for unit in range(30)],
        [blanked(slice(None), rater) for rater in range(8)],
        [blanked(unit, rater) for unit, rater in np.argwhere(~np.isnan(matrix))],
    ]
    estimate = cohen_kappa(matrix[:, :4], matrix[:, 4:], categories=scale)
    expected = interval_by_hand(whole, parts, free=7, least=-1.0)
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-6)


def test_counts_without_raters_are_about_these_raters_only() -> None:
    ratings = ratings_from_matrix(labels())
    table = counts_from_table(ratings.counts().table.toarray(), ratings.values.tolist())
    alone, both, these = (
        krippendorff_alpha(data, raters=raters)  # type: ignore[arg-type]
        for data, raters in ((table, "any"), (ratings, "any"), (ratings, "these"))
    )
    assert (alone.low, alone.high) == (these.low, these.high)
    assert both.high - both.low > these.high - these.low
    assert these.method.endswith("units, for these 8 raters")


def test_the_order_of_units_and_raters_makes_no_difference() -> None:
    matrix = labels()
    turned = matrix[::-1, ::-1]
    for statistic in (fleiss_kappa, partial(krippendorff_alpha, level="ordinal"), gwet_ac2, mean_cohen_kappa):
        one, other = statistic(matrix), statistic(turned)
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9, nan_ok=True)


def test_a_table_with_many_values_gives_what_its_distinct_rows_give(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = labels()
    reduced = krippendorff_alpha(matrix, "ratio")
    monkeypatch.setattr("analysis.agreement.jackknife.MOST_VALUES_TO_REDUCE", 0)
    whole = krippendorff_alpha(matrix, "ratio")
    assert (whole.low, whole.high) == pytest.approx((reduced.low, reduced.high), rel=1e-9)


# --- how often the intervals hold the truth

#: α and κ of two labels, 0 and 1, by raters with thresholds and units with difficulties, both standard normal, and
#: logistic noise: by Gauss–Hermite quadrature in `agreement_of_labels`.


def agreement_of_labels(sd_units: float, sd_raters: float) -> float:
    """κ of any two raters in the population: P(both say 1) is the mean over units of the squared chance."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    chance = np.array([weights @ (1 / (1 + np.exp(-(sd_units * unit + sd_raters * nodes)))) for unit in nodes])
    both, one = float(weights @ chance**2), float(weights @ chance)
    observed = 1 - 2 * (one - both)
    expected = one**2 + (1 - one) ** 2
    return (observed - expected) / (1 - expected)


@pytest.mark.parametrize(("units", "raters", "per_unit"), [(30, 5, 5), (30, 12, 3), (100, 12, 5)])
def test_intervals_hold_the_truth_for_new_units_and_new_raters(units: int, raters: int, per_unit: int) -> None:
    """150 studies: 142.5 expected with exactly 95%, s.d. 2.7. Intervals over units alone hold it in about 125 of the
    first kind."""
    rng = np.random.default_rng(11)
    truth = agreement_of_labels(1.0, 1.0)
    held = 0
    for _ in range(150):
        unit = np.repeat(np.arange(units), per_unit)
        rater = np.concatenate([rng.permutation(raters)[:per_unit] for _ in range(units)])
        latent = rng.normal(size=units)[unit] + rng.normal(size=raters)[rater] + rng.logistic(size=len(unit))
        estimate = krippendorff_alpha(ratings_from_arrays(unit, rater, (latent > 0).astype(float)))
        held += estimate.low <= truth <= estimate.high
    assert held >= 135


# --- what has no interval


def test_few_units_have_no_interval_but_a_reason() -> None:
    estimate = krippendorff_alpha([[1, 1], [2, 1], [2, 2], [1, NAN]])  # type: ignore[arg-type]
    assert math.isnan(estimate.low)
    assert "3 units with two ratings: an interval needs at least 5" in estimate.note


@pytest.mark.parametrize(
    "statistic", [percent_agreement, fleiss_kappa, krippendorff_alpha, gwet_ac1, noise_ceiling, split_half]
)
def test_full_agreement_has_no_interval(statistic: Any) -> None:
    agreed = np.repeat([[1.0], [2.0], [4.0], [5.0], [3.0], [2.0]], 3, axis=1)
    estimate = statistic(agreed)
    assert estimate.value == pytest.approx(1)
    assert math.isnan(estimate.low) and math.isnan(estimate.high)
    assert "how uncertain" in estimate.note
    agreed[0, 0] = 5.0
    assert "how uncertain" not in statistic(agreed).note


def test_the_mean_of_cohens_kappa_has_no_interval_where_pairs_share_few_units() -> None:
    rng = np.random.default_rng(2)
    unit = np.repeat(np.arange(60), 3)
    rater = np.concatenate([rng.permutation(30)[:3] for _ in range(60)])
    few = mean_cohen_kappa(ratings_from_arrays(unit, rater, rng.integers(0, 2, 180).astype(float)))
    assert math.isnan(few.low)
    assert "no interval below a median of 20" in few.note
    many = mean_cohen_kappa(labels(missing=0))
    assert many.low < many.value < many.high
    assert many.method == (
        "linearised over 30 units, jackknife over 8 raters; 92 to 100% of such 95% intervals are right in simulations"
    )


def test_an_interval_stays_inside_the_range() -> None:
    matrix = np.ones((12, 3))
    matrix[:2] = [[2, 2, 2], [2, 2, 1]]
    for estimate, least in ((percent_agreement(matrix), 0.0), (fleiss_kappa(matrix), -1.0)):
        assert least < estimate.low < estimate.value < estimate.high < 1
