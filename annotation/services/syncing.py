"""Polls the platform for what it reports about a study's work. For that work, the platform's records decide.

Submitted work is confirmed when the platform has the same assignment, with the same worker and the same posting. Until
then, it is left out of analysis and payment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import OutsideAssignment, Posting, Study
from annotation.platforms.base import Platform, PostingGone, Reported
from annotation.services.arrivals import end_returned
from annotation.services.deciding import note_payments

OutsideState = OutsideAssignment.State


@dataclass(slots=True)
class Synced:
    """What one poll found: postings checked, assignments on the platform, and those that were new or had changed.

    ``paid`` counts payments that the platform made without this server.
    """

    postings: int = 0
    assignments: int = 0
    changed: int = 0
    deleted: int = 0
    paid: int = 0


def sync_study(*, study: Study, platform: Platform, step: Callable[[int], None] = lambda done: None) -> Synced:
    """Poll every posting that may still change. Raises PlatformTrouble if the platform cannot be polled."""
    found = Synced()
    for posting in _unsettled(study, platform).iterator(500):
        sync_posting(posting=posting, platform=platform, found=found)
        step(found.postings)
    return found


def _unsettled(study: Study, platform: Platform) -> QuerySet[Posting]:
    posted = Posting.objects.filter(study=study, platform=platform.name)
    return posted.exclude(state__in=[Posting.State.PLANNED, Posting.State.DELETED]).order_by("pk")


def sync_posting(*, posting: Posting, platform: Platform, found: Synced | None = None) -> Synced:
    """Poll one posting's assignments. A posting that was deleted on the platform is marked as deleted."""
    found = found or Synced()
    found.postings += 1
    try:
        rows = list(platform.sync(posting))
    except PostingGone:
        Posting.objects.filter(pk=posting.pk).update(state=Posting.State.DELETED, synced_at=timezone.now())
        found.deleted += 1
        return found
    found.assignments += len(rows)
    found.changed += _store(posting, rows)
    if platform.pays:
        found.paid += note_payments(posting=posting)
    return found


@transaction.atomic
def _store(posting: Posting, rows: Iterable[Reported]) -> int:
    """Store what the platform reports. Returns how much of it is new.

    A list that changes while it is read may name an assignment twice; the last time counts.
    """
    Posting.objects.select_for_update(no_key=True).get(pk=posting.pk)
    known = {(each.external_id, each.worker_id): each for each in posting.outside.all()}
    now, news = timezone.now(), 0
    for key, row in {(row.external_id, row.worker_id): row for row in rows}.items():
        values = {
            "state": row.state,
            "accepted_at": row.accepted_at,
            "submitted_at": row.submitted_at,
            "approves_itself_at": row.approves_itself_at,
            "answer": row.answer,
            "seen_at": now,
        }
        old = known.get(key)
        if old is None:
            OutsideAssignment.objects.create(posting=posting, external_id=key[0], worker_id=key[1], **values)
        elif old.state != row.state:
            OutsideAssignment.objects.filter(pk=old.pk).update(**values)
        if row.state == OutsideState.RETURNED:
            end_returned(posting=posting, worker_id=row.worker_id, assignment_id=row.external_id)
        news += old is None or old.state != row.state
    Posting.objects.filter(pk=posting.pk).update(synced_at=now)
    return news
