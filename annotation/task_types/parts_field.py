"""A setting that lists the parts of a question, such as the rows of a matrix. Cells may be numbers and lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError

from annotation.task_types.settings import TOPIC, Cell, TableField

#: Between the entries of a list that is written into one cell.
BETWEEN = "|"
YES = "yes"
#: A cell that can be ticked: ``true`` in a study file.
OPTIONAL = Cell("optional", "Optional", required=False, choices=[(YES, "yes")])


class PartsField(TableField):
    """Records with ``key``, a name in the data, ``label`` and further cells. Every problem is named at once.

    A study file may have numbers, ``true`` and lists in the cells; they become texts: ``5``, ``yes`` and ``a | b``.
    """

    def __init__(self, *, label_cell: Cell, cells: Sequence[Cell] = (), most: int = 30, **kwargs: Any) -> None:
        key = Cell("key", "Name in the data", max_length=20)
        super().__init__(cells=[key, label_cell, *cells], least=1, most=most, **kwargs)

    def clean(self, value: Any) -> list[dict[str, str]]:
        if not isinstance(value, list | tuple):
            return super().clean(value)
        rows: list[dict[str, str]] = []
        problems: list[str] = []
        for number, entry in enumerate(value, start=1):
            if isinstance(entry, Mapping):
                entry = {name: _as_text(cell) for name, cell in entry.items()}
            row, faults = self._read(entry, number)
            problems += faults
            if row:
                faults, key = [], row["key"]
                if key and not TOPIC.fullmatch(key):
                    faults.append(f"key: “{key}” must begin with a letter and hold only a–z, 0–9 and _.")
                elif key and any(key == earlier["key"] for earlier in rows):
                    faults.append(f"key: “{key}” is in the list twice.")
                faults += self.faults_of(row)
                problems += [f"Entry {number}, {fault}" for fault in faults]
                rows.append(row)
        if problems:
            raise ValidationError([ValidationError(problem, code="part") for problem in problems])
        return super().clean(rows)

    def _read(self, entry: Any, number: int) -> tuple[dict[str, str], list[str]]:
        """The cells of a record, those with problems empty, and the problems. No cells: it is no such record."""
        if not isinstance(entry, Mapping) or set(entry) - {cell.name for cell in self.cells}:
            try:
                self.clean_row(entry, number)
            except ValidationError as error:
                return {}, error.messages
        row, problems = {}, []
        for cell in self.cells:
            try:
                row[cell.name] = self.clean_cell(entry.get(cell.name, ""), cell, number)
            except ValidationError as error:
                row[cell.name] = ""
                problems += error.messages
        return row, problems

    def faults_of(self, row: dict[str, str]) -> Iterator[str]:
        """What else is wrong with a record, each beginning with the name of its cell. May add what is left out."""
        yield from ()


def entries_in(cell: str) -> list[str]:
    """The entries of a list in a cell."""
    return [entry.strip() for entry in cell.split(BETWEEN)] if cell.strip() else []


def whole_number(cell: str) -> int | None:
    """The number in a cell; None if it is empty or no whole number."""
    return int(cell) if cell.isascii() and cell.isdecimal() and len(cell) < 7 else None


def _as_text(cell: Any) -> Any:
    if isinstance(cell, bool):
        return YES if cell else ""
    if isinstance(cell, int | float):
        return f"{cell:g}"
    if isinstance(cell, list) and all(isinstance(entry, str | int | float) for entry in cell):
        return f" {BETWEEN} ".join(str(_as_text(entry)) for entry in cell)
    return cell
