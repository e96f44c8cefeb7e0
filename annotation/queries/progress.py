"""A study's progress, in a number of queries that does not depend on the numbers of items, hits and workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import TruncHour
from django.utils import timezone

from annotation.models import Assignment, Flag, Hit, HitItem, Item, Study, Submission
from annotation.queries.left_out import excluded_submissions
from annotation.queries.pay import ArmPay, pay_of
from annotation.queries.rating_counts import RatingCounts, rating_counts

HOURS = 48
State = Assignment.State


@dataclass(frozen=True, slots=True)
class ArmProgress:
    """One arm: participants enrolled and wanted (None: as many as its hits need), submissions and those wanted."""

    name: str
    enrolled: int
    participants_wanted: int | None
    submitted: int
    wanted: int
    in_progress: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Current counts of one study. The totals include simulated workers, who are also counted separately.

    ``wanted`` and ``submitted`` count submissions (a hit done by one worker). Submissions whose place was released
    count only in ``released``. ``in_progress`` counts the hits that somebody can still finish in time: a hit past its
    deadline counts in ``abandoned``, even if its place has not been freed yet. ``arms`` is empty in a study without
    arms. ``pay`` has an entry for each arm with a reward and submissions by people. ``median_seconds`` is per hit.
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
    stopped: int
    ratings: RatingCounts
    workers: int
    workers_synthetic: int
    flagged: int
    flags: Mapping[str, int]
    excluded: int
    released: int
    median_seconds: float | None
    per_hour: list[tuple[datetime, int]]
    arms: list[ArmProgress]
    pay: list[ArmPay]

    @property
    def is_complete(self) -> bool:
        """Whether every place of every hit is filled."""
        return self.wanted > 0 and self.submitted >= self.wanted

    @property
    def share(self) -> float:
        """The share that is done, from 0 to 1."""
        return self.submitted / self.wanted if self.wanted else 0.0

    def as_json(self) -> dict[str, Any]:
        figures = asdict(self)
        hours = [[hour.isoformat(), count] for hour, count in self.per_hour]
        return figures | {
            "per_hour": hours,
            "pay": [asdict(each) | {"per_hour": str(each.per_hour)} for each in self.pay],
        }


def progress(study: Study, *, now: datetime | None = None) -> Progress:
    """The study's progress. ``per_hour`` covers the last 48 hours without gaps, or fewer if the study began later."""
    moment = now or timezone.now()
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
        **_assignments(study, moment),
        ratings=rating_counts(study),
        flags=flags,
        flagged=Flag.objects.filter(submission__study=study).aggregate(n=Count("submission", distinct=True))["n"],
        excluded=excluded_submissions(study).count(),
        median_seconds=_median_seconds(submissions, counts["submitted"] + counts["released"]),
        per_hour=_per_hour(submissions, moment),
        arms=_arms(study, moment),
        pay=pay_of(study),
    )


def _submissions(submissions: QuerySet[Submission]) -> dict[str, int]:
    """Counts of submissions and of workers. Only workers who have submitted something count."""
    synthetic, placed = Q(participant__synthetic=True), Q(assignment__state=State.SUBMITTED)
    return submissions.aggregate(
        submitted=Count("pk", filter=placed),
        submitted_synthetic=Count("pk", filter=synthetic & placed),
        released=Count("pk", filter=Q(assignment__state=State.RELEASED)),
        workers=Count("participant", distinct=True),
        workers_synthetic=Count("participant", distinct=True, filter=synthetic),
    )


def _items(study: Study) -> dict[str, int]:
    """Counts of items. An item is done when every hit that contains it has all its submissions."""
    places = HitItem.objects.filter(hit__study=study).aggregate(
        planned=Count("item", distinct=True),
        open=Count("item", distinct=True, filter=Q(hit__n_submitted__lt=F("hit__wanted"))),
    )
    return {"items": Item.objects.filter(study=study).count(), "items_done": places["planned"] - places["open"]}


def _hits(study: Study) -> dict[str, int]:
    found = Hit.objects.filter(study=study).aggregate(
        n=Count("pk"), done=Count("pk", filter=Q(n_submitted__gte=F("wanted"))), wanted=Sum("wanted")
    )
    return {"hits": found["n"], "hits_done": found["done"], "wanted": found["wanted"] or 0}


def _assignments(study: Study, now: datetime) -> dict[str, int]:
    state = states_now(study, now)
    return {
        "in_progress": state.get(State.ACCEPTED, 0),
        "returned": state.get(State.RETURNED, 0),
        "abandoned": state.get(State.ABANDONED, 0),
        "stopped": state.get(State.STOPPED, 0),
    }


def states_now(study: Study, now: datetime | None = None) -> dict[str, int]:
    """Assignments by state. An assignment past its deadline counts as timed out, even before its place is freed."""
    overdue = Q(state=State.ACCEPTED, expires_at__lt=now or timezone.now())
    state_now = Case(When(overdue, then=Value(State.ABANDONED.value)), default=F("state"))
    rows = Assignment.objects.filter(hit__study=study).annotate(now=state_now).values_list("now")
    return dict(rows.annotate(n=Count("pk")).order_by("now"))


def _arms(study: Study, now: datetime) -> list[ArmProgress]:
    """The arms in their declared order. Empty if the study has only the unnamed one."""
    sums = {"submitted": Sum("hits__n_submitted"), "places": Sum("hits__wanted")}
    rows = study.arms.annotate(**sums).values_list("pk", "name", "n_enrolled", "wanted", *sums)
    open_now = Assignment.objects.filter(hit__study=study, state=State.ACCEPTED, expires_at__gte=now)
    working = dict(open_now.order_by().values_list("hit__arm").annotate(n=Count("pk")))
    arms = [
        ArmProgress(name, enrolled, wanted, submitted or 0, places or 0, working.get(pk, 0))
        for pk, name, enrolled, wanted, submitted, places in rows.order_by("position")
    ]
    return arms if len(arms) > 1 else []


def _median_seconds(submissions: QuerySet[Submission], count: int) -> float | None:
    """The median, in one query whatever ``count`` is. The database sorts and returns only the middle."""
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
