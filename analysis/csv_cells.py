"""Cells of a column of a CSV file as numbers of their different texts, from the bytes of the file.

Eight bytes are one number, so most cells are a number or two, and numbers are compared faster than texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.rating_codes import first_places

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

WORD_BYTES = 8
#: Longer cells are compared as texts.
MOST_WORDS = 4
#: What a word has of a cell with as many bytes left: the bytes after it are another cell's.
_PART = np.array([(1 << (8 * count)) - 1 for count in range(WORD_BYTES + 1)], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Column:
    """The cells of a column (N,) as ``codes`` into its distinct ``texts``, which are in the order of appearance."""

    codes: Codes
    texts: npt.NDArray[np.object_]

    @property
    def categories(self) -> pd.Index:
        return pd.Index(self.texts, dtype=object)


class CellCodes:
    """The cells of a column, block by block."""

    def __init__(self) -> None:
        #: Of every cell its number among the different cells of its block, or of the column if there are texts.
        self._codes = array("i")
        self._ends: list[int] = []
        #: Of each block, its different cells.
        self._words: list[Words] = []
        self._code_of: dict[bytes, int] | None = None

    def add(self, block: bytes, words_from: Words, starts: Places, lengths: Places) -> None:
        """The next cells (N,): where they begin in the block, and how many bytes they have. ``words_from``: the block
        as `words_at` gives it."""
        if not len(starts):
            return
        longest = int(lengths.max())
        if longest > MOST_WORDS * WORD_BYTES:
            self._add_texts(block, starts, lengths)
            return
        codes: Codes = np.zeros(len(starts), dtype=np.int32)
        words: Words = np.zeros((1, 1), dtype=np.uint64)
        if longest:
            codes, words = distinct_words(words_of(words_from, starts, lengths, -(-longest // WORD_BYTES)))
        if self._code_of is None:
            self._codes.frombytes(codes.tobytes())
            self._ends.append(len(self._codes))
            self._words.append(words)
        else:
            self._codes.frombytes(self._numbers_of(cells_of(words))[codes].tobytes())

    def _add_texts(self, block: bytes, starts: Places, lengths: Places) -> None:
        if self._code_of is None:
            self._code_of = {}
            self._renumber([self._numbers_of(cells_of(words)) for words in self._words])
        cells = [block[start:end] for start, end in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
        codes, distinct = pd.factorize(np.array(cells, dtype=object))
        self._codes.frombytes(self._numbers_of(distinct.tolist())[codes].tobytes())

    def _numbers_of(self, cells: Sequence[bytes]) -> Codes:
        """The numbers of the different cells of a block in the column."""
        code_of = self._code_of if self._code_of is not None else {}
        return np.array([code_of.setdefault(cell, len(code_of)) for cell in cells], dtype=np.int32)

    def _renumber(self, numbers: Sequence[Codes]) -> Codes:
        """Number all cells in the column instead of their blocks. ``numbers``: of each block's different cells."""
        codes = np.frombuffer(self._codes, dtype=np.int32)
        start = 0
        for end, of_block in zip(self._ends, numbers, strict=True):
            codes[start:end] = of_block[codes[start:end]]
            start = end
        return codes

    def column(self) -> Column:
        if self._code_of is not None:
            return _column(np.frombuffer(self._codes, dtype=np.int32), list(self._code_of))
        width = max(words.shape[1] for words in self._words)
        every = np.concatenate([np.pad(words, ((0, 0), (0, width - words.shape[1]))) for words in self._words])
        numbers, words = distinct_words(every)
        ends = np.cumsum([len(part) for part in self._words])[:-1]
        return _column(self._renumber(np.split(numbers, ends)), cells_of(words))


def words_at(block: bytes) -> Words:
    """The word that begins at each byte of a block, and after it as far as `words_of` needs them."""
    after = MOST_WORDS * WORD_BYTES
    return np.ndarray(len(block) + after - WORD_BYTES + 1, "<u8", block + bytes(after), strides=(1,))


def words_of(words_from: Words, starts: Places, lengths: Places, count: int) -> Words:
    """The bytes of the cells as words (N, count), filled up with NUL, which no cell has."""
    words = np.empty((len(starts), count), dtype=np.uint64, order="F")
    for place in range(count):
        if place:
            starts, lengths = starts + WORD_BYTES, np.maximum(lengths - WORD_BYTES, 0)
        words[:, place] = words_from[starts] & _PART[np.minimum(lengths, WORD_BYTES)]
    return words


def distinct_words(words: Words) -> tuple[Codes, Words]:
    """Codes (N,) of the different rows of words, and these rows in the order of appearance."""
    codes, distinct = pd.factorize(words[:, 0])
    if words.shape[1] == 1:
        return codes.astype(np.int32), distinct[:, None]
    for column in words.T[1:]:
        of_word, distinct = pd.factorize(column)
        if len(distinct) > 1:
            codes = pd.factorize(codes * len(distinct) + of_word)[0]
    return codes.astype(np.int32), words[first_places(codes, int(codes.max()) + 1)]


def cells_of(words: Words) -> list[bytes]:
    rows = np.ascontiguousarray(words.astype("<u8", copy=False))
    cells: list[bytes] = rows.view(f"S{words.shape[1] * WORD_BYTES}")[:, 0].tolist()
    return cells


def _column(codes: Codes, cells: Sequence[bytes]) -> Column:
    """The column of different cells as they are in the file. Two of them may be one text, with quotes and without."""
    texts = [cell.decode() for cell in cells]
    if any(text.startswith('"') for text in texts):
        code_of: dict[str, int] = {}
        unquoted = (text[1:-1].replace('""', '"') if text.startswith('"') else text for text in texts)
        numbers = np.array([code_of.setdefault(text, len(code_of)) for text in unquoted], dtype=np.int32)
        codes, texts = numbers[codes], list(code_of)
    distinct = np.empty(len(texts), dtype=object)
    distinct[:] = texts
    return Column(codes, distinct)
