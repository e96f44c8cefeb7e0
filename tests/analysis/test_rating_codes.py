"""Columns of ratings as codes, and what is counted with them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.rating_codes import Coded, RatingCodes, first_places, repeated_ratings, submissions_by_item

#: The worker of submissions 3 and 5 is the same: they rated item a twice, and the gold item g, which may be repeated.
ROWS = [
    (5, "a"), (5, "a"), (5, "g"),
    (3, "a"), (3, "b"), (3, "g"),
    (4, "a"), (4, ""), (5, "a"),
]  # fmt: skip
WORKERS = np.array([0, 0, 0, 0, 0, 0, 1, 1, 0])
FRAME = pd.DataFrame(ROWS, columns=["submission", "item"])


def test_only_ratings_of_a_main_item_in_a_later_submission_are_repeated() -> None:
    repeated = repeated_ratings(RatingCodes(FRAME), WORKERS, pd.Series(["a", "b"]))

    assert np.flatnonzero(repeated).tolist() == [0, 1, 8]


def test_a_submission_counts_once_for_an_item_wherever_its_ratings_are() -> None:
    assert submissions_by_item(RatingCodes(FRAME)) == {"a": 3, "g": 2, "b": 1, "": 1}


def test_codes_of_some_rows_are_those_of_the_shorter_column() -> None:
    keep = np.array([False, False, True, False, True, True, True, True, False])
    codes = RatingCodes(FRAME)
    codes.of("item")

    some = codes.chosen(keep, FRAME[keep]).of("item")

    assert some.names.tolist() == ["g", "b", "a", ""]
    assert some.codes.tolist() == [0, 1, 0, 2, 3]


def test_names_that_are_looked_for_are_those_of_the_column() -> None:
    assert Coded.of(FRAME["submission"]).is_one_of(pd.Series([3, 9])).tolist() == [s == 3 for s, _ in ROWS]


def test_no_rows() -> None:
    empty = RatingCodes(FRAME[:0])

    assert not len(repeated_ratings(empty, WORKERS[:0], pd.Series(["a"])))
    assert submissions_by_item(empty) == {}


def test_the_first_row_of_each_code() -> None:
    assert first_places(np.array([0, 1, 0, 2, 1]), 3).tolist() == [0, 1, 3]
