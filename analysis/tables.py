"""Read tables from files: CSV, TSV and JSONL in UTF-8, as text, with errors that give the place and the problem.

Rows are counted from 1 below the header, blank lines included; in JSONL a row is the number of its line. The caller
decides what a cell means (a number, a missing rating, a text called "NA"), because it differs from column to column.
"""

from __future__ import annotations

import csv
import json
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

import numpy as np
import pandas as pd

from analysis.csv_cells import Column
from analysis.input_errors import InputError as InputError
from analysis.input_errors import shown as shown
from analysis.regular_csv import regular_rows

Kind: TypeAlias = Literal["separated", "jsonl"]
Record: TypeAlias = tuple[int, Sequence[str | None]]
SUFFIXES: dict[str, str] = {".tsv": "\t", ".tab": "\t"}
JSONL = (".jsonl", ".ndjson")
#: How files of spreadsheets begin (.xlsx and .ods, .xls).
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a table. ``separator`` is empty for JSONL."""

    kind: Kind
    separator: str = ""


def format_of(path: str | Path) -> Format:
    """The format of a file, from its suffix or else from its first line.

    ``.tsv`` and ``.tab`` mean tabs, ``.jsonl`` and ``.ndjson`` one object per line. In any other file the first line
    decides: an opening brace means JSONL; otherwise the separator is the most frequent of comma, tab and semicolon.
    InputError: no such file, not UTF-8, empty.
    """
    suffix = Path(path).suffix.lower()
    if suffix in JSONL:
        return Format("jsonl")
    if suffix in SUFFIXES:
        return Format("separated", SUFFIXES[suffix])
    with _opened(path) as file:
        first = next((line for line in file if line.strip()), "")
    if first.lstrip().startswith("{") and suffix != ".csv":
        return Format("jsonl")
    return Format("separated", max(",\t;", key=first.count))


def header_of(path: str | Path) -> list[str]:
    """The columns of a file; in JSONL, those of its first line. InputError: see `read_columns`."""
    form = format_of(path)
    if form.kind == "jsonl":
        with _opened(path) as file:
            first = next((line for line in file if line.strip()), "{}")
        try:
            row = json.loads(first)
        except (ValueError, RecursionError):
            return []  # reading the rows says what is wrong
        return list(row) if isinstance(row, dict) else []
    return [str(name) for name in next(_separated(path, form.separator))[1]]


def read_texts(path: str | Path) -> pd.DataFrame:
    """All columns and rows as text (dtype object), exactly as written; the index is the row.

    In JSONL a missing key and null become None; other values that are not text keep their JSON spelling. InputError:
    see `read_columns`.
    """
    form = format_of(path)
    records = _records(path, form)
    header = list(next(records)[1])
    quick = _regular(path, form, len(header), range(len(header)))
    if quick:
        texts = {name: column.texts[column.codes] for name, column in zip(header, quick, strict=True)}
        return pd.DataFrame(texts, index=_row_numbers(len(quick[0].codes)), columns=header, dtype=object)
    numbers, rows = [], []
    for number, cells in records:
        numbers.append(number)
        rows.append(cells)
    _refuse_no_rows(path, len(rows))
    return pd.DataFrame(rows, columns=header, index=pd.Index(numbers, name="row"), dtype=object)


def read_columns(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """Only these columns, each as a Categorical of the texts in it, by first appearance; the index is the row.

    A million rows with few different values need a few megabytes instead of a gigabyte of Python objects.

    InputError: no such file, not UTF-8, empty, no rows, a column that is missing, unnamed or duplicated, a row whose
    length differs from the header's, broken quotes, a line of JSONL that is not an object.
    """
    form = format_of(path)
    records = _records(path, form)
    header = [str(name) for name in next(records)[1]]
    names = list(dict.fromkeys(columns))
    require_columns(header, path, *names)
    positions = [header.index(name) for name in names]
    quick = _regular(path, form, len(header), positions)
    if quick:
        data = {name: pd.Categorical.from_codes(c.codes, c.categories) for name, c in zip(names, quick, strict=True)}
        return pd.DataFrame(data, index=_row_numbers(len(quick[0].codes)), columns=names)
    levels = [_Codes() for _ in names]
    codes = [array("i") for _ in names]
    columns_to_read = [
        (position, level, code.append) for position, level, code in zip(positions, levels, codes, strict=True)
    ]
    numbers = array("q")
    for number, cells in records:
        numbers.append(number)
        for position, level, append in columns_to_read:
            append(level[cells[position]])
    _refuse_no_rows(path, len(numbers))
    data = {}
    for name, level, code in zip(names, levels, codes, strict=True):
        texts = pd.Index(np.array(list(level), dtype=object), dtype=object)
        data[name] = pd.Categorical.from_codes(np.frombuffer(code, dtype=np.int32), texts)
    return pd.DataFrame(data, index=pd.Index(np.frombuffer(numbers, dtype=np.int64), name="row"), columns=names)


def _regular(path: str | Path, form: Format, width: int, positions: Sequence[int]) -> list[Column] | None:
    """The columns of a CSV file, read fast, if that is sure to give the same as the slow reader."""
    file = Path(path)
    # A pipe can only be read once.
    return regular_rows(file, form.separator, width, positions) if form.separator and file.is_file() else None


def _row_numbers(rows: int) -> pd.Index:
    return pd.Index(np.arange(1, rows + 1), name="row")


def require_columns(header: Sequence[str], path: str | Path, *columns: str) -> None:
    """Raise InputError with the first missing column and the existing columns."""
    for column in columns:
        if column not in header:
            listed = ", ".join(f'"{name}"' for name in header[:30]) + (" …" if len(header) > 30 else "")
            raise InputError(path, f'column "{column}"', "there is no such column", f"the columns are {listed}")


class _Codes(dict[str | None, int]):
    """Numbers each new text. None is −1, which means missing in a Categorical."""

    def __missing__(self, cell: str | None) -> int:
        if cell is None:
            return -1
        self[cell] = code = len(self)
        return code


def _refuse_no_rows(path: str | Path, rows: int) -> None:
    if not rows:
        raise InputError(path, "", "there are no rows below the header", "add one row for each rating or set")


@contextmanager
def _opened(path: str | Path) -> Iterator[TextIO]:
    """The file as text without its BOM. InputError: cannot be read, not UTF-8."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError:
        raise InputError(path, "", "there is no such file", "check its name") from None
    except IsADirectoryError:
        raise InputError(path, "", "this is a folder", "name a file in it") from None
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except OSError as error:
        raise InputError(path, "", f"cannot be read ({error.strerror})", "check its permissions") from None


