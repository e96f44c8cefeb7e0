"""Response sets as rows of a file: the columns of the released diversity-eval data."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.task_types.base import ItemData, Json, Problem, Row

FEWEST, MOST = 2, 10
#: An item's id holds 200 characters; what `name_sets` puts behind a repeated sample_id has to fit as well.
LONGEST_SAMPLE_ID = 160
_RESP = re.compile(r"resp_(0|[1-9][0-9]{0,4})")
_LABELS = ("label_value", "label_name")


@dataclass(frozen=True, slots=True)
class SetRow:
    """One response set, with the file row that it came from."""

    number: int
    sample_id: str
    payload: Json


def response_columns(columns: Iterable[str]) -> list[str]:
    """Those of ``columns`` that are called resp_0, resp_1, …, in the order of their numbers."""
    found = [(int(match[1]), name) for name in columns if (match := _RESP.fullmatch(name))]
    return [name for _, name in sorted(found)]


def read_sets(rows: Sequence[Row], *, keep_empty: bool) -> tuple[list[SetRow], list[Problem]]:
    """All rows as sets, and every problem of every row. A missing column is told once, for the whole file."""
    if not rows:
        return [], [Problem(0, "", "The file has no data rows.", "Add one row per response set below the header.")]
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    names = response_columns(columns)
    problems = [*_missing_columns(columns), *_response_column_problems(columns, names)]
    if problems:
        return [], problems
    sets: list[SetRow] = []
    for row in rows:
        wrong = _row_problems(row, names)
        label, wrong_label = _read_label(row)
        problems += [*wrong, *wrong_label]
        if not wrong and not wrong_label:
            sets.append(_read_set(row, names, label, keep_empty=keep_empty))
    return sets, problems


def _missing_columns(columns: Sequence[str]) -> list[Problem]:
    there = ", ".join(columns)
    problems = [
        Problem(0, name, f"The column {name} is missing; the file has {there}.", f"Add or rename a column to {name}.")
        for name in ("sample_id", "context")
        if name not in columns
    ]
    lone = [name for name in _LABELS if name in columns]
    if len(lone) == 1:
        other = _LABELS[1 - _LABELS.index(lone[0])]
        problems.append(
            Problem(0, other, f"There is a column {lone[0]} but no {other}.", f"Add {other}, or take {lone[0]} out.")
        )
    return problems


def _response_column_problems(columns: Sequence[str], names: Sequence[str]) -> list[Problem]:
    gap = next((f"resp_{place}" for place, name in enumerate(names) if name != f"resp_{place}"), None)
    if gap:
        what = f"The column {gap} is missing, but later ones are there."
        return [Problem(0, gap, what, "Number the response columns from resp_0 up, without a gap.")]
    if len(names) < FEWEST:
        there = f"the file has {len(names) or 'none'} such: {', '.join(columns)}."
        return [
            Problem(
                0,
                f"resp_{len(names)}",
                f"A set needs at least {FEWEST} responses, in columns resp_0, resp_1, …; {there}",
                "Put each response of a set in a column of its own.",
            )
        ]
    if len(names) > MOST:
        what = f"A set has at most {MOST} responses; the file has {len(names)} columns resp_0 … {names[-1]}."
        return [Problem(0, names[MOST], what, f"Keep {MOST} of them, or split the sets.")]
    return []


def _row_problems(row: Row, names: Sequence[str]) -> list[Problem]:
    cells = row.cells
    problems = [
        Problem(row.number, name, "This cell is empty.", f"Write {what} here, or take the row out.")
        for name, what in (("sample_id", "an id for the set"), ("context", "the text that the responses answer"))
        if not cells.get(name, "").strip()
    ]
    if len(cells.get("sample_id", "")) > LONGEST_SAMPLE_ID:
        what = f"This id has {len(cells['sample_id']):,} characters; at most {LONGEST_SAMPLE_ID} fit."
        problems.append(Problem(row.number, "sample_id", what, "Shorten it."))
    if sum(1 for name in names if cells.get(name, "").strip()) < FEWEST:
        empty = next(name for name in names if not cells.get(name, "").strip())
        what = f"This set has fewer than {FEWEST} responses that are not empty."
        problems.append(Problem(row.number, empty, what, "Fill in the responses, or take the row out."))
    return problems


def _read_label(row: Row) -> tuple[float | None, list[Problem]]:
    text = row.cells.get("label_value", "").strip()
    if not text:
        return None, []
    try:
        # Python alone would read 1_000 as a number.
        value = float(text.replace("_", "?"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        what = f"“{text[:40]}” is not a number."
        return None, [Problem(row.number, "label_value", what, "Write a number such as 0.7, or leave the cell empty.")]
    if not row.cells.get("label_name", "").strip():
        what = "There is a label_value but no name for it."
        return None, [Problem(row.number, "label_name", what, "Say what the value is, such as temp.")]
    return value, []


def _read_set(row: Row, names: Sequence[str], label: float | None, *, keep_empty: bool) -> SetRow:
    cells = row.cells
    responses = [cells.get(name, "") for name in names]
    known = {"sample_id", "context", *_LABELS, *names}
    payload: Json = {
        "sample_id": cells["sample_id"],
        "context": cells["context"],
        "responses": [text for text in responses if keep_empty or text.strip()],
        "label_name": cells.get("label_name", ""),
        "label_value": label,
        "label_text": cells.get("label_value", ""),
        # Pairs, because PostgreSQL does not keep the order of an object's names.
        "extra": [[name, cell] for name, cell in cells.items() if name not in known],
    }
    return SetRow(row.number, cells["sample_id"], payload)


def name_sets(sets: Sequence[SetRow]) -> list[ItemData]:
    """Items with an id each: the sample_id where it is unique in the file, else with the label behind it.

    The released files repeat a sample_id for the sets of one context, and a few repeat sample_id and label too;
    from the second on those get a running number. The same file always gives the same ids.
    """
    ids = Counter(found.sample_id for found in sets)
    taken = {name for name, count in ids.items() if count == 1}
    items: list[ItemData] = []
    for found in sets:
        name = found.sample_id
        if ids[name] > 1:
            name = _free_name(_with_label(found), taken)
            taken.add(name)
        items.append(ItemData(name, found.payload))
    return items


def _with_label(found: SetRow) -> str:
    label = found.payload["label_text"].strip()[:20]
    return f"{found.sample_id}/{label}" if label else found.sample_id


def _free_name(name: str, taken: set[str]) -> str:
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}#{count}"
    return candidate


def set_columns(payload: Json) -> dict[str, str]:
    """The set as the columns of the file it came from, in the released order."""
    columns: dict[str, str] = {
        "sample_id": payload["sample_id"],
        "context": payload["context"],
        "label_value": payload["label_text"],
        "label_name": payload["label_name"],
    }
    columns |= {f"resp_{place}": text for place, text in enumerate(payload["responses"])}
    return columns | dict(payload["extra"])
