"""Metrics and reduction: hand counts, SciPy, and the columns released by Tevet & Berant 2021."""

import csv
import itertools
import math
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cosine

from analysis.diversity.metrics import METRICS, column_of, cos_sim, distinct_n, ngrams, tokens
from analysis.diversity.reduction import reduce_matrix, reduce_pairs

# The example set at the foot of the authors' diversity_metrics.py; the figures below are counted by hand.
EXAMPLE = ["i am going", "i am going", "lets go i i"]

WORDS = st.lists(st.sampled_from(["a", "b", "A", "a.", "c,"]), max_size=7).map(" ".join)
SETS = st.lists(WORDS, min_size=2, max_size=5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Go home. Now.", ["Go", "home", "Now"]),
        ("a.b", ["ab"]),
        ("one\ntwo", ["onetwo"]),
        ("one\r\ntwo", ["onetwo"]),
        ("  two  spaces ", ["two", "spaces"]),
        ("tab\tstays", ["tab\tstays"]),
        ("Case case", ["Case", "case"]),
        ("wait ... what?!", ["wait", "what?!"]),
        ("", []),
        (" . ", []),
    ],
)
def test_tokens_are_those_of_the_authors(text: str, expected: list[str]) -> None:
    # As published: remove '.' and newlines, split on single spaces, drop empty strings, case kept.
    assert tokens(text) == expected


def test_ngrams_of_a_short_response() -> None:
    assert ngrams(["a", "b"], 2) == [("a", "b")]
    assert ngrams(["a", "b"], 3) == []


@pytest.mark.parametrize(
    ("order", "expected"),
    # 1: 5 of 10 (i am going i am going lets go i i); 2: 5 of 7; 3: 3 of 4; 4: 1 of 1; 5: none.
    [(1, 5 / 10), (2, 5 / 7), (3, 3 / 4), (4, 1.0), (5, 0.0)],
)
def test_distinct_n_by_hand(order: int, expected: float) -> None:
    assert distinct_n(EXAMPLE, n=[order]) == pytest.approx(expected)


def test_distinct_n_averages_orders_one_to_five() -> None:
    assert distinct_n(EXAMPLE) == pytest.approx((5 / 10 + 5 / 7 + 3 / 4 + 1 + 0) / 5)


@pytest.mark.parametrize(
    ("order", "expected"),
    # 1: the first two are the same, each has 2 / (√3 · √6) with the third; 2 and 3: only the first pair shares.
    [(1, -(1 + 2 * 2 / math.sqrt(18)) / 3), (2, -1 / 3), (3, -1 / 3), (4, 0.0), (5, 0.0)],
)
def test_cos_sim_by_hand(order: int, expected: float) -> None:
    assert cos_sim(EXAMPLE, n=[order]) == pytest.approx(expected)


def test_cos_sim_averages_orders_one_to_five() -> None:
    assert cos_sim(EXAMPLE) == pytest.approx(-((1 + 4 / math.sqrt(18)) / 3 + 1 / 3 + 1 / 3) / 5)


def test_a_set_without_ngrams_scores_zero() -> None:
    # As published: a set with no n-grams of that order scores 0; responses that share none have similarity 0.
    assert distinct_n(["", ".", "\n"]) == 0
    assert cos_sim(["", "", ""]) == 0


def test_equal_responses_are_the_least_diverse() -> None:
    same = ["one two three four five"] * 4
    assert cos_sim(same) == pytest.approx(-1)
    assert distinct_n(same) == pytest.approx(1 / 4)


@given(SETS)
@settings(deadline=None)
def test_cos_sim_is_scipys_cosine(responses: list[str]) -> None:
    def similarity(left: str, right: str, order: int) -> float:
        counts = [Counter(ngrams(tokens(text), order)) for text in (left, right)]
        space = sorted(set(counts[0]) | set(counts[1]))
        if not set(counts[0]) & set(counts[1]):
            return 0.0
        return 1 - cosine([counts[0][gram] for gram in space], [counts[1][gram] for gram in space])

    pairs = list(itertools.combinations(responses, 2))
    expected = -np.mean([np.mean([similarity(a, b, order) for a, b in pairs]) for order in range(1, 6)])
    assert cos_sim(responses) == pytest.approx(expected, abs=1e-12)
    reduced = reduce_pairs(responses, lambda a, b: similarity(a, b, 2))
    assert cos_sim(responses, n=[2]) == pytest.approx(reduced, abs=1e-12)


@given(SETS, st.randoms())
def test_metrics_ignore_the_order_of_responses(responses: list[str], random: Random) -> None:
    shuffled = random.sample(responses, len(responses))
    for metric in METRICS.values():
        assert metric(shuffled) == pytest.approx(metric(responses), abs=1e-12)


def test_invalid_sets_are_refused() -> None:
    with pytest.raises(ValueError, match="not one string"):
        distinct_n("a text")
    with pytest.raises(ValueError, match="at least 1 response"):
        distinct_n([])
    with pytest.raises(ValueError, match="at least 2 responses"):
        cos_sim(["alone"])
    with pytest.raises(ValueError, match="1 or more"):
        distinct_n(["a"], n=[0])
    with pytest.raises(ValueError, match="at least one order"):
        cos_sim(["a", "b"], n=[])


def test_reduction_is_minus_the_mean_over_unordered_pairs() -> None:
    # Tevet & Berant 2021, §5: of 3 items the pairs are 12, 13, 23.
    matrix = [[9, 0.2, 0.4], [0.2, 9, 0.9], [0.4, 0.9, 9]]
    assert reduce_matrix(matrix) == pytest.approx(-0.5)
    assert reduce_pairs([0, 1, 2], lambda a, b: matrix[a][b]) == pytest.approx(-0.5)
    assert math.isnan(reduce_matrix([[1, math.nan], [math.nan, 1]]))


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4,), (0, 0)])
def test_reduction_needs_a_square_of_two(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="k × k"):
        reduce_matrix(np.zeros(shape))


def test_reduction_needs_a_pair() -> None:
    with pytest.raises(ValueError, match="at least 2 items"):
        reduce_pairs(["alone"], lambda a, b: 1.0)


def test_columns_are_named_after_metrics() -> None:
    assert [column_of(name) for name in METRICS] == ["metric_distinct_n", "metric_cos_sim"]


@pytest.mark.released
@pytest.mark.parametrize(
    ("name", "column"),
    [("distinct-n", "metric_AveragedDistinctNgrams"), ("cos-sim", "metric_AveragedCosineSimilarity")],
)
def test_all_released_sets_agree_with_their_columns(released: Path, name: str, column: str) -> None:
    worst, sets = 0.0, 0
    for path in sorted((released / "diversity-eval").glob("*/*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                texts = [text for key, text in row.items() if key.startswith("resp_")]
                worst = max(worst, abs(METRICS[name](texts) - float(row[column])))
                sets += 1
    assert sets == 7281
    assert worst < 0.0006
