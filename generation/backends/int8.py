"""Weights and activations in eight bits, for a CPU.

Each output of a linear layer has its own scale, and each *row* of its input has its own, found as it comes: torch's
dynamic quantisation takes one scale for a whole batch, so that a text would depend on those written beside it. Products
are whole numbers and therefore exact.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from generation.backends.base import BackendError

MOST = 127.0


class Last:
    """What a layer of the model was given last, in whole numbers: queries, keys and values have one input."""

    def __init__(self) -> None:
        self._given: Tensor | None = None
        self._found: tuple[Tensor, Tensor] | None = None

    def in_whole_numbers(self, given: Tensor) -> tuple[Tensor, Tensor]:
        """Rows as whole numbers and the scale of each. The tensor is kept until the next one comes, so that no other
        can be taken for it."""
        if self._found is None or self._given is not given:
            rows = given.reshape(-1, given.shape[-1])
            scales = rows.abs().amax(-1, keepdim=True).clamp_(min=1e-12).div_(MOST)
            self._given, self._found = given, ((rows / scales).round_().to(torch.int8), scales)
        return self._found


class Int8Linear(nn.Module):
    """``y = x W' + b`` with W kept as whole numbers from -127 to 127."""

    weight: Tensor
    scales: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None, last: Last | None = None) -> None:
        super().__init__()
        self._last = last or Last()
        scales = weight.float().abs().amax(1).clamp_(min=1e-12) / MOST
        # Kept as inputs x outputs, which is how the product reads it.
        self.register_buffer("weight", (weight.float() / scales[:, None]).round_().to(torch.int8).t().contiguous().t())
        self.register_buffer("scales", scales)
        self.bias = bias

    def forward(self, given: Tensor) -> Tensor:
        whole, scales = self._last.in_whole_numbers(given)
        out = torch._int_mm(whole, self.weight.t()).float().mul_(scales).mul_(self.scales)
        if self.bias is not None:
            out += self.bias
        return out.view(*given.shape[:-1], -1)


def quantise(model: Any) -> None:
    """Replace the linear layers of a float32 model, the output layer among them; embeddings stay as they are."""
    if not hasattr(torch, "_int_mm"):
        raise BackendError("This torch has no product of whole numbers; take dtype float32 or bfloat16.")
    last = Last()
    linear = [(name, module) for name, module in model.named_modules() if _is_linear(module)]
    for name, module in linear:
        block, _, own = name.rpartition(".")
        weight = module.weight if isinstance(module, nn.Linear) else module.weight.t()
        setattr(model.get_submodule(block), own, Int8Linear(weight.detach(), module.bias, last))


def _is_linear(module: nn.Module) -> bool:
    """Also the layer of GPT-2, which keeps its weights the other way round."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
