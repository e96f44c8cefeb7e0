"""Models that the hub refuses, that do not fit into memory, or that cannot write in batches."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch
from huggingface_hub import errors
from transformers import AutoModelForCausalLM

from generation.backends import loading, open_backend
from generation.backends.base import BackendError, ModelSpec, NoMemory
from tests.generation.support.tiny_models import spec, tiny

NAME = "somebody/some-model"


def why_not(model_spec: ModelSpec, kind: type[BackendError] = BackendError) -> str:
    with pytest.raises(kind) as caught:
        open_backend(model_spec)
    return str(caught.value)


def hub_error(name: str) -> Exception:
    """What the hub's library raises, and as transformers passes it on: as the cause of an OSError."""
    kind: Any = getattr(errors, name, None)
    if kind is None:
        kind = type(name, (Exception,), {})
    is_http = issubclass(kind, errors.HfHubHTTPError)
    error: Exception = kind("404", response=MagicMock()) if is_http else kind("not found")
    return error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("RepositoryNotFoundError", "no model somebody/some-model at revision v2 on the hub"),
        ("RevisionNotFoundError", "no model somebody/some-model at revision v2 on the hub"),
        ("GatedRepoError", "only to those who accepted its terms: accept them there and set HF_TOKEN"),
        ("LocalEntryNotFoundError", "is not on this machine and the hub cannot be reached"),
        ("ConnectError", "is not on this machine and the hub cannot be reached"),
    ],
)
def test_errors_from_the_hub_are_explained_in_plain_words(
    name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        try:
            raise hub_error(name)
        except Exception as error:
            raise OSError("We could not load it.") from error

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", refuse)
    assert message in why_not(spec(NAME, revision="v2"))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    ],
)
def test_memory_that_runs_out_while_loading_does_no_damage(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(loading, "_read", read)
    assert "does not fit into memory" in why_not(spec(tiny()), NoMemory)


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("int8", 4), ("bfloat16", 2)])
@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16])
def test_beside_the_weights_300_mib_have_to_be_free(
    stored: torch.dtype, dtype: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As large as they are once loaded, whatever the file holds."""
    folder = shutil.copytree(tiny(), tmp_path / "model")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=stored)
    model.save_pretrained(folder)
    needed = size * sum(parameter.numel() for parameter in model.parameters()) + 300 * 1024 * 1024
    monkeypatch.setattr(loading, "available_bytes", lambda device: needed - 1)
    assert "are free" in why_not(spec(folder, dtype=dtype), NoMemory)
    monkeypatch.setattr(loading, "available_bytes", lambda device: needed)
    assert open_backend(spec(folder, dtype=dtype)).facts().parameters


@pytest.mark.parametrize(("dtype", "size"), [("float32", "6.4"), ("int8", "6.4"), ("bfloat16", "3.2")])
def test_a_gguf_file_too_large_is_refused_unread(
    dtype: str, size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """990 MB at 4.5 bits a parameter, and a tenth for the rest: 1.6 billion parameters; int8 is made from float32."""
    large = tmp_path / "large.gguf"
    with large.open("wb") as file:
        file.write(b"GGUF")
        file.truncate(990_000_000)
    monkeypatch.setattr(loading, "available_bytes", lambda device: 10**9)
    assert f"needs about {size} GB on cpu and 1.0 GB are free" in why_not(spec(large, dtype=dtype), NoMemory)


def test_a_cuda_device_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert "this machine has 2: cuda:0 to cuda:1" in why_not(spec(tiny(), device="cuda:2"))
    assert loading.device_of(spec(tiny(), device="cuda:1")) == torch.device("cuda:1")


@pytest.mark.parametrize(("capability", "dtype"), [((7, 5), "float16"), ((8, 0), "bfloat16"), ((9, 0), "bfloat16")])
def test_on_cuda_the_dtype_is_bfloat16_if_the_gpu_has_it(
    capability: tuple[int, int], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NVIDIA's compute capability 8.0 (Ampere) is the first with bfloat16."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert loading.dtype_of(spec(tiny(), dtype="auto", device="cuda"), torch.device("cuda:0")) == dtype


def test_weights_go_straight_to_a_cuda_device(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def stop(*source: Any, **options: Any) -> Any:
        asked.append(options)
        raise MemoryError

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", stop)
    for device in (torch.device("cuda:1"), torch.device("cpu")):
        with pytest.raises(MemoryError):
            loading._read(loading._location(spec(tiny())), spec(tiny()), torch.bfloat16, device)
    assert [options.get("device_map") for options in asked] == [{"": torch.device("cuda:1")}, None]


def test_a_model_with_a_recurrent_state_is_refused(tmp_path: Path) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    folder = shutil.copytree(tiny(), tmp_path / "mamba")
    size: dict[str, Any] = {"vocab_size": 400, "hidden_size": 16, "state_size": 4, "num_hidden_layers": 1}
    MambaForCausalLM(MambaConfig(**size)).save_pretrained(folder)
    why = why_not(spec(folder))
    assert "keeps a recurrent state" in why and "backend openai or llama_cpp" in why
