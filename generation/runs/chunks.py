"""Workers claim chunks under a lease, make them, and store them whole. A chunk that is not finished is split: finished
samples become a separate chunk, which is stored, and the rest waits.

Each lease is a unique word in ``leased_by``: a worker that is late, after another has claimed its chunk, finds a
different word there and stores nothing. All times are the database's, because workers' clocks may differ. Locks are
taken in the order run, chunk.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from generation.backends.base import Generated
from generation.models import Chunk, GenerationRun, Sample
from generation.runs.budgets import affordable
from generation.runs.planned_samples import PlannedSample, as_chunk_places, planned_of

ACTIVE = (GenerationRun.State.WAITING, GenerationRun.State.RUNNING)
MOST_FAILURES = 3
#: A chunk most likely kills its workers if this many have vanished while they made it.
MOST_LOSSES = 5
PAUSE_SECONDS = 5.0
INSERT_AT_ONCE = 500
#: Chunks whose workers have vanished so often that nobody claims them any more.
_LOST = ~Q(leased_by="") & Q(losses__gte=MOST_LOSSES - 1)


@dataclass(frozen=True)
class ClaimedChunk:
    """A chunk whose lease this process holds."""

    chunk: Chunk
    run: GenerationRun
    lease: str
    planned: Sequence[PlannedSample]


def database_now() -> datetime:
    """The time by the database's clock."""
    if connection.vendor != "postgresql":
        return timezone.now()  # SQLite is on this machine
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cursor.fetchone()[0]  # type: ignore[no-any-return]


def lease_time() -> timedelta:
    return timedelta(seconds=settings.CHUNK_LEASE_SECONDS)


def claimable(now: datetime) -> QuerySet[Chunk]:
    """Chunks of active runs that nobody works on: never claimed, released, or with a lease that has run out. None whose
    model server is away."""
    free = Q(leased_until__isnull=True) | Q(leased_until__lt=now)
    reachable = Q(model__away_until__isnull=True) | Q(model__away_until__lt=now)
    return Chunk.objects.filter(free, reachable, state=Chunk.State.WAITING, run__state__in=ACTIVE)


def leased(now: datetime) -> QuerySet[Chunk]:
    """Chunks that a live worker is working on."""
    return Chunk.objects.filter(state=Chunk.State.WAITING, leased_until__gte=now).exclude(leased_by="")


def claim(*, run_id: int, worker: str, backends: Sequence[str], most: int = 1) -> list[ClaimedChunk]:
    """Claim the run's next chunks: at most ``most``, of one model that one of ``backends`` runs. Empty if none remain.

    A chunk whose worker vanished is claimed alone, so that a chunk that kills its workers does not affect others.
    """
    GenerationRun.objects.filter(pk=run_id, state=GenerationRun.State.WAITING).filter(
        Exists(claimable(database_now()).filter(run=OuterRef("pk"), model__backend__in=backends))
    ).update(state=GenerationRun.State.RUNNING, started_at=timezone.now())
    lease = f"{worker[:80]}#{secrets.token_hex(6)}"
    with transaction.atomic():
        # With a budget, one worker claims after the other, so that they do not spend the same money.
        limited = GenerationRun.objects.select_for_update(no_key=True).filter(pk=run_id).exclude(budget={}).first()
        now = database_now()
        free = claimable(now).filter(run_id=run_id, model__backend__in=backends).exclude(_LOST).order_by("number")
        claimed = list(free.select_for_update(skip_locked=True, no_key=True, of=("self",))[:most])
        if claimed and claimed[0].leased_by:
            claimed = claimed[:1]
        claimed = [
            chunk
            for chunk in claimed
            if chunk is claimed[0] or (chunk.model_id == claimed[0].model_id and not chunk.leased_by)
        ]
        if limited is not None:
            claimed = affordable(limited, claimed, now)
        for chunk in claimed:
            if chunk.leased_by:
                chunk.losses += 1  # its last worker neither stored nor released it
            chunk.leased_by, chunk.leased_until, chunk.preview = lease, now + lease_time(), {}
        Chunk.objects.bulk_update(claimed, ["leased_by", "leased_until", "losses", "preview"])
    if not claimed:
        return []
    reloaded = list(
        Chunk.objects.filter(pk__in=[chunk.pk for chunk in claimed]).select_related("run", "model").order_by("number")
    )
    planned = planned_of(reloaded)
    return [ClaimedChunk(chunk, chunk.run, lease, samples) for chunk, samples in zip(reloaded, planned, strict=True)]


