"""Cells of the CSV files in a bundle: how a value of each column is written and read back exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from analysis.quality_control.work import is_check
from analysis.rating_codes import RatingCodes


class BundleError(ValueError):
    """An unusable bundle. ``str()`` gives the file, the place in it and the reason."""


@dataclass(frozen=True, slots=True)
class Cell:
    """How to write and read a column of a CSV file. ``read`` raises ValueError for an invalid cell."""

    what: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]


def _json(
    what: str, kind: type, check: Callable[[Any], bool], after: Callable[[Any], Any] = lambda value: value
) -> Cell:
    def read(text: str) -> Any:
        try:
            value = json.loads(text)
        except RecursionError:
            raise ValueError from None
        if not isinstance(value, kind) or not check(value):
            raise ValueError
        return after(value)

    return Cell(what, lambda value: json.dumps(_without_nan(value), ensure_ascii=False, allow_nan=False), read)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(cell) for key, cell in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _are_texts(value: list[Any]) -> bool:
    return all(isinstance(text, str) for text in value)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError
    return moment


def _number(text: str) -> float:
    if "_" in text:
        raise ValueError
    return float(text) if text else math.nan


_TEXT = Cell("text", str, str)
_INT = Cell("a whole number", lambda value: str(int(value)), int)
_FLOAT = Cell("a number", lambda v: "" if v is None or math.isnan(v) else repr(float(v)), _number)
_BOOL = Cell("true or false", lambda value: "true" if value else "false", lambda t: {"true": True, "false": False}[t])
_TIME = Cell("a moment with its time zone", lambda value: str(value.isoformat()), _moment)
_TEXTS = _json("a JSON list of texts", list, _are_texts)
_GROUPS = _json(
    "a JSON list of lists of texts",
    list,
    lambda value: all(isinstance(group, list) and _are_texts(group) for group in value),
)
_CELLS = _json("a JSON object of texts", dict, lambda value: _are_texts(list(value.values())))
_CHECK = _json("a JSON object with right answers", dict, is_check)
_NUMBERS = _json(
    "a JSON object of numbers",
    dict,
    lambda value: all(number is None or isinstance(number, int | float) for number in value.values()),
    lambda value: {key: math.nan if number is None else float(number) for key, number in value.items()},
)
#: How cells are written and read, by the type of their column.
CELL_OF: dict[Any, Cell] = {
    str: _TEXT,
    int: _INT,
    float: _FLOAT,
    bool: _BOOL,
    datetime: _TIME,
    list[str]: _TEXTS,
    list[list[str]]: _GROUPS,
    dict[str, float]: _NUMBERS,
    dict[str, str]: _CELLS,
    dict[str, Any]: _CHECK,
}


def refuse_strangers(tables: Mapping[str, pd.DataFrame], codes: Mapping[str, RatingCodes]) -> None:
    """Refuse references to missing rows, and duplicate names. Only edited files have them. ``codes``: the tables'
    columns."""
    submissions, items = tables["submissions"]["submission"], tables["items"]["item"]
    for kind, names in (("item", items), ("submission", submissions)):
        if not names.is_unique:
            raise BundleError(f"{kind}s.csv holds one {kind} twice")
    for name in ("ratings", "flags", "offers", "own_ratings", "adjudications", "judge_ratings", "tries"):
        table = tables[name]
        no_submission, no_item = np.zeros((2, len(table)), dtype=bool)
        if "submission" in table:
            # The training belongs to no submission.
            may_be = pd.concat([submissions, pd.Series([0])]) if name == "tries" else submissions
            no_submission = ~codes[name].of("submission").is_one_of(may_be)
        if "item" in table:
            # An answer about no item has no name there; an own rating always has.
            may_be = pd.concat([items, pd.Series([""])]) if "submission" in table else items
            no_item = ~codes[name].of("item").is_one_of(may_be)
        if not (no_submission | no_item).any():
            continue
        number = int((no_submission | no_item).argmax())
        row = table.iloc[number]
        stranger = f"submission {row['submission']}" if no_submission[number] else f"item “{row['item'][:40]}”"
        raise BundleError(f"{name}.csv, row {number + 1}: there is no {stranger}")
