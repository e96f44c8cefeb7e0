"""Read, check and write tables of sets in the diversity-eval format.

Shapes: a frame of text, one row per set: ``sample_id, context, label_value, label_name, resp_0 …``, then any other
columns, ``metric_*`` among them. No cell counts as missing: an empty cell is an empty text, and "NA" is the text NA.
CSV (comma or semicolon), TSV and JSONL work the same way (`analysis.tables`); the index is the row.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.diversity.association import Floats
from analysis.tables import Format, InputError, format_of, read_objects, read_texts, require_columns, shown
from common.csv_files import csv_text
from common.files import write_whole

LABEL = "label_value"
LABEL_NAME = "label_name"
CONTEXT = "context"

_RESPONSE = re.compile(r"resp_(\d+)")


def read_sets(path: str | Path) -> pd.DataFrame:
    """All rows and columns as text, as written. InputError: see `analysis.tables.read_columns`."""
    return read_texts(path)


def write_sets(frame: pd.DataFrame, out: str | Path | None, *, like: str | Path | None = None) -> None:
    """Write columns and rows in UTF-8 to the file ``out`` (replaced whole or not at all) or to standard output.

    The format is that of ``like``, the source file of the frame: its separator, or JSONL, in which unchanged values
    keep their type. None: CSV. InputError: ``out`` cannot be written; an existing file stays unchanged.
    """
    form = Format("separated", ",") if like is None else format_of(like)
    text = (
        _as_jsonl(frame, like)
        if form.kind == "jsonl" and like is not None
        else csv_text([list(frame.columns), *frame.to_numpy().tolist()], delimiter=form.separator)
    )
    if out is None:
        sys.stdout.write(text)
        return
    target = Path(out)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_text(text, encoding="utf-8", newline="")  # a device or a pipe cannot be replaced by a file
        else:
            write_whole(target, text)
    except OSError as error:
        raise InputError(out, "", f"cannot be written ({error.strerror})", "choose another --out") from None


def responses(frame: pd.DataFrame, path: str | Path) -> list[list[str]]:
    """The texts of ``resp_0 … resp_n`` of every set, in order of their numbers, whatever the order of the columns.

    An empty cell is an empty response and counts as one. InputError: fewer than two such columns, a gap in their
    numbers, a line of JSONL without one of them.
    """
    columns = {int(match[1]): name for name in frame.columns if (match := _RESPONSE.fullmatch(name))}
    if len(columns) < 2:
        fix = "a set needs two or more responses, in columns resp_0, resp_1 …"
        raise InputError(path, "", f"there is {'one response column' if columns else 'no response column'}", fix)
    gaps = sorted(set(range(len(columns))) - set(columns))
    if gaps:
        where = f'column "resp_{gaps[0]}"'
        raise InputError(path, where, "is missing between the others", "number the columns from resp_0 without a gap")
    texts = frame[[columns[number] for number in sorted(columns)]]
    empty = texts.isna().to_numpy()
    if empty.any():
        row, column = (int(index[0]) for index in np.nonzero(empty))
        where = f'row {texts.index[row]}, column "{texts.columns[column]}"'
        raise InputError(path, where, "there is no text", 'an empty response is ""')
    return [list(row) for row in texts.to_numpy().tolist()]


def numbers(frame: pd.DataFrame, column: str, path: str | Path) -> Floats:
    """A column as finite numbers, (n,). InputError names the first row whose cell is not a finite number."""
    require_columns(list(frame.columns), path, column)
    fix = "write a plain number with a decimal point, such as 0.6"
    values = []
    for row, cell in frame[column].items():
        where = f'row {row}, column "{column}"'
        if cell is None or not cell.strip():
            raise InputError(path, where, "the cell is empty", fix)
        try:
            # Python alone would read 1_000 as a number.
            number = float(cell.replace("_", "?"))
        except ValueError:
            raise InputError(path, where, f"{shown(cell)} is not a number", fix) from None
        if not math.isfinite(number):
            raise InputError(path, where, f"{shown(cell)} is not a finite number", fix)
        values.append(number)
    return np.array(values)


def _as_jsonl(frame: pd.DataFrame, like: str | Path) -> str:
    """Each row as one line; new cells that are numbers are written as numbers."""
    objects_before, texts_before = read_objects(like), read_texts(like)
    columns_before = set(texts_before.columns)
    lines = []
    for row, cells in zip(frame.index, frame.to_dict("records"), strict=True):
        line = dict(objects_before[int(row)])
        for key, cell in cells.items():
            if key not in columns_before or cell != texts_before.at[row, key]:
                try:
                    line[str(key)] = float(cell)
                except (TypeError, ValueError):
                    line[str(key)] = cell
        lines.append(json.dumps(line, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)
