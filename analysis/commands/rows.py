"""Reading rows for a command: the rows that meet its conditions, and the numbers of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.input_errors import InputError, shown
from analysis.input_errors import number_in as number_in
from analysis.tables import require_columns

#: Spellings of a missing rating. In the columns of units and raters, only an empty cell is missing.
MISSING = ("", "NA", "NaN", "nan")


def condition_of(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not equals:
        raise InputError("--where", shown(text), "this is not a condition", "write COLUMN=VALUE")
    return column, value


def chosen_rows(frame: pd.DataFrame, path: str, conditions: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """The rows that meet every condition. InputError if there are none."""
    for column, value in conditions:
        require_columns(list(frame.columns), path, column)
        matching = (frame[column] == value).to_numpy()
        if not matching.any():
            existing = ", ".join(shown(str(cell)) for cell in sorted(frame[column].dropna().unique())[:10])
            raise InputError(path, f'column "{column}"', f"no row has {shown(value)}", f"there are {existing}")
        frame = frame.loc[matching]
    return frame


def refuse_empty(cells: pd.Series, path: str, fix: str = "name what was rated, and who rated") -> None:
    empty = (cells.isna() | (cells == "")).to_numpy()
    if empty.any():
        where = f'row {cells.index[int(empty.argmax())]}, column "{cells.name}"'
        raise InputError(path, where, "the cell is empty", fix)


def numbers(cells: pd.Series, path: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers of a column, NaN where a value is missing. InputError: a cell with anything else."""
    number_of_code = []
    for text in cells.cat.categories:
        number = math.nan if text in MISSING else number_in(text)
        if number is None and (cells == text).any():
            row = cells.index[int((cells == text).to_numpy().argmax())]
            what = f"{shown(text)} is not a number"
            raise InputError(path, f'row {row}, column "{cells.name}"', what, "write a plain number")
        number_of_code.append(math.nan if number is None else number)
    return np.array([*number_of_code, math.nan])[cells.cat.codes.to_numpy()]
