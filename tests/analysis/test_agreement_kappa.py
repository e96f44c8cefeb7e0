"""Fleiss' κ, percent agreement and Cohen's κ against papers, statsmodels, psych (R) and exact arithmetic."""

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss

from analysis.agreement import (
    cohen_kappa,
    counts_from_table,
    fleiss_kappa,
    mean_cohen_kappa,
    percent_agreement,
    ratings_from_matrix,
)

DATA = Path(__file__).parent / "support" / "agreement_data"
TEXTBOOK = json.loads((DATA / "textbook.json").read_text())
R = json.loads((DATA / "reference_r.json").read_text())
NAN = math.nan

labels = st.tuples(st.integers(3, 20), st.integers(2, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 4))
)


# --- Fleiss


def test_the_table_of_fleiss_1971() -> None:
    case = TEXTBOOK["fleiss_1971"]
    # Six psychiatrists rated each patient, not always the same six.
    estimate = fleiss_kappa(ratings_from_matrix(case["ratings"]).counts())
    assert estimate.value == pytest.approx(case["kappa"], abs=5e-5)
    assert estimate.n == 30
    assert percent_agreement(case["ratings"], interval=False).value == pytest.approx(case["percent"], abs=5e-5)
    # Fleiss' standard error of 0.028 assumes κ = 0; the interval over patients is wider but contains κ.
    assert 0.25 < estimate.low < 0.43 < estimate.high < 0.6


@settings(max_examples=200, deadline=None)
@given(matrix=labels)
def test_equal_to_statsmodels_where_all_units_have_as_many_ratings(matrix: Any) -> None:
    assume(len(np.unique(matrix)) > 1)
    expected = reference_fleiss(aggregate_raters(matrix)[0])
    assert fleiss_kappa(matrix, interval=False).value == pytest.approx(expected, abs=1e-9)


def exact_fleiss(table: Any) -> Any:
    """The general form of Fleiss' κ, in whole numbers: no formula of ours."""
    rows = [[int(cell) for cell in row] for row in table if sum(row)]
    total = sum(map(sum, rows))
    shares = [Fraction(sum(row[j] for row in rows), total) for j in range(len(rows[0]))]
    agreement = [Fraction(sum(n * (n - 1) for n in row), sum(row) * (sum(row) - 1)) for row in rows if sum(row) > 1]
    observed, chance = sum(agreement) / len(agreement), sum(share**2 for share in shares)
    return float((observed - chance) / (1 - chance)), float(observed)


@settings(max_examples=200, deadline=None)
@given(table=arrays(np.int64, st.tuples(st.integers(2, 10), st.integers(2, 5)), elements=st.integers(0, 4)))
def test_unequal_numbers_of_ratings_follow_the_general_form_exactly(table: Any) -> None:
    assume((table.sum(axis=1) > 1).any() and (table.sum(axis=0) > 0).sum() > 1)
    kappa, percent = exact_fleiss(table)
    assert fleiss_kappa(counts_from_table(table), interval=False).value == pytest.approx(kappa, abs=1e-9)
    assert percent_agreement(counts_from_table(table), interval=False).value == pytest.approx(percent, abs=1e-9)


def test_random_labels_by_two_or_five_raters_agree_by_chance_only() -> None:
    """4,000 units, half with 2 and half with 5 ratings; filling up to 5 would give 0.18."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 3, (4000, 5)).astype(float)
    matrix[rng.random(4000) < 0.5, 2:] = NAN
    estimate = fleiss_kappa(matrix)
    assert estimate.value == pytest.approx(0, abs=0.02)
    assert estimate.low < 0 < estimate.high
    assert estimate.n == 4000


def test_single_ratings_count_in_the_shares_of_categories_only() -> None:
    estimate = fleiss_kappa([["a", "a"], ["b", "b"], ["a", "b"], ["b", None]], interval=False)  # type: ignore[arg-type]
    # P̄ = 2/3, shares 3/7 and 4/7, P_e = 25/49: (2/3 − 25/49)/(24/49) = 23/72
    assert estimate.value == pytest.approx(23 / 72)
    assert estimate.n == 3
    assert "1 with fewer than 2" in estimate.note


def test_one_value_throughout_has_no_kappa() -> None:
    estimate = fleiss_kappa([["yes", "yes"]] * 5)
    assert math.isnan(estimate.value)
    assert "same value" in estimate.note
    assert percent_agreement([["yes", "yes"]] * 5).value == 1


@pytest.mark.parametrize("statistic", [fleiss_kappa, percent_agreement, mean_cohen_kappa])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.empty((0, 2)), "no ratings|one rater"),
        ([[1], [2]], "only one rater"),
        ([[1, NAN], [NAN, 1]], "no unit has two ratings"),
    ],
)
def test_nothing_to_compare_is_refused(statistic: Any, data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        statistic(data)


# --- Cohen


def test_the_worked_example_of_wikipedia() -> None:
    """Cohen's kappa, Simple example: 50 proposals, both yes 20, both no 15, 5 and 10 apart: κ = 0.4."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second).value == pytest.approx(0.4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:statsmodels")
