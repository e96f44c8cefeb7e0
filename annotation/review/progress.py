"""A study's progress, in a number of queries that does not depend on the numbers of items, hits and workers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Sum, Value, When
from django.db.models.functions import TruncHour
from django.utils import timezone

from annotation.models import Assignment, Flag, HitItem, Item, Study, Submission
from annotation.review.rating_counts import RatingCounts, rating_counts
from annotation.studies.staffing import items_without_enough_raters, missing_raters
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.work.hourly_pay import ArmPay, ArmTime, arm_times, pay_of
from annotation.work.left_out import read_left_out
from common.left_out import left_out_in_words

HOURS = 48
#: Statuses in which `annotation.work.repeated_work` opens places.
REOPENS = (Study.Status.LIVE, Study.Status.PAUSED)
State = Assignment.State
NOT_FINISHED = (State.RETURNED, State.ABANDONED, State.STOPPED)


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
    ``missing``: sentences on raters whom the people who take part so far cannot be; see `annotation.studies.staffing`.
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
            "pay": [asdict(arm_pay) | {"per_hour": str(arm_pay.per_hour)} for arm_pay in self.pay],
        }


def progress(
    study: Study,
    *,
    now: datetime | None = None,
    times: Sequence[ArmTime] | None = None,
    arms: Sequence[ArmRow] | None = None,
    posted: bool | None = None,
) -> Progress:
    """The study's progress. ``per_hour`` covers the last 48 hours without gaps, or fewer if the study began later.

    ``times``: `arm_times`, ``arms``: `arm_rows`, ``posted``: whether the study is on a platform, if they are known.
    """
    moment = now or timezone.now()
    arms = arm_rows(study) if arms is None else arms
    shares_items = any(arm.shares_items for arm in arms)
    submissions = Submission.objects.filter(study=study)
    counts = _submissions(submissions)
    by_people, flagged, simulated_flagged = (counts.pop(name) for name in ("by_people", "flagged", "flagged_synthetic"))
    repeated = items_without_enough_raters(study)
    missing, work = missing_raters(study, repeated), _work_now(study, moment)
    left_out = read_left_out(study, posted=posted, shares_items=shares_items)
    median, median_simulated = _median_time(submissions, by_people)
    states, simulated_states = sums_by_state(work, lambda row: True), sums_by_state(work, lambda row: row.simulated)
    items, items_simulated = _items(study, repeated)
    per_hour, simulated_per_hour = submissions_per_hour(submissions, moment)
    simulated = {
        "items": items_simulated,
        "in_progress": simulated_states.get(State.ACCEPTED, 0),
        "not_finished": sum(simulated_states.get(state, 0) for state in NOT_FINISHED),
        "flagged": simulated_flagged,
        "per_hour": simulated_per_hour,
    }
    return Progress(
        **items,
        missing=missing.in_words(study.hits_per_worker, own_work=_is_own_work(study), reopens=study.status in REOPENS),
        hits=sum(arm.hits for arm in arms),
        hits_done=sum(arm.hits_done for arm in arms),
        wanted=sum(arm.wanted for arm in arms),
        **counts,
        in_progress=states.get(State.ACCEPTED, 0),
        returned=states.get(State.RETURNED, 0),
        abandoned=states.get(State.ABANDONED, 0),
        stopped=states.get(State.STOPPED, 0),
        ratings=rating_counts(study, left_out),
        left_out=left_out.counts(),
        flags=_flags(study),
        flagged=flagged,
        excluded=left_out.by_person,
        median_seconds=median,
        median_simulated=median_simulated,
        simulated=simulated,
        per_hour=per_hour,
        arms=arms_in_progress(arms, work),
        pay=pay_of(study, times),
    )


def slow_figures(study: Study) -> dict[str, Any]:
    """What running totals cannot give, as JSON: items, who is missing, and medians. It reads all of the work."""
    repeated = items_without_enough_raters(study)
    missing = missing_raters(study, repeated)
    by_people = Submission.objects.filter(study=study, participant__synthetic=False).count()
    items, items_simulated = _items(study, repeated)
    median, median_simulated = _median_time(Submission.objects.filter(study=study), by_people)
    return {
        "items": items,
        "items_simulated": items_simulated,
        "missing": missing.in_words(
            study.hits_per_worker, own_work=_is_own_work(study), reopens=study.status in REOPENS
        ),
        "median_seconds": median,
        "median_simulated": median_simulated,
        "times": [
            [time.arm, None if time.reward is None else str(time.reward), time.n, time.seconds]
            for time in arm_times(study)
        ],
    }


def _flags(study: Study) -> dict[str, int]:
    """Submissions by the reason of a flag, in the order of the reasons."""
    flags = Flag.objects.filter(submission__study=study).values_list("reason")
    return dict(flags.annotate(n=Count("submission", distinct=True)).order_by("reason"))


def _is_own_work(study: Study) -> bool:
    """Whether workers write for the items, as the study's type declares. False if it is no longer installed."""
    try:
        return get_type(study.task_type).own_work
    except UnknownTaskType:
        return False


