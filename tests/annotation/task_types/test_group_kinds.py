"""Matrices, several texts, statements to confirm and rankings: what is an answer, what is stored, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotation.task_types.described_questions import Described, DescribedQuestionsField, Record, build
from annotation.task_types.kinds.ranking import RankingQuestion
from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.questionnaires import Questionnaires
from annotation.task_types.questions import AnswerError, Group, Question
from annotation.work.quality_rules import initial_values
from tests.annotation.questionnaire_helpers import stored
from tests.annotation.task_types.test_measuring_kinds import asked, refused

ROWS = [
    {"key": "fluent", "label": "Fluency", "points": 7, "low_label": "Broken", "high_label": "Perfect"},
    {"key": "facts", "label": "Facts", "first": 0, "labels": ["Wrong", "Partly", "Right"]},
    {"key": "fun", "label": "How funny?"},
]
TEXTS = [{"key": "best", "label": "Best", "min_words": 2}, {"key": "other", "label": "Other", "optional": True}]
STATEMENTS = [{"key": "adult", "label": "I am over 18."}, {"key": "news", "label": "Write to me.", "optional": True}]
OPTIONS = [{"key": key, "label": key.upper()} for key in "abcd"]
TWO = [{"key": "a", "label": "A"}, {"key": "b", "label": "B"}]


def cleaned(kind: str, **settings: Any) -> Record:
    return DescribedQuestionsField().clean([{"kind": kind, "topic": "q", "question": "How good?", **settings}])[0]


def group(kind: str, **settings: Any) -> Described:
    return build(cleaned(kind, **settings))


# --- matrices ---


def test_each_row_of_a_matrix_is_a_question_with_a_scale_of_its_own() -> None:
    matrix = group("matrix", rows=ROWS)
    assert isinstance(matrix, Group)
    fluent, facts, fun = matrix.questions
    assert [question.topic for question in matrix.questions] == ["q_fluent", "q_facts", "q_fun"]
    assert [(point.value, point.label) for point in fluent.scale.points if point.label] == [
        (1, "Broken"),
        (7, "Perfect"),
    ]
    assert [point.text for point in facts.scale.points] == ["0 Wrong", "1 Partly", "2 Right"]
    assert [point.value for point in fun.scale.points] == [1, 2, 3, 4, 5]
    assert fluent.describe().label == "How good? Fluency"
    assert (score := fluent.score()) is not None
    assert score.title == "Fluency"


def test_a_clean_matrix_stays_the_same() -> None:
    record = cleaned("matrix", rows=ROWS)
    assert DescribedQuestionsField().clean([record]) == [record]
    assert record["rows"][1]["labels"] == "Wrong | Partly | Right"


def test_a_row_about_a_part_has_its_own_field_and_target() -> None:
    record = cleaned("matrix", rows=ROWS, required=False)
    row = build(record, target="2/mt", key=lambda topic: f"{topic}-2-mt").questions[0]
    assert (row.key, row.topic, row.target, row.required) == ("q_fluent-2-mt", "q_fluent", "2/mt", False)


def test_every_problem_of_a_matrix_is_named_at_once() -> None:
    rows: list[Any] = [
        {"key": "A b", "label": "A", "points": 1},
        {"key": "b", "label": ""},
        {"key": "c", "label": "C", "points": 4, "labels": ["x", "y", "x"]},
        {"key": "c", "label": "D", "labels": "x | y", "low_label": "low", "first": "one"},
        {"key": "e", "label": "E", "steps": 3},
        "five",
    ]
    assert refused("matrix", rows=rows) == [
        "rows: Entry 1, key: “A b” must begin with a letter and hold only a–z, 0–9 and _.",
        "rows: Entry 1, points: “1” is not a whole number from 2 to 21.",
        "rows: Entry 2, label is empty.",
        "rows: Entry 3, labels: there are 3 for 4 points. Give one for every point, or none.",
        "rows: Entry 3, labels: “x” is in the list twice.",
        "rows: Entry 4, key: “c” is in the list twice.",
        "rows: Entry 4, first: “one” is not a number.",
        "rows: Entry 4, labels: they name every point. Leave out low_label and high_label.",
        "rows: Entry 5 has an unknown name “steps”.",
        "rows: Entry 6 is not a record with key, label, points, first, low_label, high_label, labels, help.",
    ]


@pytest.mark.parametrize("rows", [[], "", {"key": "a"}])
def test_a_matrix_has_rows(rows: Any) -> None:
    assert refused("matrix", rows=rows)[0].startswith("rows: ")


def matrix_and(*rows: Record) -> list[str]:
    matrix = {"kind": "matrix", "topic": "q", "question": "How good?", "rows": ROWS}
    with pytest.raises(ValidationError) as raised:
        DescribedQuestionsField().clean([matrix, *rows])
    return raised.value.messages


def test_topics_of_rows_are_those_of_no_other_question() -> None:
    scale = {"kind": "scale", "topic": "q_fun", "question": "?"}
    long = {"kind": "matrix", "topic": "q" * 30, "question": "?", "rows": [{"key": "k" * 20, "label": "K"}]}
    assert matrix_and(scale, long) == [
        "Question 2 (q_fun): topic: “q_fun” is used twice.",
        f"Question 3 ({'q' * 30}): topic: “{'q' * 30}_{'k' * 20}” is longer than 40 characters. Shorten one.",
    ]


def test_a_condition_names_a_row() -> None:
    text = {"kind": "text", "topic": "why", "question": "Why?"}
    assert matrix_and(text | {"shown_if": {"q": [1]}}) == [
        "Question 2 (why): shown_if: “q” asks several questions. Name one of them: q_fluent, q_facts, q_fun."
    ]
    assert matrix_and(text | {"shown_if": {"q_facts": [3]}}) == [
        "Question 2 (why): shown_if: “3” is not an answer to “q_facts”. Its answers are 0, 1, 2."
    ]


# --- several texts ---


def test_each_field_is_a_text_with_limits_of_its_own() -> None:
    best, other = group("fields", texts=TEXTS).questions
    with pytest.raises(AnswerError, match="at least 2 words"):
        best.clean({"q_best": "one"})
    assert best.clean({"q_best": "two words"}) == "two words"
    assert other.clean({}) is None
    assert best.writes
    assert best.describe().bounds == {"min_words": 2}


def test_every_problem_of_the_fields_is_named_at_once() -> None:
    texts: list[Any] = [
        {"key": "a", "label": "A", "min_words": 5, "max_words": 2, "rows": 99},
        {"key": "b", "label": "B", "max_chars": 30_000, "optional": "perhaps"},
        {"key": "c", "label": "C", "min_chars": -1},
    ]
    assert refused("fields", texts=texts) == [
        "texts: Entry 1, rows: “99” is not a whole number from 1 to 30.",
        "texts: Entry 1, min_words: 5 is more than max_words, 2. Lower it.",
        "texts: Entry 2, optional: “perhaps” is not one of yes.",
        "texts: Entry 2, max_chars: “30000” is not a whole number from 1 to 20,000.",
        "texts: Entry 3, min_chars: “-1” is not a whole number from 0 to 20,000.",
    ]


# --- statements to confirm ---


def test_what_was_ticked_is_stored_with_its_words() -> None:
    confirm = asked("confirm", statements=STATEMENTS)
    ticked = confirm.clean({"q.adult": "yes"})
    assert [(row.target, row.value, row.text) for row in confirm.stored(ticked)] == [
        ("adult", 1.0, "I am over 18."),
        ("news", 0.0, ""),
    ]


def test_statements_that_are_needed_must_be_ticked() -> None:
    with pytest.raises(AnswerError, match="every statement that is not optional"):
        asked("confirm", statements=STATEMENTS).clean({"q.news": "yes"})
    assert asked("confirm", statements=STATEMENTS, required=False).clean({}) == []
    assert asked("confirm", statements=[STATEMENTS[1]]).clean({}) == []


def test_statements_with_one_name_are_refused() -> None:
    assert refused("confirm", statements=[STATEMENTS[0], STATEMENTS[0]]) == [
        "statements: Entry 2, key: “adult” is in the list twice."
    ]


# --- rankings ---


def ranks(question: Question, **given: str) -> dict[str, float | None]:
    answer = question.clean({f"q.{key}": rank for key, rank in given.items()})
    assert question.clean(question.typed(answer)) == answer
    return {row.target: row.value for row in question.stored(answer)}


def test_options_in_one_place_share_the_mean_of_their_ranks() -> None:
    """Kendall's convention, by hand: ranks 1, (2 + 3) / 2 twice and 4; or (1 + 2 + 3) / 3 three times and 4."""
    ranking = asked("ranking", options=OPTIONS, ties=True)
    assert ranks(ranking, a="2", b="1", c="2", d="3") == {"b": 1, "a": 2.5, "c": 2.5, "d": 4}
    assert ranks(ranking, a="1", b="1", c="1", d="4") == {"a": 2, "b": 2, "c": 2, "d": 4}
    assert {2.5, 4.0} <= {point.value for point in ranking.stored_on.points}
    assert ranking.in_words(["b", "a=c", "d"]) == "B > A = C > D"


