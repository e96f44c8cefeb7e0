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
        self._fused = [self._fuse(at) for at in range(self._layers)]

    def embed(self, tokens: Sequence[Sequence[int]]) -> Numbers:
        """One row of length 1 for each text, the mean over its tokens, (B, d). ValueError: a text without tokens."""
        if any(not each for each in tokens):
            raise ValueError("a text has no tokens")
        width = self._weights["embeddings.word_embeddings.weight"].shape[1]
        found = np.zeros((len(tokens), width), dtype=np.float32)
        for places in batches([len(each) for each in tokens]):
            part = [tokens[place] for place in places]
            found[places] = self._means(part)
        return found

    def _means(self, tokens: Sequence[Sequence[int]]) -> Numbers:
        longest = max(map(len, tokens))
        numbers = np.zeros((len(tokens), longest), dtype=np.int64)
        there = np.zeros((len(tokens), longest), dtype=np.float32)
        for row, each in enumerate(tokens):
            numbers[row, : len(each)], there[row, : len(each)] = each, 1
        states = self._states(numbers, there)
        means = (states * there[:, :, None]).sum(axis=1) / there.sum(axis=1)[:, None]
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), dtype=np.float32)

    def _states(self, numbers: npt.NDArray[np.int64], there: Numbers) -> Numbers:
        """The last layer, (B, L, d)."""
        weights = self._weights
        states = weights["embeddings.word_embeddings.weight"][numbers]
        states = states + weights["embeddings.position_embeddings.weight"][: numbers.shape[1]]
        states = self._normed(states + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        hidden = (1 - there)[:, None, None, :] * _NEVER
        for at in range(self._layers):
            name = f"encoder.layer.{at}"
            states = self._normed(
                states + self._dense(self._attended(states, hidden, at), f"{name}.attention.output.dense"),
                f"{name}.attention.output.LayerNorm",
            )
            inner = gelu(self._dense(states, f"{name}.intermediate.dense"))
            states = self._normed(states + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return states

    def _attended(self, states: Numbers, hidden: Numbers, at: int) -> Numbers:
        """Scaled dot-product attention in all heads, (B, L, d)."""
        batch, length, width = states.shape
        weight, bias = self._fused[at]
        found = (states @ weight + bias).reshape(batch, length, 3, self._heads, width // self._heads)
        query, key, value = found.transpose(2, 0, 3, 1, 4)  # each (B, H, L, d / H)
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(1 / math.sqrt(width // self._heads))
        scores += hidden
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray((scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, width))

    def _fuse(self, at: int) -> tuple[Numbers, Numbers]:
        """Query, key and value of a layer as one matrix (d, 3d) and one bias (3d,)."""
        start = f"encoder.layer.{at}.attention.self"
        weights = [self._weights[f"{start}.{each}.weight"] for each in ("query", "key", "value")]
        biases = [self._weights[f"{start}.{each}.bias"] for each in ("query", "key", "value")]
        return np.ascontiguousarray(np.concatenate(weights).T), np.concatenate(biases)

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
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def read_weights(path: Path) -> Mapping[str, Numbers]:
    """The float32 arrays of a safetensors file by name. ValueError: not such a file.

    The format: the length of the heading as 8 bytes, the heading as JSON, then the numbers as the heading says.
    """
    whole = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(whole[:8].tobytes(), "little")
    if not 2 <= size <= len(whole) - 8:
        raise ValueError(f"{path} is not a safetensors file")
    try:
        heading: dict[str, Any] = json.loads(whole[8 : 8 + size].tobytes())
    except ValueError:
        raise ValueError(f"{path} is not a safetensors file") from None
    numbers = whole[8 + size :]
    found = {}
    for name, each in heading.items():
        if name != "__metadata__" and each["dtype"] == "F32":
            first, last = each["data_offsets"]
            array = np.asarray(numbers[first:last]).view("<f4").reshape(each["shape"])
            # Numbers at odd addresses would be multiplied without BLAS.
            found[name.removeprefix("bert.")] = array if array.flags.aligned else array.copy()
    return found
