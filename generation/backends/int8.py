"""Weights and activations in eight bits, for a CPU.

Each output of a linear layer has its own scale, and each *row* of its input has its own, found as it comes: torch's
dynamic quantisation takes one scale for a whole batch, so that a text would depend on those written beside it. Products
are whole numbers and therefore exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from generation.backends.base import BackendError

MOST = 127.0
# Names that models give to layers of one input: those of attention and of a gated feed-forward block.
ONE_INPUT = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))


class Int8Linear(nn.Module):
    """``y = x W' + b`` with W kept as whole numbers from -127 to 127."""

    weight: Tensor
    scales: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        scales = weight.float().abs().amax(1).clamp_(min=1e-12) / MOST
        # Kept as inputs x outputs, which is how the product reads it.
        self.register_buffer("weight", (weight.float() / scales[:, None]).round_().to(torch.int8).t().contiguous().t())
        self.register_buffer("scales", scales)
        self.bias = bias

    def forward(self, given: Tensor) -> Tensor:
        rows = given.reshape(-1, given.shape[-1])
        scales = rows.abs().amax(-1, keepdim=True).clamp_(min=1e-12).div_(MOST)
        whole = (rows / scales).round_().to(torch.int8)
        out = torch._int_mm(whole, self.weight.t()).float().mul_(scales).mul_(self.scales)
        if self.bias is not None:
            out += self.bias
        return out.view(*given.shape[:-1], -1)


class Joined(Int8Linear):
    """Layers that are given the same input, as one product. The first that is asked makes what all of them give."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        weights = [_weight(each) for each in layers]
        biases: list[Any] = [each.bias for each in layers]
        if any(each is not None for each in biases):
            biases = [torch.zeros(len(w)) if b is None else b for w, b in zip(weights, biases, strict=True)]
        super().__init__(torch.cat(weights), None if biases[0] is None else torch.cat(biases))
        self._given: Tensor | None = None
        self._parts: dict[int, Tensor] = {}
        self._sizes = [len(each) for each in weights]

    def part(self, number: int, given: Tensor) -> Tensor:
        """The input is kept until each layer has had its part, so that no other can be taken for it."""
        if self._given is not given or number not in self._parts:
            self._given, self._parts = given, dict(enumerate(self(given).split(self._sizes, -1)))
        found = self._parts.pop(number)
        if not self._parts:
            self._given = None
        return found


class Part(nn.Module):
    """One of the layers that were joined."""

    def __init__(self, joined: Joined, number: int) -> None:
        super().__init__()
        self.joined, self.number = joined, number

    def forward(self, given: Tensor) -> Tensor:
        return self.joined.part(self.number, given)


def quantise(model: Any) -> None:
    """Replace the linear layers of a float32 model, the output layer among them; embeddings stay as they are."""
    if not hasattr(torch, "_int_mm"):
        raise BackendError("This torch has no product of whole numbers; take dtype float32 or bfloat16.")
    for block in list(model.modules()):
        for names in ONE_INPUT:
            layers = [getattr(block, name, None) for name in names]
            if all(_is_linear(each) for each in layers) and len({_weight(each).shape[1] for each in layers}) == 1:
                joined = Joined([each for each in layers if each is not None])
                for number, name in enumerate(names):
                    setattr(block, name, Part(joined, number))
        for name, layer in list(block.named_children()):
            if _is_linear(layer):
                setattr(block, name, Int8Linear(_weight(layer), layer.bias))


def _weight(layer: Any) -> Tensor:
    weight: Tensor = (layer.weight if isinstance(layer, nn.Linear) else layer.weight.t()).detach()
    return weight


def _is_linear(module: Any) -> bool:
    """Also the layer of GPT-2, which keeps its weights the other way round."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
