"""Loading a causal or an encoder–decoder model with transformers, with a clear message if it cannot be loaded."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import HfApi, snapshot_download
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GgufConfig,
    PreTrainedModel,
)

from generation.backends import gguf_cache
from generation.backends.adapters import base_of, merged
from generation.backends.base import LOADING, BackendError, ModelSpec, NoMemory
from generation.backends.memory import available_bytes, is_out_of_memory

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
GGUF_MAGIC = b"GGUF"
HUB_SECONDS = 10
# In addition to the weights: buffers, the first batch, the library itself.
SPARE_BYTES = 300 * 1024**2
# What transformers replaces for the whole process while it builds a model, as it was when it was imported.
_TIE_WEIGHTS, _LINSPACE, _DEFAULT_DTYPE = PreTrainedModel.tie_weights, torch.linspace, torch.get_default_dtype()


@dataclass(frozen=True)
class Loaded:
    model: Any
    tokenizer: Any
    dtype: str


def load(spec: ModelSpec) -> Loaded:
    """The model in evaluation mode on its device. Raises BackendError."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    base = base_of(spec)
    location = _location(base or spec)
    device = device_of(spec)
    dtype = dtype_of(spec, device)
    with alone(), plainly(spec), redirect_stderr(StringIO()):  # progress bars do not belong in a worker's log
        _must_fit(base or spec, dtype, device)
        model, tokenizer = _read(location, base or spec, DTYPES.get(dtype, torch.float32), device)
        if base is not None:
            model = merged(model, spec)
        if dtype == "int8" and model.config.is_encoder_decoder:
            raise BackendError(f"{spec.source} is an encoder–decoder model, which dtype int8 is not for; use float32.")
        if dtype == "int8":
            from generation.backends.int8 import quantise

            quantise(model)
        model = model.to(device).eval()
    kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or [])
    recurrent = kinds - {"full_attention", "sliding_attention", "chunked_attention"}
    if recurrent or getattr(model, "_is_stateful", False):
        raise BackendError(
            f"{spec.source} keeps a recurrent state ({', '.join(sorted(recurrent)) or 'in every layer'}), which this "
            "backend cannot batch. Serve it with vLLM or llama.cpp and use the backend openai or llama_cpp."
        )
    return Loaded(model, tokenizer, dtype)


@contextmanager
def alone() -> Iterator[None]:
    """One load at a time, from the state in which transformers was imported.

    While transformers builds a model, weights are not tied and torch has another default dtype, for the whole process.
    Each load puts back what it found when it began. Of two at once, the second finds what the first has set, and leaves
    that behind: no model with tied weights could be loaded any more. So a load also repairs what it finds.
    """
    with LOADING:
        PreTrainedModel.tie_weights, torch.linspace = _TIE_WEIGHTS, _LINSPACE  # type: ignore[method-assign]
        torch.set_default_dtype(_DEFAULT_DTYPE)
        yield


