"""Whether this machine has what a backend imports. Looks for the libraries without importing any."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

NEEDS: dict[str, tuple[str, ...]] = {
    "transformers": ("torch", "transformers"),
    "llama_cpp": ("llama_cpp",),
    "openai": ("openai",),
}
HOW = "script/setup --models installs them; then start the worker again."
NONE_HERE = f"The models' requirements are not installed on this machine: {HOW}"


@cache
def runnable() -> tuple[str, ...]:
    """The backends whose libraries are installed here."""
    return tuple(backend for backend in NEEDS if not missing(backend))


def missing(backend: str) -> list[str]:
    """The libraries of a backend that are not installed here."""
    return [name for name in NEEDS.get(backend, ()) if find_spec(name) is None]


def why_not(backend: str) -> str:
    """What keeps this machine from running a backend, or nothing."""
    lacking = missing(backend)
    return f"{backend} needs {' and '.join(lacking)}, which this machine does not have. {HOW}" if lacking else ""
