"""What the API returned, saved as one JSON file.

Either the ratings alone, or an object with ``ratings`` and ``items``. Each is the list of its pages as the API sent
them, a single page, or the list of all ``results``. With ``study``, what the address of the study returns, arms have
their factors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.answer_files.columns import ARM_FACTOR, OWN, RESERVED, named_apart
from analysis.answer_files.files import COUNTED_ROLES, PARAMETER, LevelColumn
from analysis.answer_files.rows import OF_RATINGS, Column, RowsFile, taken
from analysis.input_errors import InputError

#: The fields of a rating that figures need. Whatever else the API sends is read if it is there.
NEEDED = (
    *("submission", "item", "role", "question", "target", "scale_level", "scale_low", "scale_high", "about"),
    *("value", "label", "text", "worker", "arm", "included"),
)
SHAPE = 'save {"ratings": […], "items": […]} with the results of studies/NAME/ratings/ and studies/NAME/items/'


def read_api_answers(path: str) -> RowsFile:
    """The answers in the figures. InputError: no such file, another shape, a field is missing, no answers."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(path, "", "there is no such file", "check its name") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(path, "", f"this is not JSON ({error})", SHAPE) from None
    whole = content if isinstance(content, dict) and "ratings" in content else {"ratings": content}
    ratings = records_in(path, "ratings", whole["ratings"])
    items = records_in(path, "items", whole.get("items") or [])
    if not ratings:
        raise InputError(path, "ratings", "there are no ratings", SHAPE)
    for number, rating in enumerate(ratings, start=1):
        missing = [name for name in NEEDED if name not in rating]
        if missing:
            raise InputError(path, f"rating {number}", f"the field “{missing[0]}” is missing", SHAPE)
    frame = pd.DataFrame(ratings)
    frame = frame[frame["included"].astype(bool) & frame["role"].isin(COUNTED_ROLES)].reset_index(drop=True)
    if frame.empty:
        raise InputError(path, "ratings", "no answer is in the figures", "see the field included")
    study = whole.get("study")
    if not isinstance(study, dict) or not isinstance(study.get("factors") or {}, dict):
        return RowsFile(path, columns_of(frame, items, []))
    factors = study.get("factors")
    declared = {name: settings for name, settings in factors.items() if isinstance(settings, dict)} if factors else {}
    return ApiFile(path, columns_of(frame, items, study.get("arms") or []), declared)


class ApiFile(RowsFile):
    """Answers with what the address of the study returned. ``declared``: the settings of its factors by their names."""

    declares = True

    def __init__(self, path: str, columns: Mapping[str, Column], declared: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(path, columns)
        self._declared = declared

    @cached_property
    def factors(self) -> list[LevelColumn]:
        """The declared factors of items and of arms, then what is found where nobody declared any of that sort.

        Factors of parts and of workers have no column of levels here: the bundle has them.
        """
        declared = []
        for name, settings in self._declared.items():
            if column := self._column_of(name, settings.get("of", "")):
                declared.append(LevelColumn(name, column, settings.get("reference", "")))
        names, sorts = {factor.name for factor in declared}, {is_of_arms(factor) for factor in declared}
        return declared + [
            factor for factor in super().factors if factor.name not in names and is_of_arms(factor) not in sorts
        ]

    def _column_of(self, name: str, of: str) -> str:
        """The column of the factor's levels; empty if there is none. As declared without ``of``: items come first."""
        of_items = [f"{OWN}{name}", *([] if name in RESERVED else [name])]
        if PARAMETER in self.names and name == self._parameter:
            of_items.append(PARAMETER)
        of_arms = [f"{ARM_FACTOR}{name}", *(["arm"] if name == "arm" else [])]
        columns = {"item": of_items, "arm": of_arms, "": [*of_items, *of_arms]}.get(of, [])
        return next((column for column in columns if column in self.names), "")


def is_of_arms(factor: LevelColumn) -> bool:
    return factor.column == "arm" or factor.column.startswith(ARM_FACTOR)


def records_in(path: str, name: str, content: Any) -> list[dict[str, Any]]:
    """The results of a page, of a list of pages, or the list itself. InputError: none of these."""
    if isinstance(content, dict) and "results" in content:
        content = content["results"]
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise InputError(path, name, "this is neither a page of the API nor a list of records", SHAPE)
    return [record for page in content for record in page.get("results", [page])]


def columns_of(frame: pd.DataFrame, items: list[dict[str, Any]], arms: list[dict[str, Any]]) -> dict[str, Column]:
    fields = {field: name for name, field in OF_RATINGS.items()}
    columns: dict[str, Column] = {
        fields.get(str(name), str(name)): partial(frame.__getitem__, name) for name in frame.columns
    }
    for factor in dict.fromkeys(factor for arm in arms for factor in arm.get("factors") or {}):
        levels = {arm["name"]: (arm.get("factors") or {}).get(factor, "") for arm in arms}
        columns[f"{ARM_FACTOR}{factor}"] = partial(taken, levels, frame["arm"])
    own = list(dict.fromkeys(name for item in items for name in item.get("columns", {})))
    for name, own_name in zip(own, named_apart(own, {*RESERVED, *columns}), strict=True):
        cells = {item["item"]: item["columns"].get(name, "") for item in items}
        columns[own_name] = partial(taken, cells, frame["item"])
    return columns
