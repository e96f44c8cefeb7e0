"""Submissions as lists show them: one page at a time, with a fixed number of queries per page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from annotation.models import Assignment, Flag, Rating, Review, Study, Submission
from annotation.queries.left_out import excluded_submissions

PER_PAGE = 40
SHOWN_TEXT = 80

#: What a list can be filtered by.
SHOWS = ("all", "flagged", "excluded", "synthetic", "people")


@dataclass(frozen=True, slots=True)
class Answered:
    """One rating in brief: the question's topic, the item (empty if it is about none), the part, the answer."""

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
    arm: str
    released: bool
    received_at: datetime
    seconds: float
    flags: list[Flag]
    review: Review | None
    answers: list[Answered]

    @property
    def excluded(self) -> bool:
        return self.review is not None and self.review.decision == Review.Decision.EXCLUDE


def submissions(
    study: Study, *, show: str = "all", pseudonym: str = "", arm: str | None = None
) -> QuerySet[Submission]:
    """The study's submissions, newest first, with participant, arm, flags and reviews (newest first) loaded.

    ``show`` is one of SHOWS; anything else means all. ``arm`` is the name of an arm, or None for all.
    """
    found = Submission.objects.filter(study=study)
    if arm is not None:
        found = found.filter(participant__arm__name=arm)
    if pseudonym:
        found = found.filter(participant__pseudonym=pseudonym)
    if show == "flagged":
        found = found.filter(Exists(Flag.objects.filter(submission=OuterRef("pk"))))
    elif show == "excluded":
        found = found.filter(pk__in=excluded_submissions(study))
    elif show in ("synthetic", "people"):
        found = found.filter(participant__synthetic=show == "synthetic")
    return (
        found.select_related("participant__arm", "assignment")
        .defer("answers", "participant__arm__shown_config", "participant__arm__shown_texts")
        .prefetch_related(
            Prefetch("flags", Flag.objects.order_by("pk")),
            Prefetch("reviews", Review.objects.select_related("user").order_by("-pk")),
        )
        .order_by("-received_at", "-pk")
    )


def submission_page(
    study: Study,
    *,
    number: int = 1,
    show: str = "all",
    pseudonym: str = "",
    arm: str | None = None,
    per_page: int = PER_PAGE,
) -> tuple[Page[Submission], list[SubmissionRow]]:
    """One page with the answers in brief; the nearest page if that number does not exist."""
    page = Paginator(submissions(study, show=show, pseudonym=pseudonym, arm=arm), per_page).get_page(number)
    return page, submission_rows(list(page.object_list))


@dataclass(frozen=True, slots=True)
class FlaggedPlace:
    """The position of a submission among the flagged ones, newest first: its neighbours, and how many there are."""

    total: int
    before: int | None
    after: int | None
    number: int | None


def flagged_place(study: Study, found: Submission) -> FlaggedPlace:
    """``number`` is None if the submission is not flagged. Its neighbours are then those around it in time."""
    flagged = Submission.objects.filter(study=study).filter(Exists(Flag.objects.filter(submission=OuterRef("pk"))))
    same, when = Q(received_at=found.received_at), found.received_at
    newer = flagged.filter(Q(received_at__gt=when) | (same & Q(pk__gt=found.pk)))
    older = flagged.filter(Q(received_at__lt=when) | (same & Q(pk__lt=found.pk)))
    n_newer = newer.count()
    return FlaggedPlace(
        total=flagged.count(),
        before=newer.order_by("received_at", "pk").values_list("pk", flat=True).first(),
        after=older.order_by("-received_at", "-pk").values_list("pk", flat=True).first(),
        number=n_newer + 1 if flagged.filter(pk=found.pk).exists() else None,
    )


def submission_rows(found: Sequence[Submission]) -> list[SubmissionRow]:
    """Rows for submissions from ``submissions``. One query for all their ratings."""
    answers: dict[int, list[Answered]] = {submission.pk: [] for submission in found}
    ratings = Rating.objects.filter(submission__in=answers).select_related("item").order_by("pk")
    for rating in ratings.defer("item__payload"):
        shown = f"{rating.value:g}" if rating.value is not None else _short(rating.text)
        item = rating.item.external_id if rating.item else ""
        answers[rating.submission_id].append(Answered(rating.question, item, rating.target, shown))
    return [_row(submission, answers[submission.pk]) for submission in found]


def _row(submission: Submission, answers: list[Answered]) -> SubmissionRow:
    return SubmissionRow(
        pk=submission.pk,
        pseudonym=submission.participant.pseudonym,
        synthetic=submission.participant.synthetic,
        profile=submission.participant.profile,
        arm=submission.participant.arm.name,
        released=submission.assignment.state == Assignment.State.RELEASED,
        received_at=submission.received_at,
        seconds=submission.seconds,
        flags=list(submission.flags.all()),
        review=next(iter(submission.reviews.all()), None),
        answers=answers,
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_TEXT else f"{line[: SHOWN_TEXT - 1]}…"
