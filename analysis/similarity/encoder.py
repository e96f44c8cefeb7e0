"""A BERT encoder run by ONNX Runtime: embeddings without torch, from the files of a sentence-transformers model.

Source: Devlin et al. 2019; Reimers & Gurevych 2019 (means of the last layer). The weights are read from
``model.safetensors`` into a graph that is built here, with ONNX Runtime's own operators for attention and for layer
norms. Shapes: B texts, L tokens, d numbers per token. Numbers are float32, as in the released weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.float32]
#: A batch has at most this many tokens: what fits a CPU's cache is fastest.
TOKENS = 2048
#: What ONNX Runtime's operators for transformers are called.
_OPERATORS = "com.microsoft"
_OPSET = 17


class Encoder:
    """The encoder in a folder with ``config.json`` and ``model.safetensors``.

    ValueError: another architecture, or a file that is not as it should be. OSError: no such file. ImportError: no ONNX
    Runtime.
    """

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"{folder} is no BERT encoder")
        self.longest = int(config["max_position_embeddings"])
        self._width = int(config["hidden_size"])
        weights = read_weights(folder / "model.safetensors")
        runtime: Any = import_module("onnxruntime")  # only where texts are embedded
        self._session = runtime.InferenceSession(_Graph(config, weights).serialised())

    def embed(self, tokens: Sequence[Sequence[int]], on_batch: Callable[[int], object] | None = None) -> Numbers:
        """One row of length 1 for each text, the mean over its tokens, (B, d). ``on_batch`` is called with the number
        of texts of each batch. ValueError: a text without tokens."""
        if any(not sequence for sequence in tokens):
            raise ValueError("a text has no tokens")
        embeddings = np.zeros((len(tokens), self._width), dtype=np.float32)
        for positions in batches([len(sequence) for sequence in tokens]):
            lengths = np.array([len(tokens[position]) for position in positions], dtype=np.int32)
            numbers = np.zeros((len(positions), lengths.max()), dtype=np.int64)
            for row, position in enumerate(positions):
                numbers[row, : lengths[row]] = tokens[position]
            (states,) = self._session.run(None, {"tokens": numbers, "lengths": lengths})
            mask = (np.arange(numbers.shape[1]) < lengths[:, None]).astype(np.float32)
            means = np.einsum("bld,bl->bd", states, mask) / lengths[:, None]
            embeddings[positions] = means / np.linalg.norm(means, axis=1, keepdims=True)
            if on_batch is not None:
                on_batch(len(positions))
        return embeddings


class _Graph:
    """The encoder's layers as an ONNX graph from tokens (B, L) and the texts' lengths (B,) to states (B, L, d)."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, Numbers]) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._as_tensor = helper, numpy_helper.from_array
        self._weights = weights
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._heads, self._layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def serialised(self) -> bytes:
        helper = self._helper
        from onnx import TensorProto

        states = self._embedded()
        for layer in range(self._layers):
            states = self._layer(states, f"encoder.layer.{layer}")
        self._node("Identity", states, to="states")
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [
                helper.make_tensor_value_info("tokens", TensorProto.INT64, ["B", "L"]),
                helper.make_tensor_value_info("lengths", TensorProto.INT32, ["B"]),
            ],
            [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["B", "L", "d"])],
            self._constants,
        )
        operators = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_OPERATORS, 1)]
        model = helper.make_model(graph, opset_imports=operators, ir_version=9)
        return bytes(model.SerializeToString())

    def _embedded(self) -> str:
        """Words, positions and the type of the first sentence, added and normed."""
        words = self._node("Gather", self._weight("embeddings.word_embeddings.weight"), "tokens")
        length = self._node("Shape", "tokens", start=1)
        first = self._constant("first", np.array([0], dtype=np.int64))
        places = self._weights["embeddings.position_embeddings.weight"]
        places = places + self._weights["embeddings.token_type_embeddings.weight"][0]
        positions = self._node("Slice", self._constant("places", places), first, length)
        both = self._node("Add", words, positions)
        norm = [self._weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
        return self._node("LayerNormalization", both, *norm, epsilon=self._epsilon)

    def _layer(self, states: str, name: str) -> str:
        roles = [f"{name}.attention.self.{role}" for role in ("query", "key", "value")]
        weight = np.concatenate([self._weights[f"{role}.weight"] for role in roles]).T
        bias = np.concatenate([self._weights[f"{role}.bias"] for role in roles])
        fused = [self._constant(f"{name}.qkv", weight), self._constant(f"{name}.qkv.bias", bias)]
        attended = self._node("Attention", states, *fused, "lengths", num_heads=self._heads, domain=_OPERATORS)
        states = self._added_and_normed(states, attended, f"{name}.attention.output")
        inner = self._node("MatMul", states, self._transposed(f"{name}.intermediate.dense"))
        inner = self._node("BiasGelu", inner, self._weight(f"{name}.intermediate.dense.bias"), domain=_OPERATORS)
        return self._added_and_normed(states, inner, f"{name}.output")

    def _added_and_normed(self, states: str, inner: str, name: str) -> str:
        dense = self._node("MatMul", inner, self._transposed(f"{name}.dense"))
        norm = [self._weight(f"{name}.{part}") for part in ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")]
        return self._node("SkipLayerNormalization", dense, states, *norm, epsilon=self._epsilon, domain=_OPERATORS)

    def _node(self, operator: str, *inputs: str, to: str = "", domain: str = "", **attributes: Any) -> str:
        output = to or f"{operator}.{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operator, list(inputs), [output], domain=domain, **attributes))
        return output

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _transposed(self, name: str) -> str:
        return self._constant(f"{name}.weight", self._weights[f"{name}.weight"].T)

    def _constant(self, name: str, values: npt.NDArray[Any]) -> str:
        self._constants.append(self._as_tensor(np.ascontiguousarray(values), name))
        return name


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
