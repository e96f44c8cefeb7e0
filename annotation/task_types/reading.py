"""The general reader: one item per row, checked against the type's columns. It reports all problems at once."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.task_types.items import Column, ItemData, Row, RowProblem

LONGEST_ID = 160
#: The beginning of the names of columns with the right answers of an exam.
EXAM = "exam:"


def read_rows(rows: Sequence[Row], columns: Sequence[Column]) -> tuple[list[ItemData], list[RowProblem]]:
    """Items with payloads as `TaskType.read_items` describes them, and all problems. If a column is missing, there are
    no items, and the cells of the other columns are checked all the same.

    The first required column contains the id. A row with a right answer is an item of an exam.
    """
    if not rows:
        return [], [RowProblem(0, "", "The file has no data rows.", "Add one row per item below the header.")]
    file_columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    problems = missing_columns(file_columns, columns)
    complete = not problems
    identity = next(column.name for column in columns if column.required)
    checked_columns = [column for column in columns if complete or column.name in file_columns]
    first_with: dict[str, int] = {}
    items: list[ItemData] = []
    for row in rows:
        row_problems = cell_problems(row, checked_columns)
        name = row.cells.get(identity, "")
        if len(name) > LONGEST_ID:
            what = f"This id has {len(name):,} characters; at most {LONGEST_ID} fit."
            row_problems.append(RowProblem(row.number, identity, what, "Shorten it."))
        elif name.strip() and first_with.setdefault(name, row.number) != row.number:
            what = f"Row {first_with[name]} has the same id “{name[:60]}”."
            row_problems.append(RowProblem(row.number, identity, what, "Give every item its own id."))
        problems += row_problems
        if complete and not row_problems:
            named = {column.name: row.cells.get(column.name, "") for column in columns}
            # Lists, because PostgreSQL does not preserve the order of an object's names.
            order = [name for name in row.cells if name in named]
            extra = [[name, cell] for name, cell in row.cells.items() if name not in named]
            exam = any(name.startswith(EXAM) and cell.strip() for name, cell in extra)
            payload = {**named, "columns": order, "extra": extra}
            items.append(ItemData(row.cells[identity], payload, "exam" if exam else "main", rows=(row.number,)))
    return items, problems


def missing_columns(file_columns: Sequence[str], columns: Sequence[Column]) -> list[RowProblem]:
    """The required columns that are missing from the file."""
    file_column_names = ", ".join(file_columns)
    return [
        RowProblem(
            0,
            column.name,
            f"The column {column.name} is missing; the file has {file_column_names}.",
            f"Add or rename a column to {column.name}: {column.meaning}",
        )
        for column in columns
        if column.required and column.name not in file_columns
    ]


def cell_problems(row: Row, columns: Sequence[Column]) -> list[RowProblem]:
    """The problems in the named cells of one row."""
    problems = []
    for column in columns:
        cell = row.cells.get(column.name, "")
        if column.required and not cell.strip():
            fix = "Fill it in, or remove the row."
            problems.append(RowProblem(row.number, column.name, "This cell is empty.", fix))
        elif cell.strip() and column.check is not None and (wrong := column.check(cell)):
            problems.append(RowProblem(row.number, column.name, *wrong))
    return problems
