"""Words and characters are counted by the script of a text."""

from __future__ import annotations

import pytest

from common.text_length import compared_words, count_characters, count_words, is_blank
from tests.common.text_lengths import BLANK, LENGTHS, NOT_BLANK


@pytest.mark.parametrize(("text", "words", "characters"), LENGTHS)
def test_the_length_of_a_text(text: str, words: int, characters: int) -> None:
    assert (count_words(text), count_characters(text)) == (words, characters)


def test_what_cannot_be_seen_is_not_an_answer() -> None:
    assert [text for text in BLANK if not is_blank(text)] == []
    assert [text for text in NOT_BLANK if is_blank(text)] == []


def test_texts_are_compared_by_words_and_without_spaces_by_characters() -> None:
    assert compared_words("The OWL, “sat”\u00ad there; x_1") == ["the", "owl", "sat", "there", "x_1"]
    assert compared_words("我喜欢狗。Dogs!") == ["我", "喜", "欢", "狗", "dogs"]
    assert compared_words("हिन्दी\u200cभाषा") == ["हिन्दीभाषा"]
    assert compared_words("ที่นี่") == ["ที่", "นี่"]


def test_a_long_text_is_counted_in_linear_time() -> None:
    assert count_words("…" * 100_000) == 0
    assert count_words("字" * 100_000) == 100_000
