"""Reads CSV, TSV and JSON lines strictly, and reports all problems of a file at once.

A file is UTF-8, or UTF-16 if it starts with that byte order mark: Excel's “Unicode Text” is UTF-16 with tabs (.txt).

Cells are text, exactly as in the file: nothing is trimmed, and line breaks within a cell stay. Lines without content
are skipped. Rows are numbered from 1 as in a spreadsheet, without the header but with skipped lines.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, BinaryIO, Literal, TextIO

from django.conf import settings

from annotation.table_headers import MAX_COLUMNS, layout_problems, name_problems
from annotation.task_types.items import Row, RowProblem, SourceRow
from annotation.task_types.questions import MAX_CHARS
from common.words import counted

MAX_ROWS = 200_000
#: Rows times columns. Each row has a cell for every column, so lines with different keys would multiply.
MAX_CELLS = 5_000_000
#: Characters in one line of a file.
MAX_LINE = 4_000_000
#: Further problems are counted but not stored: a broken file of 50 MB can have millions.
KEPT_PROBLEMS = 10_000
SHOWN_PROBLEMS = 200
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (*DELIMITERS, *JSON_LINES)
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

SAVE_AS_UTF8 = (
    "Save the file as UTF-8: in Excel “CSV UTF-8 (Comma delimited)”, in LibreOffice tick “Edit filter settings” and "
    "choose Unicode (UTF-8), or run iconv -f WINDOWS-1252 -t UTF-8."
)
# The decoder turns bytes that are not UTF-8 into U+DC80 … U+DCFF, so that a message can name their cell.
_BAD_BYTE = re.compile(r"[\udc80-\udcff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class TableProblems(ValueError):
    """The problems of a file that was not read. ``total`` also counts those that were not stored.

    ``table``: the rows below a header that is wrong, so that the cells under its good names can be checked, too.
    """

    def __init__(self, problems: Iterable[RowProblem], total: int | None = None, table: Table | None = None) -> None:
        self.problems = list(problems)
        self.table = table
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
    study.
    """

    columns: list[str]
    rows: list[Row]
    name: str = ""
    origin: Literal["file", "run", "study"] = "file"


class _Problems:
    """The problems found so far. Only the first ones are stored."""

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


class _TooBig(Exception):
    pass


class _LongLine(Exception):
    """A line is longer than allowed. ``args[0]`` is its number."""


class _Limited(io.RawIOBase):
    """Reads another file and raises _TooBig after ``limit`` bytes. Closing it leaves the other file open."""

    def __init__(self, file: BinaryIO, limit: int | None) -> None:
        self.file, self.left = file, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        if self.left is not None:
            self.left -= len(data)
            if self.left < 0:
                raise _TooBig
        buffer[: len(data)] = data
        return len(data)


def read_table(file: BinaryIO, *, name: str, limit: int | None = -1) -> Table:
    """The whole file as a table. The extension of ``name`` decides between CSV, TSV and JSON lines.

    ``limit`` is in bytes: by default, the largest upload allowed; None for no limit. Raises TableProblems.
    """
    most: int | None = settings.MAX_UPLOAD_BYTES if limit == -1 else limit
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        what = f"“{name[-100:]}” is not a supported file type."
        fix = f"Save it as CSV (UTF-8), TSV or JSON lines. The name must end in one of {', '.join(SUFFIXES)}."
        raise TableProblems([RowProblem(0, "", what, fix)])
    buffered = io.BufferedReader(_Limited(file, most), 1 << 16)
    try:
        start = buffered.peek(4)[:4]
        if not start:
            raise TableProblems([RowProblem(0, "", "The file is empty.", "Choose the file with the items.")])
        if start == b"PK\x03\x04":
            what = "This is a workbook or a zip file, not a text file."
            raise TableProblems([RowProblem(0, "", what, "Open it and save it as “CSV UTF-8”.")])
        if start[:2] in UTF16_MARKS:
            return _read_utf16(buffered, name, suffix)
        text = io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="surrogateescape", newline="")
        if suffix in JSON_LINES:
            return _read_json_lines(_lines(text), name)
        return _read_delimited(_lines(text), name, DELIMITERS[suffix])
    except _TooBig:
        what = f"The file is larger than the limit of {(most or 0) / 1024**2:,.4g} MB."
        fix = "Split it into several studies, or use “manage.py study apply”, which has no such limit."
        raise TableProblems([RowProblem(0, "", what, fix)]) from None
    except _LongLine as error:
        what = f"Line {error.args[0]:,} of the file has more than {MAX_LINE:,} characters."
        raise TableProblems([RowProblem(0, "", what, "Write one item per line.")]) from None


def _lines(text: TextIO) -> Iterator[str]:
    """The lines. A parser needs far more memory than a line's text, so a line that is too long is refused."""
    for number in itertools.count(1):
        line = text.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise _LongLine(number)
        yield line


