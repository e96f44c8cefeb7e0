"""Leases of chunks: who makes which, for how long, and several at once."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError, connections, transaction
from django.utils import timezone

from generation.backends.base import BackendError, Generated
from generation.decoding.seeds import sample_seed
from generation.models import Chunk, GenerationRun, Sample
from generation.registry import presence
from generation.runs import chunks
from generation.runs.run_worker import TurnSize, make_chunks, work_on
from generation.runs.turns import LOST, STORED
from tests.generation.support.run_factories import make_model, make_run
from tests.generation.support.toy_runs import Toy
from tests.generation.support.worked_runs import (
    BACKENDS,
    State,
    check_complete,
    claim,
    let_run_out,
    made,
    see_worker,
    work,
)

# --- leases ---


@pytest.mark.django_db
def test_a_chunk_is_one_worker_s_until_its_lease_runs_out() -> None:
    run = make_run(contexts=["One"], samples=2, chunk_size=2)
    first, second = claim(run, "one"), claim(run, "two")
    assert {first.chunk.number, second.chunk.number} == {0, 1}
    assert chunks.claim(run_id=run.pk, worker="three", backends=BACKENDS) == []
    let_run_out(first)
    again = claim(run, "three")
    assert again.chunk.pk == first.chunk.pk
    assert again.chunk.losses == 1
    assert again.lease != first.lease


@pytest.mark.django_db
def test_a_late_worker_stores_nothing() -> None:
    run = make_run(contexts=["One"], samples=1)
    late = claim(run, "late")
    let_run_out(late)
    new = claim(run, "new")
    assert chunks.store(late, made(late), seconds=1.0) is False
    assert not Sample.objects.exists()
    assert chunks.extend(late) is False
    assert chunks.fail(late, "too late") is False
    assert chunks.store(new, made(new), seconds=1.0) is True
    assert chunks.store(new, made(new), seconds=1.0) is False
    assert Sample.objects.count() == run.n_wanted


@pytest.mark.django_db
def test_a_lease_that_ran_out_and_that_nobody_took_still_counts() -> None:
    run = make_run(contexts=["One"], samples=1)
    slow = claim(run)
    let_run_out(slow)
    assert chunks.extend(slow) is True
    assert chunks.store(slow, made(slow), seconds=1.0) is True


@pytest.mark.django_db
def test_a_chunk_handed_back_is_free_at_once_and_not_counted_as_lost() -> None:
    run = make_run(contexts=["One"], samples=1)
    chunks.release(claim(run))
    assert claim(run).chunk.losses == 0


@pytest.mark.django_db
def test_samples_and_the_end_of_their_chunk_are_stored_together_or_not_at_all() -> None:
    run = make_run(contexts=["One"], samples=2)
    claimed = claim(run)
    texts = made(claimed)
    texts[-1] = Generated("x", (1,), 1, 5.0, None, "end", 0.1, 1)  # a log-probability above 0: the database refuses it
    with pytest.raises(IntegrityError), transaction.atomic():
        chunks.store(claimed, texts, seconds=1.0)
    assert not Sample.objects.exists()
    assert Chunk.objects.get().state == "waiting"


@pytest.mark.django_db
def test_the_database_refuses_a_second_sample_for_a_place() -> None:
    run = make_run(contexts=["One"], samples=1)
    claimed = claim(run)
    chunks.store(claimed, made(claimed), seconds=1.0)
    Chunk.objects.update(state="waiting", leased_by=claimed.lease)
    with pytest.raises(IntegrityError), transaction.atomic():
        chunks.store(claimed, made(claimed), seconds=1.0)


@pytest.mark.django_db
def test_a_worker_claims_only_what_it_can_run(everything_installed: None) -> None:
    make_model(name="far", backend="openai", source="x", base_url="http://h/v1")
    run = make_run(models=["far"])
    assert chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS) == []
    run.refresh_from_db()
    assert run.state == State.WAITING
    assert chunks.claim(run_id=run.pk, worker="w", backends=("openai",)) != []


@pytest.mark.django_db(transaction=True)
def test_a_lease_is_extended_while_the_chunk_is_being_made(everything_installed: None, settings: Any) -> None:
    settings.CHUNK_LEASE_SECONDS = 0.4
    run = make_run(contexts=["One"], samples=1)
    others: list[object] = []

    def wait(number: int) -> None:
        time.sleep(0.8)  # twice the lease
        others.append(chunks.claim(run_id=run.pk, worker="other", backends=BACKENDS))

    assert work(run, Toy(before=wait)) == 1
    assert others == [[], []]
    check_complete(run)


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_has_lost_its_lease_stops_early(everything_installed: None, settings: Any) -> None:
    settings.CHUNK_LEASE_SECONDS = 0.2
    run = make_run(contexts=["One"], samples=50, chunk_size=100)
    claimed = claim(run)

    def steal(number: int) -> None:
        if number == 1:
            Chunk.objects.update(leased_by="other#1", leased_until=timezone.now() + timedelta(hours=1))
        time.sleep(0.02)

    toy = Toy(before=steal)
    assert make_chunks([claimed], worker="w", backend_of=toy.backend_of) == [LOST]
    assert len(toy.seen) < 100
    assert not Sample.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_eight_workers_at_once_make_each_chunk_once(everything_installed: None) -> None:
    run = make_run(contexts=[f"Text {n}" for n in range(10)], chunk_size=3)
    stored: list[int] = []

    def go() -> None:
        try:
            stored.append(work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(stored) == run.chunks.count() == 20
    check_complete(run)


# --- several chunks at once ---


@pytest.mark.django_db
def test_several_chunks_of_one_model_are_taken_together_and_a_lost_one_alone() -> None:
    run = make_run(contexts=["One"], samples=6, models=["toy", "other"], chunk_size=4)  # three chunks for each
    lost = claim(run)
    together = chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=5)
    assert [claimed.chunk.number for claimed in together] == [1, 2]
    let_run_out(lost)
    assert [claimed.chunk.number for claimed in chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=5)] == [
        0
    ]
    others = chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=5)
    assert [claimed.chunk.number for claimed in others] == [3, 4, 5]


@pytest.mark.django_db
def test_a_fast_worker_claims_more_and_more_chunks_and_a_slow_one_does_not(everything_installed: None) -> None:
    def turns(run: GenerationRun, toy: Toy) -> list[int]:
        sizes: list[int] = []
        work_on(run_id=run.pk, worker="w", backend_of=toy.backend_of, on_chunk=lambda: sizes.append(len(toy.seen)))
        check_complete(run)
        return [after - before for before, after in pairwise([0, *sizes])]

    def make_thirty() -> GenerationRun:
        return make_run(contexts=["One"], decoders=["top_p=0.9"], samples=30, chunk_size=2)

    assert turns(make_thirty(), Toy()) == [2, 4, 8, 16]
    slow = Toy(before=lambda number: time.sleep(0.01))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("generation.runs.run_worker.TURN_SECONDS", 0.01)
        assert turns(make_thirty(), slow) == [2] * 15


@pytest.mark.django_db
def test_the_rest_of_a_shared_run_is_claimed_in_small_parts(everything_installed: None) -> None:
    run = make_run(contexts=["One"], decoders=["top_p=0.9"], samples=40, chunk_size=2)  # 20 chunks
    hand = TurnSize()
    hand.wanted = 16
    assert hand.size(run.pk) == 16
    see_worker("a")
    see_worker("b", state=presence.WORKING)
    see_worker("c", state=presence.WITHOUT)
    assert hand.size(run.pk) == 5
    chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=18)
    assert hand.size(run.pk) == 1


@pytest.mark.django_db
def test_after_a_failure_every_chunk_is_tried_for_itself(
    everything_installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "PAUSE_SECONDS", 0.0)
    run = make_run(contexts=["One"], decoders=["top_p=0.9"], samples=16, chunk_size=2)
    bad = sample_seed(1, "1", "toy", "top_p=0.9", 5)
    sizes: list[int] = []

    class Picky(Toy):
        def generate(self, requests: Any, on_done: Any = None) -> Any:
            sizes.append(len(requests))
            if any(request.seed == bad for request in requests):
                raise BackendError("Not that one.")
            return super().generate(requests, on_done)

    work_on(run_id=run.pk, worker="w", backend_of=Picky().backend_of)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert sizes[:2] == [2, 4]
    assert sizes[2] == 2
    failed = run.chunks.get(state="failed")
    assert failed.places == [[0, "top_p=0.9", 4, 2]]
    assert not run.chunks.exclude(pk=failed.pk).filter(attempts__gt=1).exists()


@pytest.mark.django_db(transaction=True)
def test_lost_chunks_are_not_stored_with_those_made_together(everything_installed: None) -> None:
    run = make_run(contexts=["One"], decoders=["top_p=0.9"], samples=4, chunk_size=2)
    claimed = chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=2)

    def steal(number: int) -> None:
        Chunk.objects.filter(pk=claimed[0].chunk.pk).update(leased_by="other#1")

    assert make_chunks(claimed, worker="w", backend_of=Toy(before=steal).backend_of) == [LOST, STORED]
    assert set(run.samples.values_list("number", flat=True)) == {2, 3}
