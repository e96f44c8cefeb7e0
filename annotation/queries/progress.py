"""How far a study is: a fixed number of queries, however many items, hits and workers there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.db.models.functions import TruncHour
from django.utils import timezone

from annotation.models import Assignment, Flag, Hit, HitItem, Item, Review, Study, Submission

HOURS = 48
State = Assignment.State


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of one study now. Synthetic ones are included in the totals and told apart beside them.

    ``wanted`` and ``submitted`` count submissions (a hit done by one worker); ``ratings_wanted`` and
    ``ratings_done`` count judged items, one per item and worker.
    """

    items: int
    items_done: int
    hits: int
    hits_done: int
    wanted: int
    submitted: int
    submitted_synthetic: int
    in_progress: int
    returned: int
    abandoned: int
    ratings_wanted: int
    ratings_done: int
    workers: int
    workers_synthetic: int
    flagged: int
    flags: Mapping[str, int]
    excluded: int
    median_seconds: float | None
    per_hour: list[tuple[datetime, int]]

    @property
    def share(self) -> float:
        """Done of wanted, 0 to 1."""
        return self.submitted / self.wanted if self.wanted else 0.0

    def as_json(self) -> dict[str, Any]:
        figures = asdict(self)
        return figures | {"per_hour": [[hour.isoformat(), count] for hour, count in self.per_hour]}


def progress(study: Study, *, now: datetime | None = None) -> Progress:
    """The study's progress; ``per_hour`` covers the last 48 hours, or less if it began later, without gaps."""
    submissions = Submission.objects.filter(study=study)
    counts = _submissions(submissions)
    flags = dict(
        Flag.objects.filter(submission__study=study)
        .values_list("reason")
        .annotate(n=Count("submission", distinct=True))
        .order_by("reason")
    )
    return Progress(
        **_items(study),
        **_hits(study),
        **counts,
        **_assignments(study),
        flags=flags,
        flagged=Flag.objects.filter(submission__study=study).aggregate(n=Count("submission", distinct=True))["n"],
        excluded=excluded(submissions, study).count(),
        median_seconds=_median_seconds(submissions, counts["submitted"]),
        per_hour=_per_hour(submissions, now or timezone.now()),
    )


def _submissions(submissions: QuerySet[Submission]) -> dict[str, int]:
    """Workers are those who have submitted something."""
    synthetic = Q(participant__synthetic=True)
    return submissions.aggregate(
        submitted=Count("pk"),
        submitted_synthetic=Count("pk", filter=synthetic),
        workers=Count("participant", distinct=True),
        workers_synthetic=Count("participant", distinct=True, filter=synthetic),
    )


def _items(study: Study) -> dict[str, int]:
    """An item is done when every hit that holds it has all its submissions."""
    places = HitItem.objects.filter(hit__study=study).aggregate(
        planned=Count("item", distinct=True),
        open=Count("item", distinct=True, filter=Q(hit__n_submitted__lt=F("hit__wanted"))),
    )
    return {"items": Item.objects.filter(study=study).count(), "items_done": places["planned"] - places["open"]}


def _hits(study: Study) -> dict[str, int]:
    hits = Hit.objects.filter(study=study)
    found = hits.aggregate(
        n=Count("pk"), done=Count("pk", filter=Q(n_submitted__gte=F("wanted"))), wanted=Sum("wanted")
    )
    places = hits.aggregate(
        wanted=Sum("wanted", filter=Q(places__isnull=False)), done=Sum("n_submitted", filter=Q(places__isnull=False))
    )
    return {
        "hits": found["n"],
        "hits_done": found["done"],
        "wanted": found["wanted"] or 0,
        "ratings_wanted": places["wanted"] or 0,
        "ratings_done": places["done"] or 0,
    }


def _assignments(study: Study) -> dict[str, int]:
    states = dict(Assignment.objects.filter(hit__study=study).values_list("state").annotate(n=Count("pk")).order_by())
    return {
        "in_progress": states.get(State.ACCEPTED, 0),
        "returned": states.get(State.RETURNED, 0),
        "abandoned": states.get(State.ABANDONED, 0),
    }


def excluded(submissions: QuerySet[Submission], study: Study) -> QuerySet[Submission]:
    """Those whose newest review says to leave them out.

    The newest reviews are found once for the study: asked per submission, PostgreSQL may read all reviews each time.
    """
    newest = Review.objects.filter(submission__study=study).order_by().values("submission").annotate(last=Max("pk"))
    left_out = Review.objects.filter(pk__in=newest.values("last"), decision=Review.Decision.EXCLUDE)
    return submissions.filter(pk__in=left_out.order_by().values("submission"))


def _median_seconds(submissions: QuerySet[Submission], count: int) -> float | None:
    """The database sorts; only the middle comes over. The query count is one whatever the count."""
    if not count:
        return None
    first = (count - 1) // 2
    middle = list(submissions.order_by("seconds").values_list("seconds", flat=True)[first : count // 2 + 1])
    return sum(middle) / len(middle) if middle else None


def _per_hour(submissions: QuerySet[Submission], now: datetime) -> list[tuple[datetime, int]]:
    last = now.replace(minute=0, second=0, microsecond=0)
    since = last - timedelta(hours=HOURS - 1)
    found = dict(
        submissions.filter(received_at__gte=since)
        .annotate(hour=TruncHour("received_at"))
        .values_list("hour")
        .annotate(n=Count("pk"))
        .order_by("hour")
    )
    if not found:
        return []
    first = max(since, min(found))
    hours = int((last - first).total_seconds() // 3600) + 1
    return [(hour := first + timedelta(hours=at), found.get(hour, 0)) for at in range(hours)]
