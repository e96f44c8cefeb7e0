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
    with_model: dict[str, Metric] = {}
    needing = [name for name in names if name in WITH_MODEL]
    if needing and not model:
        raise ValueError(f"The metric {needing[0]} needs a model: add --metric-model with a hub name or a folder.")
    inference = [name for name in needing if name != EMBEDDING]
    if inference and len(inference) < len(needing):
        raise ValueError("The embedding and an NLI metric need two different models; use metrics of one kind.")
    if inference:
        classifier = _text_models().InferenceModel(model, device=device)
        with_model = {name: nli_metric(name, classifier.classify) for name in inference}
    elif needing:
        with_model = {EMBEDDING: _text_models().SentenceEmbedder(model, device=device).diversity}
    return {name: with_model.get(name) or METRICS.get(name) or _metric_by_path(name) for name in names}


def _metric_by_path(name: str) -> Metric:
    module, _, attribute = name.rpartition(".")
    try:
        metric = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError):  # TypeError: a path that begins with a dot
        metric = None
    if not callable(metric):
        raise ValueError(
            f"There is no metric “{name}”. Known: {known_metrics()}; or give the dotted path of a function from a list "
            "of texts to a number."
        )
    return cast(Metric, metric)


def find_relevance(*, model: str = "", device: str = "auto") -> dict[str, Relevance]:
    """BLEU, and BERTScore if there is a model for it."""
    relevance: dict[str, Relevance] = {"bleu": sentence_bleu}
    if model:
        f1 = _text_models().TokenMatcher(model, device=device).f1
        # As in the authors' program: the reference that is most like it counts.
        relevance["bertscore"] = lambda text, references: max(f1(text, reference) for reference in references)
    return relevance


def _text_models() -> Any:
    if lacking := why_not("transformers"):
        raise BackendError(lacking)
    return import_module("generation.backends.text_models")
