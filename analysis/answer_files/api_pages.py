"""What the API returned, saved as one JSON file.

Either the ratings alone, or an object with ``ratings`` and ``items``. Each is the list of its pages as the API sent
them, a single page, or the list of all ``results``.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.answer_files.columns import RESERVED, named_apart
from analysis.answer_files.files import COUNTED_ROLES
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
    return RowsFile(path, columns_of(frame, items))


def records_in(path: str, name: str, content: Any) -> list[dict[str, Any]]:
    """The results of a page, of a list of pages, or the list itself. InputError: none of these."""
    if isinstance(content, dict) and "results" in content:
        content = content["results"]
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise InputError(path, name, "this is neither a page of the API nor a list of records", SHAPE)
    return [record for page in content for record in page.get("results", [page])]


def columns_of(frame: pd.DataFrame, items: list[dict[str, Any]]) -> dict[str, Column]:
    fields = {field: name for name, field in OF_RATINGS.items()}
    columns: dict[str, Column] = {
        fields.get(str(name), str(name)): partial(frame.__getitem__, name) for name in frame.columns
    }
    own = list(dict.fromkeys(name for item in items for name in item.get("columns", {})))
    for name, own_name in zip(own, named_apart(own, {*RESERVED, *columns}), strict=True):
        cells = {item["item"]: item["columns"].get(name, "") for item in items}
        columns[own_name] = partial(taken, cells, frame["item"])
    return columns
