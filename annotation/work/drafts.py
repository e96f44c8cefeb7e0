"""What workers typed on a step and did not send, and what arrived too late."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import timezone

from annotation import sql
from annotation.models import Assignment, Draft, Step
from annotation.task_types.questions import clean_text

State = Assignment.State


def save_draft(*, assignment_id: int, participant_id: int, number: int, data: Mapping[str, str]) -> str:
    """Save what is typed so far. Returns ``saved``, ``sent`` (the step is already stored) or ``ended`` (the hit is
    over, or the page was sent too late)."""
    with sql.quick_transaction():
        assignment = Assignment.objects.filter(pk=assignment_id, participant_id=participant_id).first()
        if assignment is None:
            return "ended"
        if Step.objects.filter(assignment=assignment, number__gte=number).exists():
            return "sent"
        if assignment.state not in (State.ACCEPTED, State.ABANDONED):
            return "ended"
        return "saved" if keep_draft(assignment_id=assignment.pk, number=number, data=data) else "ended"


_OR_OVERWRITE = """
ON CONFLICT (assignment_id, number) DO UPDATE
SET answers = excluded.answers, late = excluded.late, saved_at = excluded.saved_at
"""
_WHILE_OPEN = """WHERE NOT annotation_draft.late OR EXISTS (
    SELECT 1 FROM annotation_assignment a WHERE a.id = excluded.assignment_id AND a.state = 'accepted')
"""


def keep_draft(*, assignment_id: int, number: int, data: Mapping[str, str], late: bool = False) -> bool:
    """Write or overwrite the draft of one step, without control characters, which no database stores.

    An answer that was sent too late is final: False if a tab that is still open tries to overwrite it.
    """
    cleaned = {clean_text(key)[:100]: clean_text(text)[:100_000] for key, text in data.items()}
    row = {
        "assignment": assignment_id,
        "number": number,
        "answers": cleaned,
        "late": late,
        "saved_at": timezone.now(),
    }
    text, params = sql.insertion(Draft, row)
    return sql.execute(text + _OR_OVERWRITE + ("" if late else _WHILE_OPEN), *params) == 1
