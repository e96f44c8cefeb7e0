"""Reads Parquet files strictly. Numbers, dates and times become text; lists and objects become JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from annotation.table_files.headers import name_problems
from annotation.table_files.tables import (
    MAX_COLUMNS,
    Problems,
    Table,
    check_cells,
    check_size,
    no_rows,
    refused,
)
from annotation.table_files.whole_files import MAX_UNPACKED, TextBudget, seekable
from annotation.task_types.items import Row

_BATCH = 500
_ENCRYPTED = b"PARE"


def read_parquet(file: BinaryIO, name: str, limit: int | None) -> Table:
    """The file as a table. Raises TableProblems."""
    with seekable(file, limit) as whole:
        start = whole.read(4)
        whole.seek(-len(start), 1)
        if not start:
            raise refused("The file is empty.", "Choose the file with the items.")
        if start == _ENCRYPTED:
            raise refused("The Parquet file is encrypted.", "Write it without encryption.")
        try:
            opened = pq.ParquetFile(whole, pre_buffer=False)
            return _read(opened, name)
        except pa.ArrowMemoryError:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            what = "This is no Parquet file, or it is damaged."
            raise refused(what, "Write it again, for example with DataFrame.to_parquet().") from error


def _read(opened: Any, name: str) -> Table:
    metadata, schema = opened.metadata, opened.schema_arrow
    columns = [column.strip() for column in schema.names]
    if len(columns) > MAX_COLUMNS:
        what = f"The file has {len(columns):,} columns. The limit is {MAX_COLUMNS:,}."
        raise refused(what, "Keep only the columns that the study needs.")
    check_size(metadata.num_rows, len(columns))
    if sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups)) > MAX_UNPACKED:
        raise refused(f"Unpacked, the file is larger than {MAX_UNPACKED // 10**6:,} MB.", "Split it.")
    problems = Problems()
    check_cells(0, columns, columns, problems)
    for problem in name_problems(columns):
        problems.add(problem.row, problem.column, problem.what, problem.fix)
    for field in schema:
        if _has_bytes(field.type):
            what = f"The column contains binary data ({str(field.type)[:60]}), which has no text."
            problems.add(0, field.name, what, "Remove the column. Images belong in the zip file of a study's images.")
    problems.raise_if_any()
    nested = [field.name for field in schema if pa.types.is_nested(_plain_type(field.type))]
    writers = [_writer(field.type) for field in schema]
    budget = TextBudget()
    rows: list[Row] = []
    number = 0
    for batch in opened.iter_batches(_BATCH, use_threads=False):
        lists = [column.to_pylist() for column in batch.columns]
        for values in zip(*lists, strict=True):
            number += 1
            cells = [
                _cell(value, write, number, column, problems)
                for value, write, column in zip(values, writers, columns, strict=True)
            ]
            if not any(cells):
                continue
            check_cells(number, columns, cells, problems)
            if not problems.total:
                budget.spend(sum(map(len, cells)))
                rows.append(Row(number, dict(zip(columns, cells, strict=True))))
    problems.raise_if_any()
    if not rows:
        raise no_rows("to the data frame")
    notes = [f"Lists and objects were written as JSON text in the columns {', '.join(nested)[:300]}."] if nested else []
    return Table(columns, rows, name, notes=notes)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a dictionary or an extension type."""
    while isinstance(kind, pa.DictionaryType | pa.BaseExtensionType):
        kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind.storage_type
    return kind


def _has_bytes(kind: pa.DataType) -> bool:
    kind = _plain_type(kind)
    if pa.types.is_nested(kind):
        return any(_has_bytes(kind.field(index).type) for index in range(kind.num_fields))
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _writer(kind: pa.DataType) -> Callable[[Any], str]:
    """What makes text of the values of a column."""
    kind = _plain_type(kind)
    if pa.types.is_nested(kind):
        return lambda value: json.dumps(value, ensure_ascii=False, default=_text)
    if pa.types.is_float32(kind):
        return lambda value: str(np.float32(value))
    if pa.types.is_float16(kind):
        return lambda value: str(np.float16(value))
    return _text


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _cell(value: Any, write: Callable[[Any], str], number: int, column: str, problems: Problems) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        called = "NaN (not a number)" if math.isnan(value) else "infinite"
        problems.add(
            number, column, f"The value is {called}.", "Leave a missing value empty (null), or write a number."
        )
        return ""
    return write(value)