def _submissions(submissions: QuerySet[Submission]) -> dict[str, int]:
    """Counts of submissions and of workers. Only workers who have submitted something count."""
    synthetic, placed = Q(participant__synthetic=True), Q(assignment__state=State.SUBMITTED)
    flagged = Q(Exists(Flag.objects.filter(submission=OuterRef("pk"))))
    return submissions.aggregate(
        submitted=Count("pk", filter=placed),
        submitted_synthetic=Count("pk", filter=synthetic & placed),
        released=Count("pk", filter=Q(assignment__state=State.RELEASED, assignment__extra=False)),
        extra=Count("pk", filter=Q(assignment__extra=True)),
        by_people=Count("pk", filter=~synthetic),
        flagged=Count("pk", filter=flagged),
        flagged_synthetic=Count("pk", filter=flagged & synthetic),
        workers=Count("participant", distinct=True),
        workers_synthetic=Count("participant", distinct=True, filter=synthetic),
    )


def _items(study: Study, repeated: Collection[int]) -> tuple[dict[str, int], int]:
    """Counts of items, and how many complete ones have work by simulated workers. An item is done when its hits have
    all their submissions, by different workers: it is not in ``repeated``."""
    places = HitItem.objects.filter(item=OuterRef("pk"))
    by_simulated = places.filter(hit__assignments__state=State.SUBMITTED, hit__assignments__participant__synthetic=True)
    done = Exists(places) & ~Exists(places.filter(hit__n_submitted__lt=F("hit__wanted"))) & ~Q(pk__in=repeated)
    items = Item.objects.filter(study=study).aggregate(
        n=Count("pk"), done=Count("pk", filter=done), simulated=Count("pk", filter=Exists(by_simulated) & done)
    )
    return {"items": items["n"], "items_done": items["done"], "items_repeated": len(repeated)}, items["simulated"]


def states_now(study: Study) -> dict[str, int]:
    """Assignments by state. An assignment past its deadline counts as timed out, even before its place is freed."""
    return sums_by_state(_work_now(study, timezone.now()), lambda row: True)


@dataclass(frozen=True, slots=True)
class WorkNow:
    """How many assignments of one arm are in a state now, by simulated workers or by people."""

    arm: int
    simulated: bool
    state: str
    n: int


def _work_now(study: Study, now: datetime) -> list[WorkNow]:
    """All that `states_now` counts, by arm and by who does it. One query."""
    return work_by_state(Assignment.objects.filter(hit__study=study), now)


def work_by_state(work: QuerySet[Assignment], now: datetime) -> list[WorkNow]:
    """Assignments by arm, by who does them and by their state now. One query."""
    overdue = Q(state=State.ACCEPTED, expires_at__lt=now)
    state_now = Case(When(overdue, then=Value(State.ABANDONED.value)), default=F("state"))
    rows = work.annotate(now=state_now).order_by()
    by = rows.values_list("hit__arm", "participant__synthetic", "now").annotate(n=Count("pk"))
    return [WorkNow(*row) for row in by]


