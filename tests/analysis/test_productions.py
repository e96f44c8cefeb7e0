"""Sets that workers wrote: counted by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis.diversity.metrics import distinct_n, normal_form, set_diversity
from analysis.estimate import Estimate
from analysis.report.sections.productions import difference_in_words
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import WRITTEN, study_data

HIGH = ["Go home now.", "Ask a friend", "Never mind that"]
LOW = ["Go home now", "go home NOW!", "Head home"]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("Go home!", "go  home", True),
        ("Don’t", "don't", True),
        ("ﬁne", "fine", True),
        ("go home", "gohome", False),
        ("one", "two", False),
    ],
)
def test_texts_are_the_same_but_for_case_spacing_and_punctuation(left: str, right: str, same: bool) -> None:
    assert (normal_form(left) == normal_form(right)) is same


def test_one_text_has_no_diversity() -> None:
    assert math.isnan(set_diversity(["alone"]))
    assert set_diversity(HIGH) == distinct_n(HIGH)


def test_the_section_by_hand(tmp_path: Path) -> None:
    texts = {("c", "anna"): {"high": HIGH, "low": LOW}, ("d", "ben"): {"high": ["a b", "c d"], "low": ["a b", "a b"]}}
    data = study_data(["c", "d"], texts=texts, **WRITTEN)

    page, sections = built(data, tmp_path)

    found = sections["productions"]
    assert found["sets"]["high"] == {
        "sets": 2, "texts": 5, "words_mean": pytest.approx((9 + 4) / 5), "words_median": 3.0,
        "different_texts": 5, "sets_all_different": 2,
    }  # fmt: skip
    assert (found["sets"]["low"]["different_texts"], found["sets"]["low"]["sets_all_different"]) == (3, 0)
    # Ben: orders 1 and 2 have n-grams, the other three count 0: high 1 and 1, low 1/2 and 1/2.
    ben = (2 / 5, 1 / 5)
    anna = (distinct_n(HIGH), distinct_n(LOW))
    assert found["distinct_n"]["high"]["value"] == pytest.approx((ben[0] + anna[0]) / 2)
    assert found["difference"]["value"] == pytest.approx((ben[0] - ben[1] + anna[0] - anna[1]) / 2)
    assert (found["difference"]["n"], found["difference"]["n_of"]) == (2, "sets")
    assert unknown_numbers(Page(page), sections) == []


def test_the_larger_diversity_comes_first_and_a_missing_interval_has_its_reason() -> None:
    few = Estimate(-0.25, note="an interval needs at least 5 writers, and there is only 1")
    assert difference_in_words("high", "low", few) == (
        "Sets called low have a distinct-n 0.25 larger than those called high, by the same writers. "
        "There is no interval: an interval needs at least 5 writers, and there is only 1."
    )
    wide = Estimate(0.25, -0.125, 0.625)
    sentence = (
        "Sets called high have a distinct-n 0.25 [−0.12, 0.62] larger than those called low, by the same writers."
    )
    assert difference_in_words("high", "low", wide) == sentence


def test_one_kind_of_set_alone_has_no_difference(tmp_path: Path) -> None:
    page, sections = built(study_data(["c"], texts={("c", "anna"): {"high": HIGH}}, **WRITTEN), tmp_path)

    assert "difference" not in sections["productions"]
    assert "Nobody has written anything yet for: low." in page
    assert sections["productions"]["distinct_n"]["high"]["low"] is None  # a single writer
