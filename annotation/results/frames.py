"""A study's data as `StudyData` or as a bundle: the only place where database rows become frames or files of frames.

Workers appear under their pseudonyms in the study. The number of queries does not depend on the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from django.db.models import OuterRef, QuerySet, Subquery, Sum

from analysis.data import EXTRA, StudyData, make_study_data, write_bundle_tables
from analysis.description import StudyDescription
from annotation.models import (
    Adjudication,
    Assignment,
    Flag,
    HitItem,
    Item,
    ItemFeed,
    Media,
    Offer,
    Output,
    PartPayment,
    Rating,
    Review,
    Study,
    Submission,
)
from annotation.results.description import describe_study
from annotation.review.adjudicating import adjudicated_question
from annotation.studies.image_files import file_of
from annotation.studies.images import unused
from annotation.task_types.base import TaskType
from annotation.task_types.checks import CHECK
from annotation.task_types.registry import get_type
from annotation.work.confirmation import is_posted, unconfirmed_submissions
from annotation.work.left_out import left_out_submissions

CHUNK = 10_000
#: In the order of `analysis.data.FLAG_COLUMNS`.
_FLAG = ("submission_id", "reason", "detail", "value", "threshold")
#: The kind of outputs that are whole texts.
TEXT = "text"


def study_data(study: Study) -> StudyData:
    """Everything that reports, bundles and notebooks need. Submissions that a review excluded are included and marked.

    Submissions that the platform has not confirmed are missing. A submission that arrives while this runs is left out
    with all its ratings.
    """
    submissions = list(_submissions(study))
    known = {row[0] for row in submissions}
    items = dict(_item_rows(study))
    flags = Flag.objects.filter(submission__study=study).order_by("pk")
    description = describe_study(study)
    return make_study_data(
        description,
        items=items.values(),
        submissions=submissions,
        ratings=(
            (submission, "" if item is None else items[item][0], *answer)
            for submission, item, *answer in _ratings(study)
            if submission in known
        ),
        flags=(row for row in flags.values_list(*_FLAG) if row[0] in known),
        offers=(row for row in _offers(study, description) if row[0] in known),
        own_ratings=_own_ratings(study, description),
        adjudications=_adjudications(study),
        stopped=_stopped(study, description),
    )


def write_study_bundle(study: Study, out: BinaryIO, files: Mapping[str, Iterable[bytes]] | None = None) -> int:
    """Write the bundle of what `study_data` returns, without loading all rows. Returns the number of ratings.

    ``files`` are added to the bundle next to the tables, and so are the images that items show.
    """
    known: set[int] = set()
    names: dict[int, str] = {}

    def submissions() -> Iterator[tuple[Any, ...]]:
        for row in _submissions(study):
            known.add(row[0])
            yield row

    def items() -> Iterator[tuple[Any, ...]]:
        for pk, row in _item_rows(study):
            names[pk] = row[0]
            yield row

    def ratings() -> Iterator[tuple[Any, ...]]:
        for submission, item, *answer in _ratings(study):
            if submission in known:
                yield (submission, "" if item is None else names[item], *answer)

    flags = Flag.objects.filter(submission__study=study).order_by("pk").values_list(*_FLAG)
    description = describe_study(study)
    tables = {
        "submissions.csv": submissions(),
        "items.csv": items(),
        "ratings.csv": ratings(),
        "flags.csv": (row for row in flags.iterator(CHUNK) if row[0] in known),
        "offers.csv": (row for row in _offers(study, description) if row[0] in known),
        "own_ratings.csv": _own_ratings(study, description),
        "adjudications.csv": _adjudications(study),
        "stopped.csv": _stopped(study, description),
    }
    return write_bundle_tables(description, tables, out, {**(files or {}), **_images(study)})


def _images(study: Study) -> dict[str, Iterable[bytes]]:
    """The images that items show, by the names that the items use for them."""
    rows = Media.objects.filter(study=study).exclude(unused()).order_by("name").values_list("name", "key")
    return {name: _content(key) for name, key in rows}


def _content(key: str) -> Iterator[bytes]:
    """An image, read only when it is written, so that only one is in memory at a time."""
    yield file_of(key).read_bytes()


def _item_rows(study: Study) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Pairs of database id and record (in the order of `analysis.data.ITEM_COLUMNS`), in the order of the file."""
    task = get_type(study.task_type)
    planned = HitItem.objects.filter(hit__study=study).values_list("item").annotate(wanted=Sum("hit__wanted"))
    wanted = dict(planned.order_by())
    rows = Item.objects.filter(study=study).order_by("position").values_list("pk", "external_id", "role", "payload")
    for pk, name, role, payload in rows.iterator(CHUNK):
        about = wanted.get(pk, 0), task.export_columns(payload), payload.get(CHECK, {})
        yield pk, (name, role, *_facts(task, payload), *about)


def _facts(task: TaskType, payload: dict[str, Any]) -> tuple[Any, ...]:
    facts = task.describe_item(payload)
    parameter, value = facts.parameter or ("", math.nan)
    texts = [list(group) for group in facts.texts]
    return facts.context, parameter, value, texts, list(facts.responses), dict(facts.metrics)