def extend(claimed: ClaimedChunk) -> bool:
    """Extend the lease. False if another worker has it by now, or the run was cancelled."""
    mine = Chunk.objects.filter(pk=claimed.chunk.pk, leased_by=claimed.lease, state=Chunk.State.WAITING)
    cancelled = GenerationRun.State.CANCELLED
    return bool(mine.exclude(run__state=cancelled).update(leased_until=database_now() + lease_time()))


def release(claimed: ClaimedChunk) -> None:
    """Release the chunk unmade. The next worker may claim it at once."""
    Chunk.objects.filter(pk=claimed.chunk.pk, leased_by=claimed.lease).update(leased_by="", leased_until=None)


def release_all(worker: str) -> None:
    """Release whatever this worker still holds, before its process ends."""
    held = Chunk.objects.filter(state=Chunk.State.WAITING, leased_by__startswith=f"{worker[:80]}#")
    held.update(leased_by="", leased_until=None)


def show(claimed: ClaimedChunk, preview: Mapping[str, Any]) -> None:
    """Save texts that are drawn but not stored, for people who watch the run."""
    mine = Chunk.objects.filter(pk=claimed.chunk.pk, leased_by=claimed.lease, state=Chunk.State.WAITING)
    mine.update(preview=dict(preview))


@transaction.atomic
def store(
    claimed: ClaimedChunk, outcomes: Sequence[Generated], *, seconds: float, made_with: Mapping[str, Any] | None = None
) -> bool:
    """Store all samples of the chunk and mark it done, in one transaction. False, with nothing stored, if the lease is
    lost."""
    mine = Chunk.objects.filter(pk=claimed.chunk.pk, leased_by=claimed.lease, state=Chunk.State.WAITING)
    done = mine.exclude(run__state=GenerationRun.State.CANCELLED).update(
        state=Chunk.State.DONE,
        leased_by="",
        leased_until=None,
        seconds=seconds,
        n_tokens=sum(outcome.n_tokens for outcome in outcomes),
        tokens_read=sum(outcome.cost[0] for outcome in outcomes),
        tokens_written=sum(outcome.cost[1] for outcome in outcomes),
        made_with=dict(made_with or {}),
        message="",
        preview={},
        ended_at=timezone.now(),
    )
    if not done:
        return False
    pairs = zip(claimed.planned, outcomes, strict=True)
    samples = (_sample(claimed, claimed.chunk, planned, outcome) for planned, outcome in pairs)
    Sample.objects.bulk_create(samples, batch_size=INSERT_AT_ONCE)
    return True


