"""Models that judge texts, compared with plain transformers: one text at a time, without batches or padding."""

from __future__ import annotations

import csv
import io
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.diversity.nli import VARIANTS, nli_metric
from generation.backends.base import BackendError
from tests.generation.support.finished_runs import make_run
from tests.generation.support.tiny_models import PROMPTS, tiny, tiny_encoder

torch = pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

LABELS = ("CONTRADICTION", "entailment", "Neutral")  # any order, any case
TEXTS = [*PROMPTS, "Nobody knew.", "he ran"]


def plain(kind: str, folder: Path) -> tuple[Any, Any]:
    import transformers

    model: Any = getattr(transformers, kind).from_pretrained(folder).eval()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    return model, tokenizer


def test_every_pair_is_classified_as_transformers_does_it_alone() -> None:
    from generation.backends.text_models import InferenceModel

    folder = tiny_encoder(labels=LABELS)
    model, tokenizer = plain("AutoModelForSequenceClassification", folder)
    pairs = list(permutations(TEXTS, 2))
    classes = InferenceModel(str(folder), device="cpu").classify(pairs)
    for (premise, hypothesis), (label, probability) in zip(pairs, classes, strict=True):
        with torch.inference_mode():
            chances = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0].softmax(-1)
        assert label == LABELS[int(chances.argmax())].lower()
        assert probability == pytest.approx(float(chances.max()), abs=1e-5)
    assert len({label for label, _ in classes}) > 1  # otherwise the order of the labels would not matter


def test_classified_pairs_are_not_classified_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from generation.backends.text_models import InferenceModel

    model = InferenceModel(str(tiny_encoder(labels=LABELS)), device="cpu")
    before = model.classify([("a", "b"), ("b", "a")])
    n_texts: list[int] = []
    encode = model._loaded.encode

    def counted(*texts: list[str]) -> Any:
        n_texts.append(len(texts[0]))
        return encode(*texts)

    monkeypatch.setattr(model._loaded, "encode", counted)
    after = model.classify([("b", "a"), ("a", "b"), ("a", "c"), ("a", "c")])
    assert (after[0], after[1], n_texts) == (before[1], before[0], [1])


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token", ""])
def test_embeddings_are_pooled_as_the_model_says(pooling: str) -> None:
    from generation.backends.text_models import SentenceEmbedder

    folder = tiny_encoder(pooling=pooling, parts=("Normalize",))
    model, tokenizer = plain("AutoModel", folder)
    rows = []
    for text in TEXTS:
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        rows.append(states[0] if pooling == "cls_token" else states.mean(0))
    cosines = [float(torch.cosine_similarity(one, other, dim=0)) for one, other in combinations(rows, 2)]
    embedder = SentenceEmbedder(str(folder), device="cpu")
    assert embedder.diversity(TEXTS) == pytest.approx(-sum(cosines) / len(cosines), abs=1e-5)
    assert embedder.diversity(["he ran", "he ran"]) == pytest.approx(-1, abs=1e-6)


def test_bertscore_matches_every_token_with_its_closest() -> None:
    from generation.backends.text_models import TokenMatcher

    folder = tiny_encoder()
    model, tokenizer = plain("AutoModel", folder)

    def states(text: str) -> Any:
        with torch.inference_mode():
            return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]

    one, other = states(TEXTS[0]), states(TEXTS[1])
    grid = [[float(torch.cosine_similarity(a, b, dim=0)) for b in other] for a in one]
    precision = sum(max(row) for row in grid) / len(one)
    recall = sum(max(column) for column in zip(*grid, strict=True)) / len(other)
    matcher = TokenMatcher(str(folder), device="cpu")
    assert matcher.f1(TEXTS[0], TEXTS[1]) == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)
    assert matcher.f1("he ran", "he ran") == pytest.approx(1, abs=1e-6)
    assert matcher.f1("", "he ran") == 0


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (lambda: tiny_encoder(labels=("positive", "negative")), "tells positive, negative apart. An NLI metric needs"),
        (lambda: Path("/nowhere"), "/nowhere"),
    ],
)
def test_a_model_without_nli_labels_is_refused(source: Any, part: str) -> None:
    from generation.backends.text_models import InferenceModel

    with pytest.raises(BackendError, match=part):
        InferenceModel(str(source()), device="cpu")


def test_an_embedding_model_with_an_unknown_part_or_pooling_is_refused() -> None:
    from generation.backends.text_models import SentenceEmbedder

    with pytest.raises(BackendError, match="has a part Dense, which is not supported"):
        SentenceEmbedder(str(tiny_encoder(pooling="mean_tokens", parts=("Dense",))), device="cpu")
    with pytest.raises(BackendError, match="pools by pooling_mode_max_tokens"):
        SentenceEmbedder(str(tiny_encoder(pooling="max_tokens")), device="cpu")


@pytest.mark.django_db
def test_sets_are_resampled_by_nli_until_there_are_contradictions_enough(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The published rule: NLI diversity decides which response goes, the number of contradictions when to stop."""
    from generation.backends.text_models import InferenceModel

    folder = str(tiny_encoder(labels=LABELS))
    run = make_run({"ancestral": [TEXTS]})
    references = tmp_path / "references.csv"
    references.write_text(f"id,reference\n{run.contexts.get().external_id},he was ill\n", encoding="utf-8")
    arguments = ("--metric", "nli", "--stop", "contradictions", "--metric-model", folder, "--device", "cpu")
    call_command(
        "samples", "diversify", "sweep", *arguments, "--threshold", "10", "--size", "5", "--most", "6",
        "--references", str(references), "--relevance-model", str(tiny_encoder()),
    )  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    classify = InferenceModel(folder, device="cpu").classify
    first, last = TEXTS[:5], [row[f"resp_{number}"] for number in range(5)]
    for texts, end in ((first, "start"), (last, "end")):
        labels = [label for label, _ in classify(list(permutations(texts, 2)))]
        counts = {label: labels.count(label) for label in ("contradiction", "entailment")}
        assert float(row[f"{end}_score"]) == counts["contradiction"] - counts["entailment"]
        assert float(row[f"{end}_stop"]) == counts["contradiction"]
        assert -1 <= float(row[f"{end}_bertscore"]) <= 1
    assert row["reached"] == str(int(float(row["end_stop"]) > 10))


@pytest.mark.django_db
def test_a_metric_model_that_cannot_be_loaded_is_reported_plainly() -> None:
    make_run({"ancestral": [TEXTS]})
    for source, part in (("/nowhere", "/nowhere"), (str(tiny()), "tells")):
        with pytest.raises(CommandError, match=part):
            call_command("samples", "diversify", "sweep", "--metric", "nli", "--metric-model", source,
                         "--threshold", "1", "--size", "3")  # fmt: skip


def test_every_variant_has_a_name_on_the_command_line() -> None:
    from generation.diversify.metrics import find_metrics

    metrics = find_metrics(VARIANTS, model=str(tiny_encoder(labels=LABELS)), device="cpu")
    assert tuple(metrics) == VARIANTS
    assert metrics["neutrals"](TEXTS) + metrics["contradictions"](TEXTS) + metrics["entailments"](TEXTS) == 30
    assert nli_metric("nli", lambda pairs: [("neutral", 1.0)] * len(pairs))(["a", "b"]) == 0
