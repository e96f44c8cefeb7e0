"""What a participant answered before and after their tasks, in the page's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from annotation.instrument import asked_around
from annotation.models import Participant, QuestionnaireReply


@dataclass(frozen=True, slots=True)
class Answered:
    """One questionnaire as it was sent. ``passed``: None if nothing depended on the answers. ``rows``: question and
    answer."""

    title: str
    attempt: int
    passed: bool | None
    received_at: datetime
    rows: Sequence[tuple[str, str]]


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
                (question.label, question.in_words(reply.answers.get(question.key)) or "not answered")
                for question in asked.questions(reply.questionnaire)
            ],
        )
        for reply in replies
    ]
