"""The settings of a study of conversations: who answers, how long a conversation is, and what is asked about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms

from annotation.task_types.described_questions import DescribedQuestionsField, Record, build
from annotation.task_types.items import Column, ItemData, Json, Row, RowProblem
from annotation.task_types.questions import Question
from annotation.task_types.reading import read_rows
from annotation.task_types.settings import (
    ConfigForm,
    SuggestersField,
    TopicsField,
    record_edits_field,
    refuse_crossed_limits,
)

MOST_TURNS, MOST_CHARACTERS, MOST_TOKENS = 50, 10_000, 4_000
#: Two names fit into the target of a rating, with a sign between them.
LONGEST_NAME = 29
#: What a question can be about, with how it reads.
ABOUT = {
    "conversation": "the whole conversation",
    "assistant": "each assistant",
    "turn": "each answer of an assistant",
}
HELPFUL = {
    "kind": "scale",
    "topic": "helpful",
    "question": "How helpful was this assistant?",
    "low_label": "Not at all",
    "high_label": "Very",
    "of": "assistant",
}
#: The ending of the topic that holds whether both were bad.
BOTH_BAD = "_both_bad"
#: The limits of a conversation that an item can set for itself: the setting, and the most that it can be.
LIMITS = {
    "min_turns": MOST_TURNS,
    "max_turns": MOST_TURNS,
    "most_characters": MOST_CHARACTERS,
    "most_tokens": MOST_TOKENS,
}


class ChatConfig(ConfigForm):
    """Initially one model, two to six messages, and one question about it."""

    suggesters = SuggestersField(
        label="Who answers",
        least=1,
        most=8,
        initial=["model-a"],
        help_text="Suggesters: each is a model with a decoder. Every conversation draws one of them, or two, about "
        "equally often.",
    )
    sides = forms.ChoiceField(
        label="In one conversation",
        choices=[("one", "One assistant answers"), ("two", "Two answer side by side, without their names")],
        initial="one",
    )
    min_turns = forms.IntegerField(
        label="Fewest messages before somebody can end it", min_value=1, max_value=MOST_TURNS, initial=2
    )
    max_turns = forms.IntegerField(label="Most messages", min_value=1, max_value=MOST_TURNS, initial=6)
    most_characters = forms.IntegerField(
        label="Longest message, in characters", min_value=1, max_value=MOST_CHARACTERS, initial=1000
    )
    most_tokens = forms.IntegerField(label="Longest answer, in tokens", min_value=1, max_value=MOST_TOKENS, initial=200)
    comparisons = TopicsField(
        question="Question",
        most=10,
        reserved=("message",),
        label="Comparisons of two assistants",
        initial=[{"topic": "better", "question": "Which assistant was better?"}],
        help_text="Asked if two answer side by side.",
    )
    grades = forms.ChoiceField(
        label="Answers to a comparison",
        choices=[("one", "A or B is better"), ("two", "A or B is slightly or much better")],
        initial="one",
    )
    ties = forms.BooleanField(label="“Equally good” is an answer", initial=True, required=False)
    both_bad = forms.BooleanField(label="“Both are bad” is an answer", initial=True, required=False)
    questions = DescribedQuestionsField(
        about=ABOUT,
        reserved=("message",),
        label="Questions after the conversation",
        required=False,
        initial=DescribedQuestionsField(about=ABOUT).clean([HELPFUL]),
        help_text="Each has a kind, a topic (its name in the data) and a question (what people read).",
    )
    record_edits = record_edits_field()

    def clean(self) -> dict[str, Any]:
        config: dict[str, Any] = super().clean() or self.cleaned_data
        refuse_crossed_limits(self, "min_turns", "max_turns", "most messages")
        for problem in _suggester_problems(config):
            self.add_error("suggesters", problem)
        for problem in _question_problems(config):
            self.add_error("questions", problem)
        return config


def _suggester_problems(config: Json) -> Iterator[str]:
    names = config.get("suggesters") or []
    if config.get("sides") == "two" and len(names) == 1:
        yield "Two assistants answer side by side, and there is one suggester. Name another one."
    for number, name in enumerate(names):
        if name in names[:number]:
            yield f"“{name}” is in the list twice. Remove one."
        if len(name) > LONGEST_NAME:
            yield f"“{name}” has more than {LONGEST_NAME} characters. Make a suggester with a shorter name."


def _question_problems(config: Json) -> Iterator[str]:
    """Topics used twice, conditions on answers about something else, and kinds that need one text."""
    records: Sequence[Record] = config.get("questions") or []
    about = {question.topic: record["of"] for record in records for question in build(record).questions}
    two = config.get("sides") == "two"
    for row in config.get("comparisons") or [] if two else []:
        for topic in (row["topic"], f"{row['topic']}{BOTH_BAD}"):
            if topic in about:
                yield f"The topic “{topic}” is already that of a comparison. Choose another."
        if len(row["topic"]) > 40 - len(BOTH_BAD):
            yield f"The topic “{row['topic']}” of a comparison is longer than {40 - len(BOTH_BAD)} characters."
    for number, record in enumerate(records, start=1):
        start = f"Question {number} ({record['topic']})"
        if build(record).of_one_text and record["of"] != "turn":
            yield f"{start} needs a single text. Ask about each answer with “of: turn”."
        for asked in record["shown_if"]:
            if about[asked] != record["of"]:
                what = f"about {ABOUT[about[asked]]}, and this one about {ABOUT[record['of']]}"
                yield f"{start}, shown_if: “{asked}” is {what}. A condition needs an answer about the same thing."
    if "questions" in config and not records and not (two and config.get("comparisons")):
        yield "Nothing is asked after the conversation. Add a question."


def asked_about(config: Json, of: str, *, target: str = "", key: str = "") -> list[Question]:
    """The questions about one part, with fields named after ``key``."""
    return [
        question
        for record in config["questions"]
        if record["of"] == of
        for question in build(record, target=target, key=lambda topic: f"{topic}-{key}" if key else topic).questions
    ]


# --- items ---


def columns_of(config: Json) -> list[Column]:
    return [
        Column("id", "the scenario's id", example="s1"),
        Column(
            "scenario",
            "what the person reads before they begin",
            example="You want to cook for three friends tonight. Ask for ideas, and choose one.",
        ),
        Column(
            "system_prompt",
            "instructions to the model; never shown to workers",
            False,
            example="You are a friendly cook. Answer in two sentences.",
        ),
        Column("first_message", "what the assistant says first, if it begins", False),
        *(
            Column(name, f"the setting {name} for this scenario alone", False, _limit_check(most))
            for name, most in LIMITS.items()
        ),
    ]


def _limit_check(most: int) -> Any:
    def check(cell: str) -> tuple[str, str] | None:
        if not cell.strip() or (cell.strip().isdecimal() and 1 <= int(cell) <= most):
            return None
        return f"“{cell.strip()[:40]}” is not a limit here.", f"Write a whole number from 1 to {most:,}, or nothing."

    return check


def limit_of(name: str, payload: Json, config: Json) -> int:
    """A limit of the conversation: the item's own, or the study's."""
    return int(str(payload.get(name, "")).strip() or config[name])


def read_scenarios(rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
    """One item per row. Its own limits must not cross those that the study sets."""
    items, problems = read_rows(rows, columns_of(config))
    wrong = {problem.row for problem in problems}
    for item in items:
        if item.rows[0] in wrong:
            continue
        least, most = (limit_of(name, item.payload, config) for name in ("min_turns", "max_turns"))
        if least > most:
            what = f"This conversation needs {least} messages and ends after {most}."
            problems.append(RowProblem(item.rows[0], "min_turns", what, "Lower min_turns, or raise max_turns."))
    return items, problems
