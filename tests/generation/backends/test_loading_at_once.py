"""Several models in one process: they load one after the other, and what a library left behind does no damage."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch
from transformers import LlamaForCausalLM, PreTrainedModel

from generation.backends import open_backend
from generation.backends.base import BackendError
from tests.generation.support.tiny_models import mixed, request, spec, texts_of, tiny

LARGEST_GAP = 0.3  # seconds that one load waits for the other, if nothing keeps them apart


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Put back what these tests and the library change for the whole process."""
    tie_weights, linspace = PreTrainedModel.tie_weights, torch.linspace
    yield
    PreTrainedModel.tie_weights, torch.linspace = tie_weights, linspace  # type: ignore[method-assign]
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def tied() -> Path:
    """A model whose output layer is its embedding, as in SmolLM2: the file has no lm_head.weight."""
    return tiny(tie_word_embeddings=True)


@pytest.fixture
def slow_to_build(tied: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes every model wait for another one while it is being built, and the second leave after the first. Returns
    the threads that are inside, in the order in which they came."""
    both, inside = threading.Barrier(2), list[str]()
    build = LlamaForCausalLM.__init__

    def wait_and_build(self: Any, config: Any, *rest: Any, **options: Any) -> None:
        inside.append(threading.current_thread().name)
        first = len(inside) == 1
        try:
            both.wait(timeout=LARGEST_GAP)
        except threading.BrokenBarrierError:
            pass
        else:
            time.sleep(0 if first else LARGEST_GAP)
        build(self, config, *rest, **options)

    monkeypatch.setattr(LlamaForCausalLM, "__init__", wait_and_build)
    return inside


def test_two_models_that_begin_to_load_at_the_same_time_both_load(tied: Path, slow_to_build: list[str]) -> None:
    refused: list[str] = []

    def load(dtype: str) -> None:
        try:
            open_backend(spec(tied, dtype=dtype))
        except BackendError as error:
            refused.append(f"{dtype}: {error}")

    threads = [threading.Thread(target=load, args=(dtype,), name=dtype) for dtype in ("bfloat16", "int8")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert refused == []
    assert len(slow_to_build) == 2
    assert torch.get_default_dtype() == torch.float32
    assert open_backend(spec(tied)).facts().dtype == "float32"


def test_a_model_loads_in_a_process_whose_library_was_left_halfway(tied: Path) -> None:
    """What two loads at once leave behind, from here or from another library: nothing ties weights any more, and new
    tensors have another dtype."""
    PreTrainedModel.tie_weights = lambda self, *rest, **options: None  # type: ignore[method-assign]
    torch.set_default_dtype(torch.bfloat16)

    backend: Any = open_backend(spec(tied))

    assert torch.get_default_dtype() == torch.float32
    assert backend.model.lm_head.weight.data_ptr() == backend.model.model.embed_tokens.weight.data_ptr()


def test_after_a_load_that_failed_halfway_the_next_one_works(tied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = LlamaForCausalLM.__init__

    def fail(self: Any, *rest: Any, **options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(LlamaForCausalLM, "__init__", fail)
    with pytest.raises(BackendError):
        open_backend(spec(tied, dtype="bfloat16"))
    monkeypatch.setattr(LlamaForCausalLM, "__init__", build)

    assert open_backend(spec(tied)).facts().dtype == "float32"


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_texts_do_not_change_while_another_model_loads(kind: str, dtype: str) -> None:
    """A load sets torch's default dtype for the whole process, and the engine of another model continues meanwhile."""
    backend = open_backend(spec(tiny(kind), dtype=dtype))
    requests = [*mixed(samples=1), request(decoder="beam=2")]
    alone = texts_of(backend.generate(requests))

    torch.set_default_dtype(torch.float64 if dtype == "bfloat16" else torch.bfloat16)
    meanwhile = texts_of(backend.generate(requests))

    assert [(outcome.text, outcome.log_p, outcome.log_q) for outcome in meanwhile] == [
        (outcome.text, outcome.log_p, outcome.log_q) for outcome in alone
    ]
