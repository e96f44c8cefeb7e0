"""The tables of a study as frames: from the records of each row, and from the CSV files of a bundle."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.bundle_cells import CELL_OF, BundleError, Cell
from analysis.csv_cells import Column
from analysis.rating_codes import Coded
from analysis.regular_csv import BOM, regular_rows
from analysis.study_tables import Record, Table

#: Rows share equal texts. As pyarrow holds them, which pandas uses where it is installed, every row has its own.
SHARED_TEXTS = pd.StringDtype("python", na_value=np.nan)
#: The types of columns whose cells are texts, numbers or flags.
TYPES: dict[Any, Any] = {str: SHARED_TEXTS, int: int, float: float, bool: bool}


def frame_of(table: Table, records: Iterable[Record]) -> pd.DataFrame:
    """A frame that has its columns and their types even without rows."""
    types = table.types
    rows = [
        table.make(**{name: record[name] for name in types if name in record})
        if isinstance(record, Mapping)
        else table.make(*record)
        for record in records
    ]
    kinds = {column: TYPES[kind] for column, kind in types.items() if kind in TYPES}
    return pd.DataFrame.from_records(rows, columns=list(types)).astype(kinds)


def read_table(file: str, table: Table, content: bytes) -> tuple[pd.DataFrame, dict[str, Coded]]:
    """The rows of a file, whatever the order of its columns, and its columns that are codes. Ignores other columns.

    BundleError: not UTF-8, a column is missing, rows of unequal length, a cell that is not valid in its column.
    """
    if (regular := _regular_table(table, content)) is not None:
        return regular
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BundleError(f"{file} is not UTF-8 (byte {error.start:,})") from None
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    try:
        records = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(records, [])
        missing = [column for column in table.types if column not in header and column not in table.defaults]
        if missing:
            raise BundleError(f"{file} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}")
        positions = {column: header.index(column) for column in table.types if column in header}
        cells = [(column, position, CELL_OF[table.types[column]]) for column, position in positions.items()]
        rows = [_read_row(file, number, row, len(header), cells) for number, row in enumerate(records, 1) if row]
        return frame_of(table, rows), {}
    except csv.Error as error:
        raise BundleError(f"{file} is not valid CSV ({error})") from None
    finally:
        # The limit applies to the whole process, so it is restored at once. A cell may be as long as the file.
        csv.field_size_limit(limit)


def _read_row(
    file: str, number: int, row: Sequence[str], width: int, cells: Sequence[tuple[str, int, Cell]]
) -> dict[str, Any]:
    if len(row) != width:
        raise BundleError(f"{file}, row {number} has {len(row)} cells, the header {width}")
    values = {}
    for column, position, cell in cells:
        try:
            values[column] = cell.read(row[position])
        except (ValueError, KeyError):
            raise BundleError(f"{file}, row {number}, {column} is {row[position][:40]!r}, not {cell.what}") from None
    return values


def _regular_table(table: Table, content: bytes) -> tuple[pd.DataFrame, dict[str, Coded]] | None:
    """The same without a loop over rows: every distinct text of a column is read once.

    None if the file is not regular, lacks a column or has a cell that is not valid, so that the row must be found.
    """
    first_line = content[: content.find(b"\n") + 1].removeprefix(BOM)
    if b'"' in first_line or not first_line.isascii():
        return None
    header = first_line.decode().rstrip("\r\n").split(",")
    if not set(table.types) <= set(header):
        return None
    columns = regular_rows(content, ",", len(header), [header.index(name) for name in table.types])
    if columns is None:
        return None
    values: dict[str, Any] = {}
    codes: dict[str, Coded] = {}
    try:
        for name, kind in table.types.items():
            column = columns.pop(0)
            values[name], names = _values_of(column, kind)
            # Two texts may be one number.
            if kind is str or (kind is int and len(np.unique(names)) == len(names)):
                codes[name] = Coded(column.codes, names)
    except (ValueError, KeyError, OverflowError):
        return None
    return pd.DataFrame(values, copy=False), codes


def _values_of(column: Column, kind: Any) -> tuple[Any, npt.NDArray[Any]]:
    """The values of a column (N,) with the type that `frame_of` gives them, and its distinct values."""
    read = CELL_OF[kind].read
    values = [read(text) for text in column.texts.tolist()]
    if kind in (int, float, bool):
        numbers = np.array(values, dtype=kind)
        return numbers[column.codes], numbers
    distinct = np.empty(len(values), dtype=object)
    distinct[:] = values
    if kind is str:
        return pd.array(distinct, dtype=SHARED_TEXTS).take(column.codes), distinct
    rows = distinct[column.codes]
    return (pd.Series(rows.tolist()) if kind is datetime else rows), distinct