def _not_utf8(path: str | Path) -> InputError:
    raw = Path(path).read_bytes()
    if raw.startswith(WORKBOOKS):
        return InputError(path, "", "this is a spreadsheet’s own format, such as Excel’s", "save it as CSV (UTF-8)")
    try:
        raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        return InputError(path, f"line {line}", what, "save the file as UTF-8 (it may be Latin-1 or UTF-16)")
    return InputError(path, "", "the file changed while it was read", "try again")


def _records(path: str | Path, form: Format) -> Iterator[Record]:
    """(0, header), then every non-blank row with its number."""
    return _lines(path) if form.kind == "jsonl" else _separated(path, form.separator)


def _separated(path: str | Path, separator: str) -> Iterator[Record]:
    limit = csv.field_size_limit()
    header: list[str] = []
    number = 0
    try:
        with _opened(path) as file:
            # The limit applies to the whole process, so it is restored below. One cell may be as long as the file.
            csv.field_size_limit(max(limit, Path(path).stat().st_size))
            for cells in csv.reader(file, delimiter=separator, strict=True):
                if header:
                    number += 1
                if not cells:
                    continue
                if not header:
                    header = cells
                    _check_header(path, header)
                    yield 0, header
                elif len(cells) == len(header):
                    yield number, cells
                else:
                    what = f"has {len(cells)} cell{'s' * (len(cells) != 1)}, the header has {len(header)}"
                    fix = "put texts that hold separators or line breaks in quotes"
                    raise InputError(path, f"row {number}", what, fix)
    except csv.Error as error:
        where = f"row {number + 1}" if header else "header"
        fix = 'close every quote, and double a quote inside a text: ""'
        raise InputError(path, where, f"the quotes are broken ({error})", fix) from None
    finally:
        csv.field_size_limit(limit)
    if not header:
        raise InputError(path, "", "the file is empty", "it needs a header and rows")


def _check_header(path: str | Path, header: Sequence[str]) -> None:
    for number, name in enumerate(header, start=1):
        if not name.strip():
            raise InputError(path, f"header, column {number}", "the column has no name", "name it or remove it")
        if name in header[: number - 1]:
            raise InputError(path, f'column "{name}"', "the header has this name twice", "rename or remove one of them")


def read_objects(path: str | Path) -> dict[int, dict[str, Any]]:
    """The objects of a JSONL file by line number, without blank lines. InputError: see `read_columns`."""
    objects: dict[int, dict[str, Any]] = {}
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                what = getattr(error, "msg", "nested too deeply")
                raise InputError(
                    path, f"line {number}", f"this is not JSON ({what})", "write one object per line"
                ) from None
            if not isinstance(row, dict):
                raise InputError(path, f"line {number}", "this is not an object", 'write {"column": value, …}')
            objects[number] = row
    if not objects:
        raise InputError(path, "", "the file is empty", "it needs one object per line")
    return objects


def _lines(path: str | Path) -> Iterator[Record]:
    rows = read_objects(path)
    header = list(dict.fromkeys(key for row in rows.values() for key in row))
    _check_header(path, header)
    yield 0, header
    for number, row in rows.items():
        cells = (row.get(key) for key in header)
        yield (
            number,
            [cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False) for cell in cells],
        )
