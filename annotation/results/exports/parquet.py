"""Exports as Parquet: the values of the CSV file with their types, written in row groups so that memory stays flat."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import IO, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.record_writers import Sheet, readable_text

#: Records of a row group.
GROUP = 20_000
_PIECE = 64 * 1024
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MOMENT_TYPE = pa.timestamp("ms", "UTC")
_LARGEST_INTEGER, _LARGEST_IN_FLOAT = 2**63 - 1, 2**53


def parquet_bytes(sheet: Sheet) -> Iterator[tuple[bytes, int]]:
    """The file in pieces. The first has no bytes, and the number of all records."""
    with tempfile.TemporaryFile() as out:
        yield b"", write_parquet(sheet, out)[1]
        out.seek(0)
        while piece := out.read(_PIECE):
            yield piece, 0


def write_parquet(sheet: Sheet, out: BinaryIO | IO[bytes]) -> tuple[pa.Schema, int]:
    """Write the sheet; returns the types of its columns and the number of records.

    A type is only certain once all records are known, so they wait in a file.
    """
    kinds = [_Kind(index in sheet.texts) for index in range(len(sheet.columns))]
    number = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        for batch in sheet.batches:
            for record in batch:
                for kind, value in zip(kinds, record, strict=True):
                    kind.see(value)
                waiting.write(json.dumps(record) + "\n")
            number += len(batch)
        waiting.seek(0)
        fields = zip(sheet.columns, kinds, strict=True)
        schema = pa.schema([pa.field(name, kind.type) for name, kind in fields])
        with pq.ParquetWriter(out, schema, compression="zstd") as writer:
            while records := [json.loads(line) for line in islice(waiting, GROUP)]:
                columns = [
                    pa.array([kind.value(record[index]) for record in records], kind.type)
                    for index, kind in enumerate(kinds)
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return schema, number


class _Kind:
    """The type of a column, from all of its values. ``is_text``: it contains somebody's own words, so it is text."""

    def __init__(self, is_text: bool) -> None:
        self.is_text = is_text
        self._seen: set[str] = set()

    def see(self, value: Any) -> None:
        if value is None or (value == "" and not self.is_text):
            return
        if isinstance(value, bool):
            self._seen.add("bool")
        elif isinstance(value, int):
            self._seen.add("int" if abs(value) <= _LARGEST_IN_FLOAT else "large")
            if abs(value) > _LARGEST_INTEGER:
                self._seen.add("text")
        elif isinstance(value, float):
            self._seen.add("float")
        else:
            self._seen.add("moment" if isinstance(value, str) and _MOMENT.fullmatch(value) else "text")

    @property
    def type(self) -> pa.DataType:
        if self.is_text or not self._seen:
            return pa.string()
        if self._seen == {"bool"}:
            return pa.bool_()
        if self._seen == {"moment"}:
            return _MOMENT_TYPE
        if self._seen <= {"int", "large"}:
            return pa.int64()
        return pa.float64() if self._seen <= {"int", "float"} else pa.string()

    @property
    def value(self) -> Callable[[Any], Any]:
        """What makes a value of this type."""
        if self.type == pa.string():
            return _as_text if self.is_text else lambda value: _as_text(value) or None
        if self.type == _MOMENT_TYPE:
            return lambda value: datetime.fromisoformat(value) if value else None
        return lambda value: None if value == "" else value


def _as_text(value: Any) -> str | None:
    """The text of the CSV file. Half a surrogate pair becomes “?”, as there."""
    if value is None:
        return None
    if isinstance(value, str):
        return readable_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
