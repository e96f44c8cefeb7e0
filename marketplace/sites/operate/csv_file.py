"""Lines of a CSV file to download. Times are in UTC, and no cell can run as a formula in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from common.cells import protect_cell


class _Line:
    """A file-like object that returns what is written to it."""

    def write(self, text: str) -> str:
        return text


def cell(value: object) -> str:
    """``value`` as a cell: times in UTC as ISO 8601, None as an empty cell."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, int | Decimal):
        return str(value)
    return protect_cell(str(value))


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a file. It starts with a mark that shows spreadsheets it is UTF-8."""
    writer = csv.writer(_Line())
    yield "\ufeff" + writer.writerow(columns)
    for row in rows:
        yield writer.writerow([cell(value) for value in row])
