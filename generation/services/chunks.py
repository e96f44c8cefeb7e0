"""Chunks are taken under a lease, made, and stored whole or not at all.

A lease is a word of its own in ``leased_by``, so a worker that comes late, when another has taken its chunk, finds
another word there and stores nothing. All times are the database's own: workers' clocks need not agree. Locks are
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
from generation.models import Chunk, GenerationRun, RunContext, Sample
from generation.seeds import sample_seed

ACTIVE = (GenerationRun.State.WAITING, GenerationRun.State.RUNNING)
MOST_FAILURES = 3
#: A chunk that so many workers have vanished with is most likely what ends them.
MOST_LOSSES = 5
PAUSE_SECONDS = 5.0
INSERT_AT_ONCE = 500
#: Its worker has vanished, and so often that nobody takes it any more.
_LOST = ~Q(leased_by="") & Q(losses__gte=MOST_LOSSES - 1)


@dataclass(frozen=True)
class Place:
    """One sample to be made. ``seed`` depends on nothing but the place."""

    context: RunContext
    decoder: str
    number: int
    seed: int


@dataclass(frozen=True)
class Taken:
    """A chunk that this process has the lease of."""

    chunk: Chunk
    run: GenerationRun
    lease: str
    places: Sequence[Place]


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
    """Chunks of active runs that nobody is at: never taken, handed back, or with a lease that ran out."""
    free = Q(leased_until__isnull=True) | Q(leased_until__lt=now)
    return Chunk.objects.filter(free, state=Chunk.State.WAITING, run__state__in=ACTIVE)


def leased(now: datetime) -> QuerySet[Chunk]:
    """Chunks that a live worker is at."""
    return Chunk.objects.filter(state=Chunk.State.WAITING, leased_until__gte=now).exclude(leased_by="")


def claim(*, run_id: int, worker: str, backends: Sequence[str], most: int = 1) -> list[Taken]:
    """Take the run's next chunks, at most ``most`` of one model that one of ``backends`` runs; none: there is none.

    A chunk whose worker vanished is taken alone, so that one that ends its workers does not spoil others.
    """
    GenerationRun.objects.filter(pk=run_id, state=GenerationRun.State.WAITING).filter(
        Exists(claimable(database_now()).filter(run=OuterRef("pk"), model__backend__in=backends))
    ).update(state=GenerationRun.State.RUNNING, started_at=timezone.now())
    lease = f"{worker[:80]}#{secrets.token_hex(6)}"
    with transaction.atomic():
        now = database_now()
        free = claimable(now).filter(run_id=run_id, model__backend__in=backends).exclude(_LOST).order_by("number")
        found = list(free.select_for_update(skip_locked=True, no_key=True, of=("self",))[:most])
        if found and found[0].leased_by:
            found = found[:1]
        found = [chunk for chunk in found if chunk is found[0] or _goes_with(chunk, found[0])]
        for chunk in found:
            if chunk.leased_by:
                chunk.losses += 1  # its last worker neither stored nor handed it back
            chunk.leased_by, chunk.leased_until = lease, now + lease_time()
        Chunk.objects.bulk_update(found, ["leased_by", "leased_until", "losses"])
    taken = Chunk.objects.filter(pk__in=[chunk.pk for chunk in found]).select_related("run", "model")
    return [Taken(chunk, chunk.run, lease, places_of(chunk)) for chunk in taken.order_by("number")]


def _goes_with(chunk: Chunk, first: Chunk) -> bool:
    return chunk.model_id == first.model_id and not chunk.leased_by


def places_of(chunk: Chunk) -> list[Place]:
    """Every sample of the chunk, in order."""
    run = chunk.run
    numbers = {number for number, *_ in chunk.places}
    contexts = {context.number: context for context in RunContext.objects.filter(run=run, number__in=numbers)}
    return [
        Place(
            contexts[number],
            decoder,
            sample,
            sample_seed(run.seed, contexts[number].external_id, chunk.model.name, decoder, sample),
        )
        for number, decoder, first, count in chunk.places
        for sample in range(first, first + count)
    ]


def extend(taken: Taken) -> bool:
    """Hold the lease for longer. False: it is somebody else's by now, or the run was cancelled."""
    mine = Chunk.objects.filter(pk=taken.chunk.pk, leased_by=taken.lease, state=Chunk.State.WAITING)
    cancelled = GenerationRun.State.CANCELLED
    return bool(mine.exclude(run__state=cancelled).update(leased_until=database_now() + lease_time()))


