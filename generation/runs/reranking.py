"""Several candidates for every sample, of which a scorer's favourite is kept.

The scorer is a registered model (by the mean log p of a text's tokens after the prompt) or a Python function that the
operator named in HITSERVER_SCORERS. Candidate 0 has the sample's own seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeAlias

from django.conf import settings

from generation.backends.base import Backend, BackendError, Generated, NotGenerated, OnDone, Outcome, Request
from generation.decoding.seeds import draw_seed
from generation.models import LanguageModel
from generation.registry import open_models

#: From a prompt and texts that follow it to one number each; the highest is the best.
Scorer: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]


def generate_reranked(
    backend: Backend, requests: Sequence[Request], rerank: Mapping[str, Any] | None, on_done: OnDone | None = None
) -> list[Outcome]:
    """As ``Backend.generate``; with ``rerank``, as a run's spec has it, the best of each request's candidates.

    If a candidate is refused, its request is. Candidates without words are the worst. Raises BackendError.
    """
    if not rerank:
        return backend.generate(requests, on_done)
    scorer, count = scorer_of(rerank), int(rerank["candidates"])
    candidates: list[dict[int, Outcome]] = [{} for _ in requests]
    best: dict[int, Outcome] = {}

    def collect(key: tuple[int, int], outcome: Outcome) -> None:
        number, candidate = key
        candidates[number][candidate] = outcome
        if len(candidates[number]) == count:
            in_order = [candidates[number][place] for place in range(count)]
            best[number] = _best(requests[number].prompt, in_order, scorer)
            if on_done is not None:
                on_done(requests[number].key, best[number])

    drawn = [
        replace(request, key=(number, candidate), seed=draw_seed(request.seed, candidate))
        for number, request in enumerate(requests)
        for candidate in range(count)
    ]
    backend.generate(drawn, collect)
    return [best[number] for number in range(len(requests))]


def scorer_of(rerank: Mapping[str, Any]) -> Scorer:
    """The scorer that a run's spec names. Raises BackendError."""
    if "function" in rerank:
        return _function(str(rerank["function"]))
    model = LanguageModel.objects.filter(name=rerank["model"]).first()
    if int(settings.MODELS_HELD) < 2:
        raise BackendError("A reranking model stays open beside the other: set HITSERVER_MODELS_HELD to 2 or more.")
    if model is None:
        raise BackendError(f"There is no model {rerank['model']} to score with; register it under this name.")

    def mean_log_ps(prompt: str, texts: Sequence[str]) -> list[float]:
        """The mean log p of each text's tokens; −∞ for a text that cannot be scored."""
        scoring: Any = import_module("generation.backends.scoring")
        scores = [-math.inf] * len(texts)
        for number, score in scoring.score_texts(open_models.backend_of(model), [(prompt, text) for text in texts]):
            if isinstance(score, scoring.TextScore):
                scores[number] = score.log_p / len(score.token_log_ps)
        return scores

    return mean_log_ps


def _function(name: str) -> Scorer:
    path = settings.SCORERS.get(name)
    if path is None:
        known = ", ".join(settings.SCORERS) or "none"
        raise BackendError(f"This worker has no scorer {name}; HITSERVER_SCORERS names {known}.")
    module, _, attribute = path.rpartition(".")
    try:
        function: Scorer = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BackendError(f"The scorer {name}, {path}, cannot be imported: {error}") from error
    return function


def _best(prompt: str, outcomes: Sequence[Outcome], scorer: Scorer) -> Outcome:
    """The candidate with the highest score; the first of equal ones."""
    texts = [outcome for outcome in outcomes if isinstance(outcome, Generated)]
    if len(texts) < len(outcomes):
        return next(outcome for outcome in outcomes if isinstance(outcome, NotGenerated))
    scores = [float(score) for score in scorer(prompt, [each.text for each in texts])]
    if len(scores) != len(texts) or any(math.isnan(score) for score in scores):
        raise BackendError(f"The scorer gave {scores} for {len(texts)} texts; it takes one number for each.")
    place = max(range(len(texts)), key=lambda number: (scores[number], -number))
    billed = sum(text.cost[0] for text in texts), sum(text.cost[1] for text in texts)
    return replace(texts[place], billed=billed, score=scores[place] if math.isfinite(scores[place]) else None)
