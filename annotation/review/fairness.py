"""How long people take and what they earn, while the study runs, and what they say about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Sum, Window

from annotation.models import Study, Submission
from annotation.work.hourly_pay import ArmTime, arm_times, exact_sum, hourly, is_low
from annotation.work.left_out import paid_work

NEWEST = 5


@dataclass(frozen=True, slots=True)
class Fairness:
    """One arm (an empty name: the whole study), from `paid_work`. Hits that were given back, timed out or stopped do
    not count.

    ``seconds``: the median over submissions. ``per_hour``: USD at that time; None without a reward. ``below``: how many
    of the ``workers`` earned less per hour than the server's minimum, from all their rewards and all their time.
    """

    arm: str
    submissions: int
    workers: int
    seconds: float
    per_hour: Decimal | None
    below: int

    @property
    def low(self) -> bool:
        return self.per_hour is not None and is_low(self.per_hour)

    @property
    def share_below(self) -> float:
        return self.below / self.workers if self.workers else 0.0


def fairness_of(study: Study, times: Sequence[ArmTime] | None = None) -> list[Fairness]:
    """One entry per arm with submissions by people, in the arms' order. ``times``: `arm_times`, if known. One query
    besides."""
    summed = paid_work(study).order_by().values_list("participant__arm__name", "participant")
    by_arm: dict[str, list[tuple[Decimal, float, int]]] = defaultdict(list)
    for arm, _, usd, spent, n in summed.annotate(
        usd=Sum("assignment__hit__reward"), spent=Sum("seconds"), n=Count("pk")
    ):
        by_arm[arm].append((exact_sum(usd), spent, n))
    return fairness_from(by_arm, arm_times(study) if times is None else times)


def fairness_from(
    by_arm: Mapping[str, Sequence[tuple[Decimal, float, int]]], times: Sequence[ArmTime]
) -> list[Fairness]:
    """The same from the reward, the seconds and the number of submissions of each worker, by the name of their arm."""
    entries = []
    for time in times:
        rates = by_arm.get(time.arm, [])
        n_work = sum(n for _, _, n in rates)
        rewarded = [(usd, spent) for usd, spent, _ in rates if usd]
        reward = sum((usd for usd, _ in rewarded), Decimal(0)) / n_work if n_work else Decimal(0)
        per_hour = hourly(reward, time.seconds) if rewarded and time.seconds > 0 else None
        below = sum(is_low(hourly(usd, spent)) for usd, spent in rewarded if spent > 0)
        entries.append(Fairness(time.arm, n_work, len(rates), time.seconds, per_hour, below))
    return entries


@dataclass(frozen=True, slots=True)
class Comments:
    """Workers' comments from the feedback box: how many there are, and the newest submissions with one."""

    count: int
    newest: list[Submission]


def comments_of(study: Study) -> Comments:
    """The comments on a study. One query."""
    comments = Submission.objects.filter(study=study).exclude(feedback="").annotate(n=Window(Count("pk")))
    newest = comments.select_related("participant").defer("answers").order_by("-received_at", "-pk")[:NEWEST]
    rows: list[Any] = list(newest)  # with the column n
    return Comments(rows[0].n if rows else 0, rows)
