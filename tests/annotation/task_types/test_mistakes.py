"""Mistakes in a new type: the suite and the reader of examples say what is wrong and how to fix it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.description import ReportSection, Score
from annotation.task_types.base import Text
from annotation.task_types.examples import examples_in
from annotation.task_types.items import Json
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.likert.likert import Likert
from annotation.task_types.questions import Question
from tests.annotation.task_types import suite, walking

CONFIG = walking.initial_config(Likert())
EXAMPLE = next(example for example in Likert.examples() if example.ratings)


def scoring(topic: str) -> Likert:
    class Wrong(Likert):
        def scores(self, config: Json) -> Sequence[Score]:
            return [Score(topic, "Score")]

    return Wrong()


def reporting(name: str, **parameters: Any) -> Likert:
    class Wrong(Likert):
        def sections(self, config: Json) -> Sequence[ReportSection]:
            return [ReportSection(name, parameters)]

    return Wrong()


class AsksForAnotherText(Likert):
    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        return [TextQuestion("why", texts["qestion"], "why")]


class ListsATextTooMany(Likert):
    def texts(self, config: Json) -> Sequence[Text]:
        return [*super().texts(config), Text("hint", "Hint", "Look closely.")]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (scoring("relevence"), r"^scores\(\) names the topic “relevence”, which no question .*topics: creative, coher"),
        (reporting("scale"), r"^the report has no section “scale” of sections\(\); sections: diversity, scales, "),
        (reporting("scales", topic=["liked"]), r"^section “scales” .* takes no topic; parameters: topics, by"),
        (reporting("scales", topics=["novel"]), r"^section “scales” .* names the topic “novel”, which no question"),
        (AsksForAnotherText(), r"^texts\(\) lists no “qestion”; names: instructions, title,"),
    ],
)
def test_wrong_name_is_refused_with_the_known_ones(task: Likert, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        suite.check_words(task, CONFIG)


def test_text_that_no_page_shows_is_named() -> None:
    with pytest.raises(AssertionError, match=r"^texts\(\) lists what no page of any example shows: hint\. Show it"):
        suite.check_texts_are_shown(ListsATextTooMany(), [EXAMPLE])


def test_wrong_ratings_are_shown_beside_the_right_ones() -> None:
    with pytest.raises(AssertionError, match="At index 0 diff"):
        suite.check_valid(Likert(), replace(EXAMPLE, ratings=[["another", *EXAMPLE.ratings[0][1:]]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- name: a\n  rows: [{id: a, text: So: well}]", r"line 2: this is not YAML .* needs quotes"),
        ("- name: a\n  rows:\n    - {id: a, text: So, well}", "line 3: “well” in “rows” has no text as its value"),
        ("- name: a\n  rows: [{id: a}]\n  posts:\n    - {q: 5}", "line 4: “q” in “posts” has no text as its value"),
        ("- name: a\n  rows: [{id: a}]\n  rating: []", "line 3: “rating” is not part of an example; use name, rows, "),
        ("- name: a\n  rows: [{id: a}]\n- name: b", "line 3: this example has no “rows”"),
        ("- name: a\n  rows: {id: a}", "line 2: “rows” is a list of records"),
        ("name: a", "line 1: examples are a list"),
        ("- name: a\n  rows: [{id: \a}]", "line 2: special characters are not allowed"),
    ],
)
def test_mistake_in_the_examples_is_reported_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^relevance.yaml, {message}"):
        examples_in(text, "relevance.yaml")
