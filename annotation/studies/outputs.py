"""Items from the outputs of another study: the texts that its submissions contain.

Outputs of submissions that are excluded at the time of the import are left out. An output that has become an item of a
live study stays there, even if its submission is excluded later, because it may have been rated. Outputs of simulated
workers are imported like all others, so that you can try out a chain of studies. Their items have ``simulated`` in
`Item.source`, and the launch page points them out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max, QuerySet

from annotation.audit import record
from annotation.instrument import item_data
from annotation.many_ids import among
from annotation.models import Hit, Item, ItemFeed, Output, Study
from annotation.studies.importing_items import (
    ItemsRead,
    add_items,
    read_items,
    refuse_unless_draft,
    settings_of,
    store_items,
)
from annotation.studies.item_sources import outputs_table, source_outputs
from annotation.studies.launching import create_hits, plan
from annotation.studies.storing import Frozen, delete_items
from annotation.task_types.base import TaskType
from annotation.task_types.checks import ROLES as CHECK_ROLES
from annotation.task_types.items import Json
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.work.left_out import left_out_submissions, not_left_out
from common.problems import Problem, Refused, invalid, refuse_if_any, unknown

log = logging.getLogger(__name__)
Status = Study.Status
FOLLOWER = "annotation.tasks.follow_feeds"


# --- which study, and which of its outputs ---


def check_source(
    *,
    task: TaskType,
    slug: str,
    source_slug: str,
    arms: Sequence[str],
    visible: QuerySet[Study],
    kind: str = "",
) -> tuple[Study | None, list[Problem]]:
    """The study to import outputs from, or why that is impossible. ``visible``: the studies that the owner may see."""
    if source_slug == slug:
        what = "A study cannot take its items from itself."
        return None, [Problem("items.from_study", what, "Name another study.")]
    source = visible.filter(slug=source_slug).first()
    if source is None:
        what = f"There is no study “{source_slug[:60]}”, or the owner of this study may not see it."
        return None, [Problem("items.from_study", what, "Check the short name, or ask an owner to add a member.")]
    problems = kind_problems(task, source)
    shared = [kind for kind in task.takes_outputs if kind in output_kinds(source)]
    if kind and not problems and kind not in shared:
        problems.append(unknown("items.kind", kind, shared))
    arm_names = set(source.arms.exclude(name="").values_list("name", flat=True))
    for name in dict.fromkeys(arms):
        if name not in arm_names:
            problems.append(unknown("items.arms", name, sorted(arm_names)))
        elif list(arms).count(name) > 1:
            problems.append(Problem("items.arms", f"The arm “{name}” is in the list twice.", "Name it once."))
    return source, problems


def kind_problems(task: TaskType, source: Study) -> list[Problem]:
    """Why studies of this type cannot judge the outputs of ``source``. Empty if they can."""
    kinds_produced = output_kinds(source)
    if set(kinds_produced) & set(task.takes_outputs):
        return []
    if not kinds_produced:
        what = f"Submissions to {source.slug} ({source.task_type}) contain nothing that another study can judge."
    elif not task.takes_outputs:
        what = f"Studies of the type {task.name} cannot judge the outputs of other studies."
    else:
        kinds = ", ".join(task.takes_outputs)
        what = f"{source.slug} produces outputs of the kind {', '.join(kinds_produced)}; {task.name} can judge {kinds}."
    return [Problem("items.from_study", what, "Choose a study of another type, or import a file of items.")]


def follow_problems(task: TaskType, follow: bool) -> list[Problem]:
    """Why a study of this type cannot follow another. Empty if it can, or is not asked to."""
    if not (follow and task.draws_outputs):
        return []
    what = f"A {task.title} study draws its items once, from all texts at the time."
    return [Problem("items.follow", what, "Turn “follow” off, and import after the other study is complete.")]


def output_kinds(source: Study) -> Sequence[str]:
    """The kinds of outputs that submissions of ``source`` contain; none if its type is not installed."""
    try:
        return get_type(source.task_type).output_kinds
    except UnknownTaskType:
        return ()


def outputs_to_take(*, task: TaskType, source: Study, arms: Sequence[str], kind: str = "") -> QuerySet[Output]:
    """The outputs of ``source`` that can become items now: of the right kind and arms, of submissions that count."""
    shared = [kind for kind in task.takes_outputs if kind in output_kinds(source)]
    outputs = Output.objects.filter(study=source, kind__in=[kind] if kind else shared[:1])
    if arms:
        outputs = outputs.filter(submission__participant__arm__name__in=arms)
    counted = outputs.filter(
        not_left_out(left_out_submissions(source), "submission"), submission__participant__redacted_at=None
    )
    return counted.select_related("submission__participant__arm", "item").order_by("pk")


def read_outputs(*, task: TaskType, config: Json, source: Study, arms: Sequence[str], kind: str = "") -> ItemsRead:
    """The items from the source's outputs so far. There may be none, because more may come.

    Raises TableProblems, or Invalid if the type cannot choose from these outputs.
    """
    outputs = list(outputs_to_take(task=task, source=source, arms=arms, kind=kind))
    chosen = {output.id for output in task.choose_outputs(source_outputs(source=source, outputs=outputs), config)}
    outputs = [output for output in outputs if output.pk in chosen]
    table = outputs_table(task=task, source=source, outputs=outputs)
    if not table.rows:
        return ItemsRead([], task.name, settings_of(task, config), "study", source.slug, 0)
    return read_items(task.name, config, table)


# --- taking them ---


@transaction.atomic
def set_feed(
    *, study: Study, source: Study, arms: Sequence[str] = (), kind: str = "", follow: bool = False, actor: str
) -> int:
    """Replace the draft's items with items from the outputs of ``source``. Returns how many there are now.

    Raises Invalid, TableProblems or Frozen.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    task = get_type(now.task_type)
    _, problems = check_source(
        task=task, slug=now.slug, source_slug=source.slug, arms=arms, visible=Study.objects.all(), kind=kind
    )
    refuse_if_any(problems)
    read = read_outputs(task=task, config=now.config, source=source, arms=arms, kind=kind)
    return store_feed(study=now, read=read, source=source, arms=arms, kind=kind, follow=follow, actor=actor)


