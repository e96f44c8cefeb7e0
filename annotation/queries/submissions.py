"""What came in, as lists show it: one page at a time, a fixed number of queries each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Prefetch, QuerySet

from annotation.models import Flag, Rating, Review, Study, Submission
from annotation.queries.progress import excluded

PER_PAGE = 40
SHOWN_TEXT = 80

#: What a list may be narrowed to.
SHOWS = ("all", "flagged", "excluded", "synthetic", "people")


@dataclass(frozen=True, slots=True)
class Answered:
    """One rating in short: the question's topic, the item, the part of it asked about, and the answer."""

    topic: str
    item: str
    target: str
    value: str


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """One submission as a line of a list."""

    pk: int
    pseudonym: str
    synthetic: bool
    profile: str
    received_at: datetime
    seconds: float
    flags: list[Flag]
    review: Review | None
    answers: list[Answered]

    @property
    def excluded(self) -> bool:
        return self.review is not None and self.review.decision == Review.Decision.EXCLUDE


def submissions(study: Study, *, show: str = "all", pseudonym: str = "") -> QuerySet[Submission]:
    """The study's submissions, newest first, with participant, flags and reviews (newest first) at hand.

    ``show`` is one of SHOWS; anything else counts as all.
    """
    found = Submission.objects.filter(study=study)
    if pseudonym:
        found = found.filter(participant__pseudonym=pseudonym)
    if show == "flagged":
        found = found.filter(Exists(Flag.objects.filter(submission=OuterRef("pk"))))
    elif show == "excluded":
        found = excluded(found, study)
    elif show in ("synthetic", "people"):
        found = found.filter(participant__synthetic=show == "synthetic")
    return (
        found.select_related("participant", "assignment")
        .prefetch_related(
            Prefetch("flags", Flag.objects.order_by("pk")),
            Prefetch("reviews", Review.objects.select_related("user").order_by("-pk")),
        )
        .order_by("-received_at", "-pk")
    )


def submission_page(
    study: Study, *, number: int = 1, show: str = "all", pseudonym: str = "", per_page: int = PER_PAGE
) -> tuple[Page[Submission], list[SubmissionRow]]:
    """One page with the answers in short; the nearest page when there is none of that number."""
    page = Paginator(submissions(study, show=show, pseudonym=pseudonym), per_page).get_page(number)
    return page, submission_rows(list(page.object_list))


def submission_rows(found: Sequence[Submission]) -> list[SubmissionRow]:
    """Lines for submissions of ``submissions``; one query for all their ratings."""
    answers: dict[int, list[Answered]] = {submission.pk: [] for submission in found}
    ratings = Rating.objects.filter(submission__in=answers).select_related("item").order_by("pk")
    for rating in ratings.defer("item__payload"):
        shown = f"{rating.value:g}" if rating.value is not None else _short(rating.text)
        answers[rating.submission_id].append(Answered(rating.question, rating.item.external_id, rating.target, shown))
    return [_row(submission, answers[submission.pk]) for submission in found]


def _row(submission: Submission, answers: list[Answered]) -> SubmissionRow:
    return SubmissionRow(
        pk=submission.pk,
        pseudonym=submission.participant.pseudonym,
        synthetic=submission.participant.synthetic,
        profile=submission.participant.profile,
        received_at=submission.received_at,
        seconds=submission.seconds,
        flags=list(submission.flags.all()),
        review=next(iter(submission.reviews.all()), None),
        answers=answers,
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_TEXT else f"{line[: SHOWN_TEXT - 1]}…"