def release(taken: Taken) -> None:
    """Hand the chunk back unmade: the next worker may take it at once."""
    Chunk.objects.filter(pk=taken.chunk.pk, leased_by=taken.lease).update(leased_by="", leased_until=None)


@transaction.atomic
def store(
    taken: Taken, outcomes: Sequence[Generated], *, seconds: float, made_with: Mapping[str, Any] | None = None
) -> bool:
    """All samples of the chunk and that it is done, in one transaction; False and nothing when the lease is lost."""
    mine = Chunk.objects.filter(pk=taken.chunk.pk, leased_by=taken.lease, state=Chunk.State.WAITING)
    done = mine.exclude(run__state=GenerationRun.State.CANCELLED).update(
        state=Chunk.State.DONE,
        leased_by="",
        leased_until=None,
        seconds=seconds,
        n_tokens=sum(outcome.n_tokens for outcome in outcomes),
        made_with=dict(made_with or {}),
        message="",
        ended_at=timezone.now(),
    )
    if not done:
        return False
    samples = (_sample(taken, place, made) for place, made in zip(taken.places, outcomes, strict=True))
    Sample.objects.bulk_create(samples, batch_size=INSERT_AT_ONCE)
    return True


def _sample(taken: Taken, place: Place, made: Generated) -> Sample:
    return Sample(
        run=taken.run,
        context=place.context,
        model_id=taken.chunk.model_id,
        chunk=taken.chunk,
        decoder=place.decoder,
        number=place.number,
        seed=place.seed,
        text=made.text.replace("\x00", "\ufffd"),  # PostgreSQL stores every character but this
        token_ids=list(made.token_ids),
        n_tokens=made.n_tokens,
        prompt_tokens=made.prompt_tokens,
        cut_tokens=made.cut_tokens,
        log_p=made.log_p,
        log_q=made.log_q,
        finish_reason=made.finish_reason,
        seconds=made.seconds,
    )


@transaction.atomic
def fail(taken: Taken, message: str, *, final: bool = False) -> bool:
    """Note that making the chunk failed; whether it failed for good, and the run with it.

    It is tried again after a pause, up to ``MOST_FAILURES`` times in all; ``final`` is for what cannot get better.
    """
    GenerationRun.objects.select_for_update(no_key=True).get(pk=taken.run.pk)
    chunk = Chunk.objects.select_for_update(no_key=True).get(pk=taken.chunk.pk)
    if chunk.leased_by != taken.lease or chunk.state != Chunk.State.WAITING:
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
    """End a run with a chunk that too many workers have vanished with."""
    lost = claimable(database_now()).filter(_LOST, run_id=run_id)
    if not lost.exists():
        return
    GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
    for chunk in lost.select_for_update(no_key=True, of=("self",)):
        chunk.losses += 1
        message = (
            f"Its worker ended {chunk.losses} times while making it, most likely for lack of memory. "
            "Use a smaller model or chunk_size, then resume the run."
        )
        _fail_for_good(chunk, message)
        chunk.message = message
        chunk.save()


def _fail_for_good(chunk: Chunk, message: str) -> None:
    chunk.state = Chunk.State.FAILED
    chunk.ended_at = timezone.now()
    chunk.leased_by, chunk.leased_until = "", None
    told = f"Chunk {chunk.number} ({chunk.model.name}) failed: {message}"
    GenerationRun.objects.filter(pk=chunk.run_id, state__in=ACTIVE).update(
        state=GenerationRun.State.FAILED, message=told, ended_at=timezone.now()
    )
