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
    ("text", "reference", "score"),
    [
        ("The cat sat.", "the cat sat .", 1.0),
        # 3 of 3 words, (1 + 1) of (2 + 1) pairs, (0 + 1) of (1 + 1) triples, 1 of 1; 3 words for 6: exp(1 - 2).
        ("the the cat", "the cat sat on the mat", math.exp(-1) * (2 / 3 / 2) ** 0.25),
        # 2 of 4 words, (0 + 1) of (3 + 1), of (2 + 1), of (1 + 1); longer than the reference: no penalty.
        ("a cat the dog", "dog cat", (2 / 4 / 4 / 3 / 2) ** 0.25),
        ("nothing here", "the cat", 0.0),
        ("", "the cat", 0.0),
        ("the cat", "", 0.0),
    ],
)
def test_bleu_with_one_added_from_pairs_on(text: str, reference: str, score: float) -> None:
    assert sentence_bleu(text, reference) == pytest.approx(score)


def test_bleu_needs_an_order() -> None:
    with pytest.raises(ValueError, match="order must be 1 or more, not 0"):
        sentence_bleu("a", "a", order=0)


def test_bleu_of_several_references_clips_by_the_most_and_compares_with_the_closest_length() -> None:
    """By hand, n up to 2, with one added for bigrams. Text: a b a. References: a b, a a c d e.

    One word: a twice (the second has two), b once: 3 of 3. Pairs: a b is in the first, b a in none: (1 + 1) of (2 + 1).
    The closest length is 2, which is not longer than 3: no penalty. BLEU is the root of 2/3.
    """
    assert sentence_bleu("a b a", ["a b", "a a c d e"], order=2) == pytest.approx((2 / 3) ** 0.5)
    assert sentence_bleu("a b a", [], order=2) == 0
    # Lengths 2 and 4 are as close to 3: the shorter counts. Only one word is compared: a of a.
    assert sentence_bleu("a a a", ["a a", "a a a a"], order=1) == 1