@pytest.mark.parametrize("weighting", ["unweighted", "linear", "quadratic"])
@settings(max_examples=100, deadline=None)
@given(matrix=labels)
def test_two_raters_give_what_statsmodels_gives(weighting: Any, matrix: Any) -> None:
    table = np.zeros((5, 5))
    np.add.at(table, (matrix[:, 0], matrix[:, 1]), 1)
    assume(len(np.unique(matrix[:, :2])) > 1)
    expected = cohens_kappa(table, wt=None if weighting == "unweighted" else weighting)
    for estimate in (
        cohen_kappa(matrix[:, 0], matrix[:, 1], weighting, categories=range(5)),
        mean_cohen_kappa(ratings_from_matrix(matrix[:, :2], categories=range(5)), weighting),
    ):
        assert estimate.value == pytest.approx(expected.kappa, abs=1e-9)


@pytest.mark.parametrize("case", R.values(), ids=R)
def test_equal_to_psych_and_psy_of_r(case: Any) -> None:
    first, second = np.array(case["ratings"])[:, :2].T
    expected = case["kappa_of_first_two"]
    assert cohen_kappa(first, second).value == pytest.approx(expected["unweighted"], abs=1e-9)
    assert cohen_kappa(first, second, "quadratic").value == pytest.approx(expected["quadratic"], abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(matrix=labels)
def test_the_average_is_that_of_all_pairs(matrix: Any) -> None:
    figures = []
    for a, b in combinations(range(matrix.shape[1]), 2):
        table = np.zeros((5, 5))
        np.add.at(table, (matrix[:, a], matrix[:, b]), 1)
        if np.count_nonzero(table) > 1 or not np.trace(table):
            figures.append(cohens_kappa(table, return_results=False))
    assume(figures)
    assert mean_cohen_kappa(matrix).value == pytest.approx(np.mean(figures), abs=1e-9)


def test_a_rater_without_whom_no_pair_is_left_cannot_be_left_out() -> None:
    """One of five raters differs once, so only the pairs with this rater have a κ."""
    matrix = np.ones((20, 5))
    matrix[0, 0] = 0
    estimate = mean_cohen_kappa(matrix)
    assert estimate.value == 0
    assert "for these 5 raters" in estimate.method


def test_pairs_who_share_too_little_or_never_vary_are_counted() -> None:
    matrix = [[1, 1, NAN], [2, 1, NAN], [1, 1, 1], [2, 1, NAN], [1, 1, NAN]]
    estimate = mean_cohen_kappa(matrix)  # type: ignore[arg-type]
    assert estimate.value == 0
    assert "1 of 3 rater pairs" in estimate.note
    assert "2 pairs share too few units" in estimate.note
    assert "no pair of raters has a kappa" in mean_cohen_kappa([[1, 1], [1, 1]]).note


def test_units_that_one_side_lacks_are_counted() -> None:
    estimate = cohen_kappa([1, 2, NAN, 1], [1, 2, 1, NAN])
    assert (estimate.value, estimate.n) == (1, 2)
    assert "2 of 4 units" in estimate.note


def test_two_pools_of_raters_compare_all_ratings_of_a_unit() -> None:
    """Schouten's κ for two groups by hand: unit shares, mean product, margins."""
    first = np.array([["a", "b"], ["a", "a"], ["b", "b"]], dtype=object)
    second = np.array([["a", None], ["a", "b"], ["b", "b"]], dtype=object)
    # p_o = (1/2 + 1/2 + 1)/3 = 2/3; margins of a: 1/2 and 1/2, p_e = 1/2; κ = 1/3
    estimate = cohen_kappa(first, second)
    assert estimate.value == pytest.approx(1 / 3)
    assert estimate.n == 3


def test_both_sides_with_one_value_have_no_kappa() -> None:
    estimate = cohen_kappa([1, 1], [1, 1])
    assert math.isnan(estimate.value)
    assert "the same value throughout" in estimate.note


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([1, 2], [1, 2, 3], {}, "the same units"),
        ([1, NAN], [NAN, 1], {}, "no unit has a rating from both"),
        ([], [], {}, "no units"),
        ([1, 2], ["a", "b"], {}, "one side has numbers"),
        ([1, 2], [1, 3], {"categories": [1, 2]}, "not among the categories"),
        (["a", "b"], ["a", "b"], {"weighting": "linear"}, "categories in their order"),
        ([1, 2], [1, 2], {"weighting": "cubic"}, "weighting is"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(first: Any, second: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cohen_kappa(first, second, **options)
