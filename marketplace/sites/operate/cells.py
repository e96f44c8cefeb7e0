"""CSV whose cells no spreadsheet runs as a formula.

A text that a spreadsheet may take for a formula gets one apostrophe in front, and so does a text that begins with an
apostrophe, so that taking one away always gives back what was there. Numbers stay numbers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal

#: The signs a formula begins with, their full-width forms, and what a spreadsheet skips before them.
_RISKY = re.compile(r"[\s\x00-\x1f\u200b-\u200f\ufeff]*[=+\-@'＝＋－＠]|[\t\r\n]")


class _Line:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def cell(value: object) -> str:
    """``value`` as a cell: times in UTC as ISO 8601, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, int | Decimal):
        return str(value)
    text = str(value)
    return f"'{text}" if _RISKY.match(text) else text


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a file, with a mark at its start by which spreadsheets know UTF-8."""
    writer = csv.writer(_Line())
    yield "\ufeff" + writer.writerow(columns)
    for row in rows:
        yield writer.writerow([cell(value) for value in row])
