"""Attention of the next token on a CPU: one query of each row against everything that the row has read.

Queries that share keys and values (GQA) are packed side by side. torch's own function does so only with a mask; without
one it took four times as long here. The sums are the same.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "packed_sdpa"


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Like transformers' own function: (rows, heads, columns, size) in and (rows, columns, heads, size) out."""
    rows, heads, count, _ = query.shape
    shared = key.shape[1]
    plain = options.get("position_bias") is None and options.get("softcap") is None
    if count > 1 or not plain or (attention_mask is not None and attention_mask.shape[1:3] != (1, 1)):
        plain_output: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return plain_output
    packed = query.reshape(rows, shared, heads // shared, -1)
    attended = nn.functional.scaled_dot_product_attention(
        packed, key, value, attn_mask=attention_mask, scale=options.get("scaling")
    )
    return attended.reshape(rows, 1, heads, -1), None


def use(model: Any) -> None:
    """Make a model on a CPU use ``attend``, if it would use torch's own function."""
    if getattr(model.config, "_attn_implementation", "") == "sdpa":
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)
