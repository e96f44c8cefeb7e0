"""Krippendorff's α against published values, the `krippendorff` package and literal resampling."""

import json
import math
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.agreement import (
    counts_from_table,
    krippendorff_alpha,
    ratings_from_arrays,
    ratings_from_matrix,
)

TEXTBOOK = json.loads((Path(__file__).parent / "support" / "agreement_data" / "textbook.json").read_text())
LEVELS = ["nominal", "ordinal", "interval", "ratio"]
NAN = math.nan


def textbook(name: str) -> Any:
    return np.array(TEXTBOOK[name]["observers"], dtype=float).T


def simulated(units: int = 60, raters: int = 8, missing: float = 0.5, values: int = 5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    scores = np.round(3 + rng.normal(size=(units, 1)) + rng.normal(size=(units, raters)))
    scores = np.clip(scores, 1, values)
    scores[rng.random(scores.shape) < missing] = NAN
    return scores


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["krippendorff_a", "krippendorff_b"])
def test_krippendorffs_own_examples(name: str, level: Any) -> None:
    estimate = krippendorff_alpha(textbook(name), level, interval=False)
    assert estimate.value == pytest.approx(TEXTBOOK[name]["alpha"][level], abs=5e-5)
    assert estimate.n == TEXTBOOK[name]["paired_units"]


matrices = st.tuples(st.integers(2, 12), st.integers(2, 6)).flatmap(
    lambda shape: arrays(float, shape, elements=st.sampled_from([NAN, 0.0, 1.0, 2.0, 2.5, 4.0, 7.0, 100.0, 1e-3]))
)


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=150, deadline=None)
@given(matrix=matrices)
def test_equal_to_the_krippendorff_package_for_any_matrix(level: Any, matrix: Any) -> None:
    paired = matrix[(~np.isnan(matrix)).sum(axis=1) >= 2]
    assume(len(np.unique(paired[~np.isnan(paired)])) > 1)
    expected = krippendorff.alpha(matrix.T, level_of_measurement=level)
    assert krippendorff_alpha(matrix, level, interval=False).value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_equal_to_the_krippendorff_package_with_a_hundred_values(level: Any) -> None:
    matrix = np.random.default_rng(3).integers(0, 101, (300, 7)).astype(float)
    matrix[np.random.default_rng(4).random(matrix.shape) < 0.4] = NAN
    expected = krippendorff.alpha(matrix.T, level_of_measurement=level)
    assert krippendorff_alpha(matrix, level, interval=False).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_a_table_of_counts_and_a_long_frame_give_what_the_matrix_gives(level: Any) -> None:
    ratings = ratings_from_matrix(simulated())
    table = counts_from_table(ratings.counts().table.toarray(), ratings.values.tolist())
    arrays_ = ratings_from_arrays(ratings.unit, ratings.rater, ratings.numbers())
    figures = [krippendorff_alpha(data, level) for data in (simulated(), table, arrays_)]
    assert figures[0].value == figures[1].value == figures[2].value
    assert (figures[0].low, figures[0].high) == (figures[2].low, figures[2].high)


def test_text_labels_are_nominal_and_ordinal_by_the_order_given() -> None:
    names = np.array(["", "very low", "low", "mid", "high", "very high"], dtype=object)
    matrix = textbook("krippendorff_b")
    words = np.where(np.isnan(matrix), None, names[np.nan_to_num(matrix).astype(int)])
    nominal = krippendorff_alpha(words, interval=False)
    ordinal = krippendorff_alpha(ratings_from_matrix(words, categories=names[1:].tolist()), "ordinal", interval=False)
    # The values in the docstring of krippendorff.alpha, word for word.
    assert nominal.value == pytest.approx(0.743, abs=5e-4)
    assert ordinal.value == pytest.approx(0.815, abs=5e-4)


def test_large_offsets_cost_no_precision() -> None:
    matrix = textbook("krippendorff_b")
    expected = krippendorff_alpha(matrix, "interval", interval=False).value
    assert krippendorff_alpha(matrix + 1e9, "interval", interval=False).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_full_agreement_is_one(level: Any) -> None:
    assert krippendorff_alpha([[1, 1], [2.5, 2.5], [7, 7]], level, interval=False).value == 1  # type: ignore[arg-type]


# --- intervals


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """One-way normal data: α at interval level estimates the intraclass correlation, here 0.5."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(100, 1)) + rng.normal(size=(100, 4))
        estimate = krippendorff_alpha(scores, "interval", raters="these")
        covered += estimate.low <= 0.5 <= estimate.high
    # 95% of 200 is 190; below 178 (89%) or above 199 would be a wrong interval, not chance (p < 0.001).
    assert 178 <= covered <= 199


# --- what is undefined


def test_units_with_one_rating_do_not_enter_and_are_counted() -> None:
    estimate = krippendorff_alpha([[1, 1, 2], [2, NAN, 2], [3, NAN, NAN], [NAN] * 3])  # type: ignore[arg-type]
    assert estimate.n == 2
    assert "of 4 units, 2 with fewer than 2 ratings" in estimate.note


def test_without_variation_it_is_undefined_with_a_reason() -> None:
    estimate = krippendorff_alpha([[3, 3], [3, 3], [3, NAN]])  # type: ignore[arg-type]
    assert math.isnan(estimate.value)
    assert math.isnan(estimate.low)
    assert "same value" in estimate.note
    # 4 is never paired, so it does not count as variation.
    assert math.isnan(krippendorff_alpha([[3, 3], [3, 3], [4, NAN]]).value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (np.empty((0, 3)), {}, "no ratings"),
        (np.full((3, 3), NAN), {}, "no ratings"),
        ([[1], [2], [3]], {}, "only one rater"),
        ([[1, NAN], [NAN, 2]], {}, "no unit has two ratings"),
        ([[1, 2], [-1, 2]], {"level": "ratio"}, "0 or more"),
        ([["a", "b"], ["a", "a"]], {"level": "interval"}, "text"),
        ([["a", "b"], ["a", "a"]], {"level": "ordinal"}, "categories in their order"),
        ([[1, 2]], {"level": "metric"}, "nominal, ordinal, interval, ratio"),
        ([[1, 2]], {"raters": "items"}, '"any" or "these"'),
        ([[1, 2]], {"confidence": 95}, "between 0 and 1"),
        ([1, 2, 3], {}, "two dimensions"),
        ([[1, math.inf]], {}, "infinite"),
    ],
)
def test_degenerate_input_is_refused(data: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        krippendorff_alpha(data, **options)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_of_both_orders_is_that_of_units_in_either_order(level: Any) -> None:
    """Values −2 … 2; the krippendorff package on every unit twice, once with turned signs. No order matters."""
    rng = np.random.default_rng(4)
    table = np.clip(np.round(rng.normal(0.7, 1, (25, 1)) + rng.normal(0, 1, (25, 6))), -2, 2)
    table[0, 0], table[1, 0] = -2, 2
    units, raters = (index.ravel() for index in np.indices(table.shape))
    ratings = ratings_from_arrays(units, raters, table.ravel())
    turned = table * np.where(np.arange(25) % 2, -1, 1)[:, None]
    turned_ratings = ratings_from_arrays(units, raters, turned.ravel())
    found = krippendorff_alpha(ratings, level, both_orders=True)
    reference = krippendorff.alpha(np.vstack([table, -table]).T, level_of_measurement=level)
    assert found.value == pytest.approx(reference, rel=1e-9)
    again = krippendorff_alpha(turned_ratings, level, both_orders=True)
    assert (again.value, again.low, again.high) == pytest.approx((found.value, found.low, found.high))
    assert found.n == 25
