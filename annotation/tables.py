"""Files of rows: CSV, TSV and JSON lines, read strictly, with every problem of the whole file at once.

Cells are text, exactly as in the file: nothing is trimmed, line breaks within a cell stay. Lines without any content
are skipped. Rows are numbered from 1 as a spreadsheet shows them less the header, skipped ones counted.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, BinaryIO

from django.conf import settings

from annotation.task_types.base import Problem, Row
from annotation.task_types.questions import MAX_CHARS

MAX_ROWS = 200_000
MAX_COLUMNS = 1_000
#: More than these are counted, not kept: a broken file of 50 MB has millions.
KEPT_PROBLEMS = 10_000
SHOWN_PROBLEMS = 200
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (*DELIMITERS, *JSON_LINES)

SAVE_AS_UTF8 = (
    "Save the file as UTF-8: in Excel “CSV UTF-8 (Comma delimited)”, in LibreOffice tick “Edit filter settings” and "
    "choose Unicode (UTF-8), or run iconv -f WINDOWS-1252 -t UTF-8."
)
# Bytes that are not UTF-8 come out of the decoder as U+DC80 … U+DCFF, so the cell they are in can be told.
_BAD_BYTE = re.compile(r"[\udc80-\udcff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class TableProblems(ValueError):
    """Why a file was not read. ``total`` counts what ``problems`` does not hold any more, too."""

    def __init__(self, problems: Iterable[Problem], total: int | None = None) -> None:
        self.problems = list(problems)
        self.total = len(self.problems) if total is None else total
        super().__init__(f"{self.total} problem{'s' if self.total != 1 else ''} in the file")

    @property
    def shown(self) -> list[Problem]:
        """As many as somebody may want to read."""
        return self.problems[:SHOWN_PROBLEMS]

    @property
    def n_hidden(self) -> int:
        return self.total - len(self.shown)


@dataclass(frozen=True, slots=True)
class Table:
    """A file's rows; every row has a cell for every column."""

    columns: list[str]
    rows: list[Row]
    name: str = ""


class _Found:
    """The problems found so far, of which only the first are kept."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.total = 0

    def add(self, row: int, column: str, what: str, mend: str) -> None:
        self.total += 1
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(Problem(row, column, what, mend))

    def raise_if_any(self) -> None:
        if self.total:
            raise TableProblems(self.problems, self.total)


class _TooBig(Exception):
    pass


class _Limited(io.RawIOBase):
    """Reads another file and stops with _TooBig behind ``limit`` bytes. Closing it leaves the other open."""

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
    """The whole file as a table; ``name`` tells CSV from TSV and JSON lines by its end.

    ``limit`` in bytes: by default what may be uploaded, None for no limit. Raises TableProblems.
    """
    most: int | None = settings.MAX_UPLOAD_BYTES if limit == -1 else limit
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise TableProblems([_wrong_kind(name)])
    buffered = io.BufferedReader(_Limited(file, most), 1 << 16)
    try:
        _refuse_other_formats(buffered)
        text = io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="surrogateescape", newline="")
        if suffix in JSON_LINES:
            return _read_json_lines(text, name)
        return _read_delimited(text, name, DELIMITERS[suffix])
    except _TooBig:
        what = f"The file is larger than {(most or 0) / 1024**2:,.4g} MB, which is the most that is taken."
        mend = "Split it into several studies, or use “manage.py study apply”, which has no such limit."
        raise TableProblems([Problem(0, "", what, mend)]) from None


def _wrong_kind(name: str) -> Problem:
    what = f"“{name[-100:]}” is no kind of file that can be read."
    return Problem(0, "", what, f"Save it as CSV (UTF-8), TSV or JSON lines: the name ends in {', '.join(SUFFIXES)}.")


def _refuse_other_formats(buffered: io.BufferedReader[_Limited]) -> None:
    start = buffered.peek(4)[:4]
    if not start:
        raise TableProblems([Problem(0, "", "The file is empty.", "Choose the file that holds the items.")])
    if start.startswith(b"PK\x03\x04"):
        what = "This is a workbook or a zip file, whatever its name says."
        raise TableProblems([Problem(0, "", what, "Open it and save it as “CSV UTF-8”.")])
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableProblems([Problem(0, "", "The file is in UTF-16, not UTF-8.", SAVE_AS_UTF8)])


# --- CSV and TSV -----------------------------------------------------------------------------------------------


def _read_delimited(text: io.TextIOWrapper, name: str, delimiter: str) -> Table:
    found = _Found()
    lines = _records(text, delimiter, found)
    columns = _header(lines, delimiter, found)
    rows: list[Row] = []
    for number, cells in lines:
        if not any(cells):
            continue
        if len(cells) != len(columns):
            _wrong_width(number, cells, columns, found)
            continue
        _check_cells(number, columns, cells, found)
        if found.total:
            continue
        rows.append(Row(number, dict(zip(columns, cells, strict=True))))
        if len(rows) > MAX_ROWS:
            raise TableProblems([_too_many_rows()])
    found.raise_if_any()
    if not rows:
        raise TableProblems([_no_rows("below the header")])
    return Table(columns, rows, name)


def _records(text: io.TextIOWrapper, delimiter: str, found: _Found) -> Iterator[tuple[int, list[str]]]:
    """Numbered records, the header being 0. What the parser refuses is noted, and reading goes on behind it."""
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    number = 0
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what, mend = _csv_error(str(error), start, reader.line_num)
            found.add(number, "", what, mend)
            number += 1
            if reader.line_num > start:
                return  # a quote swallowed other rows: whatever follows would be nonsense
            continue
        yield number, cells
        number += 1


def _csv_error(error: str, first: int, last: int) -> tuple[str, str]:
    lines = f"line {first}" if first >= last else f"lines {first} to {last}"
    if "expected after" in error:
        what = f"Text follows a closing quote ({lines} of the file)."
        return what, 'Put the whole cell in quotes and write each quote within it twice: "she said ""yes"""'
    what = f"A quote is opened and not closed, or one cell holds far too much text ({lines} of the file)."
    return what, "Close the quote, or write it twice if it is part of the text."


