"""Runs planned in chunks, made by one worker after another, cancelled, resumed, ended."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError, connections, transaction
from django.utils import timezone

from common.problems import Invalid
from generation.backends.base import BackendError, Generated
from generation.decoding.seeds import sample_seed
from generation.models import Chunk, GenerationRun, LanguageModel, ModelWorker, RunContext, Sample
from generation.registry import presence
from generation.runs import chunks, lifecycle
from generation.runs.making import TurnSize, make, work_on
from generation.runs.progress import find_run, progress
from generation.runs.turns import FAILED, LOST, STORED
from tests.generation.support.run_factories import make_file, make_model, make_run
from tests.generation.support.toy_runs import Toy, toy_text

State = GenerationRun.State
BACKENDS = ("transformers",)


def claim(run: GenerationRun, worker: str = "w") -> chunks.ClaimedChunk:
    taken = chunks.claim(run_id=run.pk, worker=worker, backends=BACKENDS)
    assert len(taken) == 1
    return taken[0]


def _made(taken: chunks.ClaimedChunk) -> list[Generated]:
    return [
        Generated(toy_text(p.context.prompt, p.decoder, p.seed, 2), (1, 2), 2, -2.0, -1.0, "length", 0.01, 3)
        for p in taken.places
    ]


def let_run_out(taken: chunks.ClaimedChunk) -> None:
    """As if the worker had not been heard of for longer than its lease."""
    Chunk.objects.filter(pk=taken.chunk.pk).update(leased_until=timezone.now() - timedelta(seconds=1))


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


# --- planning ---


@pytest.mark.django_db
def test_every_place_of_a_run_is_planned_once() -> None:
    run = make_run(decoders=["greedy", "top_p=0.9"], samples=5, models=["toy", "other"], chunk_size=7)
    places = Counter(
        (chunk.model.name, context, decoder, number)
        for chunk in run.chunks.all()
        for context, decoder, first, count in chunk.places
        for number in range(first, first + count)
    )
    assert len(places) == run.n_wanted == 3 * 2 * (1 + 5)
    assert set(places.values()) == {1}
    assert [chunk.n_samples for chunk in run.chunks.order_by("number")] == [7, 7, 4, 7, 7, 4]
    assert sum(run.chunks.values_list("n_samples", flat=True)) == run.n_wanted


@pytest.mark.django_db
def test_prompts_of_one_length_come_together_the_longest_first_with_all_decoders_of_a_context() -> None:
    texts = ["a" * length for length in (3, 50, 4, 51)]
    run = make_run(contexts=texts, samples=1, chunk_size=4)
    planned = [[(place[0], place[1]) for place in chunk.places] for chunk in run.chunks.order_by("number")]
    both = ["top_p=0.9", "temperature=0.5"]
    assert planned == [
        [(number, decoder) for number in (3, 1) for decoder in both],
        [(number, decoder) for number in (2, 0) for decoder in both],
    ]


@pytest.mark.django_db
def test_the_same_file_again_is_the_same_run_and_another_of_its_name_is_refused() -> None:
    make_model()
    file = make_file(name="one")
    first, created = lifecycle.create_run(file=file, actor="ann")
    again, created_again = lifecycle.create_run(file=file)
    assert (created, created_again, again.pk) == (True, False, first.pk)
    assert first.created_by == "ann"
    for change in ({"seed": 2}, {"contexts": ["One", "Two", "Three."]}, {"limits": {"exact": 6}}, {"samples": 4}):
        with pytest.raises(Invalid, match="There is already a run “one” with other contents"):
            lifecycle.create_run(file=make_file(name="one", **change))
    assert GenerationRun.objects.count() == 1
    assert RunContext.objects.count() == 3


@pytest.mark.django_db
def test_all_unusable_models_are_reported_at_once_with_the_nearest_name() -> None:
    make_model(name="good")
    make_model(name="old", retired=True)
    make_model(name="broken", check_state="failed", check_message="No such file.")
    with pytest.raises(Invalid) as caught:
        lifecycle.create_run(file=make_file(models=["good", "godo", "old", "broken"]))
    said = [str(problem) for problem in caught.value.problems]
    assert len(said) == 3
    assert "There is no “godo”. Did you mean “good”?" in said[0]
    assert "“old” is retired" in said[1]
    assert "“broken” does not work: No such file." in said[2]
    assert not GenerationRun.objects.exists()


@pytest.mark.django_db
def test_the_embedded_model_registers_itself_when_a_run_asks_for_it() -> None:
    run, _ = lifecycle.create_run(file=make_file(models=["smollm2-135m"]))
    model = LanguageModel.objects.get(name="smollm2-135m")
    assert (model.backend, model.source) == ("transformers", "embedded")
    assert {chunk.model for chunk in run.chunks.all()} == {model}


# --- making ---


@pytest.mark.django_db
def test_a_whole_run_is_generated(everything_installed: None) -> None:
    run = make_run(decoders=["greedy", "top_p=0.9", "temperature=0.5"], models=["toy", "other"])
    toy = Toy()
    assert work(run, toy) == run.chunks.count()
    check_complete(run)
    assert run.started_at is not None
    assert run.ended_at is not None
    assert len(toy.seen) == run.n_wanted
    assert set(run.samples.filter(decoder="greedy").values_list("log_q", flat=True)) == {None}
    chunk = run.chunks.all()[0]
    assert (chunk.state, chunk.n_tokens, chunk.leased_by, chunk.leased_until) == ("done", 5 * chunk.n_samples, "", None)
    assert chunk.made_with == {"worker": "w", "device": "cpu", "dtype": "float32"}
    assert work(run, toy) == 0


@pytest.mark.django_db
def test_a_backend_gets_the_requested_options(everything_installed: None) -> None:
    run = make_run(contexts=["One"], decoders=["top_p=0.9"], samples=1, priming="Be kind.", over_long="refuse", seed=7)
    toy = Toy()
    work(run, toy)
    request = toy.seen[0]
    assert (request.prompt, request.keep, request.cut_left) == ("Be kind.\n\nOne", 10, False)
    assert (request.decoder.name, request.limits.exact) == ("top_p=0.9", 5)
    assert request.seed == sample_seed(7, "1", "toy", "top_p=0.9", 0)


@pytest.mark.django_db
def test_a_worker_stops_after_its_time_and_calls_the_next_as_soon_as_there_is_more(everything_installed: None) -> None:
    run = make_run()
    called: list[int] = []
    toy = Toy(before=lambda number: time.sleep(0.02))
    assert (
        work_on(
            run_id=run.pk,
            worker="w",
            backend_of=toy.backend_of,
            seconds=0.05,
            on_more=lambda: called.append(len(toy.seen)),
        )
        == 1
    )
    assert called == [0]
    run.refresh_from_db()
    assert run.state == State.RUNNING
    while work_on(run_id=run.pk, worker="w", backend_of=toy.backend_of, on_more=lambda: None):
        pass
    check_complete(run)


@pytest.mark.django_db
def test_the_last_chunk_calls_nobody(everything_installed: None) -> None:
    run = make_run(contexts=["One"], samples=2)
    called: list[int] = []
    work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of, on_more=lambda: called.append(1))
    assert (run.chunks.count(), called) == (1, [])


@pytest.mark.django_db
def test_a_nul_character_is_stored_as_one_that_databases_take() -> None:
    run = make_run(contexts=["One"], samples=1)
    taken = claim(run)
    texts = [Generated("a\x00b", (1,), 1, -1.0, None, "end", 0.1, 1) for _ in taken.places]
    assert chunks.store(taken, texts, seconds=1.0)
    assert set(run.samples.values_list("text", flat=True)) == {"a�b"}


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
    assert chunks.store(late, _made(late), seconds=1.0) is False
    assert not Sample.objects.exists()
    assert chunks.extend(late) is False
    assert chunks.fail(late, "too late") is False
    assert chunks.store(new, _made(new), seconds=1.0) is True
    assert chunks.store(new, _made(new), seconds=1.0) is False
    assert Sample.objects.count() == run.n_wanted


@pytest.mark.django_db
def test_a_lease_that_ran_out_and_that_nobody_took_still_counts() -> None:
    run = make_run(contexts=["One"], samples=1)
    slow = claim(run)
    let_run_out(slow)
    assert chunks.extend(slow) is True
    assert chunks.store(slow, _made(slow), seconds=1.0) is True


@pytest.mark.django_db
def test_a_chunk_handed_back_is_free_at_once_and_not_counted_as_lost() -> None:
    run = make_run(contexts=["One"], samples=1)
    chunks.release(claim(run))
    assert claim(run).chunk.losses == 0


@pytest.mark.django_db
def test_samples_and_the_end_of_their_chunk_are_stored_together_or_not_at_all() -> None:
    run = make_run(contexts=["One"], samples=2)
    taken = claim(run)
    texts = _made(taken)
    texts[-1] = Generated("x", (1,), 1, 5.0, None, "end", 0.1, 1)  # a log-probability above 0: the database refuses it
    with pytest.raises(IntegrityError), transaction.atomic():
        chunks.store(taken, texts, seconds=1.0)
    assert not Sample.objects.exists()
    assert Chunk.objects.get().state == "waiting"


@pytest.mark.django_db
def test_the_database_refuses_a_second_sample_for_a_place() -> None:
    run = make_run(contexts=["One"], samples=1)
    taken = claim(run)
    chunks.store(taken, _made(taken), seconds=1.0)
    Chunk.objects.update(state="waiting", leased_by=taken.lease)
    with pytest.raises(IntegrityError), transaction.atomic():
        chunks.store(taken, _made(taken), seconds=1.0)


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
    taken = claim(run)

    def steal(number: int) -> None:
        if number == 1:
            Chunk.objects.update(leased_by="other#1", leased_until=timezone.now() + timedelta(hours=1))
        time.sleep(0.02)

    toy = Toy(before=steal)
    assert make([taken], worker="w", backend_of=toy.backend_of) == [LOST]
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
    assert [taken.chunk.number for taken in together] == [1, 2]
    let_run_out(lost)
    assert [taken.chunk.number for taken in chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=5)] == [0]
    others = chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=5)
    assert [taken.chunk.number for taken in others] == [3, 4, 5]


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
        patch.setattr("generation.runs.making.TURN_SECONDS", 0.01)
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
    asked: list[int] = []

    class Picky(Toy):
        def generate(self, requests: Any, on_done: Any = None) -> Any:
            asked.append(len(requests))
            if any(request.seed == bad for request in requests):
                raise BackendError("Not that one.")
            return super().generate(requests, on_done)

    work_on(run_id=run.pk, worker="w", backend_of=Picky().backend_of)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert asked[:2] == [2, 4]
    assert asked[2] == 2
    failed = run.chunks.get(state="failed")
    assert failed.places == [[0, "top_p=0.9", 4, 2]]
    assert not run.chunks.exclude(pk=failed.pk).filter(attempts__gt=1).exists()


@pytest.mark.django_db(transaction=True)
def test_lost_chunks_are_not_stored_with_those_made_together(everything_installed: None) -> None:
    run = make_run(contexts=["One"], decoders=["top_p=0.9"], samples=4, chunk_size=2)
    taken = chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS, most=2)

    def steal(number: int) -> None:
        Chunk.objects.filter(pk=taken[0].chunk.pk).update(leased_by="other#1")

    assert make(taken, worker="w", backend_of=Toy(before=steal).backend_of) == [LOST, STORED]
    assert set(run.samples.values_list("number", flat=True)) == {2, 3}


# --- failures ---


def failing(error: Exception, times: int) -> Toy:
    def fail(number: int) -> None:
        if number <= times:
            raise error

    return Toy(before=fail)


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
        assert make([claim(run)], worker="w", backend_of=toy.backend_of) == [FAILED]
        Chunk.objects.exclude(leased_until=None).update(leased_until=timezone.now())
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert run.message == "Chunk 0 (toy) failed: There is no model at /nowhere."
    assert run.ended_at is not None
    assert chunks.claim(run_id=run.pk, worker="w", backends=BACKENDS) == []
    assert Counter(run.chunks.values_list("state", flat=True)) == {"failed": 1, "waiting": 1}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "There is not enough memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 20 GiB"), "There is not enough memory"),
        (RuntimeError("mat1 and mat2\nshapes"), "RuntimeError: mat1 and mat2"),
        (KeyError(), "KeyError"),
    ],
)
def test_whatever_a_library_raises_is_a_message(everything_installed: None, error: Exception, told: str) -> None:
    run = make_run(contexts=["One"], samples=1)
    work(run, failing(error, times=1))
    assert run.chunks.get().message.startswith(told)


@pytest.mark.django_db
def test_prompts_that_the_model_refuses_fail_the_run_at_once_and_all_are_named(everything_installed: None) -> None:
    texts = [{"id": "long", "context": "x" * 40}, {"id": "longer", "context": "x" * 50}, {"id": "ok", "context": "x"}]
    run = make_run(contexts=texts, over_long="refuse", chunk_size=100)
    toy = Toy(longest=30)
    assert work(run, toy) == 0
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "The model refused 2 prompts: context “longer”: it has 50 characters, the toy takes 30; context “long”" in (
        run.message
    )
    assert not Sample.objects.exists()


@pytest.mark.django_db
def test_a_chunk_that_keeps_ending_its_workers_fails_in_the_end(everything_installed: None) -> None:
    run = make_run(contexts=["One"], samples=1)
    for losses in range(5):
        taken = claim(run)
        assert taken.chunk.losses == losses
        let_run_out(taken)
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
    chunks.store(first, _made(first), seconds=1.0)
    second = claim(run)
    lifecycle.cancel_run(run_id=run.pk)
    assert chunks.extend(second) is False
    assert chunks.store(second, _made(second), seconds=1.0) is False
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
    chunks.store(good, _made(good), seconds=1.0)
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
    sent: list[int] = []

    def send(run_id: int) -> bool:
        sent.append(run_id)
        return True

    monkeypatch.setattr("generation.queueing.send_work", send)
    return sent


def see_worker(name: str, *, state: str = presence.IDLE, ago: float = 0) -> None:
    ModelWorker.objects.create(
        name=name, role=presence.RUNS, state=state, seen_at=timezone.now() - timedelta(seconds=ago)
    )


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
    taken = claim(run)
    assert lifecycle.wake_workers() == 0
    let_run_out(taken)
    assert lifecycle.wake_workers() == 1


@pytest.mark.django_db
def test_a_run_whose_worker_was_killed_behind_its_last_chunk_is_ended(messages: list[int]) -> None:
    run = make_run(contexts=["One"], samples=1)
    taken = claim(run)
    chunks.store(taken, _made(taken), seconds=1.0)
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


# --- progress ---


@pytest.mark.django_db
def test_the_progress_of_a_run_with_its_rate_and_time_left() -> None:
    run = make_run(contexts=["One"], samples=10, chunk_size=4)  # 20 samples in 5 chunks
    for worker, seconds in (("a", 2.0), ("b", 4.0), ("a", 2.0)):
        taken = claim(run)
        chunks.store(taken, _made(taken), seconds=seconds, made_with={"worker": worker})
    claim(run)
    found = progress(run)
    assert (found.n_done, found.n_wanted, found.share) == (12, 20, 0.6)
    assert (found.chunks, found.chunks_done, found.at_work) == (5, 3, 1)
    # Side by side: a makes 4 samples of 2 tokens in 2 seconds, b in 4.
    assert found.samples_per_second == pytest.approx(3.0, rel=0.01)
    assert found.tokens_per_second == pytest.approx(6.0, rel=0.01)
    assert found.seconds_left == pytest.approx(8 / 3, rel=0.01)
    assert found.note == ""


@pytest.mark.django_db
def test_a_waiting_run_shows_what_it_waits_for() -> None:
    run = make_run()
    assert progress(run).note.startswith("No worker with models is running. Start one: script/server")
    ModelWorker.objects.create(
        name="web:1", role=presence.RUNS, state=presence.WITHOUT, message="The models' requirements are not installed"
    )
    assert progress(run).note == ("No worker with models is running. web:1: The models' requirements are not installed")
    see_worker("busy", state=presence.WORKING)
    assert progress(run).note == "Waiting for a free worker."
    assert (progress(run).samples_per_second, progress(run).seconds_left) == (None, None)


@pytest.mark.django_db
def test_the_queries_of_a_run_s_progress_do_not_grow_with_it(
    everything_installed: None, django_assert_max_num_queries: Callable[..., object]
) -> None:
    run = make_run(contexts=[f"Text {n}" for n in range(30)])
    work(run, Toy())
    with django_assert_max_num_queries(6):  # type: ignore[attr-defined]
        progress(run)


@pytest.mark.django_db
def test_a_run_is_found_by_name_or_the_nearest_name_is_suggested() -> None:
    run = make_run(name="sweep-1")
    assert find_run("sweep-1") == run
    with pytest.raises(Invalid, match="Did you mean “sweep-1”"):
        find_run("sweep1")
