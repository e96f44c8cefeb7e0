"""Runs planned in chunks and made by one worker; their progress."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest

from common.problems import Invalid
from generation.backends.base import Generated
from generation.decoding.seeds import sample_seed
from generation.models import GenerationRun, LanguageModel, ModelWorker, RunContext
from generation.registry import presence
from generation.runs import chunks, lifecycle
from generation.runs.progress import find_run, progress
from generation.runs.run_worker import work_on
from tests.generation.support.run_factories import make_file, make_model, make_run
from tests.generation.support.toy_runs import Toy
from tests.generation.support.worked_runs import (
    State,
    check_complete,
    claim,
    made,
    see_worker,
    work,
)

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
    planned = [[(samples[0], samples[1]) for samples in chunk.places] for chunk in run.chunks.order_by("number")]
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
    messages = [str(problem) for problem in caught.value.problems]
    assert len(messages) == 3
    assert "There is no “godo”. Did you mean “good”?" in messages[0]
    assert "“old” is retired" in messages[1]
    assert "“broken” does not work: No such file." in messages[2]
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
    claimed = claim(run)
    texts = [Generated("a\x00b", (1,), 1, -1.0, None, "end", 0.1, 1) for _ in claimed.planned]
    assert chunks.store(claimed, texts, seconds=1.0)
    assert set(run.samples.values_list("text", flat=True)) == {"a�b"}


# --- progress ---


@pytest.mark.django_db
def test_the_progress_of_a_run_with_its_rate_and_time_left() -> None:
    run = make_run(contexts=["One"], samples=10, chunk_size=4)  # 20 samples in 5 chunks
    for worker, seconds in (("a", 2.0), ("b", 4.0), ("a", 2.0)):
        claimed = claim(run)
        chunks.store(claimed, made(claimed), seconds=seconds, made_with={"worker": worker})
    claim(run)
    figures = progress(run)
    assert (figures.n_done, figures.n_wanted, figures.share) == (12, 20, 0.6)
    assert (figures.chunks, figures.chunks_done, figures.at_work) == (5, 3, 1)
    # Side by side: a makes 4 samples of 2 tokens in 2 seconds, b in 4.
    assert figures.samples_per_second == pytest.approx(3.0, rel=0.01)
    assert figures.tokens_per_second == pytest.approx(6.0, rel=0.01)
    assert figures.seconds_left == pytest.approx(8 / 3, rel=0.01)
    assert figures.note == ""


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
