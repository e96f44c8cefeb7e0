"""Records as the bytes of a CSV or a JSON lines file, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from common.cells import SUSPECT, protect_cell
from common.csv_files import csv_text

Record = list[Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The content of one kind of export. ``texts`` are the positions of cells that contain somebody's own words.

    ``batches`` yields the records, a few thousand at a time. The writer may change a record.
    """

    columns: Sequence[str]
    texts: Sequence[int]
    batches: Iterable[list[Record]]


def csv_bytes(sheet: Sheet) -> Iterator[tuple[bytes, int]]:
    """UTF-8 without a byte order mark, line feeds, quotes only if needed. Yields bytes and their number of records."""
    yield _csv_lines([list(sheet.columns)], range(len(sheet.columns))), 0
    for batch in sheet.batches:
        yield _csv_lines(batch, sheet.texts), len(batch)


def _csv_lines(batch: list[Record], texts: Sequence[int]) -> bytes:
    for record in batch:
        for column in texts:
            cell = record[column]
            if cell and cell[0] in SUSPECT:
                record[column] = protect_cell(cell)
    return _encoded(csv_text(batch))


def jsonl_bytes(sheet: Sheet) -> Iterator[tuple[bytes, int]]:
    """One object per line, with unchanged texts. Yields bytes and their number of records."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
    columns = sheet.columns
    for batch in sheet.batches:
        lines = [encode(dict(zip(columns, record, strict=True))) for record in batch]
        yield _encoded("\n".join([*lines, ""])), len(batch)


def utc(moment: datetime) -> str:
    """A time in UTC, such as 2026-11-22T05:31:00.250Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def readable_text(text: str) -> str:
    """The text with “?” for half a surrogate pair, which only a database edited by hand can contain."""
    return text if text.isascii() else _encoded(text).decode()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


WRITERS: dict[str, Callable[[Sheet], Iterator[tuple[bytes, int]]]] = {"csv": csv_bytes, "jsonl": jsonl_bytes}