def sums_by_state(work: Sequence[WorkNow], counts: Callable[[WorkNow], bool]) -> dict[str, int]:
    """The numbers of these rows, by state in the order of their names."""
    states = sorted({row.state for row in work if counts(row)})
    return {state: sum(row.n for row in work if counts(row) and row.state == state) for state in states}


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm with the sums over its hits. ``n_wanted``: participants, None for any number."""

    pk: int
    name: str
    enrolled: int
    n_wanted: int | None
    submitted: int
    wanted: int
    hits: int
    hits_done: int
    reward: Decimal
    shares_items: bool


def arm_rows(study: Study) -> list[ArmRow]:
    """The arms in their declared order. One query."""
    full = Count("hits", filter=Q(hits__n_submitted__gte=F("hits__wanted")))
    sums = {"submitted": Sum("hits__n_submitted"), "places": Sum("hits__wanted"), "n": Count("hits"), "done": full}
    rows = study.arms.annotate(**sums).order_by("position")
    columns = ("pk", "name", "n_enrolled", "wanted", "reward", "shares_items")
    return [
        ArmRow(
            pk,
            name,
            enrolled,
            n_wanted,
            submitted=submitted or 0,
            wanted=places or 0,
            hits=n,
            hits_done=done,
            reward=study.reward if arm_reward is None else arm_reward,
            shares_items=shares,
        )
        for pk, name, enrolled, n_wanted, arm_reward, shares, submitted, places, n, done in rows.values_list(
            *columns, *sums
        )
    ]


def arms_in_progress(rows: Sequence[ArmRow], work: Sequence[WorkNow]) -> list[ArmProgress]:
    """Empty if the study has only the unnamed arm."""
    arms = [
        ArmProgress(
            row.name,
            row.enrolled,
            row.n_wanted,
            row.submitted,
            row.wanted,
            sum(work_row.n for work_row in work if work_row.arm == row.pk and work_row.state == State.ACCEPTED),
        )
        for row in rows
    ]
    return arms if len(arms) > 1 else []


def _median_time(submissions: QuerySet[Submission], by_people: int) -> tuple[float | None, bool]:
    """The median in seconds, and whether it is of simulated workers: of people, if there are any. The database sorts
    and returns only the middle: one query, or two without submissions by people."""
    for simulated in (False, True):
        chosen = submissions.filter(participant__synthetic=simulated)
        if count := chosen.count() if simulated else by_people:
            first = (count - 1) // 2
            middle = list(chosen.order_by("seconds").values_list("seconds", flat=True)[first : count // 2 + 1])
            return sum(middle) / len(middle), simulated
    return None, False


class _Hour(TruncHour):
    """The hour of a time in UTC, as `TruncHour`. SQLite would call Python for each row; it stores times in UTC as text
    that starts with date and hour."""

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, params = compiler.compile(self.lhs)
        return f"substr({sql}, 1, 13) || ':00:00'", params


def submissions_per_hour(submissions: QuerySet[Submission], now: datetime) -> tuple[list[tuple[datetime, int]], int]:
    """Submissions by hour, and how many of them all are by simulated workers."""
    last = now.replace(minute=0, second=0, microsecond=0)
    since = last - timedelta(hours=HOURS - 1)
    rows = list(
        submissions.filter(received_at__gte=since)
        .annotate(hour=_Hour("received_at", tzinfo=UTC))
        .values_list("hour")
        .annotate(n=Count("pk"), simulated=Count("pk", filter=Q(participant__synthetic=True)))
        .order_by("hour")
    )
    if not rows:
        return [], 0
    count_by_hour = {hour: n for hour, n, _ in rows}
    first = max(since, min(count_by_hour))
    hours = int((last - first).total_seconds() // 3600) + 1
    filled = [(hour := first + timedelta(hours=offset), count_by_hour.get(hour, 0)) for offset in range(hours)]
    return filled, sum(simulated for _, _, simulated in rows)
