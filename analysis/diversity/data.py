"""Reading and writing the diversity-eval CSV format, with errors that say where and how to mend it.

Shapes: a frame of text, one row per set: ``sample_id, context, label_value, label_name, resp_0 …``, then any
other columns, ``metric_*`` among them. Nothing is read as missing: an empty cell is an empty text, "NA" is
the text NA. The frame's index is the row counted from 1 below the header, blank lines included, whatever line
breaks the cells hold.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd

from analysis.diversity.association import Floats

LABEL = "label_value"
LABEL_NAME = "label_name"

_RESPONSE = re.compile(r"resp_(\d+)")


class DataError(ValueError):
    """What is wrong with a file, where, and how to mend it (unless that is plain), as one line."""

    def __init__(self, file: str | Path, where: str, what: str, mend: str = "") -> None:
        place = f"{file}, {where}" if where else f"{file}"
        super().__init__(f"{place}: {what}; {mend}" if mend else f"{place}: {what}")


def read_sets(path: str | Path) -> pd.DataFrame:
    """All rows and columns of a UTF-8 CSV file (with or without BOM) as text, untouched; blank lines are
    skipped.

    Raises DataError when the file cannot be read, is not UTF-8, is empty, has no row below its header, has
    unnamed or repeated columns, a row of another length, or broken quotes.
    """
    rows = _rows(path, _text(path))
    if not rows:
        raise DataError(path, "", "the file is empty", "it needs a header row and one row per set")
    first, header = rows[0]
    rows = [(number - first, record) for number, record in rows]
    _check_header(path, header)
    if len(rows) == 1:
        raise DataError(path, "", "there is no row below the header", "add one row per set")
    for number, record in rows[1:]:
        if len(record) != len(header):
            what = f"{len(record)} cells where the header has {len(header)}"
            raise DataError(path, f"row {number}", what, "put texts that hold commas or line breaks in quotes")
    index = pd.Index([number for number, _ in rows[1:]], name="row")
    return pd.DataFrame([record for _, record in rows[1:]], columns=header, index=index, dtype=object)


def write_sets(frame: pd.DataFrame, out: str | Path | None) -> None:
    """Columns and rows as CSV, UTF-8, to the file ``out`` (replaced whole or not at all) or to standard output.

    Raises DataError when the file cannot be written; what was there before is then still there.
    """
    if out is None:
        _write(frame, sys.stdout)
        return
    target = Path(out)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with open(handle, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a descriptor
                _write(frame, file)
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(target)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise DataError(target, "", f"cannot be written ({error.strerror})", "choose another --out") from None


def responses(frame: pd.DataFrame, path: str | Path) -> list[list[str]]:
    """The texts of ``resp_0 … resp_n`` of every set, in the order of their numbers, whatever the order of the
    columns.

    An empty cell is an empty response and counts as one. Raises DataError for fewer than two such columns or
    a gap.
    """
    found = {int(match[1]): name for name in frame.columns if (match := _RESPONSE.fullmatch(name))}
    if len(found) < 2:
        mend = "a set needs two responses or more, in columns resp_0, resp_1 …"
        raise DataError(path, "", f"has {len(found) or 'no'} response column{'s' * (len(found) != 1)}", mend)
    missing = sorted(set(range(len(found))) - set(found))
    if missing:
        where = f"column resp_{missing[0]}"
        raise DataError(path, where, "is missing between the others", "number the columns from resp_0 on without a gap")
    texts: list[list[str]] = frame[[found[number] for number in sorted(found)]].to_numpy().tolist()
    return texts


def numbers(frame: pd.DataFrame, column: str, path: str | Path) -> Floats:
    """A column as finite numbers, (n,). Raises DataError naming the first row whose cell is no such
    number."""
    if column not in frame.columns:
        raise DataError(path, f"column {column}", "is missing", f"the file has {', '.join(frame.columns)}")
    return np.array([_number(cell, path, f"row {row}, column {column}") for row, cell in frame[column].items()])


def _number(cell: str, path: str | Path, where: str) -> float:
    mend = "write a plain number with a decimal point, such as 0.6"
    if not cell.strip():
        raise DataError(path, where, "the cell is empty", mend)
    try:
        # Python alone would read 1_000 as a number.
        number = float(cell.replace("_", "?"))
    except ValueError:
        raise DataError(path, where, f"{_shown(cell)} is not a number", mend) from None
    if not math.isfinite(number):
        raise DataError(path, where, f"{_shown(cell)} is not a finite number", mend)
    return number


def _text(path: str | Path) -> str:
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(path, "", "there is no such file", "check the name") from None
    except IsADirectoryError:
        raise DataError(path, "", "is a folder", "name a CSV file") from None
    except OSError as error:
        raise DataError(path, "", f"cannot be read ({error.strerror})", "check the file's permissions") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise DataError(path, f"line {line}", what, "save the file as UTF-8 (it may be Latin-1 or UTF-16)") from None


def _rows(path: str | Path, text: str) -> list[tuple[int, list[str]]]:
    """Records that are not blank, each with its place in the file from 0; blank ones are counted."""
    limit = csv.field_size_limit()
    # The limit is the process's, so it is put back at once; a cell may be as long as the file.
    csv.field_size_limit(max(limit, len(text)))
    records: list[list[str]] = []
    try:
        records.extend(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        mend = 'close every quote, and double those inside a text: ""'
        where = f"row {len(records)}" if records else "header"
        raise DataError(path, where, f"the quotes are broken ({error})", mend) from None
    finally:
        csv.field_size_limit(limit)
    return [(row, record) for row, record in enumerate(records) if record]


def _check_header(path: str | Path, header: Sequence[str]) -> None:
    for place, name in enumerate(header, start=1):
        if not name.strip():
            raise DataError(path, f"header, column {place}", "the column has no name", "name or remove it")
        if name in header[: place - 1]:
            raise DataError(path, f"column {name}", "is there twice", "rename or remove one of the two")


def _write(frame: pd.DataFrame, file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows(frame.to_numpy().tolist())


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:39] + "…")
