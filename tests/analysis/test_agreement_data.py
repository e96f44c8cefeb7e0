"""Converters: what goes in comes out, and nothing is dropped silently."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from analysis.agreement import counts_from_table, ratings_from_arrays, ratings_from_frame, ratings_from_matrix
from analysis.agreement.ratings import as_ratings

NAN = math.nan


def test_a_matrix_comes_back_with_its_gaps() -> None:
    matrix = np.array([[1.0, NAN, 3.0], [NAN, NAN, NAN], [2.0, 2.0, NAN]])
    ratings = ratings_from_matrix(matrix)
    np.testing.assert_array_equal(ratings.matrix(), matrix)
    assert ratings.missing == 5
    assert ratings.per_unit.tolist() == [2, 0, 2]
    assert ratings.counts().table.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 2, 0]]


def test_a_long_frame_gives_the_same_as_the_matrix_it_was_made_from() -> None:
    matrix = np.random.default_rng(0).integers(1, 6, (20, 4)).astype(float)
    matrix[np.random.default_rng(1).random(matrix.shape) < 0.3] = NAN
    frame = pd.DataFrame(matrix).melt(var_name="worker", value_name="score", ignore_index=False)
    frame = frame.rename_axis("item").reset_index()
    frame = frame.sample(frac=1, random_state=2)
    ratings = ratings_from_frame(frame, unit="item", rater="worker", value="score")
    np.testing.assert_array_equal(ratings.matrix(), matrix)


def test_rows_without_a_value_are_counted_and_their_unit_is_kept() -> None:
    ratings = ratings_from_arrays(["a", "a", "b"], ["x", "y", "x"], np.array(["yes", None, None], dtype=object))
    assert ratings.missing == 2
    assert ratings.units.tolist() == ["a", "b"]
    assert ratings.per_unit.tolist() == [1, 0]


def test_categories_give_text_its_order() -> None:
    ratings = ratings_from_arrays([1, 1], ["x", "y"], ["mid", "low"], categories=["low", "mid", "high"])
    assert ratings.values.tolist() == ["low", "mid", "high"]
    assert ratings.code.tolist() == [1, 0]


@pytest.mark.parametrize("labels", [[3, 1, 2], ["c", "a", "b"]])
def test_labels_are_sorted_whatever_their_type(labels: Any) -> None:
    assert ratings_from_arrays(labels, labels, labels).units.tolist() == sorted(labels)


def test_a_repeated_pair_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"more than one rating: \(doc7, ann\)"):
        ratings_from_arrays(["doc1", "doc7", "doc7"], ["ann", "ann", "ann"], [1, 2, 2])


def test_many_repeated_pairs_are_counted() -> None:
    with pytest.raises(ValueError, match="and 2 more"):
        ratings_from_arrays(list(range(7)) * 2, ["ann"] * 14, [1] * 14)


def test_repeats_can_be_kept() -> None:
    assert ratings_from_arrays([1, 1], ["ann", "ann"], [1, 2], repeats=True).per_unit.tolist() == [2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["x", "y"], [1, 2]), "of equal length"),
        (([None, "a"], ["x", "y"], [1, 2]), "a unit is missing in row 1"),
        ((["a", "a"], ["x", None], [1, 2]), "a rater is missing in row 2"),
        ((["a", "a"], ["x", "y"], [1, math.inf]), "infinite"),
        ((["a", "a"], ["x", "y"], np.array([1, "no"], dtype=object)), "all numbers or all text"),
    ],
)
def test_input_that_cannot_be_read_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ratings_from_arrays(*arguments)


def test_values_outside_the_categories_are_named() -> None:
    with pytest.raises(ValueError, match=r"not among the categories: 9\.0"):
        ratings_from_arrays([1, 1], [1, 2], [3, 9], categories=[1, 2, 3])


def test_a_missing_column_is_named_with_the_existing_ones() -> None:
    with pytest.raises(KeyError, match="the columns are unit, rater"):
        ratings_from_frame(pd.DataFrame({"unit": [1], "rater": [1]}))


def test_a_frame_is_not_mistaken_for_a_matrix() -> None:
    with pytest.raises(ValueError, match="ratings_from_frame"):
        as_ratings(pd.DataFrame({"unit": [1], "rater": [1], "value": [1]}))


@pytest.mark.parametrize(
    ("table", "values", "message"),
    [
        ([[1, -1]], None, "0 or more"),
        ([[1, 0.5]], None, "whole numbers"),
        ([[1, 1]], [1, 2, 3], "one value per column"),
        ([[1, 1]], [2, 1], "ascending"),
        ([[1, 1]], ["a", "a"], "must differ"),
    ],
)
def test_tables_that_are_not_counts_are_refused(table: Any, values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        counts_from_table(table, values)


def test_sparse_tables_are_read_too() -> None:
    counts = counts_from_table(sparse.csr_array(np.array([[2, 0], [1, 1]])), [1, 5])
    assert counts.ratings.tolist() == [2, 2]


def test_a_crowd_is_never_made_dense() -> None:
    many = np.arange(100_000)
    ratings = ratings_from_arrays(many, many % 2_000, np.ones(100_000))
    with pytest.raises(ValueError, match="too many for a dense matrix"):
        ratings.matrix()
