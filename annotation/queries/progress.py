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
from annotation.queries.left_out import excluded_submissions, left_out_counts
from annotation.queries.pay import ArmPay, pay_of
from annotation.queries.rating_counts import RatingCounts, rating_counts
from annotation.queries.staffing import missing_raters
from annotation.task_types.registry import UnknownTaskType, get_type
from common.left_out import left_out_in_words

HOURS = 48
#: Statuses in which `annotation.services.reopening` opens places.
REOPENS = (Study.Status.LIVE, Study.Status.PAUSED)
State = Assignment.State
NOT_FINISHED = (State.RETURNED, State.ABANDONED, State.STOPPED)
_BY_SIMULATED = Q(submission__participant__synthetic=True)


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
    count only in ``released``, those that came late when somebody else had the place only in ``extra``.
    ``in_progress`` counts the hits that somebody can still finish in time: a hit past its deadline counts in
    ``abandoned``, even if its place has not been freed yet. ``arms`` is empty in a study without arms. ``pay`` has an
    entry for each arm with a reward and submissions by people. ``median_seconds`` is per hit, over submissions by
    people; in a study without any, over those of simulated workers (``median_simulated``).

    ``simulated`` says how much of some totals is by simulated workers: ``items`` (complete ones with their work),
    ``in_progress``, ``not_finished``, ``flagged`` and ``per_hour`` (submissions in those hours).

    ``items_repeated``: items whose submissions are by fewer different workers than wanted, so they are not done.
    ``missing``: sentences on raters whom the people who take part so far cannot be; see `annotation.queries.staffing`.
    """

    items: int
    items_done: int
    items_repeated: int
    missing: list[str]
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
    left_out: Mapping[str, int]
    workers: int
    workers_synthetic: int
    flagged: int
    flags: Mapping[str, int]
    excluded: int
    released: int
    extra: int
    median_seconds: float | None
    median_simulated: bool
    simulated: Mapping[str, int]
    per_hour: list[tuple[datetime, int]]
    arms: list[ArmProgress]
    pay: list[ArmPay]

    @property
    def is_complete(self) -> bool:
        """Whether every place of every hit is filled, and every item has its different raters."""
        return self.wanted > 0 and self.submitted >= self.wanted and not self.items_repeated

    @property
    def left_out_words(self) -> str:
        """What no figure of the report includes, in a sentence."""
        return left_out_in_words(self.left_out)

    @property
    def simulated_ratings(self) -> int:
        """How many of the included ratings are by simulated workers."""
        return self.ratings.included - self.ratings.by_people

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
    missing = missing_raters(study)
    median, median_simulated = _median_time(submissions)
    flagged = Flag.objects.filter(submission__study=study).aggregate(
        n=Count("submission", distinct=True), simulated=Count("submission", distinct=True, filter=_BY_SIMULATED)
    )
    states, simulated_states = states_now(study, moment), states_now(study, moment, simulated=True)
    per_hour, simulated_per_hour = _per_hour(submissions, moment)
    simulated = {
        "items": _items_simulated(study) if counts["submitted_synthetic"] else 0,
        "in_progress": simulated_states.get(State.ACCEPTED, 0),
        "not_finished": sum(simulated_states.get(state, 0) for state in NOT_FINISHED),
        "flagged": flagged["simulated"],
        "per_hour": simulated_per_hour,
    }
    return Progress(
        **_items(study, missing.repeated),
        missing=missing.in_words(study.hits_per_worker, own_work=_is_own_work(study), reopens=study.status in REOPENS),
        **_hits(study),
        **counts,
        in_progress=states.get(State.ACCEPTED, 0),
        returned=states.get(State.RETURNED, 0),
        abandoned=states.get(State.ABANDONED, 0),
        stopped=states.get(State.STOPPED, 0),
        ratings=rating_counts(study),
        left_out=left_out_counts(study),
        flags=flags,
        flagged=flagged["n"],
        excluded=excluded_submissions(study).count(),
        median_seconds=median,
        median_simulated=median_simulated,
        simulated=simulated,
        per_hour=per_hour,
        arms=_arms(study, moment),
        pay=pay_of(study),
    )


def _is_own_work(study: Study) -> bool:
    """Whether workers write for the items, as the study's type declares. False if it is no longer installed."""
    try:
        return get_type(study.task_type).own_work
    except UnknownTaskType:
        return False