def _read(location: dict[str, Any], spec: ModelSpec, dtype: torch.dtype, device: torch.device) -> tuple[Any, Any]:
    """Model and tokenizer; of a GGUF file its unpacked copy, if there is one."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as SEQ2SEQ

    kwargs: dict[str, Any] = {}
    folder = None
    if "gguf_file" in location:
        folder = gguf_cache.unpacked_folder(
            Path(location["pretrained_model_name_or_path"]) / location["gguf_file"], dtype
        )
        if folder.is_dir():
            location, folder = {"pretrained_model_name_or_path": str(folder), "local_files_only": True}, None
        else:
            kwargs["quantization_config"] = GgufConfig(dequantize=True)
    if device.type == "cuda" and not kwargs:
        kwargs["device_map"] = {"": device}  # straight to the device, not by way of the machine's memory
    config = AutoConfig.from_pretrained(**location, trust_remote_code=False)
    masked = config.model_type in MASKED and not getattr(config, "is_decoder", False)
    two_parts = bool(getattr(config, "is_encoder_decoder", False))
    if config.model_type not in (SEQ2SEQ if two_parts else CAUSAL) or (masked and not two_parts):
        raise BackendError(
            f"{spec.source} is a {config.model_type} model, which neither continues a prompt token by token, as GPT-2, "
            "Llama, Qwen or SmolLM do, nor answers a source, as T5, BART or BlenderBot do."
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(**location, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        raise BackendError(
            f"{spec.source} has no readable tokenizer ({_first_line(error)}). A model folder needs "
            "tokenizer.json, or the files it is made from, beside the weights."
        ) from error
    if len(tokenizer) == 0:
        raise BackendError(f"{spec.source} has an empty tokenizer; put tokenizer.json beside the weights.")
    kind = AutoModelForSeq2SeqLM if two_parts else AutoModelForCausalLM
    both: Any = kind.from_pretrained(
        **location, **kwargs, config=config, dtype=dtype, output_loading_info=True, trust_remote_code=False
    )
    model, loading_info = both
    missing = sorted(loading_info["missing_keys"])
    if missing:
        raise BackendError(
            f"{spec.source} lacks {len(missing)} of the model's weights, {missing[0]} among them; it is not complete, "
            "or not a model of this kind."
        )
    if folder is not None:
        gguf_cache.save_unpacked(folder, model, tokenizer)
    return model, tokenizer


def device_of(spec: ModelSpec) -> torch.device:
    """The device by name; ``auto`` is a CUDA device if there is one. Raises BackendError."""
    name = spec.device
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise BackendError(f"device is {name!r}; use auto, cpu, cuda or cuda:N.") from None
    if device.type not in ("cpu", "cuda"):
        raise BackendError(f"device is {name!r}; use auto, cpu, cuda or cuda:N.")
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count == 0:
            raise BackendError(
                f"device is {name!r}, but this machine has no CUDA device that torch can use. Use device auto or cpu, "
                "or install the driver and a torch built for CUDA."
            )
        if (device.index or 0) >= count:
            raise BackendError(f"device is {name!r}, but this machine has {count}: cuda:0 to cuda:{count - 1}.")
    return device


def dtype_of(spec: ModelSpec, device: torch.device) -> str:
    """The dtype by name; ``auto`` is bfloat16 if the device multiplies it faster than float32, and float16 on a GPU
    from before 2020, which has no bfloat16. Raises BackendError."""
    if spec.dtype == "auto" and device.type == "cuda":
        return "bfloat16" if torch.cuda.get_device_capability(device) >= (8, 0) else "float16"
    if spec.dtype == "auto":
        return "bfloat16" if _cpu_has_bfloat16() else "float32"
    if spec.dtype not in (*DTYPES, "int8"):
        raise BackendError(f"dtype is {spec.dtype!r}; use auto, int8, {', '.join(DTYPES)}.")
    if spec.dtype == "int8" and device.type != "cpu":
        raise BackendError("dtype int8 is for a CPU; on CUDA use bfloat16.")
    if spec.dtype == "float16" and device.type == "cpu":
        raise BackendError("dtype float16 is for CUDA; on a CPU use auto, float32, bfloat16 or int8.")
    return spec.dtype


def _cpu_has_bfloat16() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def _location(spec: ModelSpec) -> dict[str, Any]:
    """The arguments of ``from_pretrained``. A missing path is not treated as a hub name."""
    source = spec.source.strip()
    path = Path(source).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise BackendError(f"{source} is a file, but not a .gguf file; give a GGUF file, a folder or a hub name.")
        with path.open("rb") as file:
            if file.read(4) != GGUF_MAGIC:
                raise BackendError(f"{path} is not a GGUF file: it does not begin as one. Download it again.")
        return {
            "pretrained_model_name_or_path": str(path.parent),
            "gguf_file": path.name,
            "local_files_only": True,
        }
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise BackendError(f"The folder {source} has no config.json, so it contains no model for transformers.")
        return {"pretrained_model_name_or_path": str(path), "local_files_only": True}
    if source.startswith(("/", ".", "~")) or source.lower().endswith(".gguf") or source.count("/") > 1:
        raise BackendError(f"There is no file or folder {source} on this machine.")
    return {"pretrained_model_name_or_path": source, "revision": spec.revision or "main"}


def _must_fit(spec: ModelSpec, dtype: str, device: torch.device) -> None:
    """Checked before memory is allocated, if the size of the weights is known: some machines kill the process instead
    of refusing."""
    path = Path(spec.source).expanduser()
    if path.is_file():
        # Any GGUF file has at least half a byte per parameter, so this estimate is never much too large.
        parameters = int(path.stat().st_size * 8 / 4.5 / 1.1)
    elif path.is_dir():
        parameters = sum(map(_n_parameters, path.glob("*.safetensors")))
    else:
        parameters = _hub_parameters(spec)
    # Weights are read into the memory of the machine, whatever device they go to.
    n_bytes = parameters * (4 if dtype in ("float32", "int8") else 2)
    for memory in [device] if device.type == "cpu" else [device, torch.device("cpu")]:
        if n_bytes and n_bytes + SPARE_BYTES > (free := available_bytes(memory)):
            raise NoMemory(
                f"{spec.source} needs about {n_bytes / 1e9:.1f} GB on {memory} and {free / 1e9:.1f} GB are free. Take "
                "a smaller model or dtype, or close what else uses the device."
            )


def _n_parameters(path: Path) -> int:
    with safe_open(path, framework="pt") as file:  # reads only the header
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - no mapping


def _hub_parameters(spec: ModelSpec) -> int:
    """By the hub's description, of its files or of what lies here already; 0 if neither is known."""
    revision = spec.revision or "main"
    try:
        folder = Path(snapshot_download(spec.source, revision=revision, local_files_only=True))
        if files := [*folder.glob("*.safetensors")]:
            return sum(map(_n_parameters, files))
    except (OSError, ValueError, SafetensorError):
        pass
    try:
        info = HfApi().model_info(spec.source, revision=revision, files_metadata=True, timeout=HUB_SECONDS)
    except Exception:  # loading it gives the reason
        return 0
    if info.safetensors is not None:
        return sum(info.safetensors.parameters.values())
    sizes = [file.size or 0 for file in info.siblings or () if file.rfilename.endswith(".bin")]
    return sum(sizes) // 4  # at most four bytes each


