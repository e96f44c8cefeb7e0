"""Whether a platform confirms who did the work. Until then, it is left out of analysis and payment."""

from __future__ import annotations

from django.db.models import QuerySet

from annotation.models import Assignment, OutsideAssignment, Posting, Study, Submission
from annotation.platforms import all_platforms
from annotation.platforms.link import PLATFORM as LINK
from annotation.platforms.listings import is_bounded

OutsideState = OutsideAssignment.State


#: The states in which a platform reports work that was done there, decided or not.
CONFIRMING = (OutsideState.SUBMITTED, OutsideState.APPROVED, OutsideState.PARTIAL, OutsideState.REJECTED)


def platforms_of(study: Study) -> list[str]:
    """The platforms on which the study is or was offered, not counting the plain link."""
    postings = Posting.objects.filter(study=study).exclude(platform=LINK)
    return list(postings.order_by("platform").values_list("platform", flat=True).distinct())


def is_posted(study: Study) -> bool:
    """Whether the study is or was offered on a platform, so that nobody joins by its link."""
    return Posting.objects.filter(study=study).exclude(platform=LINK).exists()


def bounded_on(study: Study) -> str:
    """The platform that offers more of the study's hits, each on its own, than one worker can do; or empty."""
    if study.hits_per_worker is None:
        return ""
    return next((name for name in platforms_of(study) if is_bounded(study, name)), "")


def confirmed(study: Study) -> QuerySet[Assignment]:
    """Assignments of posted hits that the platform confirms as this worker's."""
    return Assignment.objects.filter(hit__study=study, outside__state__in=CONFIRMING)


def unconfirmed_submissions(study: Study) -> QuerySet[Submission]:
    """Submissions here that the platform has not (yet) confirmed as this worker's.

    Work from a platform that cannot confirm anything is not among them: see `claimed_submissions`.
    """
    posted = Submission.objects.filter(study=study, assignment__posting__isnull=False)
    posted = posted.exclude(assignment__posting__platform__in=_without_confirmation())
    return posted.exclude(assignment__outside__state__in=CONFIRMING)


def claimed_submissions(study: Study) -> QuerySet[Submission]:
    """Submissions that count although only the worker's browser names the sender: the platform cannot confirm it."""
    return Submission.objects.filter(study=study, assignment__posting__platform__in=_without_confirmation())


def _without_confirmation() -> list[str]:
    return [name for name, platform in all_platforms().items() if not platform.confirms]
