"""A small file that a task type can read without problems, made from its worked examples."""

from __future__ import annotations

from annotation.task_types.base import TaskType
from annotation.task_types.items import Json, Row

#: How many items are enough to show what a file looks like.
ENOUGH = 3


def sample_rows(task: TaskType, config: Json) -> list[dict[str, str]]:
    """Rows of valid examples that the type can read together with these settings.

    Without such an example, one row of the columns' own examples.
    """
    rows: list[dict[str, str]] = []
    for example in task.examples():
        if example.problems or example.errors:
            continue
        added = [dict(row) for row in example.rows if dict(row) not in rows]
        items, problems = task.read_items(_numbered([*rows, *added]), config)
        if added and not problems:
            rows += added
            if len(items) >= ENOUGH:
                break
    return rows or [{column.name: column.example for column in task.columns(config)}]


def _numbered(rows: list[dict[str, str]]) -> list[Row]:
    """The rows as in a file: every row has a cell for every column."""
    empty = dict.fromkeys((name for row in rows for name in row), "")
    return [Row(number, empty | row) for number, row in enumerate(rows, 1)]
