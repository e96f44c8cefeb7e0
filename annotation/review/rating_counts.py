"""How many ratings a study has: one definition for the console, the command line, the API and the report.

A rating is a number that a worker gave to one question about one item or part of an item. Texts are counted separately.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.models import Rating, Study
from annotation.work.left_out import LeftOut, read_left_out
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


def rating_counts(study: Study, left_out: LeftOut | None = None) -> RatingCounts:
    """The counts: one query besides those of `read_left_out`, whose answer may be given."""
    left_out = left_out or read_left_out(study)
    ratings, people = Rating.objects.filter(study=study, value__isnull=False), Q(participant__synthetic=False)
    totals = {"n": Count("pk"), "people": Count("pk", filter=people)}
    if left_out.any or left_out.repeated:
        out = Q(submission__in=left_out.submissions) | Q(pk__in=left_out.repeated)
        totals |= {"out": Count("pk", filter=out), "people_out": Count("pk", filter=out & people)}
    counts = {"out": 0, "people_out": 0} | ratings.aggregate(**totals)
    return RatingCounts(counts["n"], counts["n"] - counts["out"], counts["people"] - counts["people_out"])
