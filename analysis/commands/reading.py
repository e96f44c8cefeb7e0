"""Reads the table a person names on the command line, and says plainly what is wrong with it."""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path

import pandas as pd

#: What an empty cell may look like; anything else is a value.
EMPTY = ("", "NA", "NaN", "nan")


class InputError(Exception):
    """Input that cannot be used; the message names the file, and the column and row where it can."""


def read_table(path: str) -> pd.DataFrame:
    """A CSV, TSV or JSONL file (UTF-8, BOM or not) as a frame of text, with None for empty cells.

    ``.tsv``/``.tab`` is tab-separated, ``.jsonl``/``.ndjson`` one object a line, ``.csv`` and anything else is told by
    its first line (comma, tab or semicolon; an opening brace means JSONL). `InputError`: not there, not UTF-8, empty,
    a header without names or with a name twice, rows of another length than the header, lines that are not objects.
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


def numbers(frame: pd.DataFrame, path: str, column: str, hint: str = "") -> pd.Series[float]:
    """The column as finite numbers with NaN for empty cells; `InputError` names the first row that is no number."""
    found = pd.to_numeric(frame[column], errors="coerce").astype(float)
    wrong = (found.isna() & frame[column].notna()) | found.isin([float("inf"), float("-inf")])
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        cell = frame[column].iloc[row]
        raise InputError(f'{path}, column "{column}": row {row + 1} has "{cell}", not a number{hint}')
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
    header = next(csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=separator))
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise InputError(f'{path}, column "{twice[0]}": the header has this name more than once')
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(text),
                sep=separator,
                dtype=object,
                keep_default_na=False,
                na_values=list(EMPTY),
                index_col=False,
            ).astype(object)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        what = str(error).removeprefix("Error tokenizing data. C error: ").strip().splitlines()[0]
        raise InputError(f"{path}: rows do not match the header ({what})") from error


def _read_jsonl(path: str, text: str) -> pd.DataFrame:
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}: line {number} is not JSON ({error.msg})") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {number} is not an object")
        rows.append({key: _cell(cell) for key, cell in row.items()})
    return pd.DataFrame(rows, dtype=object).astype(object)


def _cell(cell: object) -> str | None:
    if cell is None or (isinstance(cell, str) and cell in EMPTY):
        return None
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
