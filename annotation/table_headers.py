"""What can be wrong with the header of a CSV or TSV file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from annotation.task_types.items import RowProblem

MAX_COLUMNS = 1_000


def layout_problems(columns: Sequence[str], delimiter: str) -> list[RowProblem]:
    """Too many columns, or cells that are separated by another character."""
    if len(columns) > MAX_COLUMNS:
        what = f"The header has {len(columns):,} columns. The limit is {MAX_COLUMNS:,}."
        return [RowProblem(0, "", what, "Keep only the columns that the study needs.")]
    problems = []
    other = {";": "semicolons", "\t": "tabs", ",": "commas"}
    for mark, called in other.items():
        if len(columns) == 1 and mark != delimiter and mark in columns[0]:
            separator = other[delimiter]
            what = (
                f"The header is one column “{columns[0][:60]}”: "
                f"the cells seem to be separated by {called}, not {separator}."
            )
            fix = "Save it as .tsv." if mark == "\t" else f"Save it with {separator} between the cells."
            problems.append(RowProblem(0, "", what, fix))
    return problems


def name_problems(columns: Sequence[str]) -> list[RowProblem]:
    problems = []
    for number, name in enumerate(columns, 1):
        if not name:
            what = f"Column {number} has no name."
            problems.append(RowProblem(0, f"column {number}", what, "Name it, or delete the column."))
    for name, count in Counter(columns).items():
        if name and count > 1:
            problems.append(
                RowProblem(0, name, f"{count} columns are called “{name[:60]}”.", "Give each column its own name.")
            )
    return problems
