"""A table of text, what can be wrong with one, and how large it may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from annotation.task_types.items import Row, RowProblem
from annotation.task_types.questions import MAX_CHARS
from common.words import counted

MAX_ROWS = 200_000
MAX_COLUMNS = 1_000
#: Rows times columns. Each row has a cell for every column, so lines with different keys would multiply.
MAX_CELLS = 5_000_000
#: Further problems are counted but not stored: a broken file of 50 MB can have millions.
KEPT_PROBLEMS = 10_000
SHOWN_PROBLEMS = 200
#: The encodings that a text file may have. UTF-16 begins with a mark, so nobody needs to choose it.
UTF8, UTF16, WINDOWS = "utf-8", "utf-16", "windows-1252"
# The decoder turns bytes that it cannot decode into U+DC80 … U+DCFF, so that a message can name their cell.
BAD_BYTE = re.compile(r"[\udc80-\udcff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How to read a file that can be read in several ways. Empty: as the file itself says.

    ``encoding`` and ``separator`` are for CSV and TSV, ``sheet`` for a workbook, ``split`` for a folder with several.
    ``mapping`` gives columns of the file other names: file column → our column.
    """

    encoding: str = ""
    separator: str = ""
    sheet: str = ""
    split: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)

    def stored(self) -> dict[str, object]:
        """The options that are not empty, for a study's log."""
        pairs = {name: getattr(self, name) for name in ("encoding", "separator", "sheet", "split")}
        used: dict[str, object] = {name: value for name, value in pairs.items() if value}
        return used | ({"columns": dict(self.mapping)} if self.mapping else {})


class Preview(NamedTuple):
    """A cell as another encoding would show it."""

    row: int
    column: str
    text: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A file that could be read if somebody chooses: the option, and its values with what each means."""

    option: Literal["encoding", "separator", "sheet", "split"]
    choices: Sequence[tuple[str, str]]
    preview: Sequence[Preview] = ()


class TableProblems(ValueError):
    """The problems of a file that was not read. ``total`` also counts those that were not stored.

    ``table``: the rows below a header that is wrong, so that the cells under its good names can be checked, too.
    ``offer``: a choice that would let the file be read.
    """

    def __init__(
        self,
        problems: Iterable[RowProblem],
        total: int | None = None,
        table: Table | None = None,
        offer: Offer | None = None,
    ) -> None:
        self.problems = list(problems)
        self.table = table
        self.offer = offer
        self.total = len(self.problems) if total is None else total
        super().__init__(f"{counted(self.total, 'problem')} in the file")

    @property
    def shown(self) -> list[RowProblem]:
        """The first problems: as many as a page shows."""
        return self.problems[:SHOWN_PROBLEMS]

    @property
    def n_hidden(self) -> int:
        return self.total - len(self.shown)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text. Every row of a file has a cell for every column.

    ``origin`` decides what ``name`` names, and what the ids in ``Row.sources`` are: samples of a run or outputs of a
    study. ``notes``: what a reader should know about how the file was read. ``options``: how it was read. ``offer``:
    the other parts of the file that could be read instead.
    """

    columns: list[str]
    rows: list[Row]
    name: str = ""
    origin: Literal["file", "run", "study"] = "file"
    notes: Sequence[str] = ()
    options: ReadingOptions = field(default_factory=ReadingOptions)
    offer: Offer | None = None


class Problems:
    """The problems so far. Only the first ones are stored."""

    def __init__(self) -> None:
        self.problems: list[RowProblem] = []
        self.total = 0

    def add(self, row: int, column: str, what: str, fix: str) -> None:
        self.total += 1
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(RowProblem(row, column, what, fix))

    def raise_if_any(self) -> None:
        if self.total:
            raise TableProblems(self.problems, self.total)


def refused(what: str, fix: str, offer: Offer | None = None) -> TableProblems:
    """One problem of the whole file, ready to raise."""
    return TableProblems([RowProblem(0, "", what, fix)], offer=offer)


def check_cells(number: int, columns: Sequence[str], cells: Sequence[str], problems: Problems) -> None:
    """Cells that are too long or contain what cannot be stored."""
    for name, cell in zip(columns, cells, strict=True):
        if len(cell) > MAX_CHARS:
            what = f"This cell has {len(cell):,} characters. The limit is {MAX_CHARS:,}."
            problems.add(number, readable(name), what, "Shorten the text.")
        if cell.isascii() and cell.isprintable():
            continue
        if control := _CONTROL.search(cell):
            code = ord(control[0])
            called = "half a character (a lone surrogate)" if code >= 0xD800 else "a control character"
            what = f"Character {control.start() + 1} of this cell, U+{code:04X}, is {called} and cannot be stored."
            problems.add(number, readable(name), what, "Remove it.")


def check_size(rows: int, columns: int) -> None:
    """Raises TableProblems if there are too many rows or cells."""
    if rows > MAX_ROWS:
        what = f"The file has more than {MAX_ROWS:,} rows, which is the limit for one study."
        raise refused(what, "Split it into several studies.")
    if rows * columns > MAX_CELLS:
        what = f"{rows:,} rows with {columns:,} columns are more than {MAX_CELLS:,} cells, which is the limit."
        raise refused(what, "Remove columns that the study does not need, use the same names in all rows, or split it.")


def no_rows(where: str) -> TableProblems:
    return refused("The file has no data rows.", f"Add one row per item {where}.")


def readable(text: str) -> str:
    """The text with U+FFFD instead of characters that cannot be stored or shown."""
    return _CONTROL.sub("�", text)
