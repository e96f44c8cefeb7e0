"""What a command says about a file or option that it cannot use, and which texts are numbers. Plain Python."""

from __future__ import annotations

import math
from pathlib import Path


class InputError(ValueError):
    """An unusable file, as one line: the file, the place in it, what is wrong, how to fix it."""

    def __init__(self, file: str | Path, where: str, what: str, fix: str = "") -> None:
        self.where, self.what, self.fix = where, what, fix
        position = f"{file}, {where}" if where else f"{file}"
        super().__init__(f"{position}: {what}; {fix}" if fix else f"{position}: {what}")


def shown(cell: str) -> str:
    """A cell in quotes, cut to 40 characters."""
    return '"' + (cell if len(cell) <= 40 else cell[:39] + "…") + '"'


def number_in(text: str | None) -> float | None:
    """The finite number in a cell, or None. Python alone would read 1_000 as a number."""
    try:
        number = math.nan if text is None or "_" in text else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
