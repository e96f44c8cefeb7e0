"""How assignments end without being sent: returned, taken back, stopped for part pay, or out of time.

Locks are taken in the order of `annotation.work.allocation`.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from annotation.deadlocks import again_after_deadlock
from annotation.identity import MEMBER
from annotation.many_ids import among
from annotation.models import Assignment, Hit, Participant
from annotation.work.cancelling_offers import cancel_offers

State = Assignment.State


@again_after_deadlock
@transaction.atomic
def return_assignment(*, assignment_id: int, participant_id: int) -> bool:
    """Return a hit unfinished. False if it was no longer in progress.

    Its worker does not get it again, except a member of the study: there may be nobody else for it.
    """
    chosen = Assignment.objects.filter(pk=assignment_id, participant_id=participant_id)
    member = Participant.objects.filter(pk=participant_id, worker__platform=MEMBER).exists()
    return _end(chosen, State.ABANDONED if member else State.RETURNED, timezone.now(), skip_locked=False) == 1


@again_after_deadlock
@transaction.atomic
def take_back_work(*, participant_id: int) -> int:
    """Free the places of the hits that a participant is working on. Returns how many there were."""
    chosen = Assignment.objects.filter(participant_id=participant_id)
    return _end(chosen, State.ABANDONED, timezone.now(), skip_locked=False)


def stop_assignment(*, assignment_id: int, participant_id: int) -> bool:
    """End a hit for part of its reward. False if it was no longer in progress. Runs in the caller's transaction."""
    chosen = Assignment.objects.filter(pk=assignment_id, participant_id=participant_id)
    return _end(chosen, State.STOPPED, timezone.now(), skip_locked=False) == 1


@again_after_deadlock
@transaction.atomic
def reclaim_expired(*, study_id: int | None = None, now: datetime | None = None) -> int:
    """Free the places of all assignments whose time is up. Returns how many there were."""
    moment = now or timezone.now()
    expired = Assignment.objects.filter(expires_at__lt=moment)
    if study_id is not None:
        expired = expired.filter(hit__study_id=study_id)
    return _end(expired, State.ABANDONED, moment, skip_locked=True)


def _end(chosen: QuerySet[Assignment], state: str, moment: datetime, *, skip_locked: bool) -> int:
    skip = skip_locked and connection.features.has_select_for_update_skip_locked
    rows = list(
        chosen.filter(state=State.ACCEPTED)
        .select_for_update(skip_locked=skip, of=("self",), no_key=True)
        .order_by("pk")
        .values_list("pk", "hit_id", "extra")
    )
    ended = Assignment.objects.filter(pk__in=among(pk for pk, _, _ in rows), state=State.ACCEPTED)
    count = ended.update(state=state, ended_at=moment, extra=False)
    for hit_id in sorted(hit_id for _, hit_id, extra in rows if not extra):
        Hit.objects.filter(pk=hit_id).update(n_live=F("n_live") - 1)
    cancel_offers(assignments=[pk for pk, _, _ in rows])
    return count