@pytest.mark.parametrize("rank", ["", "0", "5", "1.5", "first"])
def test_a_rank_is_one_of_those_shown(rank: str) -> None:
    with pytest.raises(AnswerError, match="a rank from 1 to 4"):
        ranks(asked("ranking", options=OPTIONS, ties=True), a="1", b="1", c="2", d=rank)


def test_the_right_order_is_the_same_order() -> None:
    ranking = asked("ranking", options=OPTIONS, ties=True)
    assert ranking.agrees(["a=b", "c", "d"], ["b=a", "c", "d"])
    assert not ranking.agrees(["b", "a", "c", "d"], ["a", "b", "c", "d"])


def test_a_ranking_without_options_is_of_the_texts() -> None:
    ranking = asked("ranking").of_item({"text_b": "Two.", "text_a": "One."})
    assert isinstance(ranking, RankingQuestion)
    assert [option.key for option in ranking.options] == ["text_b", "text_a"]
    assert ranking.shows_text
    assert (score := ranking.score()) is not None
    assert (score.sign, score.over) == (-1, "part")
    assert asked("ranking", options=TWO).score() is None


def test_one_option_has_no_order() -> None:
    assert refused("ranking", options=TWO[:1]) == ["options: One option has no order. Name at least two."]


# --- around the tasks ---

MATRIX = {"kind": "matrix", "topic": "q", "question": "How well do you read?", "rows": ROWS}


def test_a_row_can_screen_out() -> None:
    asked_around = Questionnaires.of(stored(before=[MATRIX], screen_out={"q_facts": ["Wrong"]}), "en")
    assert [question.topic for question in asked_around.questions("before")] == ["q_fluent", "q_facts", "q_fun"]
    assert asked_around.screens_out({"q_facts": 0.0})
    assert not asked_around.screens_out({"q_facts": 1.0})
    assert asked_around.page("before").styles == ["matrix.css"]


def test_a_comprehension_check_asks_one_question_at_a_time() -> None:
    form = QuestionnairesForm(initial_values(QuestionnairesForm) | {"comprehension": [MATRIX | {"right": 1}]})
    assert form.errors["comprehension"] == ["Question 1 (q): matrix asks several questions. Ask each by itself."]
