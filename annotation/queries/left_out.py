"""Which submissions a person excluded from the analysis: one definition for pages, exports and the API."""

from __future__ import annotations

from django.db.models import Max, QuerySet

from annotation.models import Review, Study


def excluded_submissions(study: Study) -> QuerySet[Review, int]:
    """Ids of the submissions whose newest review is “exclude”: a query, for use in another query or as a set.

    It finds the newest reviews once for the study. With a subquery per submission, PostgreSQL may read all reviews each
    time.
    """
    newest = Review.objects.filter(submission__study=study).order_by().values("submission").annotate(last=Max("pk"))
    excluding = Review.objects.filter(pk__in=newest.values("last"), decision=Review.Decision.EXCLUDE)
    return excluding.order_by().values_list("submission_id", flat=True)
