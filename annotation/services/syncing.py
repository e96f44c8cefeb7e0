"""Polls the platform for what it reports about a study's work. For that work, the platform's records decide.

A submission of a posted hit is confirmed when the platform has the same assignment, with the same worker and the same
posting. Until then, it is left out of analysis and payment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import OutsideAssignment, Posting, Study
from annotation.platforms.mturk.api import Mturk, PlatformTrouble
from annotation.services.publishing import PLATFORM

OutsideState = OutsideAssignment.State
_STATES = {"Submitted": OutsideState.SUBMITTED, "Approved": OutsideState.APPROVED, "Rejected": OutsideState.REJECTED}


@dataclass(slots=True)
class Synced:
    """What one poll found: postings checked, assignments on the platform, and those that were new or had changed."""

    postings: int = 0
    assignments: int = 0
    changed: int = 0
    deleted: int = 0


def sync_study(*, study: Study, api: Mturk, step: Callable[[int], None] = lambda done: None) -> Synced:
    """Poll every posting that may still change. Raises PlatformTrouble if the platform cannot be polled."""
    found = Synced()
    for posting in _unsettled(study).iterator(500):
        sync_posting(posting=posting, api=api, found=found)
        step(found.postings)
    return found


def _unsettled(study: Study) -> QuerySet[Posting]:
    posted = Posting.objects.filter(study=study, platform=PLATFORM)
    return posted.filter(state__in=[Posting.State.OPEN, Posting.State.EXPIRED]).order_by("pk")


def sync_posting(*, posting: Posting, api: Mturk, found: Synced | None = None) -> Synced:
    """Poll one posting's assignments. A posting that was deleted on the platform is marked as deleted."""
    found = found or Synced()
    found.postings += 1
    try:
        rows = list(api.pages("list_assignments_for_hit", "Assignments", HITId=posting.external_id))
    except PlatformTrouble as trouble:
        if trouble.code not in ("HITDoesNotExist", "HITNotExist"):
            raise
        Posting.objects.filter(pk=posting.pk).update(state=Posting.State.DELETED, synced_at=timezone.now())
        found.deleted += 1
        return found
    found.assignments += len(rows)
    found.changed += _store(posting, rows)
    return found


@transaction.atomic
def _store(posting: Posting, rows: Iterable[dict[str, Any]]) -> int:
    """Store what the platform reports. Returns how much of it is new."""
    Posting.objects.select_for_update(no_key=True).get(pk=posting.pk)
    known = {(each.external_id, each.worker_id): each for each in posting.outside.all()}
    now, news = timezone.now(), 0
    for row in rows:
        state = _STATES.get(str(row.get("AssignmentStatus")))
        if state is None:
            continue
        values = {
            "state": state,
            "accepted_at": row.get("AcceptTime"),
            "submitted_at": row.get("SubmitTime"),
            "approves_itself_at": row.get("AutoApprovalTime"),
            "answer": str(row.get("Answer", "")),
            "seen_at": now,
        }
        key = (str(row["AssignmentId"]), str(row["WorkerId"]))
        old = known.get(key)
        if old is None:
            OutsideAssignment.objects.create(posting=posting, external_id=key[0], worker_id=key[1], **values)
        elif old.state != state:
            OutsideAssignment.objects.filter(pk=old.pk).update(**values)
        news += old is None or old.state != state
    Posting.objects.filter(pk=posting.pk).update(synced_at=now)
    return news
