"""An item's parameter, in two columns: ``label_name``, such as temp, and ``label_value``, a number."""

from __future__ import annotations

import math

from annotation.task_types.items import Column, Json


def number_in(cell: str) -> float:
    """The number in a cell; NaN if there is none. Unlike Python, does not accept 1_000."""
    try:
        return float(cell.replace("_", "?"))
    except ValueError:
        return math.nan


def check_number(cell: str) -> tuple[str, str] | None:
    """The problem and the fix if the cell is not a finite number; None if it is."""
    if math.isfinite(number_in(cell)):
        return None
    return f"“{cell.strip()[:40]}” is not a number.", "Write a number such as 0.7, or leave the cell empty."


LABEL_COLUMNS = (
    Column("label_name", "what was varied between the items, such as temp", False),
    Column("label_value", "its value, a number such as 0.7", False, check_number),
)


def label_in(payload: Json) -> tuple[str, float] | None:
    """The label of an item from the general reader."""
    name, value = payload["label_name"].strip(), payload["label_value"].strip()
    return (name, number_in(value)) if name and value else None


def label_cells(label: tuple[str, float] | None) -> dict[str, str]:
    """The two cells of a label, by column; empty without a label."""
    name, value = (label[0], f"{label[1]:.6g}") if label else ("", "")
    return {"label_name": name, "label_value": value}
