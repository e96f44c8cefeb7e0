"""What a worker reads after a gold item, in a study that gives feedback: their answer, the right one, and why."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.instrument import Instrument, live_instrument, shown_to
from annotation.models import Assignment
from annotation.task_types.base import Answers, Shown
from annotation.task_types.checks import check_of
from annotation.work.judging import Feedback, Judge
from annotation.work.standing import given_answers


def feedback_on(instrument: Instrument, shown: Shown, answers: Sequence[Answers]) -> list[Feedback]:
    """Feedback on the gold items of the last page in ``answers``; empty if the study gives none."""
    checks = {item.external_id: check for item in shown.items if (check := check_of(item)) and check.role == "gold"}
    if not instrument.gold_feedback or not checks or not answers:
        return []
    pages = instrument.walk(shown).answered(answers)
    judges = (Judge(instrument.task, shown, pages, list(answers), name, check) for name, check in checks.items())
    return [feedback for judge in judges if (feedback := judge.feedback()).answers]


def last_feedback(participant_id: int, arm_id: int) -> list[Feedback]:
    """Feedback on the last page of the hit that the participant sent last. No query if the study gives none."""
    instrument = live_instrument(arm_id)
    if not instrument.gold_feedback:
        return []
    submitted = Assignment.objects.filter(participant=participant_id, state=Assignment.State.SUBMITTED)
    last = submitted.order_by("-ended_at", "-pk").first()
    return feedback_on(instrument, shown_to(last, instrument), given_answers(last.pk)) if last is not None else []
