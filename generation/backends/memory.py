"""How much memory a device has free, and how many rows fit into it."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# The share of free memory that keys, values and the passes over the vocabulary may use.
SHARE = 0.7
# Four bytes for each of a handful of passes over the vocabulary.
PASSES = 5
UNKNOWN = 4 * 1024**3


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the device ran out of memory, which torch reports in several ways."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("out of memory", "can't allocate memory", "not enough memory")
    )


def on_device(values: Sequence[Any], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """The numbers as a tensor, without waiting for what a GPU still computes."""
    if device.type != "cuda":
        return torch.tensor(values, dtype=dtype, device=device)
    return torch.tensor(values, dtype=dtype, pin_memory=True).to(device, non_blocking=True)


def release(device: torch.device) -> None:
    """Give back the memory of everything that is no longer used."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def available_bytes(device: torch.device) -> int:
    """Free bytes on the device; on a CPU also within the limit of a container."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free) + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    machine = UNKNOWN
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        machine = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), UNKNOWN)
    except OSError:
        pass
    folder = Path("/sys/fs/cgroup")  # control groups (version 2); other systems have no such folder
    try:
        most = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return machine
    return machine if most == "max" else min(machine, max(int(most) - used, 0))


@dataclass(frozen=True)
class Room:
    """How many rows fit. ``token_bytes``: keys and values of one token; ``row_bytes``: working memory of one row in a
    step; ``most_tokens``: the researcher's limit for rows x columns, if there is one."""

    device: torch.device
    token_bytes: int
    row_bytes: int
    most_tokens: int | None = None

    def rows_of(self, columns: int, *, held_bytes: int = 0) -> int:
        """How many rows of ``columns`` tokens fit; ``held_bytes`` already belong to them."""
        free = SHARE * (available_bytes(self.device) + held_bytes)
        rows = int(free / (self.token_bytes * columns + self.row_bytes))
        return rows if self.most_tokens is None else min(rows, self.most_tokens // columns)

    def tokens_of(self, share: float) -> int:
        """How many tokens' keys and values fit into that share of the room."""
        return int(share * SHARE * available_bytes(self.device) / self.token_bytes)


def token_bytes(config: Any, item_size: int) -> int:
    """Bytes of keys and values that one token takes in all layers, by the model's configuration."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    # d_kv and the decoder's layers: of encoder–decoder models, whose decoder keeps the text and the source.
    size = (
        getattr(text, "head_dim", None) or getattr(text, "d_kv", None) or text.hidden_size // text.num_attention_heads
    )
    layers = (
        getattr(text, "decoder_layers", None) or getattr(text, "num_decoder_layers", None) or text.num_hidden_layers
    )
    return int(2 * layers * heads * size * item_size)