def _read_utf16(buffered: io.BufferedReader[_Limited], name: str, suffix: str) -> Table:
    """Reads a UTF-16 file. Half a surrogate pair stays as it is, so that a message can name its cell."""
    try:
        decoded = io.TextIOWrapper(buffered, encoding="utf-16", errors="surrogatepass", newline="").read()
    except UnicodeDecodeError:
        what = "The file says that it is UTF-16, but it ends in the middle of a character or is damaged."
        raise TableProblems([RowProblem(0, "", what, SAVE_AS_UTF8)]) from None
    text = io.StringIO(decoded, newline="")
    if suffix in JSON_LINES:
        return _read_json_lines(_lines(text), name)
    header = decoded.partition("\n")[0]
    # Excel separates “Unicode Text” with tabs, and some people then rename the file to .csv.
    return _read_delimited(_lines(text), name, "\t" if "\t" in header and "," not in header else DELIMITERS[suffix])


def table_of(rows: Iterable[SourceRow], *, name: str, origin: Literal["run", "study"]) -> Table:
    """A table of the rows that a task type made from samples or outputs. Raises TableProblems.

    Characters that cannot be stored become U+FFFD. A model that samples single bytes can generate some.
    """
    problems = _Problems()
    row_list = list(rows)
    columns = list(dict.fromkeys(column for row in row_list for column in row.cells))
    _check_size(len(row_list), len(columns))
    empty = dict.fromkeys(columns, "")
    table: list[Row] = []
    for number, row in enumerate(row_list, 1):
        cells = {column: _readable(cell) for column, cell in row.cells.items()}
        _check_cells(number, list(cells), list(cells.values()), problems)
        table.append(Row(number, empty | cells, row.sources, row.file_row))
    problems.raise_if_any()
    return Table(columns, table, name, origin)


# --- CSV and TSV -----------------------------------------------------------------------------------------------


def _read_delimited(text: Iterator[str], name: str, delimiter: str) -> Table:
    problems = _Problems()
    lines = _records(text, delimiter, problems)
    columns = _header(lines, delimiter, problems)
    in_header = problems.total
    positions = {name: index for index, name in reversed(list(enumerate(columns))) if name}
    in_order = sorted(positions.items(), key=lambda pair: pair[1])
    rows: list[Row] = []
    for number, cells in lines:
        if not any(cells):
            continue
        if len(cells) != len(columns):
            _wrong_width(number, cells, columns, problems)
            continue
        _check_cells(number, columns, cells, problems)
        if problems.total > in_header:
            continue
        rows.append(Row(number, {column: cells[index] for column, index in in_order}))
        _check_size(len(rows), len(columns))
    if in_header:
        raise TableProblems(problems.problems, problems.total, Table([column for column, _ in in_order], rows, name))
    problems.raise_if_any()
    if not rows:
        raise TableProblems([_no_rows("below the header")])
    return Table(columns, rows, name)


def _records(text: Iterator[str], delimiter: str, problems: _Problems) -> Iterator[tuple[int, list[str]]]:
    """Numbered records; the header is 0. What the parser refuses is recorded, and reading continues after it."""
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    number = 0
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what, fix = _csv_error(str(error), start, reader.line_num)
            problems.add(number, "", what, fix)
            number += 1
            if reader.line_num > start:
                return  # an open quote swallowed other rows: the rest would be nonsense
            continue
        yield number, cells
        number += 1


def _csv_error(error: str, first: int, last: int) -> tuple[str, str]:
    lines = f"line {first}" if first >= last else f"lines {first} to {last}"
    if "expected after" in error:
        what = f"There is text after a closing quotation mark ({lines} of the file)."
        return (
            what,
            'Put the whole cell in quotation marks and write each quotation mark inside it twice: "she said ""yes"""',
        )
    what = f"A quotation mark is not closed, or a cell is far too long ({lines} of the file)."
    return what, "Close it, or write it twice if it is part of the text."


def _header(lines: Iterator[tuple[int, list[str]]], delimiter: str, cell_problems: _Problems) -> list[str]:
    """The column names; what is wrong with them goes to ``cell_problems``. Raises TableProblems if nothing below can be
    checked."""
    columns: list[str] = []
    for _, cells in lines:
        if any(cells):
            columns = [cell.strip() for cell in cells]
            break
    if not columns:
        cell_problems.raise_if_any()
        raise TableProblems(
            [RowProblem(0, "", "The file has no header row.", "Put the names of the columns in the first line.")]
        )
    _check_cells(0, columns, columns, cell_problems)
    if problems := layout_problems(columns, delimiter):
        raise TableProblems([*cell_problems.problems, *problems])
    for problem in name_problems(columns):
        cell_problems.add(problem.row, problem.column, problem.what, problem.fix)
    return columns


def _wrong_width(number: int, cells: Sequence[str], columns: Sequence[str], problems: _Problems) -> None:
    what = f"This row has {counted(len(cells), 'cell')}, the header has {len(columns)}."
    if len(cells) > len(columns):
        fix = "Put quotes around cells that contain the separator, or remove the extra cells."
        problems.add(number, f"cell {len(columns) + 1}", what, fix)
    else:
        fix = "Add the missing cells (they may be empty), or close a quotation mark in the row before."
        problems.add(number, columns[len(cells)], what, fix)


