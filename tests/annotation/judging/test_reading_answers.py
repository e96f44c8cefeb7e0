"""Bad answers of a judge, each with its reason; what is valid has passed a worker's checks."""

from __future__ import annotations

import json

import pytest

from analysis.description import Scale
from annotation.judging.reading_answers import read_answer
from annotation.judging.rendered_page import asked_on
from annotation.task_types.base import Page
from annotation.task_types.kinds.choices.choices import ChoicesQuestion
from annotation.task_types.kinds.number.number import NumberQuestion
from annotation.task_types.kinds.ranking.ranking import RankingQuestion
from annotation.task_types.kinds.scale.scale import ScaleQuestion
from annotation.task_types.kinds.text.text import TextQuestion
from annotation.task_types.questions import Option, ShownIf

FIVE = Scale.numbered("agreement", 5, low="no", high="yes")
OPTIONS = (Option("first_text", "One."), Option("second_text", "Two."))
PAGE = Page(
    "p",
    "Rate",
    "likert/text.html",
    [
        ScaleQuestion("clear", "Clear?", "clear", FIVE),
        TextQuestion("why", "Why?", "why", required=False, min_words=3),
    ],
)


@pytest.mark.parametrize(
    ("raw", "problem", "detail"),
    [
        ("", "empty", "wrote nothing"),
        ("  \n ", "empty", "wrote nothing"),
        ("I would say it is quite clear.", "prose", "It begins: I would say"),
        ('{"q1": 4, "q2": "it is', "broken", "It ends"),
        ('{"q1": 4,', "broken", "It ends"),
        ('{"q1": NaN}', "broken", "It ends"),
        ('{"q1": 1e999}', "off", "not a number"),
        ('{"q1": 11}', "off", "“11” is not one of the answers"),
        ('{"q1": 4.5}', "off", "is not one of the answers"),
        ('{"q1": "very"}', "off", 'clear: "very" is no answer. Expected: a number.'),
        ('{"q1": true}', "off", "Expected: a number"),
        ('{"q1": [4]}', "off", "Expected: a number"),
        ('{"clear": 4}', "missing", "Please choose one answer"),
        ('{"q1": null}', "missing", "Please choose one answer"),
        ('{"q1": 4, "q2": "good"}', "off", "at least 3 words"),
        ("[4, 5]", "prose", "It begins: [4, 5]"),
        ("{" * 100_000, "broken", "It ends"),
    ],
)
def test_what_cannot_count_says_why(raw: str, problem: str, detail: str) -> None:
    read = read_answer(raw, PAGE, asked_on(PAGE))
    assert (read.problem, read.answers) == (problem, {})
    assert detail in read.detail


def test_an_answer_that_was_cut_off_is_told_from_a_broken_one() -> None:
    assert read_answer('{"q1": 4, "q2": "it', PAGE, asked_on(PAGE), was_cut=True).problem == "cut"


@pytest.mark.parametrize("raw", ['{"q1": 4}', '```json\n{"q1": "4", "q2": null}\n```', 'Sure! {"q1": 4.0} Bye.'])
def test_json_may_have_words_around_it(raw: str) -> None:
    assert read_answer(raw, PAGE, asked_on(PAGE)).answers == {"clear": 4.0, "why": None}


def test_kinds_read_their_own_form() -> None:
    page = Page(
        "p",
        "Rate",
        "likert/text.html",
        [
            RankingQuestion("order", "Order", "order", options=OPTIONS),
            ChoicesQuestion("both", "Which", "both", options=OPTIONS),
            NumberQuestion("count", "How many", "count", decimals=1, max_value=9),
            ScaleQuestion("more", "More?", "more", FIVE, shown_if=ShownIf("count", (3.0,))),
        ],
    )
    values = {"q1": {"A": 2, "B": 1}, "q2": ["b"], "q3": 2.5, "q4": 1}
    answers = read_answer(json.dumps(values), page, asked_on(page)).answers
    assert answers == {
        "order": ["second_text", "first_text"],
        "both": ["second_text"],
        "count": 2.5,
        "more": None,  # its condition does not hold, so what the judge says about it does not count
    }
    for name, value in {"q1": {"A": 1, "B": 1}, "q2": "B", "q3": 2.55, "q4": 1}.items():
        wrong = read_answer(json.dumps(values | {name: value}), page, asked_on(page))
        assert wrong.problem == ("" if name == "q4" else "off")
