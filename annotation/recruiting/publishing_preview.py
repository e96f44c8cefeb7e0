"""What publishing on a platform would do and cost, before it does anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction

from annotation.instrument import item_data
from annotation.models import Item, Study
from annotation.platforms.base import Platform
from annotation.platforms.costs import Cost, Offered
from annotation.recruiting import publishing
from annotation.studies import launching
from annotation.work.hourly_pay import hourly, is_low, pay_of, time_per_hit

#: The most calls that a page lists one by one.
MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Ahead:
    """The calls that publishing would make: the first ones with their parameters, and how many of each operation."""

    calls: list[tuple[str, Mapping[str, Any]]]
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def calls_of(study: Study, platform: Platform, *, most: int | None = MOST_SHOWN) -> Ahead:
    """Every call that publishing would make now. Nothing is stored: the launch is undone. Raises Invalid."""
    counts: Counter[str] = Counter()
    calls: list[tuple[str, Mapping[str, Any]]] = []
    copy = Study.objects.get(pk=study.pk)
    with transaction.atomic():
        launching.publish(study=copy, actor="dry run", by_link=False)
        publishing.plan_postings(study=copy, platform=platform, actor="dry run")
        for operation, params in publishing.calls_ahead(copy, platform):
            counts[operation] += 1
            if most is None or len(calls) < most:
                calls.append((operation, params))
        transaction.set_rollback(True)
    return Ahead(calls, dict(counts))


def offered_by(study: Study) -> list[Offered]:
    """The study's hits by reward and number wanted; for a draft, those that its launch would plan. Raises Invalid."""
    if study.status != Study.Status.DRAFT:
        return publishing.offered_hits(study)
    arms = list(study.arms.order_by("position"))
    items = [item_data(item) for item in Item.objects.filter(study=study).order_by("position")]
    if not items:
        return []
    by_name = {arm.name: arm for arm in arms}
    planned = launching.plan(study, arms, items, seed=study.seed)
    counts = Counter((launching.reward_of(study, by_name.get(hit.arm), hit), hit.wanted) for hit in planned)
    return [Offered(n_hits, reward, places) for (reward, places), n_hits in sorted(counts.items())]


@dataclass(frozen=True, slots=True)
class Wage:
    """What workers earn per hour at one reward, in USD; ``low``: less than the server's minimum."""

    reward: Decimal
    per_hour: Decimal
    low: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the study costs on the platform if everything is approved, what that pays per hour, and remarks.

    ``seconds`` is the time per hit that the wages assume, and ``source`` where it comes from: ``measured`` in this
    study, or as in ``work.hourly_pay.TimePerHit``. If the time is not known, there are no wages.
    """

    cost: Cost
    remarks: list[str]
    wages: list[Wage]
    seconds: float | None
    source: str
    of: str
    n: int


def estimate(study: Study, platform: Platform, settings: Mapping[str, Any]) -> Estimate:
    """What the study costs on the platform with these settings. Raises Invalid if it cannot be planned."""
    offered = offered_by(study)
    # Seconds per hit, measured if people have submitted; else as estimated or in the pilot.
    seconds: float | None = None
    source, of, n = "", "", 0
    if measured := pay_of(study):
        longest = max(measured, key=lambda arm: arm.seconds)
        seconds, source, of, n = longest.seconds, "measured", study.slug, longest.n
    elif estimated := time_per_hit(study):
        seconds, source, of, n = estimated.seconds, estimated.source, estimated.of, estimated.n
    rewards = sorted({hits.reward for hits in offered})
    wages = [Wage(reward, rate, is_low(rate)) for reward in rewards if seconds for rate in [hourly(reward, seconds)]]
    cost = platform.cost(offered, dict(settings))
    return Estimate(cost, platform.remarks(offered, dict(settings)) if offered else [], wages, seconds, source, of, n)
