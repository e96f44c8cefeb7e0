"""Diversity of a set from natural language inference between its responses.

Shapes: a set of k responses has k(k−1) ordered pairs, premise and hypothesis; ``classify`` gives a class and its
probability for each of them. No model is built in: the caller passes a function.

Source: Stasaski & Hearst 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import TypeAlias

from analysis.diversity.metrics import Metric

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
CLASSES = (ENTAILMENT, NEUTRAL, CONTRADICTION)

Pair: TypeAlias = tuple[str, str]
#: The class of each pair and the probability that the model gives it.
Classify: TypeAlias = Callable[[Sequence[Pair]], Sequence[tuple[str, float]]]

#: How much one pair of each class adds to the score.
_WEIGHTS: dict[str, dict[str, float]] = {
    "nli": {CONTRADICTION: 1, NEUTRAL: 0, ENTAILMENT: -1},
    "nli-neutral": {CONTRADICTION: 1, NEUTRAL: 1, ENTAILMENT: -1},
    "nli-confidence": {CONTRADICTION: 1, NEUTRAL: 0, ENTAILMENT: -1},
    "contradictions": {CONTRADICTION: 1, NEUTRAL: 0, ENTAILMENT: 0},
    "neutrals": {CONTRADICTION: 0, NEUTRAL: 1, ENTAILMENT: 0},
    "entailments": {CONTRADICTION: 0, NEUTRAL: 0, ENTAILMENT: 1},
}
#: Baseline, Neutral and Confidence NLI Diversity, then the three counts.
VARIANTS = tuple(_WEIGHTS)


def nli_metric(variant: str, classify: Classify) -> Metric:
    """The metric ``variant``, one of VARIANTS, with that model.

    ``nli`` adds 1 for a contradiction and −1 for an entailment; ``nli-neutral`` also adds 1 for a neutral pair;
    ``nli-confidence`` uses the probability of the class instead of 1. The rest count the pairs of one class. Raises
    ValueError for an unknown variant. The metric raises it for fewer than two responses or an unknown class.
    """
    if variant not in _WEIGHTS:
        raise ValueError(f"There is no NLI metric “{variant}”; use one of {', '.join(VARIANTS)}.")
    weights = _WEIGHTS[variant]

    def metric(responses: Sequence[str]) -> float:
        if len(responses) < 2:
            raise ValueError(f"a set needs at least 2 responses, not {len(responses)}")
        classified = classify(list(permutations(responses, 2)))
        if unknown := {name for name, _ in classified} - set(CLASSES):
            raise ValueError(f"unknown NLI classes: {', '.join(sorted(unknown))}; known: {', '.join(CLASSES)}")
        confident = variant == "nli-confidence"
        return math.fsum(weights[name] * (probability if confident else 1.0) for name, probability in classified)

    return metric
