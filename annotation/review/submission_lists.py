"""Submissions as lists show them: one page at a time, with a fixed number of queries per page.

A list finds the numbers of its submissions first, and then reads only those. It counts up to `MOST_COUNTED` that match:
counting on would read the whole study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from annotation.many_ids import among
from annotation.models import Assignment, Flag, Rating, Review, Study, Submission
from annotation.recruiting.pay_states import annotate_pay, with_pay_state
from annotation.review.listed import Listed, count_up_to
from annotation.review.work_totals import Totals, totals_if_large
from annotation.work.left_out import excluded_by_rule, excluded_submissions, left_out_submissions, not_left_out
from annotation.work.part_pay import unpaid_parts

PER_PAGE = 40
SHOWN_TEXT = 80
#: Of more submissions that match a filter, pages say that there are more.
MOST_COUNTED = 10_000

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


def chosen(study: Study, chosen_filter: Filter) -> QuerySet[Submission]:
    """The submissions that the filter selects, newest first."""
    matching, of = Submission.objects.filter(study=study), None
    if chosen_filter.pseudonym:
        worker = study.participants.filter(pseudonym=chosen_filter.pseudonym).values_list("pk", flat=True)
        matching = matching.filter(participant__in=worker)
        if chosen_filter.pay or chosen_filter.show in ("excluded", "rules", "included"):
            of = list(worker)  # nothing about anybody else is read
    if chosen_filter.pay:
        matching = annotate_pay(matching, study, of=of).filter(pay=chosen_filter.pay)
    if chosen_filter.arm is not None:
        matching = matching.filter(participant__arm__name=chosen_filter.arm)
    if chosen_filter.faster is not None:
        matching = matching.filter(seconds__lt=chosen_filter.faster)
    if chosen_filter.reason:
        matching = matching.filter(Exists(Flag.objects.filter(submission=OuterRef("pk"), reason=chosen_filter.reason)))
    if chosen_filter.show == "flagged":
        matching = matching.filter(Exists(Flag.objects.filter(submission=OuterRef("pk"))))
    elif chosen_filter.show == "excluded":
        matching = matching.filter(pk__in=excluded_submissions(study, of))
    elif chosen_filter.show == "rules":
        matching = matching.filter(pk__in=among(excluded_by_rule(study, of)))
    elif chosen_filter.show == "included":
        matching = matching.filter(not_left_out(left_out_submissions(study, of)))
    elif chosen_filter.show in _SHOWN_BY:
        matching = matching.filter(_SHOWN_BY[chosen_filter.show])
    return matching.order_by("-received_at", "-pk")


def submissions(study: Study, chosen_filter: Filter = Filter()) -> QuerySet[Submission]:
    """Like ``chosen``, each with its ``pay``, and with participant, arm, flags and reviews (newest first) loaded."""
    matching = chosen(study, chosen_filter)
    return _loaded(matching if chosen_filter.pay else annotate_pay(matching, study))


def _loaded(matching: QuerySet[Submission]) -> QuerySet[Submission]:
    return (
        matching.select_related("participant__arm", "assignment")
        .defer("answers", "participant__arm__shown_config", "participant__arm__shown_texts")
        .prefetch_related(
            Prefetch("flags", Flag.objects.order_by("pk")),
            Prefetch("reviews", Review.objects.select_related("user").order_by("-pk")),
        )
    )


def flag_reasons(study: Study) -> list[str]:
    """The reasons of the study's flags, for a filter."""
    if totals := totals_if_large(study):
        return sorted({reason for (flags,) in totals.rows("flags") for reason in flags})
    flags = Flag.objects.filter(submission__study=study).order_by("reason")
    return list(flags.values_list("reason", flat=True).distinct())