@transaction.atomic
def split(
    claimed: ClaimedChunk,
    finished: Sequence[tuple[PlannedSample, Generated]],
    *,
    seconds: float,
    made_with: Mapping[str, Any],
) -> bool:
    """Store the finished samples of a chunk whose others are missing. They become a chunk that is done; the chunk keeps
    the rest, and its lease. False, with nothing stored, if the lease is lost."""
    run = GenerationRun.objects.select_for_update(no_key=True).get(pk=claimed.run.pk)
    chunk = Chunk.objects.select_for_update(no_key=True).get(pk=claimed.chunk.pk)
    if chunk.leased_by != claimed.lease or chunk.state != Chunk.State.WAITING or run.state == run.State.CANCELLED:
        return False
    stored = {planned.key for planned, _ in finished}
    unfinished = [planned for planned in claimed.planned if planned.key not in stored]
    last = run.chunks.order_by("-number").values_list("number", flat=True)[0]
    done = Chunk.objects.create(
        run=run,
        number=last + 1,
        model_id=chunk.model_id,
        places=as_chunk_places([planned for planned, _ in finished]),
        n_samples=len(finished),
        state=Chunk.State.DONE,
        seconds=seconds,
        n_tokens=sum(outcome.n_tokens for _, outcome in finished),
        tokens_read=sum(outcome.cost[0] for _, outcome in finished),
        tokens_written=sum(outcome.cost[1] for _, outcome in finished),
        made_with=dict(made_with),
        ended_at=timezone.now(),
    )
    samples = (_sample(claimed, done, planned, outcome) for planned, outcome in finished)
    Sample.objects.bulk_create(samples, batch_size=INSERT_AT_ONCE)
    Chunk.objects.filter(pk=chunk.pk).update(places=as_chunk_places(unfinished), n_samples=len(unfinished), preview={})
    return True


def _sample(claimed: ClaimedChunk, chunk: Chunk, planned: PlannedSample, generated: Generated) -> Sample:
    return Sample(
        run=claimed.run,
        context=planned.context,
        model_id=chunk.model_id,
        chunk=chunk,
        decoder=planned.decoder,
        number=planned.number,
        seed=planned.seed,
        text=storable(generated.text),
        token_ids=list(generated.token_ids),
        n_tokens=generated.n_tokens,
        prompt_tokens=generated.prompt_tokens,
        cut_tokens=generated.cut_tokens,
        log_p=generated.log_p,
        log_q=generated.log_q,
        score=generated.score,
        finish_reason=generated.finish_reason,
        seconds=generated.seconds,
    )


def storable(text: str) -> str:
    """The text with U+FFFD for NUL, the only character that PostgreSQL cannot store."""
    return text.replace("\x00", "\ufffd")


@transaction.atomic
def fail(claimed: ClaimedChunk, message: str, *, final: bool = False) -> bool:
    """Record that the chunk failed. True if it failed for good, and the run with it.

    It is tried again after a pause, up to ``MOST_FAILURES`` times in all; ``final``: another try would not help.
    """
    GenerationRun.objects.select_for_update(no_key=True).get(pk=claimed.run.pk)
    chunk = Chunk.objects.select_for_update(no_key=True).get(pk=claimed.chunk.pk)
    if chunk.leased_by != claimed.lease or chunk.state != Chunk.State.WAITING:
        return False
    chunk.attempts += 1
    chunk.message = message
    chunk.leased_by = ""
    last = final or chunk.attempts >= MOST_FAILURES
    pause = timedelta(seconds=PAUSE_SECONDS * chunk.attempts)
    chunk.leased_until = None if last else database_now() + pause
    if last:
        _fail_for_good(chunk, message)
    chunk.save()
    return last


@transaction.atomic
def give_up_lost(run_id: int) -> None:
    """Fail a run if too many workers have vanished while they made one of its chunks."""
    lost = claimable(database_now()).filter(_LOST, run_id=run_id)
    if not lost.exists():
        return
    GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
    for chunk in lost.select_for_update(no_key=True, of=("self",)):
        chunk.losses += 1
        message = (
            f"Its worker died {chunk.losses} times while making it, most likely because memory ran out. "
            "Use a smaller model or chunk_size, then resume the run."
        )
        _fail_for_good(chunk, message)
        chunk.message = message
        chunk.save()


def _fail_for_good(chunk: Chunk, message: str) -> None:
    chunk.state = Chunk.State.FAILED
    chunk.ended_at = timezone.now()
    chunk.leased_by, chunk.leased_until = "", None
    GenerationRun.objects.filter(pk=chunk.run_id, state__in=ACTIVE).update(
        state=GenerationRun.State.FAILED,
        message=f"Chunk {chunk.number} ({chunk.model.name}) failed: {message}",
        ended_at=timezone.now(),
    )
