"""The long export: one row per rating, in the order in which the ratings were made."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from django.db.models import F, TextField
from django.db.models.functions import Cast

from annotation.models import Flag, HitItem, Rating, Submission
from annotation.record_writers import Record, Sheet, utc
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.exports.request import Request

#: Ratings per batch. More need more memory. Below a few thousand, the queries start to take a noticeable time.
BATCH = 5_000
#: The columns of a rating, of its submission, and of the worker behind the pseudonym.
RATING_COLUMNS = ("study", "item", "role", "source", "question", "target", "scale", "value", "text", "seconds")
SUBMISSION_COLUMNS = (
    "worker",
    "synthetic",
    "included",
    "confirmation",
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
TEXTS = ("item", "source", "question", "target", "text", "arm", "feedback", *WORKER_COLUMNS)
#: The place in the hit, counted from 0; and the item's id, role and source.
ItemPlace = tuple[int | None, tuple[str, str, str]]
#: For a question about no item.
NO_ITEM: ItemPlace = (None, ("", "", ""))
_SUBMISSION_FIELDS = (
    "participant__pseudonym",
    "participant__synthetic",
    "participant__arm__name",
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


def long_sheet(request: Request) -> Sheet:
    """One row per rating: study, item and its source, question, answer; then the submission and its worker, and the
    ``place`` and ``order`` in which the worker saw the item."""
    columns = [*RATING_COLUMNS, "place", *SUBMISSION_COLUMNS, *(WORKER_COLUMNS if request.with_worker_ids else ())]
    return Sheet(columns, [columns.index(name) for name in TEXTS if name in columns], _batches(request))


def _batches(request: Request) -> Iterator[list[Record]]:
    marks = Marks(request.study)
    for ratings in _rating_pages(request):
        cells_by_submission = _submission_cells({row[1] for row in ratings}, request, marks)
        places = _places({row[2] for row in ratings if row[2] is not None})
        slug = request.study.slug
        records: list[Record] = []
        for _, submission, item, *answer in ratings:
            hit, submission_cells = cells_by_submission[submission]
            position, item_cells = places[hit, item] if item is not None else NO_ITEM
            records.append([slug, *item_cells, *answer, position, *submission_cells])
        yield records


def _rating_pages(request: Request) -> Iterator[list[tuple[Any, ...]]]:
    """Ratings in pages by primary key, so that no cursor and no transaction stays open while a slow client reads."""
    ratings = Rating.objects.filter(study=request.study).order_by("pk")
    if request.simulated is not None:
        ratings = ratings.filter(participant__synthetic=request.simulated)
    rows = ratings.values_list(
        "pk", "submission_id", "item_id", "question", "target", "scale", "value", "text", "seconds"
    )
    last = 0
    while page := list(rows.filter(pk__gt=last)[:BATCH]):
        yield page
        last = page[-1][0]


def _submission_cells(ids: Collection[int], request: Request, marks: Marks) -> dict[int, tuple[int, Record]]:
    """The hit, and the cells of SUBMISSION_COLUMNS (and WORKER_COLUMNS), by submission."""
    flags = _flags(ids)
    fields = _SUBMISSION_FIELDS + (_WORKER_FIELDS if request.with_worker_ids else ())
    rows = (
        Submission.objects.filter(pk__in=ids)
        .annotate(order=Cast(F("assignment__order"), TextField()))
        .values_list("pk", *fields)
    )
    cells_by_submission: dict[int, tuple[int, Record]] = {}
    no, yes = request.yes_no
    for pk, pseudonym, synthetic, arm, received, seconds, hit, *rest in rows:
        submission_cells = [pseudonym, yes if synthetic else no, *request.use(marks, pk), flags.get(pk, ""), arm]
        cells_by_submission[pk] = hit, [*submission_cells, utc(received), seconds, *rest]
    return cells_by_submission


def _flags(ids: Collection[int]) -> dict[int, str]:
    """The different reasons for a submission's flags, in alphabetical order."""
    reasons: dict[int, list[str]] = {}
    near = Flag.objects.filter(submission_id__gte=min(ids), submission_id__lte=max(ids))
    flags = near.order_by("reason").values_list("submission_id", "reason")
    for submission, reason in flags.distinct():
        reasons.setdefault(submission, []).append(reason)
    return {submission: " ".join(names) for submission, names in reasons.items()}


def _places(items: Iterable[int]) -> dict[tuple[int, int], ItemPlace]:
    """By hit and item: the place in the hit, counted from 0 as in ``order``; the item's id, role and source."""
    hit_items = HitItem.objects.filter(item__in=items).values_list(
        "hit_id", "item_id", "position", "item__external_id", "item__role", "item__source"
    )
    return {
        (hit, item): (position, (name, role, json.dumps(source, ensure_ascii=False) if source else ""))
        for hit, item, position, name, role, source in hit_items
    }
