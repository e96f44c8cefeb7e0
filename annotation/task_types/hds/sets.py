"""Response sets as rows of a file, with the columns of the released diversity-eval data."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.task_types.items import Column, ItemData, Json, Row, RowProblem
from annotation.task_types.labels import check_number, number_in
from annotation.task_types.reading import LONGEST_ID, cell_problems, missing_columns

FEWEST, MOST = 2, 10
METRIC = "metric_"
_RESP = re.compile(r"resp_(0|[1-9][0-9]{0,4})")
_LABELS = ("label_value", "label_name")


def check_id(cell: str) -> tuple[str, str] | None:
    if len(cell) <= LONGEST_ID:
        return None
    return f"This id has {len(cell):,} characters; at most {LONGEST_ID} fit.", "Shorten it."


ID = Column("sample_id", "the set's id", check=check_id, example="s1")
CONTEXT = Column("context", "the text that the responses answer", example="I lost my keys again.")
COLUMNS = (
    ID,
    CONTEXT,
    Column(
        "resp_0 …", "the responses, 2 to 10 of them: resp_0, resp_1, and so on", example="Where did you see them last?"
    ),
    Column("label_name", "the parameter that should change diversity, such as temp or content_diversity", False),
    Column("label_value", "its value, a number such as 0.7", False, check_number),
)


@dataclass(frozen=True, slots=True)
class SetRow:
    """One response set, with its row in the file."""

    number: int
    sample_id: str
    payload: Json


def response_columns(columns: Iterable[str]) -> list[str]:
    """The ``columns`` named resp_0, resp_1, …, in the order of their numbers."""
    numbered = [(int(match[1]), name) for name in columns if (match := _RESP.fullmatch(name))]
    return [name for _, name in sorted(numbered)]


def read_sets(rows: Sequence[Row], *, keep_empty: bool) -> tuple[list[SetRow], list[RowProblem]]:
    """All rows as sets, and all problems in all rows. A missing column is reported once, for the whole file; then there
    are no sets."""
    if not rows:
        return [], [RowProblem(0, "", "The file has no data rows.", "Add one row per response set below the header.")]
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    names = response_columns(columns)
    problems = missing_columns(columns, (ID, CONTEXT))
    present = [name for name in _LABELS if name in columns]
    if len(present) == 1:
        missing = _LABELS[1 - _LABELS.index(present[0])]
        what = f"The file has a column {present[0]} but no column {missing}."
        problems.append(RowProblem(0, missing, what, f"Add {missing}, or remove {present[0]}."))
    problems += _response_column_problems(columns, names)
    complete = not problems
    sets: list[SetRow] = []
    for row in rows:
        wrong = _row_problems(row, names if complete else ())
        problems += wrong
        if complete and not wrong:
            sets.append(_read_set(row, names, keep_empty=keep_empty))
    return sets, problems


def _response_column_problems(columns: Sequence[str], names: Sequence[str]) -> list[RowProblem]:
    gap = next((f"resp_{number}" for number, name in enumerate(names) if name != f"resp_{number}"), None)
    if gap:
        what = f"The column {gap} is missing, but there are later ones."
        return [RowProblem(0, gap, what, "Number the response columns from resp_0 up, without a gap.")]
    if len(names) < FEWEST:
        columns_found = f"the file has {len(names) or 'none'}: {', '.join(columns)}."
        return [
            RowProblem(
                0,
                f"resp_{len(names)}",
                f"A set needs at least {FEWEST} responses, in columns resp_0, resp_1, …; {columns_found}",
                "Put each response of a set in its own column.",
            )
        ]
    if len(names) > MOST:
        what = f"A set has at most {MOST} responses; the file has {len(names)} columns resp_0 … {names[-1]}."
        return [RowProblem(0, names[MOST], what, f"Keep {MOST} of them, or split the sets.")]
    return []


def _row_problems(row: Row, names: Sequence[str]) -> list[RowProblem]:
    """``names``: the columns of the responses; empty if the file lacks some."""
    cells = row.cells
    problems = cell_problems(row, [column for column in COLUMNS if column.name in cells])
    if cells.get("label_value", "").strip() and not cells.get("label_name", "?").strip():
        what = "This row has a label_value but no name for it."
        problems.append(RowProblem(row.number, "label_name", what, "Say what the value is, such as temp."))
    if names and sum(1 for name in names if cells.get(name, "").strip()) < FEWEST:
        empty = next(name for name in names if not cells.get(name, "").strip())
        what = f"This set has fewer than {FEWEST} responses that are not empty."
        problems.append(RowProblem(row.number, empty, what, "Fill in the responses, or remove the row."))
    return problems


def _read_set(row: Row, names: Sequence[str], *, keep_empty: bool) -> SetRow:
    cells = row.cells
    # A row made from outputs has as many cells as its set has texts. In a file, a missing cell counts as empty.
    responses = [cells.get(name, "") for name in names if name in cells or not row.sources]
    known_columns = {"sample_id", "context", *_LABELS, *names}
    label = cells.get("label_value", "")
    payload: Json = {
        "sample_id": cells["sample_id"],
        "context": cells["context"],
        "responses": [text for text in responses if keep_empty or text.strip()],
        "label_name": cells.get("label_name", ""),
        "label_value": number_in(label) if label.strip() else None,
        "label_text": label,
        # Pairs, because PostgreSQL does not preserve the order of an object's names.
        "extra": [[name, cell] for name, cell in cells.items() if name not in known_columns],
    }
    return SetRow(row.number, cells["sample_id"], payload)


def name_sets(sets: Sequence[SetRow]) -> list[ItemData]:
    """Items with ids: the sample_id if it is unique in the file, otherwise the sample_id followed by the label.

    The released files repeat a sample_id for the sets of one context, and a few also repeat sample_id and label.
    Those get a running number from the second one on. The same file always produces the same ids.
    """
    ids = Counter(response_set.sample_id for response_set in sets)
    names = {name for name, count in ids.items() if count == 1}
    items: list[ItemData] = []
    for response_set in sets:
        name = response_set.sample_id
        if ids[name] > 1:
            label = response_set.payload["label_text"].strip()[:20]
            labelled = f"{name}/{label}" if label else name
            name, number = labelled, 1
            while name in names:
                number += 1
                name = f"{labelled}#{number}"
            names.add(name)
        items.append(ItemData(name, response_set.payload, rows=(response_set.number,)))
    return items


def set_columns(payload: Json) -> dict[str, str]:
    """The set as the columns of the file it came from, in the released order."""
    columns: dict[str, str] = {
        "sample_id": payload["sample_id"],
        "context": payload["context"],
        "label_value": payload["label_text"],
        "label_name": payload["label_name"],
    }
    columns |= {f"resp_{number}": text for number, text in enumerate(payload["responses"])}
    return columns | dict(payload["extra"])


def set_metrics(payload: Json) -> dict[str, float]:
    """The figures in the set's columns ``metric_…``, by the rest of the column's name."""
    metrics = {name.removeprefix(METRIC): number_in(cell) for name, cell in payload["extra"] if name.startswith(METRIC)}
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def set_label(payload: Json) -> tuple[str, float] | None:
    """The name and value of the varied parameter."""
    return None if payload["label_value"] is None else (payload["label_name"], float(payload["label_value"]))
