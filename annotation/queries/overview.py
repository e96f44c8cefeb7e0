"""What the console's lists show: studies, items and single submissions. The number of queries is fixed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Greatest

from analysis.description import Score
from annotation import access
from annotation.describing import study_scores
from annotation.models import Arm, AuditEntry, Hit, HitItem, Item, Rating, Review, Study, Submission
from annotation.queries.item_texts import Line, lines_of
from annotation.queries.left_out import left_out_submissions
from annotation.queries.scores import ItemScore, rating_frame, scores_by_item
from annotation.task_types.registry import get_type


def _per_study(rows: QuerySet[Any], value: Any) -> Subquery:
    """A subquery: ``value`` aggregated over the rows of each study."""
    return Subquery(rows.filter(study=OuterRef("pk")).order_by().values("study").annotate(found=value).values("found"))


def studies_of(user: User) -> QuerySet[Study]:
    """The studies that a user may see, those with the latest activity first.

    Each has ``n_items``, ``n_wanted`` and ``n_submitted`` (hits × workers), ``n_simulated`` (submissions) and
    ``last_activity``.
    """
    studies = access.studies_of(user)
    simulated = Submission.objects.filter(participant__synthetic=True)
    return studies.annotate(
        n_items=Coalesce(_per_study(Item.objects.all(), Count("pk")), 0),
        n_wanted=Coalesce(_per_study(Hit.objects.all(), Sum("wanted")), 0),
        n_submitted=Coalesce(_per_study(Hit.objects.all(), Sum("n_submitted")), 0),
        n_simulated=Coalesce(_per_study(simulated, Count("pk")), 0),
        last_activity=Greatest(
            Coalesce(_per_study(Submission.objects.all(), Max("received_at")), "created_at"),
            Coalesce(_per_study(AuditEntry.objects.all(), Max("created_at")), "created_at"),
        ),
    ).order_by("-last_activity", "-pk")


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """An item's figures in one arm: submissions that count, and scores in the type's order."""

    name: str
    submissions: int
    scores: list[ItemScore]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item with its submissions and its scores over all arms, in the type's order.

    ``line`` tells it from the other items of the page. ``wanted`` counts submissions over all hits. ``submissions`` and
    ``synthetic`` include excluded ones, which scores leave out. ``arms`` is empty in a study without arms.
    """

    item: Item
    cells: dict[str, str]
    line: Line
    wanted: int
    submissions: int
    synthetic: int
    scores: list[ItemScore]
    arms: list[ArmFigures]


def find_items(study: Study, text: str) -> QuerySet[Item]:
    """Items whose id or payload contains ``text``, in the order of the file."""
    items = Item.objects.filter(study=study).order_by("position")
    if not text:
        return items
    # SQLite compares the JSON as stored, where quotes, line breaks and letters beyond ASCII are escaped.
    escaped = json.dumps(text)[1:-1]
    return items.filter(Q(external_id__icontains=text) | Q(payload__icontains=text) | Q(payload__icontains=escaped))


def item_rows(study: Study, items: Sequence[Item]) -> list[ItemRow]:
    """The items of one page with the same figures as in the report. The number of queries is fixed."""
    ids = [item.pk for item in items]
    arms, declared = study_scores(study)
    task = get_type(study.task_type)
    counts = _submissions_by_item(ids)
    places = HitItem.objects.filter(item__in=ids).order_by().values_list("item")
    wanted = dict(places.annotate(n=Sum("hit__wanted")))
    scores, of_arm = _scores(study, ids, arms, declared)
    cells = [task.export_columns(item.payload) for item in items]
    lines = lines_of([(task.describe_item(item.payload), own) for item, own in zip(items, cells, strict=True)])
    return [
        ItemRow(
            item,
            own,
            line,
            wanted.get(item.pk, 0),
            *counts.get(item.pk, (0, 0)),
            scores(item.pk),
            of_arm(item.pk),
        )
        for item, own, line in zip(items, cells, lines, strict=True)
    ]


def _submissions_by_item(ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """By item: how many submissions rated it, and how many of those are simulated."""
    synthetic = Count("submission", distinct=True, filter=Q(participant__synthetic=True))
    found = Rating.objects.filter(item__in=ids).order_by().values_list("item")
    rows = found.annotate(n=Count("submission", distinct=True), simulated=synthetic)
    return {item: (n, simulated) for item, n, simulated in rows if item is not None}


def _scores(
    study: Study, ids: Sequence[int], arms: Sequence[Arm], declared: Sequence[Score]
) -> tuple[Callable[[int], list[ItemScore]], Callable[[int], list[ArmFigures]]]:
    """Two functions: an item's scores over all arms, and its figures in each arm."""
    if not declared:
        return lambda item: [], lambda item: []
    ratings = rating_frame(ids, left_out=set(left_out_submissions(study)))
    whole = [scores_by_item(ratings, score) for score in declared]
    parts = []
    for arm in arms:
        mine = ratings[ratings["arm"] == arm.pk]
        submissions = mine.drop_duplicates(["item", "submission"])["item"].value_counts()
        parts.append((arm.name, submissions, [scores_by_item(mine, score) for score in declared]))

    def listed(item: int, found: Sequence[Mapping[int, ItemScore]]) -> list[ItemScore]:
        pairs = zip(declared, found, strict=True)
        return [scores.get(item) or ItemScore(score.topic, score.title) for score, scores in pairs]

    def by_arm(item: int) -> list[ArmFigures]:
        return [ArmFigures(name, int(counts.get(item, 0)), listed(item, found)) for name, counts, found in parts]

    return lambda item: listed(item, whole), by_arm


def ratings_of(item: Item) -> QuerySet[Rating]:
    """All ratings of an item with their workers, oldest submission first. ``newest``: the newest review's decision."""
    rated = Rating.objects.filter(item=item).select_related("participant__arm")
    return rated.annotate(newest=_newest_decision()).order_by("submission", "pk")


def ratings_of_study(study: Study) -> QuerySet[Rating]:
    """All ratings of a study with item, worker and arm."""
    rated = Rating.objects.filter(study=study).select_related("participant__arm", "item")
    return rated.defer("item__payload", "participant__arm__shown_config", "participant__arm__shown_texts")


def _newest_decision() -> Coalesce:
    """The newest review's decision on a rating's submission; empty if there is none."""
    reviews = Review.objects.filter(submission=OuterRef("submission")).order_by("-pk")
    return Coalesce(Subquery(reviews.values("decision")[:1]), Value(""))


def latest_entries(study: Study) -> QuerySet[AuditEntry]:
    """The study's log, newest entry first."""
    return AuditEntry.objects.filter(study=study).order_by("-pk")