def submission_page(
    study: Study,
    chosen_filter: Filter = Filter(),
    *,
    number: int = 1,
    per_page: int = PER_PAGE,
) -> tuple[Page[Submission], list[SubmissionRow]]:
    """One page with the answers in brief; the nearest page if that number does not exist."""
    matching = chosen(study, chosen_filter).values_list("pk", "participant")
    among_newest = None
    if (chosen_filter.pay or chosen_filter.show == "included") and not chosen_filter.pseudonym:
        among_newest = Submission.objects.filter(study=study).order_by("-received_at", "-pk").values("pk")
    pages = Listed(matching, per_page, most=max(MOST_COUNTED, (number + 1) * per_page), among_newest=among_newest)
    if not pages.is_one_page and (totals := totals_if_large(study)) and not totals.behind:
        pages.know(_count(study, chosen_filter, totals))
    elif not chosen_filter.narrows:
        pages.most = None
    page = pages.get_page(number)
    participant_of = dict(page.object_list)
    shown = _loaded(with_pay_state(study, of=set(participant_of.values())).filter(pk__in=participant_of)).in_bulk()
    page.object_list = [shown[pk] for pk in participant_of if pk in shown]
    return page, submission_rows(page.object_list)


def _count(study: Study, chosen_filter: Filter, totals: Totals) -> int | None:
    """How many match, from the totals; None if these do not have it."""
    if chosen_filter == Filter(pay="to_pay"):
        # Their hits to pay include those that were stopped, which sent nothing.
        return int(totals.sums(n="hits_due")["n"]) - unpaid_parts(study).count()
    if chosen_filter == Filter(show="included"):
        counts = totals.rows("received", "left_out")
        return int(sum(received - sum(out.values()) + out.get("repeated_ratings", 0) for received, out in counts))
    column = _COUNTED_IN.get(chosen_filter)
    return int(totals.sums(n=column)["n"]) if column else None


_COUNTED_IN = {
    Filter(): "received",
    Filter(pay="to_approve"): "hits_open",
    **{Filter(show=show): show for show in ("flagged", "excluded", "extra", "comments")},
}


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a submission among those chosen, newest first, with its neighbours and the number of all.

    ``listed``: whether it is among them. ``number`` is None if it is not, or if more than `MOST_COUNTED` are newer;
    ``more``: there are more than ``total``.
    """

    total: int
    before: int | None
    after: int | None
    number: int | None
    listed: bool
    more: bool = False


def place_among(listed: QuerySet[Submission], one: Submission) -> Place:
    """The place of ``one`` among them. If it is not there, the neighbours are those in time."""
    when = one.received_at
    newer = listed.filter(Q(received_at__gte=when) & (Q(received_at__gt=when) | Q(pk__gt=one.pk)))
    older = listed.filter(Q(received_at__lte=when) & (Q(received_at__lt=when) | Q(pk__lt=one.pk)))
    is_listed = listed.filter(pk=one.pk).exists()
    n_newer, many_newer = count_up_to(newer, MOST_COUNTED)
    n_older, many_older = (0, True) if many_newer else count_up_to(older, MOST_COUNTED - n_newer)
    more, n_all = many_newer or many_older, n_newer + is_listed + n_older
    return Place(
        total=min(n_all, MOST_COUNTED) if more else n_all,
        before=newer.order_by("received_at", "pk").values_list("pk", flat=True).first(),
        after=older.order_by("-received_at", "-pk").values_list("pk", flat=True).first(),
        number=n_newer + 1 if is_listed and not many_newer else None,
        listed=is_listed,
        more=more,
    )


def submission_rows(listed: Sequence[Submission]) -> list[SubmissionRow]:
    """Rows for submissions from ``submissions``. One query for all their ratings."""
    answers: dict[int, list[Answered]] = {submission.pk: [] for submission in listed}
    ratings = Rating.objects.filter(submission__in=answers).select_related("item").order_by("pk")
    for rating in ratings.defer("item__payload"):
        line = " ".join(rating.text.split())
        short = line if len(line) <= SHOWN_TEXT else f"{line[: SHOWN_TEXT - 1]}…"
        shown = f"{rating.value:g}" if rating.value is not None else short
        item = rating.item.external_id if rating.item else ""
        answers[rating.submission_id].append(Answered(rating.question, item, rating.target, shown))
    return [
        SubmissionRow(
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
            answers=answers[submission.pk],
            pay=getattr(submission, "pay", ""),
        )
        for submission in listed
    ]
