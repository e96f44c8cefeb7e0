"""Sentence embeddings without torch: tokens and vectors as transformers has them, similarities as published."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.similarity import embedding
from analysis.similarity.embedding import NoEmbedder, load_embedder, packaged_model
from analysis.similarity.encoder import TOKENS, Encoder, batches, gelu, read_weights
from analysis.similarity.wordpiece import WordPieces, read_vocabulary, words_of
from tests.generation.support.tiny_models import tiny_encoder

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "un",
    "##aff",
    "##able",
    "##a",
    "the",
    "e",
    "##e",
    ",",
    "猫",
    "a",
    "b",
    "##b",
]
#: Latin, Greek and Cyrillic. Elsewhere the two programs know different versions of Unicode, with other classes.
SIGNS = st.characters(max_codepoint=0x4FF, exclude_categories=["Cn"])
VOCABULARY = {piece: number for number, piece in enumerate(PIECES)}


def pieces(text: str, *, most: int = 32) -> list[str]:
    return [PIECES[number] for number in WordPieces(VOCABULARY, most=most)(text)[1:-1]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # The example in the documentation of the released tokenizer.
        ("unaffable", ["un", "##aff", "##able"]),
        ("The, thé", ["the", ",", "the"]),
        ("the\tTHE\u200b\n the", ["the"] * 3),
        ("猫猫", ["猫", "猫"]),
        ("dog ae", ["[UNK]", "a", "##e"]),
        ("a" * 100, ["a", *["##a"] * 99]),
        ("a" * 101, ["[UNK]"]),
        ("  ", []),
    ],
)
def test_pieces_by_hand(text: str, found: list[str]) -> None:
    assert pieces(text, most=200) == found


def test_long_texts_are_cut_before_the_last_token() -> None:
    numbers = WordPieces(VOCABULARY, most=5)("a b unaffable")
    assert [PIECES[number] for number in numbers] == ["[CLS]", "a", "b", "un", "[SEP]"]


@settings(max_examples=300, deadline=None)
@given(st.text(st.one_of(st.sampled_from("abeén ,'’ \t\u0301猫İß"), SIGNS), max_size=40))
def test_pieces_are_those_of_the_tokenizers_library(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed (script/setup --models)")
    reference = tokenizers.Tokenizer(tokenizers.models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    reference.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    reference.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    assert pieces(text, most=1000) == reference.encode(text).tokens


def test_words_have_no_accents_and_signs_stand_alone() -> None:
    assert words_of("Don’t GO, Zoë—now!") == ["don", "’", "t", "go", ",", "zoe", "—", "now", "!"]


# --- the encoder ---


def test_gelu_by_hand() -> None:
    # Φ(1) = 0.8413447, Φ(−2) = 0.0227501.
    assert gelu(np.array([0, 1, -2], dtype=np.float32)) == pytest.approx([0, 0.8413447, -0.0455003], abs=1e-6)


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


def test_the_packaged_vocabulary_is_that_of_its_tokenizer(packaged: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed (script/setup --models)")
    reference = tokenizers.Tokenizer.from_file(str(packaged / "tokenizer.json"))
    reference.no_padding()
    reference.no_truncation()
    tokens_of = WordPieces(read_vocabulary(packaged / "vocab.txt"), most=512)
    for text in ("I lost my keys again.", "Zoë’s antidisestablishmentarianism – 猫 😀\tx", "co-operate 3.5% ???"):
        assert tokens_of(text) == reference.encode(text).ids


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda name: None)
    with pytest.raises(NoEmbedder, match=r"not installed: pip install --no-deps -r requirements-embedded\.txt"):
        load_embedder()
