"""Submissions as lists show them: one page at a time, with a fixed number of queries per page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from annotation.models import Assignment, Flag, Rating, Review, Study, Submission
from annotation.queries.among import among
from annotation.queries.left_out import excluded_by_rule, excluded_submissions, left_out_submissions
from annotation.queries.pay_states import with_pay_state

PER_PAGE = 40
SHOWN_TEXT = 80

#: What a list can be filtered by.
SHOWS = ("all", "flagged", "excluded", "rules", "extra", "included", "comments", "synthetic", "people")


_SHOWN_BY = {
    "extra": Q(assignment__extra=True),
    "comments": ~Q(feedback=""),
    "synthetic": Q(participant__synthetic=True),
    "people": Q(participant__synthetic=False),
}


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
    extra: bool
    received_at: datetime
    seconds: float
    flags: list[Flag]
    review: Review | None
    answers: list[Answered]
    pay: str = ""

    @property
    def excluded(self) -> bool:
        return self.review is not None and self.review.decision == Review.Decision.EXCLUDE


@dataclass(frozen=True, slots=True)
class Filter:
    """Which submissions. ``show`` is one of SHOWS, ``arm`` an arm's name (None: all), ``pay`` a key of PAY_STATES,
    ``reason`` a flag's reason, ``faster`` a number of seconds. Empty values do not filter.
    """

    show: str = "all"
    pseudonym: str = ""
    arm: str | None = None
    pay: str = ""
    reason: str = ""
    faster: float | None = None

    @property
    def narrows(self) -> bool:
        return self != Filter()


def chosen(study: Study, which: Filter) -> QuerySet[Submission]:
    """The submissions that the filter selects, newest first, each with its ``pay``."""
    found = with_pay_state(study)
    if which.arm is not None:
        found = found.filter(participant__arm__name=which.arm)
    if which.pseudonym:
        found = found.filter(participant__pseudonym=which.pseudonym)
    if which.pay:
        found = found.filter(pay=which.pay)
    if which.faster is not None:
        found = found.filter(seconds__lt=which.faster)
    if which.reason:
        found = found.filter(Exists(Flag.objects.filter(submission=OuterRef("pk"), reason=which.reason)))
    if which.show == "flagged":
        found = found.filter(Exists(Flag.objects.filter(submission=OuterRef("pk"))))
    elif which.show == "excluded":
        found = found.filter(pk__in=excluded_submissions(study))
    elif which.show == "rules":
        found = found.filter(pk__in=among(excluded_by_rule(study)))
    elif which.show == "included":
        found = found.exclude(pk__in=left_out_submissions(study))
    elif which.show in _SHOWN_BY:
        found = found.filter(_SHOWN_BY[which.show])
    return found.order_by("-received_at", "-pk")


def submissions(study: Study, which: Filter = Filter()) -> QuerySet[Submission]:
    """Like ``chosen``, with participant, arm, flags and reviews (newest first) loaded."""
    return (
        chosen(study, which)
        .select_related("participant__arm", "assignment")
        .defer("answers", "participant__arm__shown_config", "participant__arm__shown_texts")
        .prefetch_related(
            Prefetch("flags", Flag.objects.order_by("pk")),
            Prefetch("reviews", Review.objects.select_related("user").order_by("-pk")),
        )
    )


def flag_reasons(study: Study) -> list[str]:
    """The reasons of the study's flags, for a filter."""
    found = Flag.objects.filter(submission__study=study).order_by("reason")
    return list(found.values_list("reason", flat=True).distinct())


def submission_page(
    study: Study,
    which: Filter = Filter(),
    *,
    number: int = 1,
    per_page: int = PER_PAGE,
) -> tuple[Page[Submission], list[SubmissionRow]]:
    """One page with the answers in brief; the nearest page if that number does not exist."""
    page = Paginator(submissions(study, which), per_page).get_page(number)
    return page, submission_rows(list(page.object_list))


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a submission among those chosen, newest first, with its neighbours and the number of all."""

    total: int
    before: int | None
    after: int | None
    number: int | None


def place_among(found: QuerySet[Submission], one: Submission) -> Place:
    """The place of ``one`` in ``found``. If it is not there, ``number`` is None; the neighbours are those in time."""
    same, when = Q(received_at=one.received_at), one.received_at
    newer = found.filter(Q(received_at__gt=when) | (same & Q(pk__gt=one.pk)))
    older = found.filter(Q(received_at__lt=when) | (same & Q(pk__lt=one.pk)))
    n_newer = newer.count()
    return Place(
        total=found.count(),
        before=newer.order_by("received_at", "pk").values_list("pk", flat=True).first(),
        after=older.order_by("-received_at", "-pk").values_list("pk", flat=True).first(),
        number=n_newer + 1 if found.filter(pk=one.pk).exists() else None,
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
        extra=submission.assignment.extra,
        received_at=submission.received_at,
        seconds=submission.seconds,
        flags=list(submission.flags.all()),
        review=next(iter(submission.reviews.all()), None),
        answers=answers,
        pay=getattr(submission, "pay", ""),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_TEXT else f"{line[: SHOWN_TEXT - 1]}…"
