"""How many ratings a study has: one definition for the console, the command line, the API and the report.

A rating is a number that a worker gave to one question about one item or part of an item. Texts are counted separately.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.models import Rating, Study
from annotation.queries.left_out import left_out_submissions, may_leave_out, repeated_ratings
from common.words import rating_counts_in_words


@dataclass(frozen=True, slots=True)
class RatingCounts:
    """``all`` ratings received; those ``included`` in the analysis (see `left_out_submissions`); and the included ones
    ``by_people``, not by simulated workers."""

    all: int
    included: int
    by_people: int

    def __str__(self) -> str:
        return rating_counts_in_words(self.all, self.included, self.by_people)


def rating_counts(study: Study) -> RatingCounts:
    """The counts. At most five queries, and those of the study's exclusion rules."""
    ratings = Rating.objects.filter(study=study, value__isnull=False)
    found = ratings.aggregate(n=Count("pk"), people=Count("pk", filter=Q(participant__synthetic=False)))
    counts = RatingCounts(found["n"], found["n"], found["people"])
    if repeated := Rating.objects.filter(pk__in=repeated_ratings(study)):
        people = repeated.filter(participant__synthetic=False).count()
        counts = RatingCounts(counts.all, counts.included - repeated.count(), counts.by_people - people)
    if not may_leave_out(study):
        return counts
    left_out = ratings.filter(submission__in=left_out_submissions(study)).aggregate(
        n=Count("pk"), people=Count("pk", filter=Q(participant__synthetic=False))
    )
    return RatingCounts(counts.all, counts.included - left_out["n"], counts.by_people - left_out["people"])
