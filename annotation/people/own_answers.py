"""What a participant answered before and after their tasks, in the training and to items that explain, in the page's
words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from annotation.instrument import Instrument, asked_around
from annotation.models import Participant, QuestionnaireReply, TriedPage
from annotation.task_types.questions import Answer, Question


@dataclass(frozen=True, slots=True)
class Answered:
    """One questionnaire as it was sent. ``passed``: None if nothing depended on the answers. ``rows``: question and
    answer."""

    title: str
    attempt: int
    passed: bool | None
    received_at: datetime
    rows: Sequence[tuple[str, str]]


def _in_words(question: Question, answer: Answer) -> str:
    """Without the numbers before the names of points."""
    if isinstance(answer, float | str) and answer in question.short_names():
        return str(question.short_names()[answer])
    return question.in_words(answer) or "not answered"


def answers_around(participant: Participant) -> list[Answered]:
    """In the order in which they were sent. One query if the study asks nothing."""
    replies = list(QuestionnaireReply.objects.filter(participant=participant).order_by("pk"))
    if not replies:
        return []
    asked = asked_around(participant.study)
    return [
        Answered(
            reply.get_questionnaire_display(),
            reply.attempt,
            reply.passed,
            reply.received_at,
            [
                (question.label, _in_words(question, reply.answers.get(question.key)))
                for question in asked.questions(reply.questionnaire)
            ],
        )
        for reply in replies
    ]


@dataclass(frozen=True, slots=True)
class Tried:
    """One answer to an item with right answers. ``right``: None if the answer cannot be wrong."""

    item: str
    role: str
    attempt: int
    question: str
    answer: str
    right: bool | None
    received_at: datetime


def answers_tried(participant: Participant) -> list[Tried]:
    """In the order in which they were sent. One query if there are none."""
    rows = TriedPage.objects.filter(participant=participant).select_related("item").order_by("pk")
    if not rows:
        return []
    instrument = Instrument.of(participant.study, participant.arm)
    questions = {
        question.topic: question for question in instrument.task.questions(instrument.config, instrument.texts)
    }
    tried: list[Tried] = []
    for row in rows:
        for rating in row.ratings:
            question = questions.get(rating["question"])
            label = question.label if question else rating["question"]
            value = rating["text"] if rating["value"] is None else rating["value"]
            answer = question.in_words(value) if question else str(value)
            what = f"{label} ({rating['target']})" if rating["target"] else label
            tried.append(
                Tried(row.item.external_id, row.item.role, row.attempt, what, answer, rating["right"], row.received_at)
            )
    return tried
