"""A BERT encoder in NumPy: sentence embeddings without torch, from the files of a sentence-transformers model.

Source: Devlin et al. 2019; Reimers & Gurevych 2019 (means of the last layer). Shapes: B texts, L tokens, H heads, d
numbers per token. Numbers are float32, as in the released weights.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import erf

Numbers: TypeAlias = npt.NDArray[np.float32]
#: A batch has at most this many tokens, so that its largest array has about 25 MB.
TOKENS = 4096
#: What padding adds to the logarithm of an attention.
_NEVER = np.float32(-1e9)


class Encoder:
    """The encoder in a folder with ``config.json`` and ``model.safetensors``. The weights are mapped.

    ValueError: another architecture, or a file that is not as it should be. OSError: no such file.
    """

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"{folder} is no BERT encoder")
        self._heads, self._layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        self._epsilon = np.float32(config.get("layer_norm_eps", 1e-12))
        self.longest = int(config["max_position_embeddings"])
        self._weights = read_weights(folder / "model.safetensors")
        # Query, key and value of each layer as one matrix (d, 3d) and one bias (3d,).
        self._fused: list[tuple[Numbers, Numbers]] = []
        for layer in range(self._layers):
            start = f"encoder.layer.{layer}.attention.self"
            weights = [self._weights[f"{start}.{role}.weight"] for role in ("query", "key", "value")]
            biases = [self._weights[f"{start}.{role}.bias"] for role in ("query", "key", "value")]
            self._fused.append((np.ascontiguousarray(np.concatenate(weights).T), np.concatenate(biases)))

    def embed(self, tokens: Sequence[Sequence[int]]) -> Numbers:
        """One row of length 1 for each text, the mean over its tokens, (B, d). ValueError: a text without tokens."""
        if any(not sequence for sequence in tokens):
            raise ValueError("a text has no tokens")
        width = self._weights["embeddings.word_embeddings.weight"].shape[1]
        embeddings = np.zeros((len(tokens), width), dtype=np.float32)
        for positions in batches([len(sequence) for sequence in tokens]):
            longest = max(len(tokens[position]) for position in positions)
            numbers = np.zeros((len(positions), longest), dtype=np.int64)
            mask = np.zeros((len(positions), longest), dtype=np.float32)
            for row, position in enumerate(positions):
                length = len(tokens[position])
                numbers[row, :length], mask[row, :length] = tokens[position], 1
            states = self._states(numbers, mask)
            means = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
            embeddings[positions] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return embeddings

    def _states(self, numbers: npt.NDArray[np.int64], mask: Numbers) -> Numbers:
        """The last layer, (B, L, d)."""
        weights = self._weights
        states = weights["embeddings.word_embeddings.weight"][numbers]
        states = states + weights["embeddings.position_embeddings.weight"][: numbers.shape[1]]
        states = self._normed(states + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        hidden = (1 - mask)[:, None, None, :] * _NEVER
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            states = self._normed(
                states + self._dense(self._attended(states, hidden, layer), f"{name}.attention.output.dense"),
                f"{name}.attention.output.LayerNorm",
            )
            inner = gelu(self._dense(states, f"{name}.intermediate.dense"))
            states = self._normed(states + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return states

    def _attended(self, states: Numbers, hidden: Numbers, layer: int) -> Numbers:
        """Scaled dot-product attention in all heads, (B, L, d)."""
        batch, length, width = states.shape
        weight, bias = self._fused[layer]
        projections = (states @ weight + bias).reshape(batch, length, 3, self._heads, width // self._heads)
        query, key, value = projections.transpose(2, 0, 3, 1, 4)  # each (B, H, L, d / H)
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(1 / math.sqrt(width // self._heads))
        scores += hidden
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, width))

    def _dense(self, states: Numbers, name: str) -> Numbers:
        weight = self._weights[f"{name}.weight"].T
        flat = states.reshape(-1, states.shape[-1]) @ weight + self._weights[f"{name}.bias"]
        return np.asarray(flat.reshape(*states.shape[:-1], -1))

    def _normed(self, states: Numbers, name: str) -> Numbers:
        off = states - states.mean(axis=-1, keepdims=True)
        scale = np.sqrt((off * off).mean(axis=-1, keepdims=True) + self._epsilon)
        return np.asarray(off / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])


def gelu(values: Numbers) -> Numbers:
    """x · Φ(x), Φ exact (Hendrycks & Gimpel 2016)."""
    return np.asarray(values * (erf(values * np.float32(math.sqrt(0.5))) + 1) * np.float32(0.5))


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts of similar length, with at most TOKENS tokens together, padding included."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > TOKENS:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def read_weights(path: Path) -> Mapping[str, Numbers]:
    """The float32 arrays of a safetensors file by name. ValueError: not such a file.

    The format: the length of the heading as 8 bytes, the heading as JSON, then the numbers as the heading says.
    """
    content = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(content[:8].tobytes(), "little")
    if not 2 <= size <= len(content) - 8:
        raise ValueError(f"{path} is not a safetensors file")
    try:
        heading: dict[str, Any] = json.loads(content[8 : 8 + size].tobytes())
    except ValueError:
        raise ValueError(f"{path} is not a safetensors file") from None
    numbers = content[8 + size :]
    weights = {}
    for name, tensor in heading.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            first, last = tensor["data_offsets"]
            array = np.asarray(numbers[first:last]).view("<f4").reshape(tensor["shape"])
            # Numbers at odd addresses would be multiplied without BLAS.
            weights[name.removeprefix("bert.")] = array if array.flags.aligned else array.copy()
    return weights
