"""The progress of a run: what is done, how fast, when it will end, and who works on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from common.problems import Invalid, unknown
from generation.models import Chunk, GenerationRun, LanguageModel, Sample
from generation.registry import presence
from generation.runs.chunks import ACTIVE, database_now, leased

#: The rate covers the last chunks, so it follows workers that come and go.
RATE_CHUNKS = 50
#: If nobody works on the run, a rate this old does not show when the run will end.
STALE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Progress:
    """A run's figures. Rates are per second over the last chunks, of all workers together; None if nothing was made
    recently. ``n_drawn`` texts are drawn but not stored yet. ``note`` gives the reason when nothing happens.
    """

    state: str
    n_wanted: int
    n_done: int
    n_drawn: int
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
    def n_seen(self) -> int:
        """Stored or drawn."""
        return self.n_done + self.n_drawn

    @property
    def ended(self) -> bool:
        return self.state not in ACTIVE

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"share": self.share}


def find_run(name: str) -> GenerationRun:
    """The run called ``name``. Raises Invalid, with the closest name that exists."""
    run = GenerationRun.objects.filter(name=name).first()
    if run is None:
        raise Invalid([unknown("run", name, GenerationRun.objects.order_by("name").values_list("name", flat=True))])
    return run


def runs_with_counts() -> QuerySet[GenerationRun]:
    """All runs, the newest first, each with ``n_done`` samples."""
    done = Sum("chunks__n_samples", filter=Q(chunks__state=Chunk.State.DONE), default=0)
    return GenerationRun.objects.annotate(n_done=done).order_by("-created_at", "-pk")


def progress(run: GenerationRun) -> Progress:
    """The current figures; a handful of queries whatever the size of the run."""
    run.refresh_from_db()
    counts = run.chunks.aggregate(
        chunks=Count("pk"),
        done=Count("pk", filter=Q(state=Chunk.State.DONE)),
        failed=Count("pk", filter=Q(state=Chunk.State.FAILED)),
        samples=Sum("n_samples", filter=Q(state=Chunk.State.DONE), default=0),
        tokens=Sum("n_tokens", filter=Q(state=Chunk.State.DONE), default=0),
    )
    previews = previews_of(run)
    drawn, at_work = sum(preview.get("n", 0) for preview in previews), len(previews)
    workers = presence.alive().exclude(state=presence.WITHOUT).count()
    samples, tokens = _rates(run, previews)
    left = (run.n_wanted - counts["samples"] - drawn) / samples if samples and run.state in ACTIVE else None
    return Progress(
        state=run.state,
        n_wanted=run.n_wanted,
        n_done=counts["samples"],
        n_drawn=drawn,
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


def previews_of(run: GenerationRun) -> list[dict[str, Any]]:
    """What is drawn but not stored of each chunk that is being made; empty for a chunk with nothing to show yet."""
    if run.state not in ACTIVE:
        return []
    return list(leased(database_now()).filter(run=run).order_by("number").values_list("preview", flat=True))


def latest_samples(run: GenerationRun, most: int) -> list[dict[str, Any]]:
    """The last texts with their context, model and decoder: what is not stored yet, then the newest that are stored."""
    drawn = [text | {"stored": False} for preview in previews_of(run) for text in preview.get("texts", ())]
    # The newest chunks hold them. Sorting all samples of a large run each time would take seconds.
    newest = run.chunks.filter(state=Chunk.State.DONE).order_by("-ended_at").values_list("pk", "n_samples")[:most]
    chunk_ids: list[int] = []
    n_samples_found = 0
    for pk, n_samples in newest:
        if n_samples_found < most:
            chunk_ids.append(pk)
            n_samples_found += n_samples
    samples = Sample.objects.filter(chunk__in=chunk_ids).select_related("context", "model").order_by("-pk")[:most]
    stored = [
        {
            "context": sample.context.external_id,
            "model": sample.model.name,
            "decoder": sample.decoder,
            "text": sample.text,
            "stored": True,
        }
        for sample in samples
    ]
    return [*drawn, *stored][:most]


def _rates(run: GenerationRun, previews: Sequence[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    """Samples and tokens per second over the last chunks, of all workers together while they were working.

    Before the first chunk is stored, the rates of what is drawn. For a run that has ended, its last rates.
    """
    done = run.chunks.filter(state=Chunk.State.DONE, ended_at__isnull=False).order_by("-ended_at")
    rows = list(done.values_list("ended_at", "made_with", "seconds", "n_samples", "n_tokens")[:RATE_CHUNKS])
    if not rows:
        drawn = [preview for preview in previews if preview.get("seconds")]
        return (_rate(drawn, "n"), _rate(drawn, "tokens")) if drawn else (None, None)
    if run.state in ACTIVE and not previews and timezone.now() - (rows[0][0] or run.created_at) > STALE:
        return None, None
    by_worker: dict[str, list[float]] = defaultdict(lambda: [0.001, 0.0, 0.0])
    for _, made_with, *figures in rows:
        totals = by_worker[made_with.get("worker", "")]
        totals[:] = [total + (figure or 0.0) for total, figure in zip(totals, figures, strict=True)]
    return (
        sum(samples / seconds for seconds, samples, _ in by_worker.values()),
        sum(tokens / seconds for seconds, _, tokens in by_worker.values()),
    )


def _rate(drawn: Sequence[Mapping[str, Any]], key: str) -> float:
    return sum(float(preview[key]) / float(preview["seconds"]) for preview in drawn)


def _note(run: GenerationRun, at_work: int, workers: int) -> str:
    """Why nothing happens, or the run's message."""
    if run.state not in ACTIVE:
        return run.message
    waiting = run.chunks.filter(state=Chunk.State.WAITING, model=OuterRef("pk"))
    away = LanguageModel.objects.filter(Exists(waiting), name__in=run.spec["models"], away_since__isnull=False)
    model = away.order_by("name").first()
    if model is not None and model.away_since is not None and model.away_until is not None:
        again = f"at {model.away_until:%H:%M:%S} UTC" if model.away_until > timezone.now() else "now"
        return (
            f"{model.name}: {model.away_message.rstrip('.')}. It has been away since {model.away_since:%Y-%m-%d %H:%M} "
            f"UTC. The run tries again {again}, for as long as it takes. No attempt is counted; finished texts are "
            "stored."
        )
    if at_work:
        return run.message
    failed_before = run.chunks.filter(state=Chunk.State.WAITING, attempts__gt=0).order_by("-attempts").first()
    if failed_before is not None:
        return f"Will be tried again soon, after {failed_before.attempts} of 3 failures: {failed_before.message}"
    without = presence.alive().filter(state=presence.WITHOUT).first()
    if without is not None and not workers:
        return f"No worker with models is running. {without.name}: {without.message}"
    if not workers:
        return (
            "No worker with models is running. Start one: script/server, or on a separate machine "
            "celery --app hitserver worker --queues gpu --concurrency 1 (docs/settings.md)."
        )
    return "Waiting for a free worker."
