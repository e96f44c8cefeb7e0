"""Work on platforms: what both sides have, and what only one side has.

A submission of a posted hit is confirmed when the platform has the same assignment, with the same worker and the same
posting. Until then, it is left out of analysis and payment.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from annotation.models import Assignment, OutsideAssignment, Posting, Study, Submission


def is_posted(study: Study) -> bool:
    """Whether the study's hits are or were offered one by one on a platform."""
    return Posting.objects.filter(study=study, hit__isnull=False).exists()


def _claimed() -> Q:
    """Joins an assignment here with the platform's: same id, worker and posting."""
    return Q(
        posting__outside__external_id=F("platform_assignment_id"),
        posting__outside__worker_id=F("participant__worker__platform_id"),
    )


def confirmed(study: Study) -> QuerySet[Assignment]:
    """Assignments of posted hits that the platform confirms as this worker's."""
    return Assignment.objects.filter(_claimed(), hit__study=study).distinct()


def submission_of(outside: OutsideAssignment) -> Submission | None:
    """What this worker sent here for this assignment; None if nothing arrived, or it came from somebody else."""
    return Submission.objects.filter(
        assignment__posting=outside.posting_id,
        assignment__platform_assignment_id=outside.external_id,
        participant__worker__platform_id=outside.worker_id,
    ).first()


def unconfirmed_submissions(study: Study) -> QuerySet[Submission]:
    """Submissions here that the platform has not (yet) confirmed as this worker's."""
    posted = Submission.objects.filter(study=study, assignment__posting__isnull=False)
    return posted.exclude(assignment__in=confirmed(study).values("pk"))


@dataclass(frozen=True, slots=True)
class Differences:
    """What only one side has. The ids are the platform's, so that a person can look them up."""

    here_only: list[Assignment]
    there_only: list[OutsideAssignment]
    other_worker: list[tuple[Assignment, OutsideAssignment]]


def differences(study: Study) -> Differences:
    """Submitted here but unknown there; submitted there but not here; the same assignment with another worker."""
    sent = Assignment.objects.filter(
        hit__study=study, posting__isnull=False, state__in=[Assignment.State.SUBMITTED, Assignment.State.RELEASED]
    ).select_related("participant__worker", "posting")
    here = {(each.posting_id or 0, each.platform_assignment_id): each for each in sent}
    outside = OutsideAssignment.objects.filter(posting__study=study).select_related("posting")
    there = {(each.posting_id, each.external_id): each for each in outside}
    both = here.keys() & there.keys()
    mixed = [
        (here[key], there[key])
        for key in sorted(both)
        if here[key].participant.worker.platform_id != there[key].worker_id
    ]
    return Differences(
        here_only=[here[key] for key in sorted(here.keys() - both)],
        there_only=[there[key] for key in sorted(there.keys() - both)],
        other_worker=mixed,
    )
