"""The options of a model of the backend vllm, checked without the library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from generation.backends.base import BackendError, ModelSpec

DTYPES = ("auto", "float32", "bfloat16", "float16")
#: Options that are whole numbers above 0, with the names that the library has for them.
COUNTS = {
    "tensor_parallel": "tensor_parallel_size",
    "pipeline_parallel": "pipeline_parallel_size",
    "max_model_len": "max_model_len",
    "concurrency": "max_num_seqs",
}
SWITCHES = ("enable_prefix_caching", "enforce_eager", "batch_invariant", "log_p")
NAMED = {"executor": "distributed_executor_backend", "quantization": "quantization"}
SHARE = "gpu_memory_utilization"
OPTIONS = (*COUNTS, *SWITCHES, *NAMED, SHARE)


def read_options(spec: ModelSpec) -> tuple[dict[str, Any], dict[str, bool]]:
    """The engine's arguments, and what is switched on or off. Raises BackendError that names a wrong option."""
    options, arguments, switches = dict(spec.options), dict[str, Any](), dict[str, bool]()
    if spec.dtype not in DTYPES:
        raise BackendError(
            f"The backend vllm has no dtype {spec.dtype}; use {', '.join(DTYPES)}. For weights in 8 or 4 bits, "
            "register a quantised model, or give the option quantization."
        )
    if spec.device not in ("auto", "cuda"):
        raise BackendError(
            f"The device is {spec.device}; vllm takes the GPUs that its worker sees. Register the model with device "
            "auto, and set CUDA_VISIBLE_DEVICES for the worker."
        )
    for name, value in options.items():
        if name in SWITCHES:
            if not isinstance(value, bool):
                raise BackendError(f"The option {name} is {value!r}; use true or false.")
            switches[name] = value
        elif name in NAMED:
            if not isinstance(value, str) or not value:
                raise BackendError(f"The option {name} is {value!r}; use a name, such as ray or awq.")
            arguments[NAMED[name]] = value
        elif name == SHARE:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
                raise BackendError(f"The option {name} is {value!r}; use a number above 0 and at most 1.")
            arguments[name] = float(value)
    counts = [(name, value) for name, value in options.items() if name not in (*SWITCHES, *NAMED, SHARE)]
    whole = replace(spec, options=tuple(counts)).checked_options(OPTIONS)
    arguments |= {COUNTS[name]: value for name, value in whole.items()}
    arguments |= {name: switches[name] for name in SWITCHES[:2] if name in switches}
    return arguments, switches
