"""Diversity Threshold Generation on sets worked out by hand. The metric is the number of different words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from generation.diversify.threshold import diversify


def words(texts: Iterable[str]) -> float:
    return float(len({word for text in texts for word in text.split()}))


def drawing(*texts: str) -> Callable[[], str | None]:
    rest = iter(texts)
    return lambda: next(rest, None)


def test_a_set_that_is_diverse_enough_is_left_alone() -> None:
    done = diversify(start=["a", "b", "c"], draw=drawing("d"), metric=words, threshold=2)
    assert (done.start, done.end) == (("a", "b", "c"), ("a", "b", "c"))
    assert (done.start_score, done.end_score, done.n_sampled, done.overlap, done.reached) == (3, 3, 3, 3, True)


def test_the_response_that_adds_least_is_dropped() -> None:
    # Without "a": {a b, c} has 3 words; without "a b": 2; without "c": 2. So "a" goes, and "d e" makes five words.
    done = diversify(start=["a", "a b", "c"], draw=drawing("d e"), metric=words, threshold=4)
    assert done.end == ("a b", "c", "d e")
    assert (done.start_score, done.end_score, done.n_sampled, done.overlap, done.reached) == (3, 5, 4, 2, True)


def test_the_first_of_equal_responses_is_dropped() -> None:
    done = diversify(start=["a", "a", "a"], draw=drawing("b", "c"), metric=words, threshold=1)
    assert done.end == ("a", "a", "b")
    assert done.overlap == 2


def test_a_drawn_response_may_go_again() -> None:
    # {a, a, b c} lacks one word; "a" comes, the first "a" goes … until "d" comes.
    done = diversify(start=["a", "a", "b c"], draw=drawing("a", "a", "d"), metric=words, threshold=3)
    assert done.reached
    assert done.n_sampled == 6
    assert sorted(done.end) == ["a", "b c", "d"]
    assert done.overlap == 1


def test_a_set_at_the_threshold_is_not_above_it() -> None:
    diversified = diversify(start=["a", "b", "b"], draw=drawing("c"), metric=words, threshold=2)
    assert (diversified.start_score, diversified.n_sampled, diversified.end_score, diversified.reached) == (
        2,
        4,
        3,
        True,
    )
    never = diversify(start=["a", "b", "c"], draw=drawing("d"), metric=words, threshold=3)
    assert (never.n_sampled, never.end_score, never.reached) == (4, 3, False)


def test_one_metric_may_drop_responses_and_another_stop() -> None:
    """The published rule for NLI diversity: its score decides which response goes, contradictions when to stop."""
    characters = lambda texts: float(sum(map(len, texts)))  # noqa: E731
    done = diversify(start=["a", "bb", "b"], draw=drawing("c d e"), metric=characters, stop=words, threshold=4)
    # By characters the first "a" goes; by words {bb, b, c d e} has 5, which is above 4.
    assert done.end == ("bb", "b", "c d e")
    assert (done.start_score, done.end_score, done.start_stop, done.end_stop) == (4, 8, 3, 5)
    assert done.reached


def test_the_places_say_when_each_response_was_drawn() -> None:
    done = diversify(start=["a", "a", "b"], draw=drawing("a", "c"), metric=words, threshold=2)
    assert (done.end, done.places) == (("b", "a", "c"), (2, 3, 4))


def test_it_stops_at_the_most_responses_in_all() -> None:
    drawn: list[str] = []

    def draw() -> str:
        drawn.append("a")
        return "a"

    done = diversify(start=["a"] * 5, draw=draw, metric=words, threshold=2)
    assert (done.n_sampled, len(drawn), done.reached, done.end_score) == (20, 15, False, 1)


def test_it_stops_when_there_are_no_more() -> None:
    done = diversify(start=["a", "a", "a"], draw=drawing("a"), metric=words, threshold=2)
    assert (done.n_sampled, done.reached) == (4, False)


@pytest.mark.parametrize(
    ("start", "threshold", "most", "part"),
    [
        (["a", "b"], 1.0, 20, "at least 3 responses"),
        (["a", "b", "c"], math.nan, 20, "finite"),
        (["a", "b", "c"], 1.0, 2, "2 responses in total are fewer than the 3 of a set"),
    ],
)
def test_invalid_arguments_are_refused(start: list[str], threshold: float, most: int, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        diversify(start=start, draw=drawing(), metric=words, threshold=threshold, most_sampled=most)


@pytest.mark.parametrize(
    ("metric", "part"),
    [
        (lambda: 1.0, "The metric failed for the set .*TypeError.*function from a list of texts to a number"),
        (lambda texts: texts[0], "could not convert string to float"),
        (lambda texts: None, "The metric failed"),
        (lambda texts: texts[99], "IndexError"),
    ],
)
def test_an_unknown_metric_is_reported(metric: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        diversify(start=["a", "b", "c"], draw=drawing(), metric=metric, threshold=1.0)


def test_a_metric_without_a_value_is_reported() -> None:
    with pytest.raises(ValueError, match="gives nan"):
        diversify(start=["a", "b", "c"], draw=drawing(), metric=lambda _: math.nan, threshold=1.0)
