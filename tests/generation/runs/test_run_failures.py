"""Runs that fail, are cancelled and resumed, and wake their workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from django.utils import timezone

from common.problems import Invalid
from generation.backends.base import BackendError
from generation.models import Chunk, ModelWorker, Sample
from generation.registry import presence
from generation.runs import chunks, lifecycle
from generation.runs.progress import progress
from generation.runs.run_worker import make_chunks
from generation.runs.turns import FAILED
from tests.generation.support.run_factories import make_run
from tests.generation.support.toy_runs import Toy
from tests.generation.support.worked_runs import (
    BACKENDS,
    State,
    check_complete,
    claim,
    failing,
    let_run_out,
    made,
    see_worker,
    work,
)

# --- failures ---


@pytest.mark.django_db
def test_a_chunk_that_fails_is_tried_again_after_a_pause(everything_installed: None) -> None:
    run = make_run(contexts=["One"], samples=1)
    toy = failing(BackendError("The server answered 500."), times=1)
    assert work(run, toy) == 0
    chunk = run.chunks.get()
    assert (chunk.state, chunk.attempts, chunk.message) == ("waiting", 1, "The server answered 500.")
    assert chunk.leased_until is not None and chunk.leased_until > timezone.now()
    assert progress(run).note == "Will be tried again soon, after 1 of 3 failures: The server answered 500."
    Chunk.objects.update(leased_until=timezone.now())
    assert work(run, toy) == 1
    check_complete(run)
    assert run.chunks.get().losses == 0


@pytest.mark.django_db
def test_after_three_failures_the_chunk_and_the_run_fail_with_the_message(everything_installed: None) -> None:
    run = make_run(contexts=["One"])
    toy = failing(BackendError("There is no model at /nowhere."), times=99)
    for _ in range(3):
        assert make_chunks([claim(run)], worker="w", backend_of=toy.backend_of) == [FAILED]
        Chunk.objects.exclude(leased_until=None).update(leased_until=timezone.now())
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert run.message == "Chunk 0 (toy) failed: There is no model at /nowhere."
    assert run.ended_at is not None
    assert chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS) == []
    assert Counter(run.chunks.values_list("state", flat=True)) == {"failed": 1, "waiting": 1}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "There is not enough memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 20 GiB"), "There is not enough memory"),
        (RuntimeError("mat1 and mat2\nshapes"), "RuntimeError: mat1 and mat2"),
        (KeyError(), "KeyError"),
    ],
)
def test_whatever_a_library_raises_is_a_message(everything_installed: None, error: Exception, message: str) -> None:
    run = make_run(contexts=["One"], samples=1)
    work(run, failing(error, times=1))
    assert run.chunks.get().message.startswith(message)


@pytest.mark.django_db
def test_prompts_that_the_model_refuses_fail_the_run_at_once_and_all_are_named(everything_installed: None) -> None:
    texts = [{"id": "long", "context": "x" * 40}, {"id": "longer", "context": "x" * 50}, {"id": "ok", "context": "x"}]
    run = make_run(contexts=texts, over_long="refuse", chunk_size=100)
    toy = Toy(longest=30)
    assert work(run, toy) == 0
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "The model refused 2 prompts: context “long”: it has 40 characters, the toy takes 30; context “longer”" in (
        run.message
    )
    assert not toy.seen and not Sample.objects.exists()


@pytest.mark.django_db
def test_a_chunk_that_keeps_ending_its_workers_fails_in_the_end(everything_installed: None) -> None:
    run = make_run(contexts=["One"], samples=1)
    for losses in range(5):
        claimed = claim(run)
        assert claimed.chunk.losses == losses
        let_run_out(claimed)
    assert chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS) == []
    assert lifecycle.wake_workers() == 0
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "Its worker died 5 times while making it" in run.message


@pytest.mark.django_db
def test_a_worker_told_to_end_hands_its_chunk_back(everything_installed: None) -> None:
    run = make_run(contexts=["One"], samples=1)

    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(run, Toy(before=interrupt))
    chunk = run.chunks.get()
    assert (chunk.leased_by, chunk.leased_until, chunk.attempts, chunk.losses) == ("", None, 0, 0)


# --- cancel, resume, wake ---


@pytest.mark.django_db
def test_a_cancelled_run_stops_and_what_is_being_made_is_thrown_away(everything_installed: None) -> None:
    run = make_run()
    first = claim(run)
    chunks.store(first, made(first), seconds=1.0)
    second = claim(run)
    lifecycle.cancel_run(run_id=run.pk)
    assert chunks.extend(second) is False
    assert chunks.store(second, made(second), seconds=1.0) is False
    assert chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS) == []
    assert Sample.objects.count() == first.chunk.n_samples
    assert lifecycle.cancel_run(run_id=run.pk).state == State.CANCELLED
    lifecycle.resume_run(run_id=run.pk)
    assert work(run, Toy()) == run.chunks.count() - 1
    check_complete(run)


@pytest.mark.django_db
def test_a_failed_run_continues_where_it_stopped_and_retries_the_failed_chunk(everything_installed: None) -> None:
    run = make_run()
    good = claim(run)
    chunks.store(good, made(good), seconds=1.0)
    chunks.fail(claim(run), "No memory.", final=True)
    toy = Toy()
    assert work(run, toy) == 0
    lifecycle.resume_run(run_id=run.pk)
    run.refresh_from_db()
    assert (run.state, run.message, run.ended_at) == (State.RUNNING, "", None)
    work(run, toy)
    check_complete(run)
    assert len(toy.seen) == run.n_wanted - good.chunk.n_samples


@pytest.mark.django_db
def test_a_run_that_has_ended_is_neither_cancelled_nor_resumed(everything_installed: None) -> None:
    run = make_run(contexts=["One"], samples=1)
    work(run, Toy())
    with pytest.raises(Invalid, match="The run has ended"):
        lifecycle.cancel_run(run_id=run.pk)
    with pytest.raises(Invalid, match="The run is done"):
        lifecycle.resume_run(run_id=run.pk)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    run_ids: list[int] = []

    def send(run_id: int) -> bool:
        run_ids.append(run_id)
        return True

    monkeypatch.setattr("generation.queueing.send_work", send)
    return run_ids


@pytest.mark.django_db
def test_starting_a_run_wakes_a_worker_once_it_is_committed(
    messages: list[int], django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    run = make_run()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        lifecycle.start_run(run_id=run.pk)
        assert messages == []
    assert messages == [run.pk]


@pytest.mark.django_db
def test_as_many_messages_go_out_as_workers_are_idle_and_chunks_are_free(messages: list[int]) -> None:
    run, other = make_run(contexts=["One"], samples=2, chunk_size=2), make_run()
    assert lifecycle.wake_workers() == 0
    see_worker("busy", state=presence.WORKING)
    see_worker("without", state=presence.WITHOUT)
    see_worker("gone", ago=60)
    assert lifecycle.wake_workers() == 0
    for name in ("a", "b", "c"):
        see_worker(name)
    assert lifecycle.wake_workers() == 3
    assert messages == [run.pk, run.pk, other.pk]
    messages.clear()
    claim(run)
    assert lifecycle.wake_workers() == 3
    assert messages == [run.pk, other.pk, other.pk]


@pytest.mark.django_db
def test_a_stale_chunk_wakes_a_worker_and_a_leased_one_does_not(messages: list[int]) -> None:
    run = make_run(contexts=["One"], samples=1)
    see_worker("a")
    claimed = claim(run)
    assert lifecycle.wake_workers() == 0
    let_run_out(claimed)
    assert lifecycle.wake_workers() == 1


@pytest.mark.django_db
def test_a_run_whose_worker_was_killed_behind_its_last_chunk_is_ended(messages: list[int]) -> None:
    run = make_run(contexts=["One"], samples=1)
    claimed = claim(run)
    chunks.store(claimed, made(claimed), seconds=1.0)
    run.refresh_from_db()
    assert run.state == State.RUNNING
    lifecycle.wake_workers()
    check_complete(run)


@pytest.mark.django_db
def test_workers_that_were_killed_long_ago_are_forgotten(messages: list[int]) -> None:
    see_worker("old", ago=2 * 24 * 3600)
    see_worker("young", ago=3600)
    lifecycle.wake_workers()
    assert list(ModelWorker.objects.values_list("name", flat=True)) == ["young"]
