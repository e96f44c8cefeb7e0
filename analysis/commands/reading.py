"""Reads the table a person names on the command line, and says plainly what is wrong with it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

#: What an empty cell may look like; anything else is a value.
EMPTY = ("", "NA", "NaN", "nan")


class InputError(Exception):
    """Input that cannot be used; the message names the file, and the column and row where it can."""


def read_table(path: str) -> pd.DataFrame:
    """A CSV, TSV or JSONL file (UTF-8, BOM or not) as a frame of text, with None for empty cells.

    The index is the row as messages name it: from 1 below the header, of JSONL the line; blank lines are counted.

    ``.tsv``/``.tab`` is tab-separated, ``.jsonl``/``.ndjson`` one object a line, ``.csv`` and anything else is told by
    its first line (comma, tab or semicolon; an opening brace means JSONL). `InputError`: not there, not UTF-8, empty,
    a name twice in the header, rows of another length than it, broken quotes, lines that are not objects.
    """
    text = _decode(path)
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    first = text.lstrip().splitlines()[0]
    suffix = Path(path).suffix.lower()
    if suffix in (".jsonl", ".ndjson") or (suffix not in (".csv", ".tsv", ".tab") and first.startswith("{")):
        frame = _read_jsonl(path, text)
    else:
        frame = _read_separated(path, text, "\t" if suffix in (".tsv", ".tab") else _separator(first))
    if not len(frame):
        raise InputError(f"{path}: there is a header but no rows")
    return frame


def require_columns(frame: pd.DataFrame, path: str, *columns: str) -> None:
    """`InputError` naming the first column that is not there, and those that are."""
    for column in columns:
        if column not in frame.columns:
            there = ", ".join(f'"{name}"' for name in frame.columns)
            raise InputError(f'{path}, column "{column}": there is no such column; the columns are {there}')


def chosen_rows(frame: pd.DataFrame, path: str, wanted: Sequence[str]) -> pd.DataFrame:
    """The rows for which every ``COLUMN=VALUE`` of ``wanted`` holds; `InputError` when there are none."""
    for condition in wanted:
        column, equals, value = condition.partition("=")
        if not equals:
            raise InputError(f'--where "{condition}": write COLUMN=VALUE, such as question=diversity')
        require_columns(frame, path, column)
        cells = frame[column].fillna("").astype(str)
        if not (cells == value).any():
            there = ", ".join(f'"{one}"' for one in sorted(cells.unique())[:10])
            raise InputError(f'{path}, column "{column}": no row has "{value}"; there are {there}')
        frame = frame.loc[(cells == value).to_numpy()]
    return frame


def numbers(frame: pd.DataFrame, path: str, column: str, hint: str = "") -> pd.Series[float]:
    """The column as finite numbers with NaN for empty cells; `InputError` names the first row that is no number."""
    found = pd.to_numeric(frame[column], errors="coerce").astype(float)
    wrong = (found.isna() & frame[column].notna()) | found.isin([float("inf"), float("-inf")])
    if wrong.any():
        row, cell = next(iter(frame.loc[wrong, column].items()))
        raise InputError(f'{path}, column "{column}": row {row} has "{cell}", not a number{hint}')
    return found


def _decode(path: str) -> str:
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}: line {line} is not UTF-8 (byte 0x{raw[error.start]:02x}); "
            "the file may be Latin-1 or Windows-1252: save it as UTF-8"
        ) from error


def _separator(header: str) -> str:
    return max(",\t;", key=header.count)


def _read_separated(path: str, text: str, separator: str) -> pd.DataFrame:
    limit = csv.field_size_limit()
    # The limit is the process's, so it is put back at once; a cell may be as long as the file.
    csv.field_size_limit(max(limit, len(text)))
    header: list[str] = []
    rows: dict[int, list[str | None]] = {}
    number = -1
    try:
        records = csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=separator, strict=True)
        for number, cells in enumerate(records):
            if not header:
                header = cells
                _refuse_twice(path, header)
            elif cells:
                if len(cells) != len(header):
                    what = f"row {number} has {len(cells)} cells, the header {len(header)}"
                    raise InputError(f"{path}: rows do not match the header ({what})")
                rows[number] = [None if cell in EMPTY else cell for cell in cells]
    except csv.Error as error:
        where = f"row {number + 1}" if header else "the header"
        raise InputError(f"{path}: the quotes in {where} are broken ({error})") from error
    finally:
        csv.field_size_limit(limit)
    return pd.DataFrame(list(rows.values()), index=list(rows), columns=header, dtype=object)


def _refuse_twice(path: str, header: list[str]) -> None:
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise InputError(f'{path}, column "{twice[0]}": the header has this name more than once')


def _read_jsonl(path: str, text: str) -> pd.DataFrame:
    rows = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}: line {number} is not JSON ({error.msg})") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {number} is not an object")
        rows[number] = {key: _cell(cell) for key, cell in row.items()}
    return pd.DataFrame(list(rows.values()), index=list(rows), dtype=object).astype(object)


def _cell(cell: object) -> str | None:
    if cell is None or (isinstance(cell, str) and cell in EMPTY):
        return None
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
