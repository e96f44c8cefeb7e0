"""Attention of the next token on a CPU: one query a row against all that the row has read.

Queries that share keys and values (GQA) are packed beside each other, which torch's own function does only with a mask:
without one it took four times as long here. In float32 several rows go by two plain products, which took half the time
of torch's own function. The sums are the same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "packed_sdpa"
ROWS_FOR_PRODUCTS = 8


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **given: Any
) -> tuple[Tensor, None]:
    """As transformers' own, with (rows, heads, columns, size) in and (rows, columns, heads, size) out."""
    rows, heads, count, _ = query.shape
    shared = key.shape[1]
    plain = given.get("position_bias") is None and given.get("softcap") is None
    if count > 1 or not plain or (attention_mask is not None and attention_mask.shape[1:3] != (1, 1)):
        found: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **given)
        return found
    packed = query.reshape(rows, shared, heads // shared, -1)
    how = _by_products if rows >= ROWS_FOR_PRODUCTS and query.dtype == torch.float32 else _by_torch
    return how(packed, key, value, attention_mask, given.get("scaling")).reshape(rows, 1, heads, -1), None


def _by_torch(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)


def _by_products(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float | None) -> Tensor:
    scores = (query * (query.shape[-1] ** -0.5 if scaling is None else scaling)) @ key.transpose(-1, -2)
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, -torch.inf)
    if mask is not None:
        scores += mask
    return scores.softmax(-1) @ value


def use(model: Any) -> None:
    """Have a model on a CPU attend so, if it attends with torch's own function at all."""
    if getattr(model.config, "_attn_implementation", "") == "sdpa":
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)