@contextmanager
def plainly(spec: ModelSpec) -> Iterator[None]:
    """Turn errors from the libraries into a BackendError or NoMemory with one sentence that a researcher can act on."""
    local = Path(spec.source).expanduser().exists()
    try:
        yield
    except BackendError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise NoMemory(f"{spec.source} does not fit into memory: {_first_line(error)}") from error
        if local:
            raise BackendError(
                f"{spec.source} cannot be read ({type(error).__name__}: {_first_line(error)}). It may be cut short or "
                "damaged; download it again."
            ) from error
        raise BackendError(_hub_message(error, spec)) from error


def _hub_message(error: Exception, spec: ModelSpec) -> str:
    name = f"{spec.source}{f' at revision {spec.revision}' if spec.revision else ''}"
    kinds: set[str] = set()
    cause: BaseException | None = error
    while cause is not None:
        kinds.add(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    if kinds & {"GatedRepoError"}:
        return f"The hub gives {name} only to those who accepted its terms: accept them there and set HF_TOKEN."
    if kinds & {"RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"}:
        return f"There is no model {name} on the hub, nor a file or folder of that name here. Check the spelling."
    if os.environ.get("HF_HUB_OFFLINE") or kinds & {
        "LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectionError", "ConnectError", "ConnectTimeout",
        "ProxyError", "ReadTimeout",
    }:  # fmt: skip
        return (
            f"{name} is not on this machine and the hub cannot be reached. Download it on another machine and give "
            "its folder, or check the spelling of a path."
        )
    return f"{name} cannot be loaded ({type(error).__name__}: {_first_line(error)})."


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else "no details"
