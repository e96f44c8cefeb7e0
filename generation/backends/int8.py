"""Weights and activations in eight bits, for a CPU.

Each output of a linear layer has its own scale, and each *row* of its input has its own, computed when it arrives.
torch's dynamic quantisation uses one scale for a whole batch, which would make a text depend on the others in it. The
products are of whole numbers, and therefore exact.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from generation.backends.base import BackendError

MOST = 127.0


class Int8Linear(nn.Module):
    """``y = x W' + b`` with W stored as whole numbers from -127 to 127."""

    weight: Tensor
    scales: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        scales = weight.float().abs().amax(1).clamp_(min=1e-12) / MOST
        # Stored as inputs x outputs, which is how the product reads it.
        self.register_buffer("weight", (weight.float() / scales[:, None]).round_().to(torch.int8).t().contiguous().t())
        self.register_buffer("scales", scales)
        self.bias = bias

    def forward(self, inputs: Tensor) -> Tensor:
        rows = inputs.reshape(-1, inputs.shape[-1])
        scales = rows.abs().amax(-1, keepdim=True).clamp_(min=1e-12).div_(MOST)
        quantised = (rows / scales).round_().to(torch.int8)
        out = torch._int_mm(quantised, self.weight.t()).float().mul_(scales).mul_(self.scales)
        if self.bias is not None:
            out += self.bias
        return out.view(*inputs.shape[:-1], -1)


def quantise(model: Any) -> None:
    """Replace the linear layers of a float32 model, the output layer among them; embeddings stay as they are.

    Raises BackendError if this torch cannot multiply whole numbers.
    """
    if not hasattr(torch, "_int_mm"):
        raise BackendError("This torch has no product of whole numbers; use dtype float32 or bfloat16.")
    for block in list(model.modules()):
        for name, layer in list(block.named_children()):
            if isinstance(layer, nn.Linear):
                setattr(block, name, Int8Linear(layer.weight.detach(), layer.bias))
            elif type(layer).__name__ == "Conv1D":  # GPT-2's layer stores its weights the other way round
                setattr(block, name, Int8Linear(layer.weight.t().detach(), layer.bias))
