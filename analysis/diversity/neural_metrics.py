"""Diversity metrics that need a model, of many sets at once.

Sources: Tevet & Berant 2021, 5 (sentence embeddings, BERTScore and BERT-STS with the reduction); Stasaski & Hearst
2022 (NLI).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from analysis.diversity.association import Floats
from analysis.diversity.nli import VARIANTS, nli_metric
from analysis.diversity.reduction import reduce_matrix
from analysis.similarity.embedding import load_embedder, packaged_model
from analysis.similarity.neural import (
    Compare,
    bert_score,
    inference_classifier,
    sentence_embedder,
    similarity_rater,
)

Sets = Sequence[Sequence[str]]
EMBEDDING, BERTSCORE, BERT_STS = "embedding", "bertscore", "bert-sts"
#: The metrics that need a model. The first two use the packaged one by default.
NEURAL = (EMBEDDING, BERTSCORE, BERT_STS, *VARIANTS)
#: What kind of model a metric needs: metrics of one kind can share a model.
KINDS = {EMBEDDING: "encoder", BERTSCORE: "encoder", BERT_STS: "similarity"} | dict.fromkeys(VARIANTS, "inference")


def neural_scores(
    names: Sequence[str],
    sets: Sets,
    *,
    model: str = "",
    layer: int | None = None,
    device: str | None = None,
    progress: bool = False,
) -> dict[str, Floats]:
    """Each metric of NEURAL in ``names`` for every set, (sets,): larger is more diverse.

    ``model``: a hub name or a folder; empty: the packaged all-MiniLM-L6-v2. ``layer``: of BERTScore. ValueError: no
    usable model, metrics that need different models, or a set with fewer than two responses.
    """
    kinds = {KINDS[name] for name in names}
    if len(kinds) > 1:
        raise ValueError(f"{' and '.join(names)} need different models: compute them in separate commands")
    if not model and kinds != {"encoder"}:
        raise ValueError(f"{names[0]} needs a model: add --model with a hub name or a folder")
    if any(len(responses) < 2 for responses in sets):
        raise ValueError("a set needs at least 2 responses")
    scores: dict[str, Floats] = {}
    if inference := [name for name in names if name in VARIANTS]:
        classify = inference_classifier(model, device=device, progress=progress)
        pairs = list(dict.fromkeys(pair for responses in sets for pair in permutations(responses, 2)))
        classes = dict(zip(pairs, classify(pairs), strict=True))
        for name in inference:
            metric = nli_metric(name, lambda asked: [classes[pair] for pair in asked])
            scores[name] = np.array([metric(responses) for responses in sets])
    if EMBEDDING in names:
        embed = sentence_embedder(model, device=device, progress=progress) if model else load_embedder()
        texts = list(dict.fromkeys(text for responses in sets for text in responses))
        row_of_text = {text: row for row, text in enumerate(texts)}
        rows = embed(texts)
        matrices = (rows[[row_of_text[text] for text in responses]] for responses in sets)
        scores[EMBEDDING] = np.array([reduce_matrix(matrix @ matrix.T) for matrix in matrices])
    if BERTSCORE in names:
        f1 = bert_score(model or str(packaged_model()), layer=layer, device=device, progress=progress)
        scores[BERTSCORE] = _reduced(sets, f1)
    if BERT_STS in names:
        scores[BERT_STS] = _reduced(sets, similarity_rater(model, device=device, progress=progress))
    return scores


def _reduced(sets: Sets, compare: Compare) -> Floats:
    """Minus the mean similarity of the unordered pairs of each set, all pairs compared in one call."""
    pairs = [pair for responses in sets for pair in combinations(responses, 2)]
    ends = np.cumsum([0, *(len(responses) * (len(responses) - 1) // 2 for responses in sets)])
    return np.asarray(-np.add.reduceat(compare(pairs), ends[:-1]) / np.diff(ends))