def _submissions(submissions: QuerySet[Submission]) -> dict[str, int]:
    """Counts of submissions and of workers. Only workers who have submitted something count."""
    synthetic, placed = Q(participant__synthetic=True), Q(assignment__state=State.SUBMITTED)
    return submissions.aggregate(
        submitted=Count("pk", filter=placed),
        submitted_synthetic=Count("pk", filter=synthetic & placed),
        released=Count("pk", filter=Q(assignment__state=State.RELEASED, assignment__extra=False)),
        extra=Count("pk", filter=Q(assignment__extra=True)),
        workers=Count("participant", distinct=True),
        workers_synthetic=Count("participant", distinct=True, filter=synthetic),
    )


def _items(study: Study, repeated: int) -> dict[str, int]:
    """Counts of items. An item is done when its hits have all their submissions, by different workers."""
    places = HitItem.objects.filter(hit__study=study).aggregate(
        planned=Count("item", distinct=True),
        open=Count("item", distinct=True, filter=Q(hit__n_submitted__lt=F("hit__wanted"))),
    )
    done = places["planned"] - places["open"] - repeated
    return {"items": Item.objects.filter(study=study).count(), "items_done": done, "items_repeated": repeated}


def _hits(study: Study) -> dict[str, int]:
    found = Hit.objects.filter(study=study).aggregate(
        n=Count("pk"), done=Count("pk", filter=Q(n_submitted__gte=F("wanted"))), wanted=Sum("wanted")
    )
    return {"hits": found["n"], "hits_done": found["done"], "wanted": found["wanted"] or 0}


def states_now(study: Study, now: datetime | None = None, *, simulated: bool = False) -> dict[str, int]:
    """Assignments by state, of everybody or only of simulated workers. An assignment past its deadline counts as timed
    out, even before its place is freed."""
    overdue = Q(state=State.ACCEPTED, expires_at__lt=now or timezone.now())
    state_now = Case(When(overdue, then=Value(State.ABANDONED.value)), default=F("state"))
    assignments = Assignment.objects.filter(hit__study=study)
    if simulated:
        assignments = assignments.filter(participant__synthetic=True)
    rows = assignments.annotate(now=state_now).values_list("now")
    return dict(rows.annotate(n=Count("pk")).order_by("now"))


def _items_simulated(study: Study) -> int:
    """How many complete items have work by simulated workers."""
    work = Q(hit__assignments__state=State.SUBMITTED, hit__assignments__participant__synthetic=True)
    places = HitItem.objects.filter(hit__study=study)
    unfinished = places.filter(hit__n_submitted__lt=F("hit__wanted")).values("item")
    found: int = places.filter(work).exclude(item__in=unfinished).values("item").distinct().count()
    return found


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


def _median_time(submissions: QuerySet[Submission]) -> tuple[float | None, bool]:
    """The median in seconds, and whether it is of simulated workers: of people, if there are any. The database sorts
    and returns only the middle: two queries, or three without submissions by people."""
    for simulated in (False, True):
        chosen = submissions.filter(participant__synthetic=simulated)
        if count := chosen.count():
            first = (count - 1) // 2
            middle = list(chosen.order_by("seconds").values_list("seconds", flat=True)[first : count // 2 + 1])
            return sum(middle) / len(middle), simulated
    return None, False


def _per_hour(submissions: QuerySet[Submission], now: datetime) -> tuple[list[tuple[datetime, int]], int]:
    """Submissions by hour, and how many of them all are by simulated workers."""
    last = now.replace(minute=0, second=0, microsecond=0)
    since = last - timedelta(hours=HOURS - 1)
    rows = list(
        submissions.filter(received_at__gte=since)
        .annotate(hour=TruncHour("received_at"))
        .values_list("hour")
        .annotate(n=Count("pk"), simulated=Count("pk", filter=Q(participant__synthetic=True)))
        .order_by("hour")
    )
    if not rows:
        return [], 0
    found = {hour: n for hour, n, _ in rows}
    first = max(since, min(found))
    hours = int((last - first).total_seconds() // 3600) + 1
    filled = [(hour := first + timedelta(hours=at), found.get(hour, 0)) for at in range(hours)]
    return filled, sum(simulated for _, _, simulated in rows)
