"""Response sets as rows of a file: the columns of the released diversity-eval data."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.task_types.base import ItemData, Json, Problem, Row

FEWEST, MOST = 2, 10
_RESP = re.compile(r"^resp_(\d+)$")


@dataclass(frozen=True, slots=True)
class SetRow:
    """One response set, with the file row that it came from."""

    number: int
    sample_id: str
    payload: Json


def response_columns(row: Row) -> list[str]:
    """The columns resp_0, resp_1, … of the file, in the order of their numbers."""
    found = [(int(match[1]), name) for name in row.cells if (match := _RESP.match(name))]
    return [name for _, name in sorted(found)]


def read_sets(rows: Sequence[Row], *, keep_empty: bool) -> tuple[list[SetRow], list[Problem]]:
    """All rows as sets, and every problem of every row. A missing column is told once, for the whole file."""
    if not rows:
        return [], [Problem(0, "", "The file has no data rows.", "Add one row per response set below the header.")]
    problems = _column_problems(rows[0])
    if problems:
        return [], problems
    names = response_columns(rows[0])
    sets: list[SetRow] = []
    for row in rows:
        found, wrong = _read_set(row, names, keep_empty=keep_empty)
        problems += wrong
        if found:
            sets.append(found)
    return sets, problems


def _column_problems(row: Row) -> list[Problem]:
    there = ", ".join(row.cells)
    problems = [
        Problem(
            0,
            name,
            f"The column {name} is missing; the file has {there}.",
            f"Add or rename a column to {name}.",
        )
        for name in ("sample_id", "context")
        if name not in row.cells
    ]
    names = response_columns(row)
    if len(names) < FEWEST:
        problems.append(
            Problem(
                0,
                "resp_0, resp_1, …",
                f"A set needs at least {FEWEST} responses; the file has {len(names)} such columns among {there}.",
                "Put each response of a set in a column of its own: resp_0, resp_1 and so on.",
            )
        )
    if len(names) > MOST:
        problems.append(
            Problem(
                0,
                names[MOST],
                f"A set has at most {MOST} responses; the file has {len(names)} columns resp_….",
                f"Keep {MOST} of them, or split the sets.",
            )
        )
    gaps = [f"resp_{place}" for place, name in enumerate(names) if name != f"resp_{place}"]
    if gaps:
        problems.append(
            Problem(
                0,
                gaps[0],
                f"The column {gaps[0]} is missing, later ones are there.",
                "Number them from resp_0 up.",
            )
        )
    if ("label_value" in row.cells) != ("label_name" in row.cells):
        lone, other = ("label_value", "label_name") if "label_value" in row.cells else ("label_name", "label_value")
        problems.append(
            Problem(0, other, f"There is a column {lone} but no {other}.", f"Add {other}, or take {lone} out.")
        )
    return problems


def _read_set(row: Row, names: Sequence[str], *, keep_empty: bool) -> tuple[SetRow | None, list[Problem]]:
    cells = row.cells
    problems = [
        Problem(row.number, name, "This cell is empty.", f"Write the {what} here, or take the row out.")
        for name, what in (("sample_id", "set's id"), ("context", "context that the responses answer"))
        if not cells[name].strip()
    ]
    responses = [cells[name] for name in names]
    if not keep_empty:
        responses = [text for text in responses if text.strip()]
    if sum(1 for text in responses if text.strip()) < FEWEST:
        problems.append(
            Problem(
                row.number,
                names[1],
                f"This set has fewer than {FEWEST} responses that are not empty.",
                "Fill in the responses, or take the row out.",
            )
        )
    label, wrong = _read_label(row)
    problems += wrong
    if problems:
        return None, problems
    known = {"sample_id", "context", "label_name", "label_value", *names}
    payload: Json = {
        "sample_id": cells["sample_id"],
        "context": cells["context"],
        "responses": responses,
        "label_name": cells.get("label_name", ""),
        "label_value": label,
        "label_text": cells.get("label_value", ""),
        "extra": {name: cell for name, cell in cells.items() if name not in known},
    }
    return SetRow(row.number, cells["sample_id"], payload), []


def _read_label(row: Row) -> tuple[float | None, list[Problem]]:
    text = row.cells.get("label_value", "").strip()
    if not text:
        return None, []
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        return value, []
    return None, [
        Problem(
            row.number,
            "label_value",
            f"“{text[:40]}” is not a number.",
            "Write a number, such as 0.7, or leave it empty.",
        )
    ]


def name_sets(sets: Sequence[SetRow]) -> list[ItemData]:
    """Items with an id each: the sample_id where it is unique in the file, else with the label behind it.

    The released files repeat a sample_id for the sets of one context, and a few repeat sample_id and label too;
    those get a running number, so that the same file always gives the same ids.
    """
    ids = Counter(found.sample_id for found in sets)
    seen: Counter[str] = Counter()
    items: list[ItemData] = []
    for found in sets:
        name = found.sample_id
        if ids[name] > 1 and found.payload["label_text"]:
            name = f"{name}/{found.payload['label_text']}"
        seen[name] += 1
        if seen[name] > 1 or (ids[found.sample_id] > 1 and not found.payload["label_text"]):
            name = f"{name}#{seen[name]}"
        items.append(ItemData(name, found.payload))
    return items


def set_columns(payload: Json) -> dict[str, str]:
    """The set as the columns of the file it came from, in the released order."""
    columns = {
        "sample_id": payload["sample_id"],
        "context": payload["context"],
        "label_value": payload["label_text"],
        "label_name": payload["label_name"],
    }
    columns |= {f"resp_{place}": text for place, text in enumerate(payload["responses"])}
    return columns | payload["extra"]
