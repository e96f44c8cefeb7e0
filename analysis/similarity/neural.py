"""Models that compare two texts: BERTScore, and cross-encoders that rate similarity or classify inference.

The work is done by sentence-transformers and bert-score (requirements-neural.txt), which are loaded when a model is
asked for. A model is a hub name or a folder. Every text, or pair, is computed once, in batches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from analysis.diversity.association import Floats
from analysis.diversity.nli import CLASSES, Classify, Pair
from analysis.similarity.embedding import Embedder

BATCH = 64
#: From pairs of texts to one similarity each, (pairs,).
Compare: TypeAlias = Callable[[Sequence[Pair]], Floats]


class NoModel(ValueError):
    """The model, or the package that runs it, cannot be used. ``str()`` says why and what to do."""


def sentence_embedder(model: str, *, device: str | None = None, progress: bool = False) -> Embedder:
    """Sentence embeddings of length 1 by any model of sentence-transformers. Raises NoModel."""
    encoder = _loaded("sentence_transformers", "SentenceTransformer", model, device)

    def embed(texts: Sequence[str]) -> Floats:
        different = list(dict.fromkeys(texts))
        rows = encoder.encode(different, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=progress)
        row_of_text = {text: row for row, text in enumerate(different)}
        return np.asarray(rows, dtype=float)[[row_of_text[text] for text in texts]]

    return embed


def similarity_rater(model: str, *, device: str | None = None, progress: bool = False) -> Compare:
    """A cross-encoder that rates how similar two texts are in meaning (BERT-STS; Tevet & Berant 2021, 5).

    The rating of a pair is the mean of its two directions. Raises NoModel, also for a model with several labels.
    """
    encoder = _loaded("sentence_transformers", "CrossEncoder", model, device)
    if encoder.num_labels != 1:
        labels = ", ".join(encoder.config.id2label.values())
        raise NoModel(f"{model} tells {labels} apart. Use a cross-encoder that rates similarity with one number.")

    def compare(pairs: Sequence[Pair]) -> Floats:
        both = [pair for left, right in pairs for pair in ((left, right), (right, left))]
        rated = _of_each(
            both, lambda new: encoder.predict(_with_tokens(new), batch_size=BATCH, show_progress_bar=progress)
        )
        return np.asarray(np.array(rated, dtype=float).reshape(-1, 2).mean(axis=1))

    return compare


def inference_classifier(model: str, *, device: str | None = None, progress: bool = False) -> Classify:
    """Entailment, neutral or contradiction by any cross-encoder with these labels, in any order. Raises NoModel."""
    encoder = _loaded("sentence_transformers", "CrossEncoder", model, device)
    labels = {int(number): str(label).lower() for number, label in encoder.config.id2label.items()}
    if sorted(labels.values()) != sorted(CLASSES):
        raise NoModel(
            f"{model} tells {', '.join(labels.values())} apart. An NLI metric needs a model with the labels "
            f"{', '.join(CLASSES)}."
        )

    def classified(pairs: list[Pair]) -> list[tuple[str, float]]:
        shares = encoder.predict(_with_tokens(pairs), batch_size=BATCH, apply_softmax=True, show_progress_bar=progress)
        return [(labels[int(row.argmax())], float(row.max())) for row in shares]

    return lambda pairs: _of_each(pairs, classified)


def bert_score(model: str, *, layer: int | None = None, device: str | None = None, progress: bool = False) -> Compare:
    """F1 of BERTScore (Zhang et al. 2020), without weights by frequency and without rescaling. Raises NoModel.

    ``layer``: the layer whose embeddings are compared. None: the one that bert-score recommends for the model, or the
    last for a folder. A pair with an empty text scores 0.
    """
    package = _package("bert_score")
    if layer is None and model not in package.utils.model2layers:
        layer = _last_layer(model)
    try:
        scorer = package.BERTScorer(model_type=model, num_layers=layer, device=device, batch_size=BATCH)
    except (OSError, ValueError, AssertionError) as error:
        raise NoModel(f"BERTScore cannot use {model}: {_first_line(error)}") from error

    def f1(pairs: list[Pair]) -> list[float]:
        texts, references = [left for left, _ in pairs], [right for _, right in pairs]
        return [float(score) for score in scorer.score(texts, references, verbose=progress)[2]]

    def compare(pairs: Sequence[Pair]) -> Floats:
        written = [pair for pair in pairs if pair[0].strip() and pair[1].strip()]
        scores = dict(zip(written, _of_each(written, f1), strict=True))
        return np.array([scores.get(pair, 0.0) for pair in pairs], dtype=float)

    return compare


def _with_tokens(pairs: Sequence[Pair]) -> list[Pair]:
    """Some tokenizers make no token from an empty text."""
    return [(left or " ", right or " ") for left, right in pairs]


def _of_each(pairs: Sequence[Pair], compute: Callable[[list[Pair]], Sequence[Any]]) -> list[Any]:
    """What ``compute`` gives for each pair; equal pairs are computed once."""
    different = list(dict.fromkeys(pairs))
    results = dict(zip(different, compute(different), strict=True)) if different else {}
    return [results[pair] for pair in pairs]


def _loaded(package: str, kind: str, model: str, device: str | None) -> Any:
    build = getattr(_package(package), kind)
    location = Path(model).expanduser()
    try:
        return build(str(location) if location.exists() else model, device=device, trust_remote_code=False)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise NoModel(f"{model} cannot be loaded: {_first_line(error)}") from error


def _package(name: str) -> Any:
    try:
        package = import_module(name)
    except ImportError as error:
        raise NoModel(
            f"{name} is not installed ({_first_line(error)}): pip install -r requirements-neural.txt"
        ) from error
    # Both load transformers, which draws a bar for every file of weights.
    sys.modules["transformers"].utils.logging.disable_progress_bar()
    return package


def _last_layer(model: str) -> int:
    file = Path(model).expanduser() / "config.json"
    try:
        return int(json.loads(file.read_text("utf-8"))["num_hidden_layers"])
    except (OSError, ValueError, KeyError) as error:
        raise NoModel(
            f"bert-score recommends no layer of {model}, and there is no {file} that says how many it has: add --layer"
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