def _header(lines: Iterator[tuple[int, list[str]]], delimiter: str, found: _Found) -> list[str]:
    """The names of the columns; without sound ones nothing below them can be judged."""
    columns: list[str] = []
    for _, cells in lines:
        if any(cells):
            columns = [cell.strip() for cell in cells]
            break
    if not columns:
        found.raise_if_any()
        raise TableProblems([Problem(0, "", "The file has no header row.", "Name the columns in the first line.")])
    _check_cells(0, columns, columns, found)
    problems = _column_problems(columns, delimiter)
    for problem in problems:
        found.add(problem.row, problem.column, problem.what, problem.mend)
    if problems:
        found.raise_if_any()
    return columns


def _column_problems(columns: Sequence[str], delimiter: str) -> list[Problem]:
    if len(columns) > MAX_COLUMNS:
        what = f"The header names {len(columns):,} columns; at most {MAX_COLUMNS:,} can be read."
        return [Problem(0, "", what, "Keep the columns that the study needs.")]
    problems = []
    other = {";": "semicolons", "\t": "tabs", ",": "commas"}
    for mark, called in other.items():
        if len(columns) == 1 and mark != delimiter and mark in columns[0]:
            here = other[delimiter]
            what = f"The header is one column “{columns[0][:60]}”: it looks separated by {called}, not by {here}."
            mend = "Save it as .tsv." if mark == "\t" else f"Save it with {here} between the cells."
            problems.append(Problem(0, "", what, mend))
    for place, name in enumerate(columns, 1):
        if not name:
            what = f"Column {place} has no name."
            problems.append(Problem(0, f"column {place}", what, "Name it, or delete the column."))
    for name, count in Counter(columns).items():
        if name and count > 1:
            problems.append(
                Problem(0, name, f"{count} columns are called “{name[:60]}”.", "Give every column a name of its own.")
            )
    return problems


def _wrong_width(number: int, cells: Sequence[str], columns: Sequence[str], found: _Found) -> None:
    what = f"This row has {len(cells)} cells, the header has {len(columns)}."
    if len(cells) > len(columns):
        mend = "Put quotes around cells that hold the separator, or take the surplus cells out."
        found.add(number, f"cell {len(columns) + 1}", what, mend)
    else:
        mend = "Add the missing cells (they may be empty), or close a quote in the row before."
        found.add(number, columns[len(cells)], what, mend)


