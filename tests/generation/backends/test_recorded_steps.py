"""Steps with fixed shapes, as CUDA graphs need them, give the texts of steps that fit. A CPU does not record them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch

from generation.backends import recorded_steps
from generation.backends.recorded_steps import RecordedSteps, can_record, rounded_rows
from generation.backends.torch_engine import TorchEngine
from tests.generation.backends.test_torch_engine import engine_of, run_engine, same
from tests.generation.support.tiny_models import mixed, opened


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


def test_rows_are_rounded_up_to_few_shapes() -> None:
    assert [rounded_rows(count) for count in (1, 2, 3, 9, 33, 64, 65, 512)] == [2, 2, 8, 32, 64, 64, 128, 512]
