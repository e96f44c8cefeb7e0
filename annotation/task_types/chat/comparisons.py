"""Which of two assistants was better: asked about the sides A and B, stored about the assistants themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from analysis.description import Point, QuestionDescription, Scale
from annotation.task_types.base import RatingData, Text
from annotation.task_types.chat.chat_settings import BOTH_BAD
from annotation.task_types.items import Json
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.questions import Question

NAME = "preference"
#: The answer that both are bad. It counts as a tie and is stored as a rating of its own besides.
BAD = 0.5
BETWEEN = ":"
YES_NO = Scale("both bad", "nominal", (Point(1.0, "Yes"), Point(0.0, "No")))
_WORDS = {
    2.0: ("compare.much_a", "A, by much", "A is much better"),
    1.0: ("compare.a", "A", "A is better"),
    0.0: ("compare.tie", "Equally good", "Both are equally good"),
    BAD: ("compare.bad", "Both bad", "Both are bad"),
    -1.0: ("compare.b", "B", "B is better"),
    -2.0: ("compare.much_b", "B, by much", "B is much better"),
}


def _values(config: Json) -> list[float]:
    """The answers from left to right."""
    even = [value for value, asked in ((0.0, config["ties"]), (BAD, config["both_bad"])) if asked]
    return [2.0, 1.0, *even, -1.0, -2.0] if config["grades"] == "two" else [1.0, *even, -1.0]


def compares(config: Json) -> bool:
    return bool(config["sides"] == "two" and config["comparisons"])


def comparison_texts(config: Json) -> list[Text]:
    if not compares(config):
        return []
    slightly = {1.0: "A is slightly better", -1.0: "B is slightly better"} if config["grades"] == "two" else {}
    return [
        Text(_WORDS[value][0], f"Answer: {_WORDS[value][1]}", slightly.get(value, _WORDS[value][2]), "Comparisons")
        for value in _values(config)
    ]


def comparison_questions(config: Json, texts: Mapping[str, str]) -> list[Question]:
    """As pages ask them. Below each is what its answer “both are bad” is stored as."""
    if not compares(config):
        return []
    points = tuple(Point(value, texts[_WORDS[value][0]]) for value in _values(config))
    scale = Scale(NAME, "pairwise", points)
    return [ChoiceQuestion(row["topic"], row["question"], row["topic"], scale) for row in config["comparisons"]]


def both_bad_questions(config: Json) -> list[Question]:
    """What is stored beside comparisons: whether the answer was that both are bad."""
    if not compares(config) or not config["both_bad"]:
        return []
    return [
        ChoiceQuestion(topic, f"{row['question']} Both are bad", topic, YES_NO)
        for row in config["comparisons"]
        for topic in [f"{row['topic']}{BOTH_BAD}"]
    ]


def described(question: QuestionDescription, config: Json) -> QuestionDescription:
    """The comparison as it is stored: positive for the assistant that the rating's target names first."""
    if question.scale.name != NAME:
        return question
    words = {2.0: "first, by much", 1.0: "first", 0.0: "no difference", -1.0: "second", -2.0: "second, by much"}
    ties = config["ties"] or config["both_bad"]
    values = [value for value in words if (abs(value) < 2 or config["grades"] == "two") and (value or ties)]
    points = tuple(Point(value, words[value]) for value in values)
    return replace(question, stored_scale=Scale(NAME, "pairwise", points))


def stored_comparison(row: RatingData, models: tuple[int, int], config: Json) -> list[RatingData]:
    """An answer about A and B as ratings of the two assistants, in the order of the setting."""
    names, (on_a, on_b) = config["suggesters"], models
    target = BETWEEN.join(names[number] for number in sorted(models))
    is_bad = row.value == BAD
    value = 0.0 if is_bad or row.value is None else row.value * (1 if on_a < on_b else -1) + 0.0
    rows = [replace(row, target=target, value=value)]
    if config["both_bad"]:
        bad = f"{row.question}{BOTH_BAD}"
        rows.append(replace(row, question=bad, scale=YES_NO.name, target=target, value=float(is_bad)))
    return rows
