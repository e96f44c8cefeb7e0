"""Which assignment here is which on the platform: the same posting, the same id there, and the same worker.

This module alone compares them. `Assignment.outside` stores the result, and it never changes: an arrival looks for what
the platform has reported already, and a poll for the arrivals that it reports for the first time. If both happen at the
same moment, each may miss the other, so every poll looks for all assignments of the posting that have no match yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from annotation.many_ids import among
from annotation.models import Assignment, OutsideAssignment, Posting, Study, Submission, Worker
from annotation.platforms.base import Claim


def reported_claim(posting: Posting, claim: Claim) -> OutsideAssignment | None:
    """What the platform has reported about this claim, with the same worker."""
    reported = OutsideAssignment.objects.filter(posting=posting, external_id=claim.assignment_id)
    return reported.filter(worker_id=claim.worker_id).first()


def match_assignments(posting: Posting) -> int:
    """Store `Assignment.outside` wherever the posting's assignments lack it. Returns how many got it.

    All rows of one claim get it: the worker may have come back after an earlier one had ended here.
    """
    worker = Worker.objects.filter(participations=OuterRef(OuterRef("participant")))
    reported = reported_with_same_id().filter(worker_id=Subquery(worker.values("platform_id")))
    unmatched = Assignment.objects.filter(Exists(reported), posting=posting, outside=None)
    return unmatched.update(outside=Subquery(reported.values("pk")))


def reported_with_same_id() -> QuerySet[OutsideAssignment]:
    """Reports about the assignment of an outer query with its id, whoever has it on the platform."""
    return OutsideAssignment.objects.filter(posting=OuterRef("posting"), external_id=OuterRef("platform_assignment_id"))


def submission_of(outside: OutsideAssignment) -> Submission | None:
    """What this worker sent here for this assignment; None if nothing arrived, or it came from somebody else."""
    return Submission.objects.filter(assignment__outside=outside).first()


def reported_of(study: Study, submissions: Sequence[int]) -> dict[int, int]:
    """By submission (of these ids): the id of what the platform reports of it, from the same worker."""
    reported = Submission.objects.filter(study=study, pk__in=among(submissions), assignment__outside__isnull=False)
    return dict(reported.order_by().values_list("pk", "assignment__outside"))
