"""What the console's lists show: studies, items and single submissions. The number of queries is constant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Greatest

from annotation.models import AuditEntry, Hit, Item, Rating, Review, Study, Submission
from annotation.task_types.base import Score


def _per_study(rows: QuerySet[Any], value: Any) -> Subquery:
    """``value`` aggregated over the rows of the outer study."""
    return Subquery(rows.filter(study=OuterRef("pk")).order_by().values("study").annotate(found=value).values("found"))


def studies_of(user: User) -> QuerySet[Study]:
    """The studies a user may see, those with the latest activity first.

    Each has ``n_items``, ``n_wanted`` and ``n_submitted`` (hits × workers), ``n_simulated`` (submissions) and
    ``last_activity``.
    """
    studies = Study.objects.all() if user.is_superuser else Study.objects.filter(memberships__user=user)
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
class ItemScore:
    """One score of one item: mean and standard deviation over ratings (None where there are too few)."""

    title: str
    mean: float | None
    sd: float | None
    n: int


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item with the number of submissions that rated it, and its scores in the order of the type's."""

    item: Item
    cells: dict[str, str]
    n_workers: int
    n_simulated: int
    scores: list[ItemScore]

    @property
    def text(self) -> str:
        """What an item is best known by: the first of its columns that holds more than one word."""
        cells = list(self.cells.values())
        return next((cell for cell in cells if " " in cell.strip()), "".join(cells[1:2]))


def find_items(study: Study, text: str) -> QuerySet[Item]:
    """Items whose id or payload holds ``text``, in the order of the file."""
    items = Item.objects.filter(study=study).order_by("position")
    if not text:
        return items
    # SQLite compares the JSON as stored, where quotes, line breaks and letters beyond ASCII are escaped.
    escaped = json.dumps(text)[1:-1]
    return items.filter(Q(external_id__icontains=text) | Q(payload__icontains=text) | Q(payload__icontains=escaped))


def with_scores(items: Sequence[Item], scores: Sequence[Score], cells: Iterable[dict[str, str]]) -> list[ItemRow]:
    """The items of one page with their ratings. Scores leave excluded submissions out, as reports do."""
    ids = [item.pk for item in items]
    counts = {
        row["item"]: (row["n"], row["simulated"])
        for row in Rating.objects.filter(item__in=ids)
        .values("item")
        .annotate(
            n=Count("submission", distinct=True),
            simulated=Count("submission", distinct=True, filter=Q(participant__synthetic=True)),
        )
    }
    values: dict[tuple[int, str], list[float]] = {}
    rated = Rating.objects.filter(item__in=ids, question__in=[score.topic for score in scores], value__isnull=False)
    used = rated.annotate(newest=_newest_decision()).exclude(newest=Review.Decision.EXCLUDE)
    for item_id, question, value in used.values_list("item", "question", "value"):
        assert value is not None  # noqa: S101 - filtered above
        values.setdefault((item_id, question), []).append(value)
    return [
        ItemRow(
            item,
            shown,
            *counts.get(item.pk, (0, 0)),
            [_score(score, values.get((item.pk, score.topic), [])) for score in scores],
        )
        for item, shown in zip(items, cells, strict=True)
    ]


def _score(score: Score, values: Sequence[float]) -> ItemScore:
    mean = score.sign * fmean(values) if values else None
    return ItemScore(score.title, mean, stdev(values) if len(values) > 1 else None, len(values))


def ratings_of(item: Item) -> QuerySet[Rating]:
    """All ratings of one item, oldest submission first, with the worker; ``newest`` is the newest review's decision."""
    rated = Rating.objects.filter(item=item).select_related("participant")
    return rated.annotate(newest=_newest_decision()).order_by("submission", "pk")


def ratings_of_study(study: Study) -> QuerySet[Rating]:
    """All ratings of a study, with item and worker and, as ``newest``, the newest review's decision."""
    rated = Rating.objects.filter(study=study).select_related("participant", "item").defer("item__payload")
    return rated.annotate(newest=_newest_decision())


def _newest_decision() -> Coalesce:
    """The newest review's decision on a rating's submission; empty where there is none."""
    reviews = Review.objects.filter(submission=OuterRef("submission")).order_by("-pk")
    return Coalesce(Subquery(reviews.values("decision")[:1]), Value(""))


def latest_entries(study: Study) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(study=study).order_by("-pk")
