"""What participants send to questionnaires, and what becomes of those whose answers turn them away.

The order of locks is that of `annotation.work.allocation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.deadlocks import again_after_deadlock
from annotation.instrument import live_instrument
from annotation.languages import speaking
from annotation.models import (
    Participant,
    QuestionnaireDraft,
    QuestionnaireReply,
    Submission,
)
from annotation.task_types.questionnaires import AFTER, BEFORE, COMPREHENSION
from annotation.task_types.questions import clean_text
from annotation.work.answers import clean_timing
from annotation.work.due_questionnaires import Due, first_due, replies_of
from annotation.work.turning_away import TurnedAway, turn_away


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a sent questionnaire. ``kind``: ``stored``, ``repeated`` (it was stored before), ``failed`` (a try
    at the comprehension check, with more left), ``turned_away``, ``invalid`` (see ``errors``), ``stale`` (it is not
    what is due)."""

    kind: str
    errors: dict[str, str] = field(default_factory=dict)


@again_after_deadlock
@transaction.atomic
def answer(
    *, participant_id: int, name: str, attempt: int, data: Mapping[str, str], timing: Mapping[str, Any]
) -> Outcome:
    """Check and store the answers to a questionnaire, and end the participation if they turn the participant away.

    Sending it again, or from two tabs at once, changes nothing: the lock lets one go first.
    """
    participant = Participant.objects.select_for_update(no_key=True, of=("self",)).get(pk=participant_id)
    instrument = live_instrument(participant.arm_id)
    asked, replies = instrument.asked, replies_of(participant_id)
    if any((name, attempt) == reply[:2] for reply in replies):
        return Outcome("turned_away" if participant.turned_away else "repeated")
    if participant.turned_away or participant.redacted_at:
        return Outcome("stale")
    if name == AFTER:
        has_sent = Submission.objects.filter(participant=participant).exists()
        due = Due(AFTER) if asked.after and has_sent else None
    else:
        due = first_due(replies, asked)
    if due is None or (due.name, due.attempt) != (name, attempt):
        return Outcome("stale")
    with speaking(instrument.voice):
        page = asked.page(name)
        answers, errors = page.clean(data)
    if errors:
        return Outcome("invalid", errors)
    passed: bool | None = None
    if name == COMPREHENSION:
        passed = not asked.wrong(answers)
    elif name == BEFORE and asked.conditions:
        passed = not asked.screens_out(answers)
    QuestionnaireReply.objects.create(
        study_id=participant.study_id,
        participant=participant,
        questionnaire=name,
        attempt=attempt,
        answers=answers,
        timing=clean_timing(timing, page),
        passed=passed,
        received_at=timezone.now(),
    )
    QuestionnaireDraft.objects.filter(participant=participant, questionnaire=name).delete()
    if passed is not False:
        return Outcome("stored")
    if name == COMPREHENSION and attempt < asked.tries:
        return Outcome("failed")
    reason = TurnedAway.SCREENED_OUT if name == BEFORE else TurnedAway.NOT_UNDERSTOOD
    turn_away(participant, reason, asked)
    return Outcome("turned_away")


def save_questions_draft(*, participant_id: int, name: str, attempt: int, data: Mapping[str, str]) -> str:
    """Save what is typed so far. Returns ``saved``, ``sent`` (it was stored before) or ``ended``."""
    participant = Participant.objects.get(pk=participant_id)
    if participant.turned_away or participant.redacted_at:
        return "ended"
    if QuestionnaireReply.objects.filter(participant=participant, questionnaire=name, attempt__gte=attempt).exists():
        return "sent"
    typed = {clean_text(key)[:100]: clean_text(text)[:100_000] for key, text in data.items()}
    QuestionnaireDraft.objects.update_or_create(
        participant=participant, questionnaire=name, defaults={"answers": typed, "saved_at": timezone.now()}
    )
    return "saved"


def draft_of(participant_id: int, name: str) -> dict[str, str]:
    """What the participant typed and did not send, by field name."""
    draft = QuestionnaireDraft.objects.filter(participant=participant_id, questionnaire=name).first()
    return {} if draft is None else draft.answers
