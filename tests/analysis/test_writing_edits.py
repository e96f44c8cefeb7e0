"""Edits of suggestions: distances as NLTK computes them, USER worked out by hand, Mann–Whitney by counting pairs."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.metrics.distance import edit_distance, jaccard_distance

from analysis.writing import edit_of, jaccard, levenshtein, mann_whitney, user_score

FEW_LETTERS = st.text(alphabet="abé ", max_size=24)


@settings(max_examples=300, deadline=None)
@given(FEW_LETTERS | st.text(max_size=12), FEW_LETTERS | st.text(max_size=12))
def test_levenshtein_is_nltks(first: str, second: str) -> None:
    assert levenshtein(first, second) == edit_distance(first, second)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("x" * 300, "y" * 299, 300), ("日本", "日曜日", 2)],
)
def test_levenshtein_by_hand(first: str, second: str, distance: int) -> None:
    assert levenshtein(first, second) == levenshtein(second, first) == distance


@settings(max_examples=100, deadline=None)
@given(FEW_LETTERS, FEW_LETTERS)
def test_jaccard_is_nltks(first: str, second: str) -> None:
    left, right = set(first.split()), set(second.split())
    if not left | right:
        assert math.isnan(jaccard(first, second))
    else:
        assert jaccard(first, second) == pytest.approx(100 * (1 - jaccard_distance(left, right)))


def test_jaccard_keeps_case_and_punctuation() -> None:
    # {The, old, piano.} and {the, old, piano}: one of five.
    assert jaccard("The old old piano.", "the old piano") == pytest.approx(20)


@pytest.mark.parametrize(
    ("suggested", "submitted", "score"),
    [
        # Identical: all 4 tokens match, 2·4/(4 + 4).
        ("The old piano played.", "The old piano played.", 100),
        # Case and punctuation do not count.
        ("The old piano played.", "the OLD piano, played!", 100),
        # One side empty, then both.
        ("The old piano", "", 0),
        ("", "?!", math.nan),
        # Only stop words in common: the block “it was the” has no other word, so nothing counts.
        ("It was the piano", "It was the letter", 0),
        # Stop words beside another word count with it: block “the old piano”, 2·3/(3 + 4).
        ("the old piano", "the old piano slept", 100 * 6 / 7),
        # Reordered halves: only one block of three can match in order, 2·3/(6 + 6).
        ("red green blue black white grey", "black white grey red green blue", 50),
        # Two blocks around a replaced word: 2 + 2 of 5 and 5.
        ("old piano stood near windows", "old piano slept near windows", 80),
        # The block of stop words in between does not count, the two others do: 1 + 1 of 4 and 6.
        ("piano in the garden", "piano quietly in the dark garden", 100 * 4 / 10),
        # Nothing in common.
        ("piano garden", "letter river", 0),
    ],
)
def test_user_by_hand(suggested: str, submitted: str, score: float) -> None:
    assert user_score(suggested, submitted) == pytest.approx(score, nan_ok=True)


def test_frequent_words_of_long_texts_are_not_ignored() -> None:
    """``difflib`` by itself ignores elements in more than 1% of texts of 200 elements or more."""
    assert user_score("letter " + "piano " * 250, "piano " * 250) == pytest.approx(200 * 250 / 501)


def test_one_edit_has_all_measures() -> None:
    found = edit_of("old piano", "old pianos")
    # One character; {old} of {old, piano, pianos}; 1 of 2 and 2 tokens.
    assert (found.levenshtein, found.jaccard, found.user) == pytest.approx((1, 100 / 3, 50))


def test_mann_whitney_counts_pairs() -> None:
    first, second = [1.0, 4.0, 6.0, math.nan], [2.0, 4.0, 5.0, 7.0]
    found = mann_whitney(first, second)

    u = sum((a > b) + (a == b) / 2 for a, b in product([1.0, 4.0, 6.0], second))
    assert (found.u, found.above, found.n_first, found.n_second) == (u, u / 12, 3, 4)
    # Without ties the p is exact: of the 20 ways to choose three ranks of six, two are as extreme as 1, 2, 3.
    assert mann_whitney([1, 2, 3], [4, 5, 6]).p == pytest.approx(2 / 20)
    assert mann_whitney([1, 1], [1, 1]).p == 1
    with pytest.raises(ValueError, match="need a value"):
        mann_whitney([math.nan], [1.0])
