"""The long export: one row per rating, in the order in which they were given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F, TextField
from django.db.models.functions import Cast

from analysis.exports.writers import Record, Sheet
from annotation.models import Flag, HitItem, Rating, Review, Study, Submission

#: Ratings per batch. Memory grows with it, and below some thousand the queries begin to count.
BATCH = 5_000
#: What is known of a rating, of its submission, and of the worker behind the pseudonym.
RATING_COLUMNS = ("study", "item", "question", "target", "scale", "value", "text", "seconds")
SUBMISSION_COLUMNS = (
    "worker",
    "synthetic",
    "included",
    "flags",
    "arm",
    "submitted_at",
    "submission_seconds",
    "hit",
    "slot",
    "ordinal",
    "attempt",
    "feedback",
    "order",
)
WORKER_COLUMNS = ("platform", "worker_id", "assignment_id")
TEXTS = ("item", "question", "target", "text", "arm", "feedback", *WORKER_COLUMNS)
_SUBMISSION_FIELDS = (
    "participant__pseudonym",
    "participant__synthetic",
    "participant__arm",
    "received_at",
    "seconds",
    "assignment__hit_id",
    "assignment__hit__position",
    "assignment__slot",
    "assignment__ordinal",
    "assignment__attempt",
    "feedback",
    "order",
)
_WORKER_FIELDS = (
    "participant__worker__platform",
    "participant__worker__platform_id",
    "assignment__platform_assignment_id",
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. ``simulated``: None for everybody, True or False for simulated workers or people alone.

    ``yes_no`` is how the format writes False and True.
    """

    study: Study
    simulated: bool | None = None
    with_worker_ids: bool = False
    yes_no: tuple[object, object] = (False, True)


def excluded_submissions(study: Study) -> set[int]:
    """Those whose latest review says so. Only they are kept in memory, not all that were reviewed."""
    excluded: set[int] = set()
    reviews = Review.objects.filter(submission__study=study).order_by("pk").values_list("submission_id", "decision")
    for submission, decision in reviews.iterator(chunk_size=BATCH):
        if decision == Review.Decision.EXCLUDE:
            excluded.add(submission)
        else:
            excluded.discard(submission)
    return excluded


def long_sheet(request: Request) -> Sheet:
    """Study, item, question, answer; then the submission and its worker, and ``place`` and ``order`` as shown."""
    columns = [*RATING_COLUMNS, "place", *SUBMISSION_COLUMNS, *(WORKER_COLUMNS if request.with_worker_ids else ())]
    return Sheet(columns, [columns.index(name) for name in TEXTS if name in columns], _batches(request))


def _batches(request: Request) -> Iterator[list[Record]]:
    excluded = excluded_submissions(request.study)
    for ratings in _rating_pages(request):
        told = _told_of_submissions({row[1] for row in ratings}, request, excluded)
        places = _places({row[2] for row in ratings})
        slug = request.study.slug
        yield [
            [slug, (place := places[told[row[1]][0], row[2]])[1], *row[3:], place[0], *told[row[1]][1]]
            for row in ratings
        ]


def _rating_pages(request: Request) -> Iterator[list[tuple[Any, ...]]]:
    """Pages by primary key: no cursor and no transaction stays open while a slow client reads."""
    found = Rating.objects.filter(study=request.study).order_by("pk")
    if request.simulated is not None:
        found = found.filter(participant__synthetic=request.simulated)
    rows = found.values_list(
        "pk", "submission_id", "item_id", "question", "target", "scale", "value", "text", "seconds"
    )
    last = 0
    while page := list(rows.filter(pk__gt=last)[:BATCH]):
        yield page
        last = page[-1][0]


def _told_of_submissions(
    ids: Collection[int], request: Request, excluded: Collection[int]
) -> dict[int, tuple[int, Record]]:
    """The hit, and the cells of SUBMISSION_COLUMNS (and WORKER_COLUMNS), by submission."""
    flags = _flags(ids)
    fields = _SUBMISSION_FIELDS + (_WORKER_FIELDS if request.with_worker_ids else ())
    rows = (
        Submission.objects.filter(pk__in=ids)
        .annotate(order=Cast(F("assignment__order"), TextField()))
        .values_list("pk", *fields)
    )
    told: dict[int, tuple[int, Record]] = {}
    no, yes = request.yes_no
    for pk, pseudonym, synthetic, arm, received, seconds, hit, *rest in rows:
        known = [pseudonym, yes if synthetic else no, no if pk in excluded else yes, flags.get(pk, ""), arm]
        told[pk] = hit, [*known, _utc(received), seconds, *rest]
    return told


def _flags(ids: Collection[int]) -> dict[int, str]:
    """The different reasons for which a submission was flagged, in alphabetical order."""
    reasons: dict[int, list[str]] = {}
    near = Flag.objects.filter(submission_id__gte=min(ids), submission_id__lte=max(ids))
    found = near.order_by("reason").values_list("submission_id", "reason")
    for submission, reason in found.distinct():
        reasons.setdefault(submission, []).append(reason)
    return {submission: " ".join(names) for submission, names in reasons.items()}


def _places(items: Iterable[int]) -> dict[tuple[int, int], tuple[int, str]]:
    """The item's place in a hit, counted from 0 as in ``order``, and its external id, by hit and item."""
    found = HitItem.objects.filter(item__in=items).values_list("hit_id", "item_id", "position", "item__external_id")
    return {(hit, item): (position, name) for hit, item, position, name in found}


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
