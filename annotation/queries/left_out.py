"""Which submissions no figure includes: one definition for pages, exports, the report and the API."""

from __future__ import annotations

from django.db.models import Max, Q, QuerySet

from annotation.models import Review, Study, Submission
from annotation.queries.platforms import is_posted, unconfirmed_submissions


def excluded_submissions(study: Study) -> QuerySet[Review, int]:
    """Ids of the submissions whose newest review is “exclude”: a query, for use in another query or as a set.

    It finds the newest reviews once for the study. With a subquery per submission, PostgreSQL may read all reviews each
    time.
    """
    newest = Review.objects.filter(submission__study=study).order_by().values("submission").annotate(last=Max("pk"))
    excluding = Review.objects.filter(pk__in=newest.values("last"), decision=Review.Decision.EXCLUDE)
    return excluding.order_by().values_list("submission_id", flat=True)


def left_out_submissions(study: Study) -> QuerySet[Submission, int]:
    """Ids of the submissions that the analysis leaves out: excluded, or not confirmed by the platform (yet).

    A query, for use in another query or as a set.
    """
    out = Q(pk__in=excluded_submissions(study))
    if is_posted(study):
        out |= Q(pk__in=unconfirmed_submissions(study).values("pk"))
    return Submission.objects.filter(out, study=study).order_by().values_list("pk", flat=True)


def may_leave_out(study: Study) -> bool:
    """Whether `left_out_submissions` may find any."""
    return Review.objects.filter(submission__study=study, decision=Review.Decision.EXCLUDE).exists() or is_posted(study)
