"""Models that give NaN, devices that break, and models larger than the memory. CUDA is played by fakes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch

from generation.backends import loading, open_backend
from generation.backends.base import BackendError, NoMemory, is_device_broken
from generation.models import LanguageModel
from generation.registry.checking import check_model
from generation.runs.run_worker import work_on
from tests.generation.support.openai_server import Server, opened
from tests.generation.support.run_factories import make_model, make_run
from tests.generation.support.tiny_models import mixed, request, spec, tiny
from tests.generation.support.toy_runs import Toy

BROKEN = RuntimeError("CUDA error: device-side assert triggered\nCUDA kernel errors might be reported later")
KEY = "sk-" + "Zx9" * 12


@pytest.mark.parametrize("decoder", ["greedy", "ancestral", "temperature=0.7", "top_k=5", "top_p=0.8", "typical=0.7"])
def test_a_model_that_gives_nan_is_named_as_such(decoder: str) -> None:
    backend = open_backend(spec(tiny(seed=7)))
    with torch.no_grad():
        backend.model.get_output_embeddings().weight[3] = float("nan")  # type: ignore[attr-defined]
    with pytest.raises(BackendError, match=r"The model gives NaN.*bfloat16"):
        backend.generate([request(decoder=decoder), *mixed(samples=1)[:1]])


def test_a_beam_over_nan_is_named_as_such() -> None:
    backend = open_backend(spec(tiny(seed=8)))
    with torch.no_grad():
        backend.model.get_output_embeddings().weight[:] = float("nan")  # type: ignore[attr-defined]
    with pytest.raises(BackendError, match="The model gives NaN"):
        backend.generate([request(decoder="beam=2")])


@pytest.mark.parametrize(
    ("error", "broken"),
    [
        (BROKEN, True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), True),
        (BackendError("cannot be read"), False),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), False),
        (RuntimeError("CUDA error: out of memory"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_which_errors_a_process_cannot_recover_from(error: Exception, broken: bool) -> None:
    assert is_device_broken(error) is broken
    wrapped = BackendError("It cannot be used.")
    wrapped.__cause__ = error
    assert is_device_broken(wrapped) is broken


@pytest.mark.django_db
def test_a_worker_whose_device_broke_ends_itself_and_a_new_one_continues(everything_installed: None) -> None:
    run = make_run(contexts=["One"], decoders=["ancestral"], samples=2)

    def second(number: int) -> None:
        if number == 2:
            raise BROKEN

    with pytest.raises(SystemExit):
        work_on(run_id=run.pk, worker="w", backend_of=Toy(before=second).backend_of)
    chunk = run.chunks.get(state="waiting")
    assert (chunk.attempts, chunk.leased_by) == (1, "")
    assert "device-side assert" in chunk.message and "new one starts" in chunk.message
    run.chunks.update(leased_until=None)
    work_on(run_id=run.pk, worker="new", backend_of=Toy().backend_of)
    run.refresh_from_db()
    assert (run.state, run.samples.count()) == ("done", 2)


@pytest.mark.django_db
def test_a_check_on_a_broken_device_ends_the_process(everything_installed: None) -> None:
    def fail(number: int) -> None:
        raise BROKEN

    with pytest.raises(SystemExit):
        check_model(model_id=make_model().pk, backend_of=Toy(before=fail).backend_of)
    assert LanguageModel.objects.get().check_state == "failed"


@pytest.mark.parametrize("short_of", ["cpu", "cuda"])
def test_weights_pass_through_the_memory_of_the_machine_on_their_way_to_a_gpu(
    short_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {"cpu": 10**12, "cuda": 10**12} | {short_of: 10**6}
    monkeypatch.setattr(loading, "available_bytes", lambda device: free[device.type])
    with pytest.raises(NoMemory, match=f"on {short_of}"):
        loading._must_fit(spec(tiny()), "bfloat16", torch.device("cuda:0"))


@pytest.mark.parametrize(
    "info",
    [
        SimpleNamespace(safetensors=SimpleNamespace(parameters={"BF16": 7_000_000_000}), siblings=[]),
        SimpleNamespace(safetensors=None, siblings=[SimpleNamespace(rfilename="a.bin", size=28_000_000_000)]),
    ],
)
def test_a_hub_model_that_is_too_large_is_not_downloaded(info: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven billion parameters with two bytes each."""
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: info)
    monkeypatch.setattr(loading, "_read", lambda *_: pytest.fail("It was read."))
    monkeypatch.setattr(loading, "available_bytes", lambda device: 10**9)
    with pytest.raises(NoMemory, match=r"org/large needs about 14\.0 GB on cpu and 1\.0 GB are free"):
        open_backend(spec("org/large", dtype="bfloat16"))


def repeating(key: str) -> list[tuple[int, str]]:
    message = json.dumps({"error": {"message": "x" * 290 + f" {key} is wrong"}})
    return [(status, message) for status in (400, 401, 404, 429, 500)] + [(200, f"Bearer {key}")]


@pytest.mark.django_db
@pytest.mark.parametrize("answer", repeating(KEY), ids=lambda answer: str(answer[0]))
def test_a_key_that_the_server_repeats_is_stored_nowhere(
    answer: tuple[int, str], monkeypatch: pytest.MonkeyPatch, everything_installed: None
) -> None:
    """Nor the part of it that fits into a message."""
    monkeypatch.setenv("HITSERVER_MODEL_KEY_LAB", KEY)
    server = Server()
    try:
        backend = opened(server, key_variable="HITSERVER_MODEL_KEY_LAB")
        server.answering = lambda *_: answer
        run = make_run(contexts=["One"], decoders=["ancestral"], samples=1, limits={"max_new_tokens": 3})
        model = check_model(model_id=make_model().pk, backend_of=lambda _: backend)
        assert model.check_state == "failed" and KEY[:8] not in model.check_message
        work_on(run_id=run.pk, worker="w", backend_of=lambda _: backend)
        run.refresh_from_db()
        model.refresh_from_db()
        assert KEY[:8] not in run.message + model.away_message + "".join(run.chunks.values_list("message", flat=True))
    finally:
        server.close()
