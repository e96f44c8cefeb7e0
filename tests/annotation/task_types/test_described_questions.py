"""Questions that a study file describes: every problem is named at once, and a clean record makes its question."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotation.task_types.described_questions import DescribedQuestionsField, build
from annotation.task_types.kinds import describable_kinds
from annotation.task_types.kinds.scale.scale import ScaleQuestion

READABLE = {
    "kind": "choice",
    "topic": "readable",
    "question": "Can you read the text?",
    "options": [{"value": "1", "label": "Yes"}, {"value": "0", "label": "No"}],
}
FLUENCY = {"kind": "scale", "topic": "fluency", "question": "How fluent is the text?"}


def problems(*rows: Any) -> list[str]:
    with pytest.raises(ValidationError) as raised:
        DescribedQuestionsField().clean(list(rows))
    return raised.value.messages


def test_a_record_gets_every_setting_and_makes_its_question() -> None:
    _, record = DescribedQuestionsField().clean([READABLE, FLUENCY | {"points": 3, "shown_if": {"readable": [1]}}])
    question = build(record, target="text2", key=lambda topic: f"text2.{topic}")
    assert isinstance(question, ScaleQuestion)
    assert (question.key, question.topic, question.target) == ("text2.fluency", "fluency", "text2")
    assert [point.value for point in question.scale.points] == [1.0, 2.0, 3.0]
    assert question.shown_if is not None
    assert question.shown_if.key == "text2.readable"
    assert question.shown_if.holds({"text2.readable": 1.0})
    assert not question.shown_if.holds({"text2.readable": 0.0})


def test_a_clean_list_stays_the_same() -> None:
    field = DescribedQuestionsField(about={"item": "the item", "text": "each text"})
    records = field.clean([READABLE, FLUENCY | {"of": "text", "shown_if": {"readable": [1]}}])
    assert records[1]["of"] == "text"
    assert field.clean(records) == records


def test_all_problems_are_named_at_once() -> None:
    assert problems(
        {"kind": "guess", "topic": "a", "question": "?"},
        {"kind": "scale", "topic": "2b", "question": "", "pints": 5, "required": "perhaps"},
        FLUENCY | {"points": 1},
        "fluency",
    ) == [
        f"Question 1 (a): kind: “guess” is unknown. The kinds are {', '.join(describable_kinds())}.",
        "Question 2 (2b): topic: “2b” must begin with a letter and hold only a–z, 0–9 and _.",
        "Question 2 (2b): question is empty: write what people are asked.",
        "Question 2 (2b): required: write true or false.",
        "Question 2 (2b): “pints” is not a setting of the kind scale.",
        "Question 3 (fluency): points: Ensure this value is greater than or equal to 2.",
        "Question 4: this is not a record with kind, topic and question.",
    ]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"fluency": [1]}, "a question cannot depend on its own answer."),
        ({"later": [1]}, "“later” is not an earlier question. A condition names a question above this one."),
        ({"readable": 1}, "write the answers to “readable” as a list, such as {readable: [1, 2]}."),
        ({"readable": [7]}, "“7” is not an answer to “readable”. Its answers are 1, 0."),
        ({"readable": [1], "later": [1]}, "write one earlier question and its answers, such as {fluency: [1, 2]}."),
        ("readable", "write one earlier question and its answers, such as {fluency: [1, 2]}."),
    ],
)
def test_a_condition_names_an_answer_of_an_earlier_question(condition: Any, message: str) -> None:
    rows = [READABLE, FLUENCY | {"shown_if": condition}, FLUENCY | {"topic": "later"}]
    assert problems(*rows) == [f"Question 2 (fluency): shown_if: {message}"]


def test_topics_differ_and_avoid_reserved_names() -> None:
    assert problems(FLUENCY, FLUENCY) == ["Question 2 (fluency): topic: “fluency” is used twice."]
    with pytest.raises(ValidationError, match="“fluency” is already used for something else"):
        DescribedQuestionsField(reserved=("fluency",)).clean([FLUENCY])


@pytest.mark.parametrize(("value", "message"), [("a", "not a list"), ([FLUENCY] * 61, "61 questions; at most 60")])
def test_a_list_of_a_sensible_length(value: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        DescribedQuestionsField().clean(value)
