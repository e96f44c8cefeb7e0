"""Models of known shapes with random weights, for a machine that has torch and transformers but no model files.

Speed does not depend on the values of the weights, as long as every text has the same length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import torch

from generation.backends import attention
from generation.backends.base import ModelSpec
from generation.backends.memory import PASSES, Room, token_bytes
from generation.backends.transformers_backend import TransformersBackend

CONTEXT = 2048
#: As configurations of Llama: layers, width, feed-forward width, heads, key-value heads, vocabulary.
SHAPES: dict[str, tuple[int, int, int, int, int, int]] = {
    "tiny": (2, 64, 128, 4, 2, 512),
    "small": (4, 256, 704, 8, 2, 4096),
    "135m": (30, 576, 1536, 9, 3, 49152),
    "1b": (16, 2048, 8192, 32, 8, 128256),
    "7b": (28, 3584, 18944, 28, 4, 152064),
}


class Words:
    """A vocabulary without meaning: every word of a prompt is an arbitrary token."""

    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    ends: frozenset[int] = frozenset({0})
    context_length = CONTEXT

    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, text: str) -> list[int]:
        return [1 + crc32(word.encode()) % (self.size - 1) for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        return " ".join(map(str, tokens))


class RandomBackend(TransformersBackend):
    """The backend ``transformers`` without a file: only loading differs."""

    @staticmethod
    def vocabulary_of(shape: str) -> Words:
        return Words(SHAPES[shape][-1])

    def __init__(self, shape: str, *, device: str, dtype: str) -> None:
        from transformers import LlamaConfig, LlamaForCausalLM

        self.spec = ModelSpec("transformers", f"random {shape}", dtype=dtype, device=device)
        self._options = {}
        self._dtype = dtype if dtype != "auto" else "bfloat16"
        layers, width, inner, heads, shared, vocabulary = SHAPES[shape]
        config = LlamaConfig(
            num_hidden_layers=layers,
            hidden_size=width,
            intermediate_size=inner,
            num_attention_heads=heads,
            num_key_value_heads=shared,
            vocab_size=vocabulary,
            max_position_embeddings=CONTEXT,
        )
        torch.manual_seed(1)
        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, self._dtype))
        try:
            with torch.device(device):
                built: Any = LlamaForCausalLM(config)
        finally:
            torch.set_default_dtype(before)
        self.model = built.eval()
        self._device = torch.device(self.model.device)
        if self._device.type == "cpu":
            attention.use(self.model)
        self.vocabulary: Any = self.vocabulary_of(shape)
        size = next(self.model.parameters()).element_size()
        self._room = Room(self._device, token_bytes=token_bytes(config, size), row_bytes=4 * PASSES * vocabulary)