@transaction.atomic
def store_feed(
    *,
    study: Study,
    read: ItemsRead,
    source: Study,
    arms: Sequence[str],
    kind: str = "",
    follow: bool,
    actor: str,
) -> int:
    """The second half of ``set_feed``, for items already read. Raises Invalid or Frozen."""
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    refuse_unless_draft(now)
    refuse_if_any(follow_problems(get_type(now.task_type), follow))
    if read.items:
        store_items(study=now, read=read, actor=actor)
    else:
        delete_items(now)
    ItemFeed.objects.create(study=now, source=source, arms=list(arms), kind=kind, follow=follow)
    entry = {"arms": list(arms), "follow": follow} | ({"kind": kind} if kind else {})
    record(study=now, actor=actor, action="set source", source=source.slug, **entry)
    return len(read.items)


@transaction.atomic
def set_follow(*, study: Study, follow: bool, actor: str) -> None:
    """Set whether outputs that arrive while the study is live become items automatically. Raises Invalid or Frozen."""
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    feed = _feed_of(now)
    if feed.follow == follow:
        return
    if now.status == Status.CLOSED:
        raise Frozen([Problem("items.follow", "The study is closed.", "Leave it as it is.")])
    refuse_if_any(follow_problems(get_type(now.task_type), follow))
    feed.follow = follow
    feed.save(update_fields=["follow"])
    record(study=now, actor=actor, action="follow outputs" if follow else "stop following outputs")


