"""CSV files that every reader reads as they were written.

Python's own writer leaves a carriage return unquoted if lines end with a line feed, and readers take it for the end of
the row. Language models write carriage returns. Nothing else here may use Python's writer; a test scans for it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class TextFile(Protocol):
    def write(self, text: str, /) -> object: ...


class _Returned:
    """A file-like object that returns what is written to it."""

    def write(self, text: str) -> str:
        return text


class CsvWriter:
    """Writes rows to a text file, which must be open with ``newline=""``. Cells are quoted only if needed."""

    def __init__(self, file: TextFile, *, delimiter: str = ",", line_end: str = "\n") -> None:
        self._file, self._line = file, CsvLine(delimiter=delimiter, line_end=line_end)

    def writerow(self, row: Iterable[Any]) -> None:
        self._file.write(self._line.of(row))

    def writerows(self, rows: Iterable[Iterable[Any]]) -> None:
        for row in rows:
            self.writerow(row)


class CsvLine:
    """Turns one row at a time into a line, for files that are sent piece by piece."""

    def __init__(self, *, delimiter: str = ",", line_end: str = "\n") -> None:
        # With both characters in its line end, Python's writer quotes both.
        self._writer = csv.writer(_Returned(), delimiter=delimiter, lineterminator="\r\n")
        self._line_end = line_end

    def of(self, row: Iterable[Any]) -> str:
        line: str = self._writer.writerow(row)  # what ``write`` returns
        return line[:-2] + self._line_end


def csv_text(rows: Sequence[Sequence[Any]], *, delimiter: str = ",", line_end: str = "\n") -> str:
    """All rows as lines. The quick way for many rows."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    text = out.getvalue()
    if line_end == "\r\n" or "\r" not in text:
        return text
    line = CsvLine(delimiter=delimiter, line_end=line_end)
    return "".join(map(line.of, rows))
