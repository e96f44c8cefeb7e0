"""Metrics that need a model, compared with other programs' inference: transformers, sentence-transformers, our own."""

from __future__ import annotations

import csv
import sys
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.diversity.neural_metrics import NEURAL, neural_scores
from analysis.diversity.nli import VARIANTS, nli_metric
from analysis.similarity.embedding import packaged_model
from analysis.similarity.neural import NoModel, bert_score, similarity_rater
from tests.generation.support.tiny_models import tiny_encoder

torch = pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (requirements-neural.txt)")

LABELS = ("CONTRADICTION", "entailment", "Neutral")  # any order, any case
SETS = [
    ["The dog ran home.", "A dog ran to its house.", "Nobody knew why."],
    ["I like tea.", "I like tea.", "I like tea."],
    ["", "It rained all day.", "We never met again, and that was that."],
]
SMALL = Path(__file__).parent / "support" / "diversity_data" / "small.csv"


def mean_of_pairs(responses: list[str], similarity: Any) -> float:
    return -float(np.mean([similarity(left, right) for left, right in combinations(responses, 2)]))


def test_sentence_embeddings_are_the_same_with_the_packaged_encoder_and_with_sentence_transformers() -> None:
    folder = str(packaged_model())
    packaged, named = (neural_scores(["embedding"], SETS, model=model)["embedding"] for model in ("", folder))
    np.testing.assert_allclose(packaged, named, atol=1e-5)
    assert packaged[1] == pytest.approx(-1.0, abs=1e-6)  # three equal texts: every cosine is 1


def test_bertscore_is_the_mean_f1_of_the_pairs_as_another_implementation_has_it() -> None:
    from generation.backends.text_models import TokenMatcher

    folder = str(packaged_model())
    own = TokenMatcher(folder, device="cpu").f1
    expected = [mean_of_pairs(responses, own) for responses in SETS]
    np.testing.assert_allclose(neural_scores(["bertscore"], SETS, model=folder)["bertscore"], expected, atol=1e-5)


def test_a_pair_with_an_empty_text_has_a_bertscore_of_zero() -> None:
    assert bert_score(str(packaged_model()))([("", "It rained."), ("It rained.", "It rained.")]) == pytest.approx(
        [0, 1]
    )


def test_every_nli_metric_is_that_of_one_pair_at_a_time() -> None:
    from generation.backends.text_models import InferenceModel

    folder = str(tiny_encoder(labels=LABELS))
    alone = InferenceModel(folder, device="cpu").classify
    scores = neural_scores(VARIANTS, SETS, model=folder)
    for name in VARIANTS:
        metric = nli_metric(name, lambda pairs: [alone([pair])[0] for pair in pairs])
        assert scores[name] == pytest.approx([metric(responses) for responses in SETS], abs=1e-5), name
    asked = [pair for responses in SETS for pair in permutations(responses, 2)]
    assert len({label for label, _ in alone(asked)}) > 1  # otherwise the order of the labels would not matter


def test_similarity_of_a_cross_encoder_is_the_mean_of_both_directions() -> None:
    import transformers

    folder = tiny_encoder(labels=("similarity",))
    model: Any = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)

    def similarity(left: str, right: str) -> float:
        with torch.inference_mode():
            logits = [
                model(**tokenizer(*pair, return_tensors="pt")).logits[0, 0] for pair in ((left, right), (right, left))
            ]
        return float(torch.sigmoid(torch.stack(logits)).mean())

    sets = [SETS[0], SETS[1]]
    expected = [mean_of_pairs(responses, similarity) for responses in sets]
    assert neural_scores(["bert-sts"], sets, model=str(folder))["bert-sts"] == pytest.approx(expected, abs=1e-5)
    there, back = similarity_rater(str(folder))([(SETS[0][0], SETS[0][1]), (SETS[0][1], SETS[0][0])])
    assert there == back


@pytest.mark.parametrize(
    ("names", "model", "says"),
    [
        (["nli"], "", "nli needs a model: add --model"),
        (["bert-sts"], "", "bert-sts needs a model: add --model"),
        (["nli", "bertscore"], "x", "need different models: compute them in separate commands"),
        (["embedding"], "/no/such/folder", "/no/such/folder cannot be loaded"),
        (["bertscore"], "/no/such/folder", "add --layer"),
    ],
)
def test_a_model_that_cannot_serve_is_refused(
    names: list[str], model: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=says):
        neural_scores(names, SETS, model=model)


def test_labels_that_are_not_those_of_the_metric_are_named() -> None:
    with pytest.raises(NoModel, match="tells similarity apart"):
        neural_scores(["nli"], SETS, model=str(tiny_encoder(labels=("similarity",))))
    with pytest.raises(NoModel, match="CONTRADICTION, entailment, Neutral apart"):
        neural_scores(["bert-sts"], SETS, model=str(tiny_encoder(labels=LABELS)))


def test_the_command_adds_columns_and_tests_use_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "scored.csv"
    assert main(["diversity", str(SMALL), "--metric", "distinct-n,embedding,bertscore", "--out", str(out)]) == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sets = [[text for column, text in row.items() if column.startswith("resp_")] for row in rows]
    expected = neural_scores(["embedding"], sets)
    assert [float(row["metric_embedding"]) for row in rows] == pytest.approx(expected["embedding"].tolist(), abs=1e-6)
    assert {"metric_distinct_n", "metric_bertscore"} <= rows[0].keys()


def test_without_the_package_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    assert main(["diversity", str(SMALL), "--metric", "bertscore"]) == 2
    error = capsys.readouterr().err
    assert "bert_score is not installed" in error and "pip install -r requirements-neural.txt" in error


def test_the_commands_know_every_metric_that_needs_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diversity", str(SMALL), "--metric", "embedding,nli"]) == 2
    assert "need different models" in capsys.readouterr().err
    assert {"embedding", "bertscore", "bert-sts", "nli", "contradictions"} <= set(NEURAL)
