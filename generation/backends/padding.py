"""Sequences of tokens side by side."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def padded(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """The tokens with zeros behind them, and a mask of those that are no padding."""
    tokens = torch.zeros((len(sequences), max(map(len, sequences))), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for number, sequence in enumerate(sequences):
        tokens[number, : len(sequence)] = torch.tensor(sequence)
        mask[number, : len(sequence)] = 1
    return tokens.to(device), mask.to(device)
