"""Whether this machine has the libraries that a backend imports. Nothing is imported to find out."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

NEEDS: dict[str, tuple[str, ...]] = {
    "transformers": ("torch", "transformers"),
    "llama_cpp": ("llama_cpp",),
    "vllm": ("vllm",),
    "openai": ("openai",),
}
HOW = "Install them with: script/setup --models. Then restart this server or worker."
#: vLLM wants other versions of torch and transformers than the other backends, so it has an environment of its own.
HOW_VLLM = (
    "Install it on the machine with the GPUs, in a virtual environment of its own: pip install -r requirements.txt -r "
    "requirements-vllm.txt. Then start that machine's worker from there."
)
NONE_HERE = f"The requirements for models are not installed on this machine. {HOW}"


@cache
def runnable() -> tuple[str, ...]:
    """The backends whose libraries are installed here."""
    return tuple(backend for backend in NEEDS if not missing(backend))


def missing(backend: str) -> list[str]:
    """The libraries of a backend that are not installed here."""
    return [name for name in NEEDS.get(backend, ()) if find_spec(name) is None]


def why_not(backend: str) -> str:
    """Why this machine cannot run a backend; empty if it can."""
    lacking = missing(backend)
    how = HOW_VLLM if backend == "vllm" else HOW
    return f"{backend} needs {' and '.join(lacking)}, missing on this machine. {how}" if lacking else ""
