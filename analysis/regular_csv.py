"""CSV files on which all readers agree, read without a loop over rows.

`csv.reader` decides what a file means and what is wrong with it, but it makes a list for every row. `regular_rows`
reads ordinary files many times faster and leaves every other to `csv.reader`. Ordinary means: UTF-8, lines that end in
LF or CRLF, as many cells in every line as in the header, quotes only around whole cells and doubled within them.

A separator or line end outside quotes ends a cell, so NumPy finds all cells at once, and `analysis.csv_cells` numbers
their different contents. Only these become texts; pandas' parser, which makes one of every cell, takes a third to a
half longer (docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from analysis.csv_cells import Bytes, CellCodes, Column, Places, words_at

#: How much of a file is looked at at once: what stays in a processor's cache.
BLOCK_BYTES = 1 << 20
#: A line of more bytes is left to `csv.reader`. So is a quote that does not end, after which there are no lines.
MOST_LINE_BYTES = 1 << 26
QUOTE, LINE_FEED, RETURN = b'"\n\r'
BOM = b"\xef\xbb\xbf"


class IrregularError(ValueError):
    """Readers may disagree about the file."""


def regular_rows(source: Path | bytes, separator: str, width: int, positions: Sequence[int]) -> list[Column] | None:
    """The columns at these positions of a file or its content, without the header; None if it is not regular.

    ``width``: how many cells the header has. None as well for a single column, whose empty lines are ambiguous, and if
    there are no rows or no columns to read.
    """
    if width < 2 or not positions:
        return None
    cells = [CellCodes() for _ in positions]
    lines = 0
    with source.open("rb") if isinstance(source, Path) else BytesIO(source) as file:
        try:
            for block, ends in _lines_of(file, ord(separator), width):
                # The first line of all is the header.
                first_line = 0 if lines else 1
                words = words_at(block)
                for position, codes in zip(positions, cells, strict=True):
                    codes.add(block, words, *_cells_at(position, block, ends, first_line))
                lines += len(ends)
        except IrregularError:
            return None
    return [codes.column() for codes in cells] if lines > 1 else None


def _cells_at(position: int, block: bytes, ends: Places, first_line: int) -> tuple[Places, Places]:
    """Where the cells (N,) of a column begin in a block of lines, and how long they are."""
    stops = ends[first_line:, position]
    if position:
        starts = ends[first_line:, position - 1] + 1
    elif first_line:
        starts = ends[:-1, -1] + 1
    else:
        starts = np.concatenate([[0], ends[:-1, -1] + 1])
    if position == ends.shape[1] - 1 and b"\r" in block:
        stops = stops - (np.frombuffer(block, dtype=np.uint8)[stops - 1] == RETURN)
    return starts, stops - starts


def _lines_of(file: BinaryIO, separator: int, width: int) -> Iterator[tuple[bytes, Places]]:
    """The file without its BOM in blocks of whole lines, with where each of their cells ends (lines, width).

    IrregularError: see above.
    """
    rest, start = b"", len(BOM)
    while piece := file.read(max(BLOCK_BYTES, len(rest), start)):
        block = rest + piece
        if start:
            block, start = block.removeprefix(BOM), 0
        ends, rest = _whole_lines(block, separator, width)
        if len(ends):
            yield block, ends
        elif len(rest) > MOST_LINE_BYTES:
            raise IrregularError
    if rest:
        if not rest.endswith(b"\n"):
            rest += b"\n"
        ends, left = _whole_lines(rest, separator, width)
        if left:
            raise IrregularError
        yield rest, ends


def _whole_lines(block: bytes, separator: int, width: int) -> tuple[Places, bytes]:
    """Where each cell of the lines of a block ends (lines, width), and what follows the last line.

    A line feed within quotes is text, so a line may go on in the next block.
    """
    size = block.rfind(b"\n") + 1
    content = np.frombuffer(block, dtype=np.uint8, count=size)
    is_mark = (content == separator) | (content == LINE_FEED)
    has_quotes = block.find(b'"', 0, size) >= 0
    if has_quotes:
        is_mark |= content == QUOTE
    places = np.flatnonzero(is_mark)
    marks = content[places]
    opens = np.zeros(0, dtype=bool)
    if has_quotes:
        is_quote = marks == QUOTE
        # Whether a number is odd is all that matters, and it survives the overflow of a byte.
        within = (np.cumsum(is_quote, dtype=np.uint8) & 1).astype(bool)
        quotes, opens = places[is_quote], within[is_quote]
        # Separators and line ends inside quotes are text.
        outside = ~(is_quote | within)
        places, marks = places[outside], marks[outside]
    lines = len(places) // width
    ends = places[: lines * width].reshape(lines, width)
    is_end = (marks == LINE_FEED)[: lines * width].reshape(lines, width)
    if not is_end[:, -1].all() or is_end[:, :-1].any() or (marks[lines * width :] == LINE_FEED).any():
        raise IrregularError
    size = int(ends[-1, -1]) + 1 if lines else 0
    _refuse_characters(block, size)
    if has_quotes:
        inside = quotes < size
        if not _quotes_are_regular(content[:size], quotes[inside], opens[inside], separator):
            raise IrregularError
    return ends, block[size:]


def _refuse_characters(block: bytes, size: int) -> None:
    """IrregularError: NUL, a line that ends in CR alone, not UTF-8."""
    if block.find(b"\0", 0, size) >= 0:
        raise IrregularError
    if block.find(b"\r", 0, size) >= 0:
        content = np.frombuffer(block, dtype=np.uint8, count=size)
        if not (content[np.flatnonzero(content == RETURN) + 1] == LINE_FEED).all():
            raise IrregularError
    if not block.isascii():
        try:
            str(memoryview(block)[:size], "utf-8")
        except UnicodeDecodeError:
            raise IrregularError from None


def _quotes_are_regular(content: Bytes, places: Places, opens: npt.NDArray[np.bool_], separator: int) -> bool:
    """Whether every quote that opens begins a cell, and every one that closes ends it, or both are a doubled quote.

    The content begins a line and ends with a line feed.
    """
    opening, closing = places[opens], places[~opens]
    before = np.where(opening > 0, content[opening - 1], LINE_FEED)
    after = content[closing + 1]
    begins = (before == separator) | (before == LINE_FEED) | (before == QUOTE)
    ends = (after == separator) | (after == LINE_FEED) | (after == RETURN) | (after == QUOTE)
    return bool(begins.all() and ends.all())
