"""Attention on a CPU for models whose queries share keys and values by groups (GQA).

transformers packs the queries of a group beside each other when there is a mask. Without one, when all texts of a batch
begin at the same column, it leaves the sharing to torch, which on a CPU took four times as long here. This one always
packs them. The sums are the same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "packed_sdpa"


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **given: Any
) -> tuple[Tensor, None]:
    """As transformers' own, with (rows, heads, columns, size) in and (rows, columns, heads, size) out."""
    rows, heads, count, _ = query.shape
    shared = key.shape[1]
    plain = given.get("position_bias") is None and given.get("softcap") is None
    if count > 1 or heads == shared or attention_mask is not None or not plain:
        found: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **given)
        return found
    packed = query.reshape(rows, shared, heads // shared, -1)
    out = torch.nn.functional.scaled_dot_product_attention(packed, key, value, scale=given.get("scaling"))
    return out.reshape(rows, 1, heads, -1), None


def use(model: Any) -> None:
    """Have a model on a CPU attend so, if it attends with torch's own function at all."""
    if getattr(model.config, "_attn_implementation", "") == "sdpa":
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)
