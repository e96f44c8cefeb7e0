"""The tokens of uncased BERT models: words in lower case without accents, cut into the longest pieces of a vocabulary.

Source: Devlin et al. 2019, §3, and the tokenizer that was released with it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

#: A longer word is one unknown token.
LONGEST_WORD = 100
#: Blocks of ideographs, each of which is a word (CJK and its extensions, as in the released tokenizer).
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)
_ASCII_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class WordPieces:
    """Numbers of a text's tokens, between ``[CLS]`` and ``[SEP]``. KeyError: the vocabulary lacks a special token."""

    def __init__(self, vocabulary: Mapping[str, int], *, most: int) -> None:
        self._vocabulary, self._most = vocabulary, most
        self._start, self._end, self._unknown = (vocabulary[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._pieces_of_word: dict[str, list[int]] = {}

    def __call__(self, text: str) -> list[int]:
        """At most ``most`` numbers: what is beyond is cut off."""
        numbers = [self._start]
        for word in words_of(text):
            if len(numbers) >= self._most - 1:
                break
            if word not in self._pieces_of_word:
                self._pieces_of_word[word] = self._pieces(word)
            numbers += self._pieces_of_word[word]
        return [*numbers[: self._most - 1], self._end]

    def _pieces(self, word: str) -> list[int]:
        """The longest piece from the left, then the longest of the rest; unknown if some part is in no piece."""
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = self._vocabulary.get("##" * (start > 0) + word[start:end])
                if piece is not None:
                    pieces.append(piece)
                    start = end
                    break
            else:
                return [self._unknown]
        return pieces


def read_vocabulary(path: Path) -> dict[str, int]:
    """A piece per line; its number is that of the line, from 0."""
    with path.open(encoding="utf-8", newline="\n") as file:
        return {line.rstrip("\n"): number for number, line in enumerate(file)}


def words_of(text: str) -> list[str]:
    """Lower-case words without accents; every punctuation mark and ideograph is a word."""
    # Without control characters; all white space as spaces.
    cleaned = (
        " " if sign.isspace() else sign
        for sign in text
        if sign in "\t\n\r" or (sign != "\ufffd" and unicodedata.category(sign) not in ("Cc", "Cf", "Co"))
    )
    spaced = "".join(f" {sign} " if _is_ideograph(ord(sign)) else sign for sign in cleaned)
    plain = "".join(sign for sign in unicodedata.normalize("NFD", spaced) if unicodedata.category(sign) != "Mn")
    lower = "".join(sign.lower() for sign in plain)
    return "".join(
        f" {sign} " if sign in _ASCII_SIGNS or unicodedata.category(sign).startswith("P") else sign for sign in lower
    ).split()


def _is_ideograph(code: int) -> bool:
    return code >= 0x3400 and any(first <= code <= last for first, last in _IDEOGRAPHS)
