"""Steps with fixed shapes, as CUDA graphs need them, give the texts of steps that fit. A CPU does not record them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch

from generation.backends import recorded_steps
from generation.backends.key_values import KeyValues
from generation.backends.recorded_steps import RecordedSteps, can_record, rounded_rows
from generation.backends.torch_engine import TorchEngine
from tests.generation.backends.test_torch_engine import engine_of, run_engine, same
from tests.generation.support.tiny_models import PROMPTS, mixed, opened, request


def fixed(engine: TorchEngine) -> TorchEngine:
    """The engine as it is on CUDA."""
    engine._records = True
    engine._begin_empty()
    return engine


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Rows and columns of every replayed step."""
    shapes: list[tuple[int, int]] = []
    replay = recorded_steps._Step.replay

    def counted(self: Any) -> torch.Tensor:
        shapes.append((self.rows, self.columns))
        return replay(self)

    monkeypatch.setattr(recorded_steps._Step, "replay", counted)
    monkeypatch.setattr(recorded_steps, "COLUMNS", 16)
    return shapes


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("most", [1, 7, 64])
def test_fixed_shapes_make_the_same_texts(kind: str, most: int, replayed: list[tuple[int, int]]) -> None:
    backend = opened(kind)
    requests = mixed(samples=1, exact=20)
    expected = backend.generate(requests)
    engine = fixed(engine_of(backend, most))
    engine.add(requests)
    done = run_engine(engine)
    assert all(same(done[queued.key], outcome) for queued, outcome in zip(requests, expected, strict=True))
    assert len(replayed) > 10
    assert len({columns for _, columns in replayed}) > 1


def test_rows_that_join_and_leave_meanwhile_change_nothing(replayed: list[tuple[int, int]]) -> None:
    backend = opened()
    requests = mixed(samples=1, exact=12)
    expected = dict(zip((queued.key for queued in requests), backend.generate(requests), strict=True))
    engine = fixed(engine_of(backend, kept_tokens=500))
    done: dict[Any, Any] = {}
    for queued in requests:
        engine.add([queued])
        done.update(engine.step())
    done.update(run_engine(engine))
    assert all(same(done[key], outcome) for key, outcome in expected.items())
    assert replayed


def test_a_model_with_a_window_is_not_recorded() -> None:
    assert can_record(opened("llama").model) and can_record(opened("gpt2").model)
    assert not can_record(opened("mistral", sliding_window=8).model)


def test_a_step_that_disagrees_is_not_used(monkeypatch: pytest.MonkeyPatch, replayed: list[tuple[int, int]]) -> None:
    backend = opened()
    requests = mixed(samples=1, exact=12)
    expected = backend.generate(requests)
    forward = recorded_steps._Step.forward
    monkeypatch.setattr(recorded_steps, "_REFUSED", WeakSet())
    monkeypatch.setattr(recorded_steps._Step, "forward", lambda self: 1.01 * forward(self))
    engine = fixed(engine_of(backend))
    engine.add(requests)
    done = run_engine(engine)
    assert all(same(done[queued.key], outcome) for queued, outcome in zip(requests, expected, strict=True))
    assert not replayed
    assert isinstance(engine._recorded, RecordedSteps) and not engine._recorded.usable


def test_buffers_go_with_their_batch() -> None:
    """Without waiting for the search for cycles, which would come after gigabytes on a GPU."""
    gc.collect()
    gc.disable()
    try:
        engine = fixed(engine_of(opened()))
        engine.add(mixed(samples=1, exact=12))
        run_engine(engine)
        buffers = weakref.ref(engine._cache.slots[0].k)
        del engine
        assert buffers() is None
    finally:
        gc.enable()