def _check_cells(number: int, columns: Sequence[str], cells: Sequence[str], problems: _Problems) -> None:
    for name, cell in zip(columns, cells, strict=True):
        if len(cell) > MAX_CHARS:
            what = f"This cell has {len(cell):,} characters. The limit is {MAX_CHARS:,}."
            problems.add(number, name, what, "Shorten the text.")
        if cell.isascii() and cell.isprintable():
            continue
        bad = _BAD_BYTE.search(cell)
        if bad:
            problems.add(number, _readable(name), _not_utf8(cell, bad), SAVE_AS_UTF8)
        elif control := _CONTROL.search(cell):
            code = ord(control[0])
            called = "half a character (a lone surrogate)" if code >= 0xD800 else "a control character"
            what = f"Character {control.start() + 1} of this cell, U+{code:04X}, is {called} and cannot be stored."
            problems.add(number, _readable(name), what, "Remove it.")


def _not_utf8(cell: str, bad: re.Match[str]) -> str:
    byte = bytes([ord(bad[0]) - 0xDC00])
    guess = byte.decode("cp1252", "replace")
    hint = f" (in Windows-1252 it is “{guess}”)" if guess.isprintable() and guess != "�" else ""
    around = _readable(cell[max(0, bad.start() - 12) : bad.start() + 12])
    return f"Not UTF-8: byte 0x{byte[0]:02X}{hint} at character {bad.start() + 1} of this cell, in “{around}”."


def _readable(text: str) -> str:
    return _CONTROL.sub("�", text)


def _check_size(rows: int, columns: int) -> None:
    """Raises TableProblems if there are too many rows or cells."""
    if rows > MAX_ROWS:
        what = f"The file has more than {MAX_ROWS:,} rows, which is the limit for one study."
        raise TableProblems([RowProblem(0, "", what, "Split it into several studies.")])
    if rows * columns > MAX_CELLS:
        what = f"{rows:,} rows with {columns:,} columns are more than {MAX_CELLS:,} cells, which is the limit."
        fix = "Remove columns that the study does not need, use the same names in all rows, or split the file."
        raise TableProblems([RowProblem(0, "", what, fix)])


def _no_rows(where: str) -> RowProblem:
    return RowProblem(0, "", "The file has no data rows.", f"Add one row per item {where}.")


# --- JSON lines ------------------------------------------------------------------------------------------------


class _BadJson(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise _BadJson(f"The name “{_readable(name)[:60]}” is used {count} times in this object.")
    return dict(pairs)


def _constant(name: str) -> Any:
    raise _BadJson(f"{name} is not valid JSON.")


_LITERALS = {None: "", True: "true", False: "false"}
# Numbers keep their digits as in the file: 0.70 stays 0.70.
_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=_constant)


def _read_json_lines(text: Iterator[str], name: str) -> Table:
    problems = _Problems()
    columns: dict[str, None] = {}
    records: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        cells = _json_cells(number, line, problems)
        if cells is None or problems.total:
            continue
        columns |= dict.fromkeys(cells)
        records.append((number, cells))
        _check_size(len(records), len(columns))
        if len(columns) > MAX_COLUMNS:
            what = f"The file has more than {MAX_COLUMNS:,} different names."
            problems.add(number, "", what, "Use the same names in all lines.")
            break
    problems.raise_if_any()
    if not records:
        raise TableProblems([_no_rows("as an object on its own line")])
    empty = dict.fromkeys(columns, "")
    return Table(list(columns), [Row(number, empty | cells) for number, cells in records], name)


def _json_cells(number: int, line: str, problems: _Problems) -> dict[str, str] | None:
    bad = _BAD_BYTE.search(line)
    if bad:
        problems.add(number, "", _not_utf8(line, bad), SAVE_AS_UTF8)
        return None
    fix = 'Write one object per line, such as {"sample_id": "1", "context": "…"}'
    try:
        record = _decoder.decode(line.strip())
    except json.JSONDecodeError as error:
        problems.add(number, "", f"This line is not valid JSON: {error.msg} at character {error.colno}.", fix)
        return None
    except (_BadJson, RecursionError) as error:
        problems.add(number, "", str(error) if isinstance(error, _BadJson) else "This line is nested too deeply.", fix)
        return None
    if not isinstance(record, dict):
        problems.add(number, "", "This line is not an object.", fix)
        return None
    cells: dict[str, str] = {}
    for name, value in record.items():
        if not name.strip():
            problems.add(number, "", "A name in this object is empty.", "Name the value, or remove it.")
        elif isinstance(value, dict | list):
            kind = "a list" if isinstance(value, list) else "an object"
            problems.add(number, _readable(name), f"The value is {kind}.", "Write text or a number.")
        else:
            cells[name.strip()] = value if isinstance(value, str) else _LITERALS[value]
    _check_cells(number, list(cells), list(cells.values()), problems)
    _check_cells(number, list(cells), list(cells), problems)
    return cells