def _submissions(study: Study) -> Iterator[tuple[Any, ...]]:
    """Records in the order of `analysis.data.SUBMISSION_COLUMNS`. The decision is from the latest review."""
    latest = Review.objects.filter(submission=OuterRef("pk")).order_by("-pk").values("decision")[:1]
    rows: QuerySet[Submission, Any] = (
        Submission.objects.filter(study=study)
        .annotate(decision=Subquery(latest))
        .order_by("pk")
        .values_list(
            "pk",
            "participant__pseudonym",
            "participant__synthetic",
            "participant__profile",
            "participant__arm__name",
            "assignment__hit_id",
            "seconds",
            "received_at",
            "feedback",
            "decision",
            "assignment__hit__reward",
            "assignment__extra",
        )
    )
    if is_posted(study):
        rows = rows.exclude(pk__in=unconfirmed_submissions(study).values("pk"))
    for *start, feedback, decision, reward, extra in rows.iterator(CHUNK):
        if extra and decision is None:
            decision = EXTRA
        yield (*start, bool(feedback.strip()), decision or "", str(reward))


def _ratings(study: Study) -> Iterator[tuple[Any, ...]]:
    """Records in the order of `analysis.data.RATING_COLUMNS`, with the item's database id."""
    rows: QuerySet[Rating, Any] = (
        Rating.objects.filter(study=study)
        .order_by("pk")
        .values_list("submission_id", "item_id", "question", "target", "scale", "value", "text", "seconds")
    )
    return rows.iterator(CHUNK)


def _offers(study: Study, description: StudyDescription) -> Iterator[tuple[Any, ...]]:
    """Records in the order of `analysis.data.OFFER_COLUMNS`, of finished hits. No query if no page asks for offers."""
    task = get_type(study.task_type)
    configs = [dict(description.config), *(dict(description.config) | dict(arm.config) for arm in description.arms)]
    if not any(task.suggesters(config) for config in configs):
        return
    rows: QuerySet[Offer, Any] = (
        Offer.objects.filter(
            study=study, assignment__submission__isnull=False, assignment__participant__redacted_at=None
        )
        .order_by("pk")
        .values_list(
            *("assignment__submission__pk", "item__external_id", "step", "round", "side", "number", "suggester"),
            *("model", "decoder", "seed", "source", "latency", "asked_at", "shown_at", "text", "chosen", "switches"),
        )
    )
    for submission, item, *about, seed, source, latency, asked_at, shown_at, text, chosen, switches in rows.iterator(
        CHUNK
    ):
        number = math.nan if latency is None else latency
        written = "" if seed is None else str(seed)  # a float cannot hold every seed exactly
        end = (source, number, asked_at, shown_at, text, bool(chosen), switches or 0)
        yield (submission, item or "", *about, written, *end)


def _own_ratings(study: Study, description: StudyDescription) -> Iterator[tuple[Any, ...]]:
    """Records in the order of `analysis.data.OWN_COLUMNS`: how writers rated the texts that became items of this study.

    Only questions that this study asks, too, and only whole texts, which is what writers rate. Writers whose submission
    the analysis leaves out are missing. No query for types that judge no whole texts.
    """
    if TEXT not in get_type(study.task_type).takes_outputs:
        return
    feed = ItemFeed.objects.filter(study=study).select_related("source").first()
    topics = [each.topic for each in description.questions]
    if feed is None or not topics:
        return
    items = Item.objects.filter(study=study).order_by("position").values_list("external_id", "source")
    item_of = {output: name for name, source in items for output in source.get("outputs", ())}
    outputs = Output.objects.filter(study=feed.source, kind=TEXT).exclude(
        submission__in=left_out_submissions(feed.source)
    )
    taken = [row for row in outputs.values_list("pk", "submission_id", "item_id") if row[0] in item_of]
    name_of = {(submission, item): item_of[output] for output, submission, item in taken}
    rows = Rating.objects.filter(study=feed.source, question__in=topics, target="", value__isnull=False).order_by("pk")
    for submission, item, *own in rows.values_list(
        "submission_id", "item_id", "participant__pseudonym", "question", "value"
    ).iterator(CHUNK):
        if (submission, item) in name_of:
            yield name_of[submission, item], *own


def _adjudications(study: Study) -> Iterator[tuple[str, str, str, float]]:
    """Records in the order of `analysis.data.ADJUDICATION_COLUMNS`, of the newest decision about each item.

    No query for types that settle nothing.
    """
    question = adjudicated_question(study)
    if question is None:
        return
    rows = Adjudication.objects.filter(study=study, question=question.topic).order_by("pk")
    newest: dict[str, list[str]] = dict(rows.values_list("item__external_id", "chosen"))
    for item, chosen in newest.items():
        for option in question.options:
            yield item, question.topic, option.key, float(option.key in chosen)


def _stopped(study: Study, description: StudyDescription) -> Iterator[tuple[Any, ...]]:
    """Records in the order of `analysis.data.STOPPED_COLUMNS`. No query if nobody has stopped.

    What was paid for a stopped hit is part pay by hand, or a compensation that the worker has accepted: never both.
    """
    if not description.assignments.get(Assignment.State.STOPPED):
        return
    rows: QuerySet[PartPayment, Any] = (
        PartPayment.objects.filter(assignment__hit__study=study)
        .order_by("pk")
        .values_list(
            *("assignment__participant__pseudonym", "assignment__participant__synthetic"),
            *("assignment__participant__arm__name", "assignment__hit_id", "steps_done", "steps_in_all", "amount"),
            *("payments__amount", "assignment__compensation__amount", "assignment__compensation__paid_at"),
            "created_at",
        )
    )
    for *who, in_all, owed, by_hand, offered, accepted_at, stopped_at in rows.iterator(CHUNK):
        paid = (by_hand or 0) + (offered if accepted_at else 0)
        yield (*who, math.nan if in_all is None else in_all, str(owed), f"{paid:.2f}", stopped_at)
