"""How live suggestions are doing: the processes that write them, how long writers waited, what is left in the pools."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Min, Q

from generation.models import ModelWorker, PoolText, Suggester, Suggestion
from generation.registry.presence import SUGGESTIONS

# Suggester processes write that they are alive every five seconds.
ALIVE_FOR = timedelta(seconds=15)
LATEST = 1000


@dataclass(frozen=True)
class Process:
    """A suggester process. ``alive``: it was seen a moment ago."""

    name: str
    state: str
    alive: bool
    models: tuple[str, ...]
    message: str
    silent_seconds: float


@dataclass(frozen=True)
class Waits:
    """What happened to a suggester's latest suggestions, and the seconds until the text arrived."""

    answered: int
    from_pool: int
    failed: int
    median: float | None
    p95: float | None


@dataclass(frozen=True)
class PoolRound:
    """Pool texts for one round (0: every round). ``fresh``: no writer has seen them yet."""

    suggester: str
    round: int
    texts: int
    fresh: int


def processes(*, now: datetime) -> list[Process]:
    """All known processes, those alive first."""
    all_processes = [
        Process(
            name=row.name,
            state=row.state,
            alive=now - row.seen_at <= ALIVE_FOR,
            models=tuple(row.models_loaded),
            message=row.message,
            silent_seconds=max(0.0, (now - row.seen_at).total_seconds()),
        )
        for row in ModelWorker.objects.filter(role=SUGGESTIONS).order_by("-seen_at")
    ]
    return sorted(all_processes, key=lambda process: not process.alive)


def any_alive(*, now: datetime) -> bool:
    return any(process.alive for process in processes(now=now))


def waits(*, suggester: Suggester) -> Waits:
    """Figures of its latest thousand suggestions that have ended."""
    ended = Suggestion.objects.filter(suggester=suggester, state__in=["done", "failed"]).order_by("-pk")
    rows = list(ended.values_list("state", "from_pool", "asked_at", "answered_at")[:LATEST])
    seconds = sorted((end - begin).total_seconds() for _, _, begin, end in rows if end is not None)
    cuts = statistics.quantiles(seconds, n=20, method="inclusive") if len(seconds) > 1 else [*seconds] * 19
    return Waits(
        answered=len(rows),
        from_pool=sum(from_pool for _, from_pool, _, _ in rows),
        failed=sum(state == "failed" for state, _, _, _ in rows),
        median=cuts[9] if cuts else None,
        p95=cuts[18] if cuts else None,
    )


def pool_rounds(*, suggesters: Sequence[Suggester]) -> list[PoolRound]:
    """What each pool holds, round by round."""
    shown = Suggestion.objects.filter(pool_text__isnull=False).values("pool_text")
    counted = (
        PoolText.objects.filter(suggester__in=suggesters)
        .values("round", name=F("suggester__name"))
        .annotate(texts=Count("pk"), fresh=Count("pk", filter=~Q(pk__in=shown)))
        .order_by("name", "round")
    )
    return [PoolRound(row["name"], row["round"], row["texts"], row["fresh"]) for row in counted]


@dataclass(frozen=True)
class WaitingNow:
    """How many writers wait for a suggester now, and for how long the first of them has waited."""

    suggester: str
    writers: int
    longest: float


def waiting_now(*, now: datetime) -> list[WaitingNow]:
    """Suggesters that writers wait for, by name. Requests past their deadline do not count."""
    rows = Suggestion.objects.filter(state="waiting", deadline__gt=now).values(name=F("suggester__name"))
    counted = rows.annotate(writers=Count("story", distinct=True), since=Min("asked_at")).order_by("name")
    return [WaitingNow(row["name"], row["writers"], max(0.0, (now - row["since"]).total_seconds())) for row in counted]