def test_an_engine_that_is_used_again_makes_the_same_texts_in_buffers_of_the_next_size(
    replayed: list[tuple[int, int]],
) -> None:
    """A text that is longer than all before does not get buffers for as many rows as there were."""
    backend = opened()
    requests = mixed(samples=1, exact=12)
    expected = backend.generate(requests)
    engine = fixed(engine_of(backend))
    engine.add(requests)
    run_engine(engine)
    engine.forget_prompts()
    before = len(replayed)
    engine.add(requests)
    done = run_engine(engine)
    assert all(same(done[queued.key], outcome) for queued, outcome in zip(requests, expected, strict=True))
    assert len(replayed) - before > before  # what was recorded for the first fits the second
    assert engine._cache.room >= len(requests) // 2
    engine.add([request(PROMPTS[1], key="long", exact=100)])
    run_engine(engine)
    assert engine._cache.room == 2


def test_buffers_for_live_use_stay_where_they_are(
    replayed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers come and go without a pause, and their stories grow; only if nothing moves do recorded steps pay."""
    monkeypatch.setattr(recorded_steps, "LIVE_COLUMNS", 160)
    backend = opened()
    engine = fixed(engine_of(backend, 8, kept_tokens=500))
    engine._pace = replace(engine._pace, live=True)
    engine._begin_empty()
    story, places, ends = PROMPTS[0], set(), []
    for number in range(40):
        engine.add([request(story, key=(number, place), seed=place, exact=8) for place in range(2)])
        for _ in range(5):
            engine.step()
        places.add(engine._cache.slots[0].k.data_ptr())
        ends.append(engine._cache.end)
        story += " there was a small dog" if number < 10 else ""
    run_engine(engine)
    assert len(backend.vocabulary.encode(story)) > 50
    assert any(later < sooner for sooner, later in pairwise(ends))  # the rows moved within the buffers
    assert len(places) == 1


def test_a_recording_that_fails_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Played by fakes: torch's own recording does not leave its stream if it cannot be ended, and leaves its memory and
    random numbers in the state of a recording (seen on an H100 with torch 2.11)."""
    happened: list[str] = []
    numbers = SimpleNamespace(clone_state=lambda: None, graphsafe_set_state=lambda state: happened.append("numbers"))

    @contextmanager
    def stream(other: Any) -> Iterator[None]:
        try:
            yield
        finally:
            happened.append("stream")

    @contextmanager
    def graph(*arguments: Any, **options: Any) -> Iterator[None]:
        try:
            yield
        finally:
            raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

    for name, fake in (("CUDAGraph", object), ("graph", graph), ("stream", stream), ("default_generators", [numbers])):
        monkeypatch.setattr(torch.cuda, name, fake, raising=False)
    monkeypatch.setattr(recorded_steps, "_stream_for_recording", lambda device: None)
    for name in ("_cuda_endAllocateToPool", "_cuda_releasePool"):
        monkeypatch.setattr(torch._C, name, lambda *place, name=name: happened.append(name), raising=False)
    step = recorded_steps._Step(opened().model, KeyValues(1, room=2, width=16), 2, 16, torch.device("cpu"))
    with pytest.raises(RuntimeError, match="previous error"):
        step.record((0, 1))
    assert happened == ["stream", "numbers", "_cuda_endAllocateToPool", "_cuda_releasePool"]
    assert gc.isenabled()


def test_a_model_that_could_not_be_recorded_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, replayed: list[tuple[int, int]]
) -> None:
    tries = []

    def fails(self: Any) -> torch.Tensor:
        tries.append(1)
        raise RuntimeError("operation not permitted when stream is capturing")

    backend = opened()
    requests = mixed(samples=1, exact=12)
    expected = backend.generate(requests)
    monkeypatch.setattr(recorded_steps, "_REFUSED", WeakSet())
    monkeypatch.setattr(recorded_steps._Step, "forward", fails)
    for _ in range(2):
        engine = fixed(engine_of(backend))
        engine.add(requests)
        done = run_engine(engine)
        assert all(same(done[queued.key], outcome) for queued, outcome in zip(requests, expected, strict=True))
    assert len(tries) == 1


def test_rows_are_rounded_up_to_few_shapes() -> None:
    assert [rounded_rows(count) for count in (1, 2, 3, 9, 33, 64, 65, 512)] == [2, 2, 8, 32, 64, 64, 128, 512]
