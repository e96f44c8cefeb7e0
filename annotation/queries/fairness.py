"""How long people take and what they earn, while the study runs, and what they say about it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, F, Q, Sum, Window
from django.db.models.functions import RowNumber

from annotation.models import Study, Submission
from annotation.queries.left_out import paid_work
from annotation.queries.pay import exact_sum, hourly, is_low

NEWEST = 5
Middle = dict[str, tuple[int, float]]


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


def fairness_of(study: Study) -> list[Fairness]:
    """One entry per arm with submissions by people, in the arms' order. Two queries."""
    times, paid = _middle_times(study), _by_worker(study)
    found = []
    for arm, (n, seconds) in times.items():
        rates = paid[arm]
        rewarded = [(usd, spent) for usd, spent in rates if usd]
        reward = sum((usd for usd, _ in rewarded), Decimal(0)) / n
        per_hour = hourly(reward, seconds) if rewarded and seconds > 0 else None
        below = sum(is_low(hourly(usd, spent)) for usd, spent in rewarded if spent > 0)
        found.append(Fairness(arm, n, len(rates), seconds, per_hour, below))
    return found


def _middle_times(study: Study) -> Middle:
    """Number of submissions and median seconds by arm. The database sorts and returns only the middle."""
    ordered = paid_work(study).annotate(
        place=Window(RowNumber(), partition_by=F("participant__arm"), order_by=["seconds", "pk"]),
        n=Window(Count("pk"), partition_by=F("participant__arm")),
    )
    # The one in the middle, or the two around it: 2 × place is n + 1, or n and n + 2.
    middle = ordered.filter(Q(place__gte=F("n") / 2.0), Q(place__lte=F("n") / 2.0 + 1))
    rows = middle.order_by("participant__arm__position").values_list("participant__arm__name", "n", "seconds")
    found: dict[str, tuple[int, list[float]]] = {}
    for arm, n, seconds in rows:
        found.setdefault(arm, (n, []))[1].append(seconds)
    return {arm: (n, sum(seconds) / len(seconds)) for arm, (n, seconds) in found.items()}


def _by_worker(study: Study) -> dict[str, list[tuple[Decimal, float]]]:
    """By arm: all rewards in USD and all seconds of each worker."""
    summed = paid_work(study).order_by().values_list("participant__arm__name", "participant")
    found: dict[str, list[tuple[Decimal, float]]] = defaultdict(list)
    for arm, _, usd, spent in summed.annotate(usd=Sum("assignment__hit__reward"), spent=Sum("seconds")):
        found[arm].append((exact_sum(usd), spent))
    return found


@dataclass(frozen=True, slots=True)
class Comments:
    """Workers' comments from the feedback box: how many there are, and the newest submissions with one."""

    count: int
    newest: list[Submission]


def comments_of(study: Study) -> Comments:
    """The comments on a study. Two queries."""
    found = Submission.objects.filter(study=study).exclude(feedback="")
    newest = found.select_related("participant").defer("answers").order_by("-received_at", "-pk")
    return Comments(found.count(), list(newest[:NEWEST]))
