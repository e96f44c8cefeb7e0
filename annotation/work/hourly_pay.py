"""What workers earn per hour: the reward of a hit divided by the time that it takes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from django.conf import settings
from django.db.models import Count, F, Q, Sum, Window
from django.db.models.functions import RowNumber

from annotation.models import Rating, Study, Submission
from annotation.work.left_out import left_out_submissions, not_left_out, paid_work
from annotation.work.quality_rules import checks_per_hit

CENT = Decimal("0.01")
#: How many of the latest submissions decide the time of simulated workers.
MOST_SIMULATED = 2_000


def hourly(reward: Decimal, seconds: float) -> Decimal:
    """USD per hour, to the cent."""
    return (reward * 3600 / Decimal(str(seconds))).quantize(CENT, ROUND_HALF_UP)


def exact_sum(total: Decimal | None) -> Decimal:
    """What the database adds up, exact to a tenth of a cent: SQLite adds amounts as binary fractions. None is 0."""
    return Decimal(total or 0).quantize(Decimal("0.001"))


def is_low(per_hour: Decimal) -> bool:
    """Whether this is less than the server's minimum (``HITSERVER_MINIMUM_HOURLY_PAY``)."""
    return bool(per_hour < settings.MINIMUM_HOURLY_PAY)


def low_wages(study: Study) -> list[tuple[Decimal, Decimal]]:
    """Rewards of the study that pay less than the server's minimum: each with its USD per hour, lowest first.

    Empty if the time is not known. A reward of zero is not pay.
    """
    time = time_per_hit(study)
    if time is None or time.seconds <= 0:
        return []
    arm_rewards = list(study.arms.values_list("reward", flat=True)) or [None]
    rewards = sorted({study.reward if reward is None else reward for reward in arm_rewards})
    wages = [(reward, hourly(reward, time.seconds)) for reward in rewards if reward]
    return [(reward, per_hour) for reward, per_hour in wages if is_low(per_hour)]


@dataclass(frozen=True, slots=True)
class ArmPay:
    """The pay per hour in one arm, from the median time of the ``n`` submissions of `paid_work`."""

    arm: str
    per_hour: Decimal
    seconds: float
    n: int

    @property
    def low(self) -> bool:
        return is_low(self.per_hour)


@dataclass(frozen=True, slots=True)
class ArmTime:
    """The median of the ``n`` submissions of `paid_work` in one arm, and the arm's own reward, if it has one."""

    arm: str
    reward: Decimal | None
    n: int
    seconds: float


def arm_times(study: Study) -> list[ArmTime]:
    """One per arm where people have submitted, in the arms' order. The database sorts and returns only the middle."""
    counted = paid_work(study).annotate(
        place=Window(RowNumber(), partition_by=F("participant__arm"), order_by=["seconds", "pk"]),
        n=Window(Count("pk"), partition_by=F("participant__arm")),
    )
    # The one in the middle, or the two around it: 2 × place is n + 1, or n and n + 2.
    middle = counted.filter(place__gte=F("n") / 2.0, place__lte=F("n") / 2.0 + 1)
    rows = middle.order_by("participant__arm__position").values_list(
        "participant__arm__name", "participant__arm__reward", "n", "seconds"
    )
    times: dict[tuple[str, Decimal | None, int], list[float]] = {}
    for name, reward, n, seconds in rows:
        times.setdefault((name, reward, n), []).append(seconds)
    return [ArmTime(name, reward, n, statistics.mean(middle)) for (name, reward, n), middle in times.items()]


def pay_of(study: Study, times: Sequence[ArmTime] | None = None) -> list[ArmPay]:
    """One per arm where people have submitted and are paid, as in the report. ``times``: `arm_times`, if known."""
    pay = []
    for time in arm_times(study) if times is None else times:
        reward = study.reward if time.reward is None else time.reward
        if reward and time.seconds > 0:
            pay.append(ArmPay(time.arm, hourly(reward, time.seconds), time.seconds, time.n))
    return pay


#: The median of so many of the latest submissions is what workers can expect, once there are at least a few.
LATEST, LEAST_TIMES = 100, 5


def expected_seconds(study: Study) -> float | None:
    """How long a hit takes, for workers: the median of people's latest work here, else the researcher's estimate, else
    None. One query, which reads at most `LATEST` rows."""
    people = Submission.objects.filter(study=study, participant__synthetic=False).order_by("-received_at")
    times = list(people.values_list("seconds", flat=True)[:LATEST])
    if len(times) >= LEAST_TIMES:
        return statistics.median(times)
    return None if study.estimated_minutes is None else float(study.estimated_minutes) * 60


@dataclass(frozen=True, slots=True)
class TimePerHit:
    """How many seconds a hit takes, and the basis: ``estimate``, or ``people`` or ``simulated`` in the study ``of``.

    ``for_checks``: the part of them that is for gold and attention items, at the same time for each item. A pilot whose
    hits have fewer or more of these is converted.
    """

    seconds: float
    source: str
    of: str = ""
    n: int = 0
    for_checks: float = 0.0


def time_per_hit(study: Study) -> TimePerHit | None:
    """The researcher's estimate, else the median time in the study's pilot, else None.

    The pilot is the study that this one was duplicated from, if both have the same type and the same hit size.
    """
    checks = checks_per_hit(study)
    in_all = study.items_per_hit + checks
    if study.estimated_minutes is not None:
        seconds = float(study.estimated_minutes) * 60
        return TimePerHit(seconds, "estimate", for_checks=seconds * checks / in_all)
    pilot = study.duplicated_from
    if pilot is None or (pilot.task_type, pilot.items_per_hit) != (study.task_type, study.items_per_hit):
        return None
    # Imported work often has no times: they are 0.
    people = Submission.objects.filter(study=pilot, participant__synthetic=False, seconds__gt=0)
    times = list(people.filter(not_left_out(left_out_submissions(pilot))).values_list("seconds", flat=True))
    source = "people" if times else "simulated"
    if not times:
        # What simulated workers claim for the questions of a submission. (They send pages without waiting.)
        timed = Rating.objects.filter(study=pilot, participant__synthetic=True).order_by().values("submission")
        summed = timed.annotate(spent=Sum("seconds")).filter(Q(spent__gt=0)).order_by("-submission")
        times = list(summed.values_list("spent", flat=True)[:MOST_SIMULATED])
    if not times:
        return None
    seconds = statistics.median(times) * in_all / (pilot.items_per_hit + checks_per_hit(pilot))
    return TimePerHit(seconds, source, pilot.slug, len(times), seconds * checks / in_all)
