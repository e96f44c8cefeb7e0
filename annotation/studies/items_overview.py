"""What the console's lists show: studies, items and single submissions. The number of queries is fixed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from analysis.description import Score
from annotation.models import Arm, HitItem, Item, Rating, Review, Study
from annotation.studies.declared_scores import study_scores
from annotation.studies.item_scores import ItemScore, rating_frame, scores_by_item
from annotation.studies.item_texts import Line, lines_of
from annotation.task_types.registry import get_type
from annotation.work.left_out import left_out_submissions


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

    @property
    def whole_scores(self) -> list[ItemScore]:
        """Those of the whole item: the same for every item, so that a table has a column for each."""
        return [score for score in self.scores if not score.part]


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
    ratings = Rating.objects.filter(item__in=ids).order_by().values_list("item")
    simulated = Count("submission", distinct=True, filter=Q(participant__synthetic=True))
    submitted = ratings.annotate(n=Count("submission", distinct=True), simulated=simulated)
    counts = {item: (n, n_simulated) for item, n, n_simulated in submitted}
    places = HitItem.objects.filter(item__in=ids).order_by().values_list("item")
    n_wanted = dict(places.annotate(n=Sum("hit__wanted")))
    scores, of_arm = _scores(study, ids, arms, declared)
    cells = [task.export_columns(item.payload) for item in items]
    lines = lines_of(
        [(task.describe_item(item.payload), item_cells) for item, item_cells in zip(items, cells, strict=True)]
    )
    return [
        ItemRow(
            item,
            item_cells,
            line,
            n_wanted.get(item.pk, 0),
            *counts.get(item.pk, (0, 0)),
            scores(item.pk),
            of_arm(item.pk),
        )
        for item, item_cells, line in zip(items, cells, lines, strict=True)
    ]


def _scores(
    study: Study, ids: Sequence[int], arms: Sequence[Arm], declared: Sequence[Score]
) -> tuple[Callable[[int], list[ItemScore]], Callable[[int], list[ArmFigures]]]:
    """Two functions: an item's scores over all arms, and its figures in each arm."""
    if not declared:
        return lambda item: [], lambda item: []
    ratings = rating_frame(ids, left_out=set(left_out_submissions(study)))
    over_all_arms = [scores_by_item(ratings, score) for score in declared]
    parts = []
    for arm in arms:
        mine = ratings[ratings["arm"] == arm.pk]
        submissions = mine.drop_duplicates(["item", "submission"])["item"].value_counts()
        parts.append((arm.name, submissions, [scores_by_item(mine, score) for score in declared]))

    def listed(item: int, scores_by_topic: Sequence[Mapping[int, list[ItemScore]]]) -> list[ItemScore]:
        pairs = zip(declared, scores_by_topic, strict=True)
        return [
            item_score
            for score, scores in pairs
            for item_score in scores.get(item, [] if score.over == "part" else [ItemScore(score.topic, score.title)])
        ]

    def by_arm(item: int) -> list[ArmFigures]:
        return [
            ArmFigures(name, int(counts.get(item, 0)), listed(item, scores_by_topic))
            for name, counts, scores_by_topic in parts
        ]

    return lambda item: listed(item, over_all_arms), by_arm


def ratings_of(item: Item) -> QuerySet[Rating]:
    """All ratings of an item with their workers, oldest submission first. ``newest``: the newest review's decision."""
    rated = Rating.objects.filter(item=item).select_related("participant__arm")
    reviews = Review.objects.filter(submission=OuterRef("submission")).order_by("-pk")
    newest = Coalesce(Subquery(reviews.values("decision")[:1]), Value(""))
    return rated.annotate(newest=newest).order_by("submission", "pk")


def ratings_of_study(study: Study) -> QuerySet[Rating]:
    """All ratings of a study with item, worker and arm."""
    rated = Rating.objects.filter(study=study).select_related("participant__arm", "item")
    return rated.defer("item__payload", "participant__arm__shown_config", "participant__arm__shown_texts")