@transaction.atomic
def feed_items(*, study: Study, actor: str, whole_hits: bool = False) -> int:
    """Make items from the outputs that have arrived. Returns how many are new.

    In a draft, this replaces all items. A study that has gone live keeps its items and hits and gets more of both after
    them, in every arm; with ``whole_hits``, only as many as fill hits. Raises Invalid, TableProblems or Frozen.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    feed = _feed_of(now)
    task = get_type(now.task_type)
    refuse_if_any(kind_problems(task, feed.source))
    if now.status == Status.CLOSED:
        raise invalid("status", "This study is closed.", "You cannot add items to a closed study.")
    if now.status != Status.DRAFT and task.draws_outputs:
        what = "The items were drawn at random before the launch, so no others are added."
        raise invalid("items", what, "Duplicate the study to draw again.")
    if now.status != Status.DRAFT:
        return _append(now, feed, task, actor=actor, whole_hits=whole_hits)
    before = Item.objects.filter(study=now).count()
    read = read_outputs(task=task, config=now.config, source=feed.source, arms=feed.arms, kind=feed.kind)
    if not read.items:
        raise invalid("items", f"{feed.source.slug} has no outputs yet.", "Try again after somebody has taken part.")
    store_items(study=now, read=read, actor=actor)
    ItemFeed.objects.create(study=now, source=feed.source, arms=feed.arms, kind=feed.kind, follow=feed.follow)
    return len(read.items) - before


def _feed_of(study: Study) -> ItemFeed:
    feed = ItemFeed.objects.select_related("source").filter(study=study).first()
    if feed is None:
        what = f"The items of {study.slug} do not come from another study."
        raise invalid("items", what, "Choose one on the Items page, or set items.from_study in the study file.")
    return feed


def _append(study: Study, feed: ItemFeed, task: TaskType, *, actor: str, whole_hits: bool) -> int:
    items = Item.objects.filter(study=study)
    sources = items.order_by("position").values_list("source", flat=True)
    used = dict.fromkeys(output for source in sources for output in source.get("outputs", ()))
    outputs = outputs_to_take(task=task, source=feed.source, arms=feed.arms, kind=feed.kind)
    free = list(outputs.exclude(pk__in=among(used)))
    if not free:
        return 0
    # Outputs imported earlier come first, in the same order, so that their rows are the same as before.
    before = Output.objects.select_related("submission__participant__arm", "item").in_bulk(used)
    table = outputs_table(task=task, source=feed.source, outputs=[*(before[pk] for pk in used), *free])
    read = read_items(task.name, study.config, table)
    payloads = dict(items.values_list("external_id", "payload"))
    # Items with texts of workers whose data were deleted differ from what was imported.
    redacted = set(items.filter(source__redacted=True).values_list("external_id", flat=True))
    for item in read.items:
        if payloads.get(item.external_id, item.payload) != item.payload and item.external_id not in redacted:
            what = f"The task type now makes different items from the same outputs (item “{item.external_id[:60]}”)."
            raise invalid("items", what, "Duplicate the study to import the new outputs there.")
    pairs = zip(read.items, read.sources, strict=True)
    new = [(item, source) for item, source in pairs if item.external_id not in payloads]
    if whole_hits:
        new = new[: len(new) // study.items_per_hit * study.items_per_hit]
    if not new:
        return 0
    # New hits get gold and attention items like all others.
    checks = list(items.filter(role__in=CHECK_ROLES).order_by("position"))
    stored = add_items(study, new, first=_next(items))
    arms = list(study.arms.order_by("position"))
    first = _next(Hit.objects.filter(study=study))
    to_plan = [*(item_data(item) for item in checks), *(item for item, _ in new)]
    planned = plan(study, arms, to_plan, seed=f"{study.seed}/{first}")
    create_hits(study, arms, planned, {item.external_id: item.pk for item in (*checks, *stored)}, first=first)
    record(
        study=study, actor=actor, action="take outputs", source=feed.source.slug, items=len(stored), hits=len(planned)
    )
    return len(stored)


def _next(rows: QuerySet[Item] | QuerySet[Hit]) -> int:
    last: int | None = rows.aggregate(last=Max("position"))["last"]
    return 0 if last is None else last + 1


def follow_feeds() -> int:
    """Import new outputs into all live studies that follow others, whole hits only. Returns the number of new items."""
    total = 0
    feeds = ItemFeed.objects.filter(follow=True, study__status__in=[Status.LIVE, Status.PAUSED])
    for feed in feeds.select_related("study").order_by("pk"):
        try:
            total += feed_items(study=feed.study, actor=FOLLOWER, whole_hits=True)
        except (Refused, ValueError, UnknownTaskType) as error:
            log.warning("%s could not import outputs of the study it follows: %s", feed.study.slug, error)
    return total
