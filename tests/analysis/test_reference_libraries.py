"""Similarities of real and odd texts, beside what the reference libraries give when a test calls them itself.

Differences are at most 1e-6. There is no corpus BLEU to compare: every figure here is of one text, and means are over
texts, so a corpus of one text is what sacrebleu is asked for.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from analysis.commands.references import rouge_l_f1
from analysis.diversity.association import Floats
from analysis.similarity.bleu import sentence_bleu
from analysis.similarity.embedding import packaged_model
from analysis.similarity.movers import MEASURES, mover_similarity, story_of
from tests.services import ROOT

CLOSE = 1e-6
ODD = (
    "",
    "   \n\t",
    "?!",
    "...",
    "the the the the",
    "THE DOG; the dog, 'the dog' -- \"the dog\"!",
    "It cost $1,234.56 (or 3.5%), didn't it?",
    "state-of-the-art, e.g. 2-to-1 & <b>bold</b> &quot;quoted&quot;",
    "Der Igel aß fünf süße Äpfel. Café, naïve, e\u0301te\u0301.",
    "Она прочитала письмо. Никто не знал почему.",
    "猫が寝ている。犬は走った。",
    "قرأت الرسالة ثم صمتت.",
    "👩‍👩‍👧 went home 🎉🎉",
    "zero\u200bwidth non\u00a0breaking ｆｕｌｌ",
)


def _texts() -> list[list[str]]:
    """Groups of texts about one thing: the replies and endings of the examples, and short stories."""
    groups = []
    for name in ("sets", "endings"):
        with (ROOT / "examples" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            groups += [[cell for key, cell in row.items() if key.startswith("resp_")] for row in csv.DictReader(file)]
    for name, column in (("stories", "context"), ("short-stories", "text"), ("continuations", "text")):
        with (ROOT / "examples" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            groups.append([row[column] for row in csv.DictReader(file)])
    return groups


GROUPS = _texts()
PAIRS = [pair for group in GROUPS for pair in combinations(group, 2)]
ODD_PAIRS = [(left, right) for left in (*ODD, GROUPS[0][0]) for right in (*ODD, GROUPS[0][0])]


def furthest(ours: Iterable[float], theirs: Iterable[float]) -> float:
    """The largest difference; both have to be undefined for the same texts."""
    left, right = np.array(list(ours)), np.array(list(theirs))
    assert len(left) >= 100 and len(left) == len(right)
    np.testing.assert_array_equal(np.isnan(left), np.isnan(right))
    return float(np.nanmax(np.abs(left - right)))


def test_bleu_is_sacrebleus_with_one_and_with_several_references() -> None:
    import sacrebleu

    cases = [(text, [reference]) for text, reference in PAIRS + ODD_PAIRS]
    cases += [(text, [other for other in group if other is not text]) for group in (*GROUPS, ODD) for text in group]
    ours = [sentence_bleu(text, references) for text, references in cases]
    theirs = [sacrebleu.sentence_bleu(text, references).score / 100 for text, references in cases]
    assert furthest(ours, theirs) <= CLOSE
    of_one = [
        sacrebleu.corpus_bleu([text], [[reference] for reference in references], use_effective_order=True).score / 100
        for text, references in cases
    ]
    assert furthest(ours, of_one) <= CLOSE


def test_bleu_is_nltks_on_the_same_tokens() -> None:
    # NLTK's own count, with the weights of n-grams as long as the text and the smoothing of mteval-v13a (its method 3).
    from nltk.translate.bleu_score import SmoothingFunction
    from nltk.translate.bleu_score import sentence_bleu as nltk_bleu
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    words: Any = Tokenizer13a()  # type: ignore[no-untyped-call]
    smooth = SmoothingFunction().method3
    cases = [(text, [other for other in group if other is not text]) for group in GROUPS for text in group]
    cases += [(text, [reference]) for text, reference in ODD_PAIRS if text.strip() and reference.strip()]
    theirs = []
    for text, references in cases:
        tokens = words(text).split()
        longest = min(4, len(tokens))
        split = [words(reference).split() for reference in references]
        theirs.append(float(nltk_bleu(split, tokens, [1 / longest] * longest, smooth)))
    assert furthest((sentence_bleu(text, references) for text, references in cases), theirs) <= CLOSE


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        # Tokens of mteval-v13a: punctuation apart, but not within a number. "cost 3.5 !" to "cost 3.5 .": 2 of 3
        # words, 1 of 2 pairs, no triple, so half of 1 of 1.
        ("cost 3.5!", "cost 3.5.", (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)),
        # Case is kept: "dog" of 2 words, and no pair.
        ("The dog", "the dog", (1 / 2 * 1 / 2) ** (1 / 2)),
        # Each further length without a match halves again: 1 of 4 words, then 1/2 of 3, 1/4 of 2 and 1/8 of 1.
        ("a b c d", "a x y z", (1 / 4 * (1 / 2) / 3 * (1 / 4) / 2 * (1 / 8) / 1) ** (1 / 4)),
    ],
)
def test_bleu_has_the_published_tokens_case_and_smoothing(text: str, reference: str, score: float) -> None:
    assert sentence_bleu(text, reference) == pytest.approx(score, abs=1e-9)


def test_rouge_l_is_that_of_googles_package_and_of_the_definition() -> None:
    import re

    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    pairs = PAIRS + ODD_PAIRS
    ours = [rouge_l_f1()(text, reference) for text, reference in pairs]
    theirs = [scorer.score(target=reference, prediction=text)["rougeL"].fmeasure for text, reference in pairs]
    assert furthest(ours, theirs) <= CLOSE

    def defined(text: str, reference: str) -> float:
        left, right = (re.findall("[a-z0-9]+", part.lower()) for part in (text, reference))
        common = np.zeros((len(left) + 1, len(right) + 1), dtype=int)
        for i, word in enumerate(left):
            for j, other in enumerate(right):
                common[i + 1, j + 1] = common[i, j] + 1 if word == other else max(common[i, j + 1], common[i + 1, j])
        return 2 * int(common[-1, -1]) / (len(left) + len(right)) if left and right else 0.0

    assert furthest(ours, (defined(*pair) for pair in pairs)) <= CLOSE


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("dogs run", "dog runs", 0.0),  # words are not stemmed
        ("The DOG, ran!", "the dog ran", 1.0),  # case and punctuation do not count
        ("home ran the dog", "the dog ran home", 2 * (2 / 4) * (2 / 4) / (2 / 4 + 2 / 4)),  # "the dog", in this order
        ("猫が寝ている", "猫が寝ている", 0.0),  # the package knows Latin letters and digits only
    ],
)
def test_rouge_l_has_the_packages_defaults(text: str, reference: str, score: float) -> None:
    assert rouge_l_f1()(text, reference) == pytest.approx(score)


def _vectors() -> dict[str, Floats]:
    """A vector for all content words but every tenth, which is unknown."""
    rng = np.random.default_rng(24)
    texts = [*(text for group in GROUPS for text in group), *ODD]
    words = sorted({word for text in texts for sentence in story_of(text) for word in sentence})
    return {word: rng.normal(size=25) for number, word in enumerate(words) if number % 10}


def _bag(text: str, vectors: dict[str, Floats], measure: str) -> tuple[Floats, Floats]:
    """Every word and sentence as a point of its own, equal words too."""
    known = [sentence for part in story_of(text) if (sentence := [vectors[word] for word in part if word in vectors])]
    words = [(vector, 1.0) for sentence in known for vector in sentence]
    means = [(np.mean(sentence, axis=0), float(len(sentence))) for sentence in known]
    points = {"wms": words, "sms": means, "s+wms": words + means}[measure]
    weights = np.array([weight for _, weight in points])
    return np.array([point for point, _ in points]), weights / weights.sum() if len(weights) else weights


def _program(a: Floats, b: Floats, costs: Floats) -> float:
    equal = [np.kron(np.eye(len(a)), np.ones(len(b))), np.kron(np.ones(len(a)), np.eye(len(b)))]
    solved = linprog(costs.ravel(), A_eq=np.vstack(equal), b_eq=np.concatenate([a, b]))
    assert solved.success
    return float(solved.fun or 0)


@pytest.mark.parametrize("measure", MEASURES)
def test_mover_similarities_are_those_of_pot_and_of_a_linear_program(measure: str) -> None:
    ot = pytest.importorskip("ot", reason="POT is not installed (requirements-analysis.txt)")
    vectors = _vectors()
    # Texts of several sentences too, so that sentences differ from texts.
    longer = [" ".join(group) for group in GROUPS[:12]]
    pairs = PAIRS[::3] + ODD_PAIRS[::2] + list(combinations(longer, 2))
    theirs, programs = [], []
    for text, reference in pairs:
        (points, a), (others, b) = (_bag(part, vectors, measure) for part in (text, reference))
        if not len(a) or not len(b):
            theirs.append(math.nan)
            programs.append(math.nan)
            continue
        costs = cdist(points, others)
        theirs.append(math.exp(-ot.emd2(a, b, costs)))
        programs.append(math.exp(-_program(a, b, costs)) if costs.size < 400 else theirs[-1])
    ours = [mover_similarity(story_of(text), story_of(reference), vectors, measure) for text, reference in pairs]
    assert furthest(ours, theirs) <= CLOSE and furthest(ours, programs) <= CLOSE
    assert sum(not math.isnan(value) for value in ours) >= 100


def test_bertscore_is_the_packages_and_the_papers_greedy_matching() -> None:
    pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
    bert_score: Any = pytest.importorskip("bert_score", reason="bert-score is not installed (requirements-neural.txt)")
    from analysis.similarity import neural
    from generation.backends.text_models import TokenMatcher

    folder = str(packaged_model())
    # bert-score 0.3.13 fails on a text without characters with transformers 5; what these score has a test of its own.
    # Every tenth and every other pair: the model is slow.
    pairs = PAIRS[::10] + [pair for pair in ODD_PAIRS if pair[0].strip() and pair[1].strip()][::2]
    texts, references = (list(side) for side in zip(*pairs, strict=True))
    # The package fills a batch up to its longest text, and a token that is closer to a filled-up place (cosine 0) than
    # to any token counts as 0. So scores of unlike texts depend on the batch, by up to 0.006 here: batches are equal
    # where two calls of the package are compared, and of one pair beside the paper's formulas.
    kind = {"model_type": folder, "num_layers": 6, "device": "cpu"}
    batches = bert_score.score(texts, references, **kind)[2].tolist()
    assert furthest(neural.bert_score(folder, device="cpu")(pairs), batches) <= CLOSE
    alone = bert_score.score(texts, references, batch_size=1, **kind)[2].tolist()
    matcher = TokenMatcher(folder, device="cpu")
    assert furthest((matcher.f1(*pair) for pair in pairs), alone) <= CLOSE
    assert furthest(_greedy(folder, pairs), alone) <= CLOSE


def _greedy(folder: str, pairs: list[tuple[str, str]]) -> list[float]:
    """F1 by the formulas of Zhang et al. 2020, section 3: each token's closest of the other text; ends do not count."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model: Any = AutoModel.from_pretrained(folder, trust_remote_code=False).eval()

    def rows(text: str) -> Floats:
        with torch.inference_mode():
            states = model(**tokenizer(text.strip(), return_tensors="pt")).last_hidden_state[0].double().numpy()
        return np.asarray(states / np.linalg.norm(states, axis=1, keepdims=True))

    row = {text: rows(text) for pair in pairs for text in pair}
    scores = []
    for text, reference in pairs:
        cosines = row[text] @ row[reference].T
        precision, recall = cosines.max(axis=1)[1:-1].mean(), cosines.max(axis=0)[1:-1].mean()
        scores.append(float(2 * precision * recall / (precision + recall)))
    return scores