def _check_cells(number: int, columns: Sequence[str], cells: Sequence[str], found: _Found) -> None:
    for name, cell in zip(columns, cells, strict=True):
        if len(cell) > MAX_CHARS:
            what = f"This cell holds {len(cell):,} characters; at most {MAX_CHARS:,} can be shown."
            found.add(number, name, what, "Shorten the text.")
        if cell.isascii() and cell.isprintable():
            continue
        bad = _BAD_BYTE.search(cell)
        if bad:
            found.add(number, _readable(name), _not_utf8(cell, bad), SAVE_AS_UTF8)
        elif control := _CONTROL.search(cell):
            code = ord(control[0])
            called = "half a character (a lone surrogate)" if code >= 0xD800 else "a control character"
            what = f"Character {control.start() + 1} of this cell, U+{code:04X}, is {called} and cannot be stored."
            found.add(number, _readable(name), what, "Take it out.")


def _not_utf8(cell: str, bad: re.Match[str]) -> str:
    byte = bytes([ord(bad[0]) - 0xDC00])
    guess = byte.decode("cp1252", "replace")
    hint = f" (in Windows-1252 it is “{guess}”)" if guess.isprintable() and guess != "�" else ""
    around = _readable(cell[max(0, bad.start() - 12) : bad.start() + 12])
    return f"Not UTF-8: byte 0x{byte[0]:02X}{hint} at character {bad.start() + 1} of this cell, in “{around}”."


def _readable(text: str) -> str:
    return _CONTROL.sub("�", text)


def _too_many_rows() -> Problem:
    what = f"The file has more than {MAX_ROWS:,} rows, which is the most that one study takes."
    return Problem(0, "", what, "Split it into several studies.")


def _no_rows(where: str) -> Problem:
    return Problem(0, "", "The file has no data rows.", f"Add one row per item {where}.")


# --- JSON lines ------------------------------------------------------------------------------------------------


class _BadJson(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise _BadJson(f"The name “{_readable(name)[:60]}” stands {count} times in this object.")
    return dict(pairs)


def _constant(name: str) -> Any:
    raise _BadJson(f"{name} is no JSON.")


_LITERALS = {None: "", True: "true", False: "false"}
# Numbers keep the digits that the file has: 0.70 stays 0.70.
_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=_constant)


def _read_json_lines(text: io.TextIOWrapper, name: str) -> Table:
    found = _Found()
    columns: dict[str, None] = {}
    records: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        cells = _json_cells(number, line, found)
        if cells is None or found.total:
            continue
        columns |= dict.fromkeys(cells)
        records.append((number, cells))
        if len(records) > MAX_ROWS:
            raise TableProblems([_too_many_rows()])
        if len(columns) > MAX_COLUMNS:
            found.add(number, "", f"The file has more than {MAX_COLUMNS:,} different names.", "Use the same in all.")
            break
    found.raise_if_any()
    if not records:
        raise TableProblems([_no_rows("as an object on a line of its own")])
    empty = dict.fromkeys(columns, "")
    return Table(list(columns), [Row(number, empty | cells) for number, cells in records], name)


def _json_cells(number: int, line: str, found: _Found) -> dict[str, str] | None:
    bad = _BAD_BYTE.search(line)
    if bad:
        found.add(number, "", _not_utf8(line, bad), SAVE_AS_UTF8)
        return None
    mend = 'Write one object per line, such as {"sample_id": "1", "context": "…"}'
    try:
        record = _decoder.decode(line.strip())
    except json.JSONDecodeError as error:
        found.add(number, "", f"This line is no JSON: {error.msg} at character {error.colno}.", mend)
        return None
    except (_BadJson, RecursionError) as error:
        found.add(number, "", str(error) if isinstance(error, _BadJson) else "This line is nested too deep.", mend)
        return None
    if not isinstance(record, dict):
        found.add(number, "", "This line is no object.", mend)
        return None
    cells: dict[str, str] = {}
    for name, value in record.items():
        if not name.strip():
            found.add(number, "", "A name in this object is empty.", "Name the value, or take it out.")
        elif isinstance(value, dict | list):
            kind = "a list" if isinstance(value, list) else "an object"
            found.add(number, _readable(name), f"The value is {kind}.", "Write text or a number.")
        else:
            cells[name.strip()] = value if isinstance(value, str) else _LITERALS[value]
    _check_cells(number, list(cells), list(cells.values()), found)
    _check_cells(number, list(cells), list(cells), found)
    return cells
