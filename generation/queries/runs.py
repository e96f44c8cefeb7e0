"""Where a run stands: what is done, how fast it goes, when it will end, who is at it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from generation.models import Chunk, GenerationRun
from generation.problems import Invalid, unknown
from generation.services import presence
from generation.services.chunks import ACTIVE, database_now, leased

#: The rate is that of the last so many chunks: it follows workers that come and go.
RATE_CHUNKS = 50
#: A rate this old says nothing about when the run will end, if nobody is at it.
STALE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Progress:
    """A run's figures. Rates are per second over the last chunks, of all workers together; None when nothing was made
    lately. ``note`` says why nothing happens, when nothing does.
    """

    state: str
    n_wanted: int
    n_done: int
    n_tokens: int
    chunks: int
    chunks_done: int
    chunks_failed: int
    samples_per_second: float | None
    tokens_per_second: float | None
    seconds_left: float | None
    at_work: int
    workers: int
    note: str

    @property
    def share(self) -> float:
        return self.n_done / self.n_wanted if self.n_wanted else 1.0

    @property
    def ended(self) -> bool:
        return self.state not in ACTIVE

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"share": self.share}


def find_run(name: str) -> GenerationRun:
    """The run called ``name``. Raises Invalid with the nearest name there is."""
    found = GenerationRun.objects.filter(name=name).first()
    if found is None:
        raise Invalid([unknown("run", name, GenerationRun.objects.order_by("name").values_list("name", flat=True))])
    return found


def runs_with_counts() -> QuerySet[GenerationRun]:
    """All runs, the newest first, each with ``n_done`` samples."""
    done = Sum("chunks__n_samples", filter=Q(chunks__state=Chunk.State.DONE), default=0)
    return GenerationRun.objects.annotate(n_done=done).order_by("-created_at", "-pk")


def progress(run: GenerationRun) -> Progress:
    """The figures of now; a handful of queries whatever the size of the run."""
    run.refresh_from_db()
    counts = run.chunks.aggregate(
        chunks=Count("pk"),
        done=Count("pk", filter=Q(state=Chunk.State.DONE)),
        failed=Count("pk", filter=Q(state=Chunk.State.FAILED)),
        samples=Sum("n_samples", filter=Q(state=Chunk.State.DONE), default=0),
        tokens=Sum("n_tokens", filter=Q(state=Chunk.State.DONE), default=0),
    )
    at_work = leased(database_now()).filter(run=run).count() if run.state in ACTIVE else 0
    workers = presence.alive().exclude(state=presence.WITHOUT).count()
    samples, tokens = _rates(run, at_work)
    left = (run.n_wanted - counts["samples"]) / samples if samples and run.state in ACTIVE else None
    return Progress(
        state=run.state,
        n_wanted=run.n_wanted,
        n_done=counts["samples"],
        n_tokens=counts["tokens"],
        chunks=counts["chunks"],
        chunks_done=counts["done"],
        chunks_failed=counts["failed"],
        samples_per_second=samples,
        tokens_per_second=tokens,
        seconds_left=left,
        at_work=at_work,
        workers=workers,
        note=_note(run, at_work, workers),
    )


def _rates(run: GenerationRun, at_work: int) -> tuple[float | None, float | None]:
    """Samples and tokens per second over the last chunks, of all workers together while they were at it.

    Of a run that nobody is at any more, as it went.
    """
    done = run.chunks.filter(state=Chunk.State.DONE, ended_at__isnull=False).order_by("-ended_at")
    rows = list(done.values_list("ended_at", "made_with", "seconds", "n_samples", "n_tokens")[:RATE_CHUNKS])
    if not rows or (run.state in ACTIVE and not at_work and timezone.now() - (rows[0][0] or run.created_at) > STALE):
        return None, None
    made: dict[str, list[float]] = defaultdict(lambda: [0.001, 0.0, 0.0])
    for _, made_with, *figures in rows:
        by_worker = made[made_with.get("worker", "")]
        by_worker[:] = [total + (figure or 0.0) for total, figure in zip(by_worker, figures, strict=True)]
    return (
        sum(samples / seconds for seconds, samples, _ in made.values()),
        sum(tokens / seconds for seconds, _, tokens in made.values()),
    )


def _note(run: GenerationRun, at_work: int, workers: int) -> str:
    """Why nothing happens, or the run's own message."""
    if run.state not in ACTIVE or at_work:
        return run.message
    failed_before = run.chunks.filter(state=Chunk.State.WAITING, attempts__gt=0).order_by("-attempts").first()
    if failed_before is not None:
        return f"Tried again soon, after {failed_before.attempts} of 3 failures: {failed_before.message}"
    without = presence.alive().filter(state=presence.WITHOUT).first()
    if without is not None and not workers:
        return f"No worker with models has been seen. {without.name}: {without.message}"
    if not workers:
        return (
            "No worker with models has been seen. Start one: script/server, or on a machine of its own "
            "celery --app hitserver worker --queues gpu --concurrency 1 (docs/settings.md)."
        )
    return "Waiting for a worker that is free."
