"""What participants send to the pages of the training, and what becomes of those who fail its last round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.deadlocks import again_after_deadlock
from annotation.instrument import live_instrument, training_items
from annotation.languages import speaking
from annotation.models import Participant, QuestionnaireDraft, TriedPage
from annotation.task_types.questions import clean_text
from annotation.work.answers import clean_timing
from annotation.work.due_questionnaires import due_before
from annotation.work.training_rounds import round_passed, training_due, tried_columns
from annotation.work.turning_away import TurnedAway, turn_away


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a sent page of the training. ``kind``: ``stored``, ``repeated`` (it was stored before),
    ``turned_away``, ``invalid`` (see ``errors``), ``stale`` (it is not what is due)."""

    kind: str
    errors: dict[str, str] = field(default_factory=dict)


@again_after_deadlock
@transaction.atomic
def send_training_page(
    *, participant_id: int, attempt: int, place: int, data: Mapping[str, str], timing: Mapping[str, Any]
) -> Outcome:
    """Check and store one page of the training, and end the participation with the last round that fails.

    Sending it again, or from two tabs at once, changes nothing: the lock lets one go first.
    """
    participant = Participant.objects.select_for_update(no_key=True, of=("self",)).get(pk=participant_id)
    mine = TriedPage.objects.filter(participant=participant, training=True)
    if mine.filter(attempt=attempt, place=place).exists():
        return Outcome("turned_away" if participant.turned_away else "repeated")
    if participant.turned_away or participant.redacted_at:
        return Outcome("stale")
    instrument = live_instrument(participant.arm_id)
    if due_before(participant_id, instrument.asked) is not None:
        return Outcome("stale")
    due = training_due(participant_id, participant.arm_id, instrument)
    if due is None or (due.attempt, due.place) != (attempt, place):
        return Outcome("stale")
    with speaking(instrument.voice):
        answers, errors = due.page.clean(data)
        errors = errors or dict(instrument.task.check(due.shown, due.page, answers, due.before))
    if errors:
        return Outcome("invalid", errors)
    columns = tried_columns(due, answers)
    training = instrument.asked.training
    passed = round_passed(due, answers, columns["verdicts"], training.needed_of(len(due.items.ids)))
    TriedPage.objects.create(
        training=True,
        study_id=participant.study_id,
        participant=participant,
        timing=clean_timing(timing, due.page),
        passed=passed,
        received_at=timezone.now(),
        **columns,
    )
    QuestionnaireDraft.objects.filter(participant=participant, questionnaire=QuestionnaireDraft.TRAINING).delete()
    if passed is not False or attempt < training.tries:
        return Outcome("stored")
    turn_away(participant, TurnedAway.NOT_TRAINED, instrument.asked)
    return Outcome("turned_away")


def save_training_draft(*, participant_id: int, attempt: int, place: int, data: Mapping[str, str]) -> str:
    """Save what is typed so far. Returns ``saved``, ``sent`` (it was stored before) or ``ended``."""
    participant = Participant.objects.get(pk=participant_id)
    if participant.turned_away or participant.redacted_at or not training_items(participant.arm_id).ids:
        return "ended"
    sent = TriedPage.objects.filter(participant=participant, training=True)
    if sent.filter(attempt=attempt, place__gte=place).exists() or sent.filter(attempt__gt=attempt).exists():
        return "sent"
    typed = {clean_text(key)[:100]: clean_text(text)[:100_000] for key, text in data.items()}
    QuestionnaireDraft.objects.update_or_create(
        participant=participant,
        questionnaire=QuestionnaireDraft.TRAINING,
        defaults={"answers": typed, "saved_at": timezone.now()},
    )
    return "saved"
