"""Work on platforms: what both sides have, and what only one side has.

A submission of a posted hit is confirmed when the platform has the same assignment, with the same worker and the same
posting. Until then, it is left out of analysis and payment.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from annotation.models import Assignment, OutsideAssignment, Posting, Study, Submission
from annotation.platforms import known
from annotation.platforms.link import PLATFORM as LINK

OutsideState = OutsideAssignment.State
#: The states in which a platform reports work that was done there, decided or not.
CONFIRMING = (OutsideState.SUBMITTED, OutsideState.APPROVED, OutsideState.REJECTED)


def platforms_of(study: Study) -> list[str]:
    """The platforms on which the study is or was offered, not counting the plain link."""
    postings = Posting.objects.filter(study=study).exclude(platform=LINK)
    return list(postings.order_by("platform").values_list("platform", flat=True).distinct())


def is_posted(study: Study) -> bool:
    """Whether the study is or was offered on a platform, so that nobody joins by its link."""
    return Posting.objects.filter(study=study).exclude(platform=LINK).exists()


def _claimed() -> Q:
    """Joins an assignment here with the platform's: same id, worker and posting, and not returned there."""
    return Q(
        posting__outside__external_id=F("platform_assignment_id"),
        posting__outside__worker_id=F("participant__worker__platform_id"),
        posting__outside__state__in=CONFIRMING,
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
    """Submissions here that the platform has not (yet) confirmed as this worker's.

    Work from a platform that cannot confirm anything is not among them: see `claimed_submissions`.
    """
    posted = Submission.objects.filter(study=study, assignment__posting__isnull=False)
    posted = posted.exclude(assignment__posting__platform__in=_without_confirmation())
    return posted.exclude(assignment__in=confirmed(study).values("pk"))


def claimed_submissions(study: Study) -> QuerySet[Submission]:
    """Submissions that count although only the worker's browser names the sender: the platform cannot confirm it."""
    return Submission.objects.filter(study=study, assignment__posting__platform__in=_without_confirmation())


def _without_confirmation() -> list[str]:
    return [name for name, platform in known().items() if not platform.confirms]


@dataclass(frozen=True, slots=True)
class Differences:
    """What only one side has. The ids are the platform's, so that a person can look them up."""

    here_only: list[Assignment]
    there_only: list[OutsideAssignment]
    other_worker: list[tuple[Assignment, OutsideAssignment]]


def differences(study: Study) -> Differences:
    """Work submitted here but unknown there, work submitted there but not here, and assignments with different workers.

    Returned work counts as unknown there.
    """
    sent = (
        Assignment.objects.filter(
            hit__study=study, posting__isnull=False, state__in=[Assignment.State.SUBMITTED, Assignment.State.RELEASED]
        )
        .exclude(posting__platform__in=_without_confirmation())
        .select_related("participant__worker", "posting")
    )
    here = {(each.posting_id or 0, each.platform_assignment_id): each for each in sent}
    outside = OutsideAssignment.objects.filter(posting__study=study, state__in=CONFIRMING)
    outside = outside.select_related("posting").defer("answer")  # it may be long, and nothing here compares it
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
