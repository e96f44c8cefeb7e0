"""The long export: one row per answer, in the order in which the answers were made."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from django.db.models import F, TextField
from django.db.models.functions import Cast

from annotation.models import Flag, HitItem, Rating, Submission
from annotation.record_writers import Record, Sheet, utc
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.answers_around_tasks import levels_of_workers
from annotation.results.criteria import Criteria
from annotation.results.exports.long_columns import LongColumns
from annotation.results.exports.request import Request
from annotation.results.row_pages import pages_by_pk
from annotation.task_types.items import Json
from annotation.task_types.placements import Placement, Seen
from annotation.work.left_out import Reasons

#: Ratings per batch. More need more memory. Below a few thousand, the queries start to take a noticeable time.
BATCH = 5_000
_SUBMISSION_FIELDS = (
    *("pk", "participant__pseudonym", "participant__synthetic", "participant__arm_id", "participant__arm__name"),
    *("received_at", "seconds", "assignment__hit_id", "assignment__hit__position"),
    *("assignment__slot", "assignment__ordinal", "assignment__attempt", "feedback", "order"),
)
_WORKER_FIELDS = (
    "participant__worker__platform",
    "participant__worker__platform_id",
    "assignment__platform_assignment_id",
)


class Sent(NamedTuple):
    """A submission: its hit, its arm, what was shown in which order, and its cells before and after an answer's."""

    hit: int
    arm: str
    order: Json
    who: Record
    flags: str
    facts: Record


class ItemInHit(NamedTuple):
    """An item at its index in a hit. ``cells`` are shared by all hits of a batch."""

    place: int
    payload: Json
    cells: list[str]


def long_sheet(request: Request) -> Sheet:
    """One row per answer: who, which item with all its columns, which part and how it was shown, the answer, whether it
    is in the figures, and its submission."""
    arms = list(request.study.arms.all())
    columns = LongColumns(request.study, arms, with_worker_ids=request.with_worker_ids)
    criteria = Criteria(request.study, arms)

    def batches() -> Iterator[list[Record]]:
        marks, reasons = Marks(request.study), Reasons(request.study)
        rows = Rating.objects.filter(study=request.study).order_by("pk")
        if request.simulated is not None:
            rows = rows.filter(participant__synthetic=request.simulated)
        fields = ("pk", "submission_id", "item_id", "question", "target", "scale", "value", "text", "seconds")
        for ratings in pages_by_pk(rows.values_list(*fields), BATCH):
            sent = _submissions({row[1] for row in ratings}, request, columns)
            items = _items({row[2] for row in ratings if row[2] is not None}, columns)
            records: list[Record] = []
            for pk, submission, item, topic, target, scale, value, text, seconds in ratings:
                work = sent[submission]
                in_hit = None if item is None else items[work.hit, item]
                criterion = criteria.of(work.arm, topic)
                placement = Placement()
                if in_hit is not None and work.order:
                    seen = Seen(in_hit.payload, in_hit.place, work.order, topic, target, value)
                    placement = columns.task.placement(seen)
                why_not = reasons.of(submission, pk)
                width = columns.task.part_texts
                texts = [*(placement.texts or [criterion.options.get(target, "")]), *[""] * width][:width]
                records.append(
                    [
                        *work.who,
                        *(columns.no_item if in_hit is None else in_hit.cells),
                        *(placement.item_position, target, *texts, placement.part_position, placement.side),
                        "" if in_hit is None else columns.about,
                        *(topic, scale, criterion.level, criterion.low, criterion.high),
                        *(value, "" if value is None else criterion.words.get(value, ""), text, seconds),
                        *(request.yes_no[not why_not], why_not, str(marks.confirmation(submission)), work.flags),
                        *work.facts[:2],
                        None if in_hit is None else in_hit.place,
                        *work.facts[2:],
                    ]
                )
            yield records

    return Sheet(columns.names, columns.words, batches())


def _submissions(ids: Collection[int], request: Request, columns: LongColumns) -> dict[int, Sent]:
    # The different reasons for a submission's flags, in alphabetical order.
    reasons: dict[int, list[str]] = {}
    near = Flag.objects.filter(submission_id__gte=min(ids), submission_id__lte=max(ids))
    for submission, reason in near.order_by("reason").values_list("submission_id", "reason").distinct():
        reasons.setdefault(submission, []).append(reason)
    fields = _SUBMISSION_FIELDS + (_WORKER_FIELDS if request.with_worker_ids else ())
    rows = list(
        Submission.objects.filter(pk__in=ids)
        .annotate(order=Cast(F("assignment__order"), TextField()))
        .values_list(*fields)
    )
    levels = levels_of_workers(request.study, columns.worker_questions, {row[1] for row in rows})
    submissions: dict[int, Sent] = {}
    no, yes = request.yes_no
    for pk, pseudonym, synthetic, arm, arm_name, received, seconds, hit, number, *rest in rows:
        mark = yes if synthetic else no
        who = [request.study.slug, pk, pseudonym, mark, *columns.arm_cells[arm], *levels[pseudonym]]
        order = json.loads(rest[4])
        flags = " ".join(reasons.get(pk, ()))
        submissions[pk] = Sent(hit, arm_name, order, who, flags, [utc(received), seconds, number, *rest])
    return submissions


def _items(items: Iterable[int], columns: LongColumns) -> dict[tuple[int, int], ItemInHit]:
    """By hit and item: the item's index in the hit, as in ``order``, and its cells."""
    hit_items = HitItem.objects.filter(item__in=items).values_list(
        "hit_id", "item_id", "position", "item__external_id", "item__role", "item__payload"
    )
    cells: dict[int, list[str]] = {}
    payloads: dict[int, Json] = {}
    places: dict[tuple[int, int], ItemInHit] = {}
    for hit, item, position, name, role, payload in hit_items:
        if item not in cells:
            cells[item], payloads[item] = columns.item_cells(item, name, role, payload), payload
        places[hit, item] = ItemInHit(position, payloads[item], cells[item])
    return places
