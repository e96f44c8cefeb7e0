"""GGUF files as transformers unpacked them, stored next to the hub's cache.

transformers reads a GGUF file's header several times in Python: 16 seconds for a model of 135 million parameters,
against 2 from a folder that it wrote. Only small models are stored.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
import transformers
from huggingface_hub.constants import HF_HOME

MOST_BYTES = 2 * 1024**3
# The first copies could have weights of another dtype, if two models were loaded at once. They are not used any more.
FORMAT = 2


def unpacked_folder(path: Path, dtype: torch.dtype) -> Path:
    """The folder of the unpacked file; another file, dtype or version of the library has another folder."""
    state = path.stat()
    named = f"{path.resolve()}|{state.st_size}|{state.st_mtime_ns}|{dtype}|{transformers.__version__}|{FORMAT}"
    return Path(HF_HOME) / "hitserver-unpacked" / hashlib.sha256(named.encode()).hexdigest()[:32]


def save_unpacked(folder: Path, model: Any, tokenizer: Any) -> None:
    """Write the whole model there, or nothing. If the disk is full or not writable, this only costs time."""
    size = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    if folder.exists() or size > MOST_BYTES:
        return
    draft = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < 4 * size:
            return
        draft = Path(mkdtemp(dir=folder.parent))
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        draft.rename(folder)
    except OSError:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
