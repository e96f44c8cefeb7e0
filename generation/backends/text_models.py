"""Models that judge texts instead of writing them: inference between two, embeddings of sentences and of tokens.

Each takes a hub name or a folder, remembers what it has computed, and works in batches.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils.hub import cached_file

from analysis.diversity.nli import CLASSES, Pair
from analysis.diversity.reduction import reduce_matrix
from generation.backends.base import BackendError, ModelSpec
from generation.backends.loading import alone, device_of, plainly

BATCH = 64
LONGEST = 512
POOLINGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}
#: The parts of a sentence-transformers model that are known here.
PARTS = ("Transformer", "Pooling", "Normalize")


class _Loaded:
    """A model and its tokenizer in float32, in evaluation mode on its device."""

    def __init__(self, kind: Any, source: str, device: str) -> None:
        transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        spec = ModelSpec("transformers", source, device=device)
        self.source, self.device = source, device_of(spec)
        location = str(Path(source).expanduser()) if Path(source).expanduser().exists() else source
        with alone(), plainly(spec):
            self.tokenizer: Any = AutoTokenizer.from_pretrained(location, trust_remote_code=False)
            model = kind.from_pretrained(location, dtype=torch.float32, trust_remote_code=False)
            self.model: Any = model.to(self.device).eval()
        positions = getattr(self.model.config, "max_position_embeddings", None) or LONGEST
        self._longest = min(LONGEST, positions - 2)  # RoBERTa counts two positions more than it has

    def encode(self, *texts: list[str]) -> Any:
        columns = [
            [text or " " for text in column] for column in texts
        ]  # some tokenizers make no token from an empty text
        options = {"padding": True, "truncation": True, "max_length": self._longest, "return_tensors": "pt"}
        return self.tokenizer(*columns, **options).to(self.device)


class InferenceModel:
    """Entailment, neutral or contradiction between a premise and a hypothesis, with any sequence classifier whose
    labels are these three, in any order."""

    def __init__(self, source: str, *, device: str = "auto") -> None:
        self._loaded = _Loaded(AutoModelForSequenceClassification, source, device)
        labels = {int(number): str(name).lower() for number, name in self._loaded.model.config.id2label.items()}
        if sorted(labels.values()) != sorted(CLASSES):
            raise BackendError(
                f"{source} tells {', '.join(labels.values())} apart. An NLI metric needs a model with the labels "
                f"{', '.join(CLASSES)}."
            )
        self._labels = [labels[number] for number in range(len(labels))]
        self._classified: dict[Pair, tuple[str, float]] = {}

    def classify(self, pairs: Sequence[Pair]) -> list[tuple[str, float]]:
        """The likeliest class of each pair (premise, hypothesis) and its probability."""
        new = sorted(set(pairs) - self._classified.keys(), key=lambda pair: len(pair[0]) + len(pair[1]))
        for first in range(0, len(new), BATCH):
            part = new[first : first + BATCH]
            with torch.inference_mode():
                inputs = self._loaded.encode([premise for premise, _ in part], [text for _, text in part])
                likeliest = self._loaded.model(**inputs).logits.float().softmax(-1).max(-1)
            classes = [self._labels[number] for number in likeliest.indices.tolist()]
            self._classified |= dict(zip(part, zip(classes, likeliest.values.tolist(), strict=True), strict=True))
        return [self._classified[pair] for pair in pairs]


class SentenceEmbedder:
    """Sentence embeddings of any model that sentence-transformers can load from a transformer and a pooling."""

    def __init__(self, source: str, *, device: str = "auto") -> None:
        self._loaded = _Loaded(AutoModel, source, device)
        self._embedded: dict[str, Tensor] = {}
        parts = [str(module["type"]).rpartition(".")[2] for module in _json(source, "modules.json") or ()]
        if unknown := [part for part in parts if part not in PARTS]:
            raise BackendError(f"{source} has a part {unknown[0]}, which is not supported. Use a model without it.")
        config = _json(source, "1_Pooling/config.json") or {}
        used = [name for name, key in POOLINGS.items() if config.get(key)]
        others = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
        if config and (len(used) != 1 or len(others) != 1):
            raise BackendError(
                f"{source} pools by {', '.join(others) or 'nothing'}. Use a model that pools by mean or cls."
            )
        self._pooling = used[0] if used else "mean"

    def embed(self, texts: Sequence[str]) -> Tensor:
        """One row of length 1 for each text, on the CPU."""
        new = sorted(set(texts) - self._embedded.keys(), key=len)
        for first in range(0, len(new), BATCH):
            part = new[first : first + BATCH]
            with torch.inference_mode():
                inputs = self._loaded.encode(part)
                tokens = self._loaded.model(**inputs).last_hidden_state.float()
                mask = inputs["attention_mask"][:, :, None]
                pooled = tokens[:, 0] if self._pooling == "cls" else (tokens * mask).sum(1) / mask.sum(1).clamp_(min=1)
                embedded = torch.nn.functional.normalize(pooled, dim=-1).cpu()
            self._embedded |= dict(zip(part, embedded, strict=True))
        return torch.stack([self._embedded[text] for text in texts])

    def diversity(self, responses: Sequence[str]) -> float:
        """Minus the mean cosine of the unordered pairs (Tevet & Berant 2021)."""
        embedded = self.embed(responses)
        return reduce_matrix((embedded @ embedded.T).double().numpy())


class TokenMatcher:
    """BERTScore (Zhang et al. 2020, "BERTScore"): every token of one text is matched with its closest of the other.

    From the model's last layer, without weights by frequency and without rescaling. As in the authors' program, the
    tokens added at the ends can be matched with, but do not count in the means.
    """

    def __init__(self, source: str, *, device: str = "auto") -> None:
        self._loaded = _Loaded(AutoModel, source, device)
        self._tokens = cache(self._embed_tokens)

    def f1(self, text: str, reference: str) -> float:
        """The harmonic mean of precision (tokens of the text) and recall (those of the reference); 0 for an empty
        text."""
        (text_tokens, counts), (reference_tokens, others_count) = self._tokens(text), self._tokens(reference)
        if not text.strip() or not reference.strip() or not counts.any() or not others_count.any():
            return 0.0
        cosines = text_tokens @ reference_tokens.T
        precision = float(cosines.amax(1)[counts].mean())
        recall = float(cosines.amax(0)[others_count].mean())
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def _embed_tokens(self, text: str) -> tuple[Tensor, Tensor]:
        """A row of length 1 for each token, and which tokens count."""
        inputs = self._loaded.encode([text])
        with torch.inference_mode():
            states = self._loaded.model(**inputs).last_hidden_state[0].float().cpu()
        # Not all special tokens: unknown ones, such as emoji, are words of the text.
        ends = {self._loaded.tokenizer.cls_token_id, self._loaded.tokenizer.sep_token_id}
        counts = torch.tensor([token not in ends for token in inputs["input_ids"][0].tolist()])
        return torch.nn.functional.normalize(states, dim=-1), counts


def _json(source: str, name: str) -> Any:
    path = cached_file(
        source, name, _raise_exceptions_for_missing_entries=False, _raise_exceptions_for_connection_errors=False
    )
    return json.loads(Path(path).read_text("utf-8")) if path else None
