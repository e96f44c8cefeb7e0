"""The metrics of Diversity Threshold Generation by name, and the relevance of a response to human references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

from analysis.diversity.metrics import METRICS, Metric
from analysis.diversity.nli import VARIANTS, nli_metric
from analysis.similarity.bleu import sentence_bleu
from generation.backends.base import BackendError
from generation.backends.requirements import why_not

EMBEDDING = "embedding"
#: Metrics that need a model: one for sentence embeddings, or one that classifies inference.
WITH_MODEL = (EMBEDDING, *VARIANTS)
#: From a response and the human references of its context to a number.
Relevance = Callable[[str, Sequence[str]], float]


def known_metrics() -> str:
    return f"{', '.join(METRICS)}; with --metric-model: {', '.join(WITH_MODEL)}"


def find_metrics(names: Sequence[str], *, model: str = "", device: str = "auto") -> dict[str, Metric]:
    """The metrics with these names, which can also be dotted paths of functions. Loads the model once, if a metric
    needs it. Raises ValueError or BackendError."""
    found: dict[str, Metric] = {}
    needing = [name for name in names if name in WITH_MODEL]
    if needing and not model:
        raise ValueError(f"The metric {needing[0]} needs a model: add --metric-model with a hub name or a folder.")
    inference = [name for name in needing if name != EMBEDDING]
    if inference and len(inference) < len(needing):
        raise ValueError("The embedding and an NLI metric need two different models; use metrics of one kind.")
    if needing:
        found = _with_model(needing, model, device)
    return {name: found.get(name) or METRICS.get(name) or _by_path(name) for name in names}


def _with_model(names: Sequence[str], model: str, device: str) -> dict[str, Metric]:
    text_models = _text_models()
    if EMBEDDING in names:
        return {EMBEDDING: text_models.SentenceEmbedder(model, device=device).diversity}
    classifier = text_models.InferenceModel(model, device=device)
    return {name: nli_metric(name, classifier.classify) for name in names}


def _by_path(name: str) -> Metric:
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError):  # TypeError: a path that begins with a dot
        found = None
    if not callable(found):
        raise ValueError(
            f"There is no metric “{name}”. Known: {known_metrics()}; or give the dotted path of a function from a list "
            "of texts to a number."
        )
    return cast(Metric, found)


def find_relevance(*, model: str = "", device: str = "auto") -> dict[str, Relevance]:
    """BLEU, and BERTScore if there is a model for it."""
    found: dict[str, Relevance] = {"bleu": sentence_bleu}
    if model:
        f1 = _text_models().TokenMatcher(model, device=device).f1
        # As in the authors' program: the reference that is most like it counts.
        found["bertscore"] = lambda text, references: max(f1(text, each) for each in references)
    return found


def _text_models() -> Any:
    if lacking := why_not("transformers"):
        raise BackendError(lacking)
    return import_module("generation.backends.text_models")
