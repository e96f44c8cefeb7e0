"""What a study may write about questionnaires, and everything that is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.questionnaires import Questionnaires
from annotation.task_types.questions import Group, Question
from annotation.task_types.standard_questions import BLOCKS, LANGUAGES
from annotation.work.quality_rules import initial_values

FLUENT = {
    "kind": "choice",
    "topic": "fluent",
    "question": "Are you fluent in Czech?",
    "options": [{"value": "1", "label": "Yes"}, {"value": "2", "label": "No"}, {"value": "0", "label": "No answer"}],
}
COUNT = {
    "kind": "choice",
    "topic": "how_many",
    "question": "How many texts are on a page?",
    "options": [{"value": "1", "label": "One"}, {"value": "2", "label": "Two"}],
    "right": "Two",
    "explanation": "Both texts are next to each other.",
}


def form(**settings: Any) -> QuestionnairesForm:
    return QuestionnairesForm(initial_values(QuestionnairesForm) | settings)


def errors(**settings: Any) -> str:
    filled = form(**settings)
    assert not filled.is_valid()
    return " ".join(str(text) for texts in filled.errors.values() for text in texts)


def clean(**settings: Any) -> dict[str, Any]:
    filled = form(**settings)
    assert filled.is_valid(), filled.errors
    return filled.cleaned_data


def questionnaires(language: str = "en", **settings: Any) -> Questionnaires:
    return Questionnaires.of(clean(**settings), language)


def singles(asked: Sequence[Question | Group]) -> list[Question]:
    """The questions, none of which is a group."""
    questions = [question for question in asked if isinstance(question, Question)]
    assert len(questions) == len(asked)
    return questions


def test_a_block_asks_its_questions_and_every_one_can_be_declined() -> None:
    asked = questionnaires(before=["demographics"])
    topics = ["age", "gender", "native_language", "country", "education", "english_proficiency", "text_experience"]
    assert [question.topic for question in singles(asked.before)] == topics
    for question in singles(asked.before):
        assert not question.required or "Prefer not to say" in question.short_names().values()


def test_blocks_can_leave_questions_out_and_stand_beside_own_questions() -> None:
    asked = questionnaires(before=[{"block": "language", "without": ["english_proficiency"]}, FLUENT])
    assert [question.topic for question in singles(asked.before)] == ["native_language", "fluent"]


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_every_block_is_worded_in_the_studys_language(name: str) -> None:
    in_english, in_german = (questionnaires(code, before=[name]) for code in ("en", "de"))
    assert len(in_english.before) == len(in_german.before)
    assert [q.topic for q in singles(in_english.before)] == [q.topic for q in singles(in_german.before)]


def test_cleaning_what_was_cleaned_changes_nothing() -> None:
    """Otherwise, applying a file twice would report changes."""
    settings = {
        "before": ["demographics", FLUENT],
        "after": [{"kind": "text", "topic": "remarks", "question": "Anything else?", "required": False}],
        "comprehension": [COUNT],
        "screen_out": {"fluent": ["No"], "native_language": {"unless": ["English", "czech"]}},
        "screen_out_message": "Sorry.",
    }
    once = clean(**settings)
    assert clean(**once) == once
    assert once["screen_out"] == {"fluent": [2.0], "native_language": {"unless": ["english", "czech"]}}
    assert once["comprehension"][0]["right"] == [2.0]


def test_who_is_screened_out() -> None:
    asked = questionnaires(
        before=["language", FLUENT], screen_out={"fluent": [2], "native_language": {"unless": ["english"]}}
    )
    assert asked.screens_out({"fluent": 2.0, "native_language": ["english"]})
    assert asked.screens_out({"fluent": 1.0, "native_language": ["german", "czech"]})
    assert asked.screens_out({"fluent": 1.0, "native_language": ["no_answer"]})
    assert not asked.screens_out({"fluent": 1.0, "native_language": ["german", "english"]})
    assert not asked.screens_out({"fluent": 0.0, "native_language": ["english"]})
    assert not asked.screens_out({"fluent": None, "native_language": []})  # left out


def test_right_answers_to_the_comprehension_check() -> None:
    several = {
        "kind": "choices",
        "topic": "pick",
        "question": "Which of these do you judge?",
        "options": [
            {"key": "facts", "label": "Facts"},
            {"key": "style", "label": "Style"},
            {"key": "pay", "label": "Pay"},
        ],
        "right": ["style", "facts"],
    }
    word = {"kind": "text", "topic": "word", "question": "Which word do you type?", "right": ["Blue Sky", "sky"]}
    asked = questionnaires(comprehension=[COUNT, several, word])
    right: dict[str, Any] = {"how_many": 2.0, "pick": ["facts", "style"], "word": "blue  sky"}
    assert asked.wrong(right) == []
    assert asked.wrong({**right, "word": "Sky"}) == []
    assert [check.question.topic for check in asked.wrong({**right, "pick": ["facts"], "how_many": 1.0})] == [
        "how_many",
        "pick",
    ]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"before": ["demografics"]}, "there is no block “demografics”. The blocks are demographics"),
    ({"before": {"block": "demographics"}}, "not a list of questions and blocks"),
    ({"before": [{"block": "language", "only": ["age"]}]}, "“only” is not a setting of a block"),
    ({"before": [{"block": "language", "without": "age"}]}, "without: write names of questions as a list"),
    ({"before": [{"block": "language", "without": ["age"]}]}, "“age” is not a question of language"),
    ({"before": [{"block": "attention", "without": ["attention_check"]}]}, "nothing is left of attention"),
    ({"before": ["demographics", "language"]}, "topic: “native_language” is used twice"),
    ({"before": [{"kind": "choice", "topic": "x", "question": "?"}]}, "options"),
    ({"before": [{"kind": "nothing", "topic": "x", "question": "?"}]}, "kind: “nothing” is unknown"),
    ({"before": [3]}, "this is not a record"),
    ({"before": [FLUENT], "after": [FLUENT]}, "The topic “fluent” is already used in before"),
    ({"comprehension": [FLUENT]}, "right is missing"),
    (
        {"comprehension": [COUNT | {"right": "Three"}]},
        "“Three” is not an answer to “how_many”. Its answers are 1 (One)",
    ),
    ({"comprehension": [COUNT | {"required": False}]}, "everybody must answer it"),
    ({"comprehension": [COUNT], "comprehension_tries": 0}, "greater than or equal to 1"),
    ({"comprehension_message": "Sorry."}, "Only used with a comprehension check"),
    ({"screen_out": {"fluent": [2]}}, "“fluent” is not a question of before. Its questions are none yet"),
    ({"before": [FLUENT], "screen_out": {"fluent": ["Maybe"]}}, "“Maybe” is not an answer to “fluent”"),
    ({"before": [FLUENT], "screen_out": {"fluent": [7]}}, "“7” is not an answer"),
    ({"before": [FLUENT], "screen_out": {"fluent": 2}}, "write a list of answers"),
    ({"before": [FLUENT], "screen_out": {"fluent": {"unless": [1], "if": [2]}}}, "write a list of answers"),
    ({"before": [FLUENT], "screen_out": ["fluent"]}, "Write a question and the answers that screen out"),
    ({"before": ["demographics"], "screen_out": {"country": ["Czechia"]}}, "“country” has no fixed answers"),
    ({"before": [FLUENT], "screen_out_message": "Sorry."}, "Only used with conditions that screen people out"),
    ({"before": [FLUENT], "screen_out_reward": "0.10"}, "Only used with conditions that screen people out"),
    (
        {"before": [FLUENT], "screen_out": {"fluent": [2]}, "screen_out_reward": "0.001"},
        "no more than 2 decimal places",
    ),
]


@pytest.mark.parametrize(("settings", "said"), REFUSED)
def test_what_is_refused(settings: dict[str, Any], said: str) -> None:
    assert said in errors(**settings)


def test_conditions_that_screen_out_everybody_are_refused() -> None:
    assert "nobody could take part" in errors(before=[FLUENT], screen_out={"fluent": [0, 1, 2]})
    follow = FLUENT | {"topic": "which", "question": "Which one?", "shown_if": {"fluent": [1]}}
    # Who says yes is asked a question of which every answer screens out; who says anything else is out at once.
    assert "nobody could take part" in errors(
        before=[FLUENT, follow], screen_out={"fluent": [0, 2], "which": [0, 1, 2]}
    )
    clean(before=[FLUENT, follow], screen_out={"fluent": [0], "which": [0, 1, 2]})
    clean(before=[FLUENT | {"required": False}], screen_out={"fluent": [0, 1, 2]})
    every = {"native_language": [*LANGUAGES, "no_answer"]}
    assert "nobody could take part" in errors(before=["language"], screen_out=every)
    clean(before=["language"], screen_out={"native_language": {"unless": ["english"]}})
