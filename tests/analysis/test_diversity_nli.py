"""NLI diversity and BLEU on values worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from analysis.diversity.nli import Pair, nli_metric
from analysis.similarity.bleu import sentence_bleu

#: Two contradictions, three neutral pairs and one entailment, as in the first figure of Stasaski & Hearst 2022: 1.
FIGURE_1 = {
    ("a", "b"): ("contradiction", 0.9),
    ("b", "a"): ("contradiction", 0.8),
    ("a", "c"): ("neutral", 0.7),
    ("c", "a"): ("neutral", 0.6),
    ("b", "c"): ("neutral", 0.5),
    ("c", "b"): ("entailment", 0.6),
}


def classify(pairs: Sequence[Pair]) -> list[tuple[str, float]]:
    return [FIGURE_1[pair] for pair in pairs]


@pytest.mark.parametrize(
    ("variant", "score"),
    [
        ("nli", 2 - 1),
        ("nli-neutral", 2 + 3 - 1),
        ("nli-confidence", 0.9 + 0.8 - 0.6),
        ("contradictions", 2),
        ("neutrals", 3),
        ("entailments", 1),
    ],
)
def test_each_variant_adds_its_own_weights_over_all_ordered_pairs(variant: str, score: float) -> None:
    assert nli_metric(variant, classify)(["a", "b", "c"]) == pytest.approx(score)


def test_nli_diversity_refuses_invalid_sets() -> None:
    with pytest.raises(ValueError, match="no NLI metric “nil”; use one of nli, nli-neutral"):
        nli_metric("nil", classify)
    with pytest.raises(ValueError, match="at least 2 responses, not 1"):
        nli_metric("nli", classify)(["a"])
    with pytest.raises(ValueError, match="unknown NLI classes: maybe; known: entailment, neutral, contradiction"):
        nli_metric("nli", lambda pairs: [("maybe", 1.0)] * len(pairs))(["a", "b"])


@pytest.mark.parametrize(
    ("text", "references", "score"),
    [
        ("The cat sat.", "The cat sat.", 1.0),
        # 2 of 2 words and 1 of 1 pair: no n-gram is longer. Two words for three: exp(1 - 3/2).
        ("The cat", "The cat sat", math.exp(-1 / 2)),
        # Of several references, a word is matched as often as the one that has it most often (2 a's in the second), and
        # the closest length counts: 3 of 3 words; 1 of 2 pairs; no triple, so half of 1 of 1 (exponential smoothing).
        ("a b a", ["a b", "a a c d e"], (1 * (1 / 2) * (1 / 2)) ** (1 / 3)),
        ("", "the cat", 0.0),
        ("nothing here", "the cat", 0.0),
        ("the cat", [], 0.0),
    ],
)
def test_bleu_is_that_of_the_papers_program(text: str, references: str | list[str], score: float) -> None:
    assert sentence_bleu(text, references) == pytest.approx(score)
