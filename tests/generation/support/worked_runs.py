"""Runs worked on in the test itself: a chunk claimed, made, lost, and a whole run checked."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from django.utils import timezone

from generation.backends.base import Generated
from generation.decoding.seeds import sample_seed
from generation.models import Chunk, GenerationRun, ModelWorker
from generation.registry import presence
from generation.runs import chunks
from generation.runs.run_worker import work_on
from tests.generation.support.toy_runs import Toy, toy_text

State = GenerationRun.State
BACKENDS = ("transformers",)


def claim(run: GenerationRun, worker: str = "w") -> chunks.ClaimedChunk:
    claimed = chunks.claim(run_id=run.pk, worker=worker, backends=BACKENDS)
    assert len(claimed) == 1
    return claimed[0]


def made(claimed: chunks.ClaimedChunk) -> list[Generated]:
    return [
        Generated(toy_text(p.context.prompt, p.decoder, p.seed, 2), (1, 2), 2, -2.0, -1.0, "length", 0.01, 3)
        for p in claimed.planned
    ]


def let_run_out(claimed: chunks.ClaimedChunk) -> None:
    """As if the worker had not been heard of for longer than its lease."""
    Chunk.objects.filter(pk=claimed.chunk.pk).update(leased_until=timezone.now() - timedelta(seconds=1))


def work(run: GenerationRun, toy: Toy) -> int:
    return work_on(run_id=run.pk, worker="w", backend_of=toy.backend_of)


def check_complete(run: GenerationRun) -> None:
    """Every sample that the run should have is there, once, and is what its seed gives."""
    run.refresh_from_db()
    assert run.state == State.DONE, run.message
    places = Counter(
        run.samples.values_list("context__external_id", "context__prompt", "model__name", "decoder", "number", "seed")
    )
    expected = [
        (context.external_id, context.prompt, model, decoder, number,
         sample_seed(run.seed, context.external_id, model, decoder, number))
        for context in run.contexts.all()
        for model in run.spec["models"]
        for decoder in run.spec["decoders"]
        for number in range(1 if decoder == "greedy" else run.spec["samples"])
    ]  # fmt: skip
    assert places == Counter(expected)
    assert len(expected) == run.n_wanted
    for sample in run.samples.select_related("context"):
        assert sample.text == toy_text(sample.context.prompt, sample.decoder, sample.seed, sample.n_tokens)


def failing(error: Exception, times: int) -> Toy:
    def fail(number: int) -> None:
        if number <= times:
            raise error

    return Toy(before=fail)


def see_worker(name: str, *, state: str = presence.IDLE, ago: float = 0) -> None:
    ModelWorker.objects.create(
        name=name, role=presence.RUNS, state=state, seen_at=timezone.now() - timedelta(seconds=ago)
    )
