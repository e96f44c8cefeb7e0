"""Lines of a CSV file to download. Times are in UTC, and no cell can run as a formula in a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from common.cells import protect_cell
from common.csv_files import CsvLine


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
    line = CsvLine(line_end="\r\n")
    yield "\ufeff" + line.of(columns)
    for row in rows:
        yield line.of(cell(value) for value in row)
