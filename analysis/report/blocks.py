"""The parts of a report. A section contains blocks to show and, as plain data, every number that they show."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from markupsafe import Markup

from analysis.estimate import Estimate, p_value
from common.words import counted

NONE = "–"
Kind = Literal["text", "number", "code", "name", "prose", "texts", "how", "p"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. A ``number`` is aligned right, with ``digits`` decimals unless whole; a ``code`` never wraps; ``how``
    is a sentence about the row; ``p`` is a p value. ``name`` (of an item), ``prose`` and ``texts`` (several) are by
    people, in any script."""

    title: str
    kind: Kind = "number"
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    kind: Kind
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    macro: ClassVar[str] = "heading"
    text: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know before reading further; a ``warning`` if a figure could mislead."""

    macro: ClassVar[str] = "note"
    text: str
    kind: Literal["note", "warning"] = "note"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and their values."""

    macro: ClassVar[str] = "facts"
    rows: Sequence[tuple[str, object]]


@dataclass(frozen=True, slots=True)
class Wording:
    """Texts exactly as workers read them, each with its place."""

    macro: ClassVar[str] = "wording"
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption. ``fold``: closed at first, for long tables. ``rows`` can contain numbers, text,
    Estimates and None."""

    macro: ClassVar[str] = "table"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    note: str = ""
    fold: bool = False

    @property
    def stacks(self) -> bool:
        """Whether the table is too wide for a phone, which then shows each row as a list of its cells."""
        return len(self.columns) > 4 or any(column.kind in ("prose", "texts", "how") for column in self.columns)

    @property
    def body(self) -> list[list[Cell]]:
        return [[cell(value, column) for value, column in zip(row, self.columns, strict=True)] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot, what it shows in words, and its numbers as a table."""

    macro: ClassVar[str] = "figure"
    svg: Markup
    caption: str
    table: Table

    @property
    def key(self) -> str:
        """The plot's id, which is unique in the page."""
        found = re.search(r'aria-labelledby="(\S+)-t ', self.svg)
        return found[1] if found else "figure"


@dataclass(frozen=True, slots=True)
class Figures:
    """Plots to show side by side if there is room."""

    macro: ClassVar[str] = "figures"
    figures: Sequence[Figure]


Block = Heading | Note | Facts | Wording | Table | Figure | Figures


@dataclass(frozen=True, slots=True)
class Highlight:
    """One of the few figures at the top of the report."""

    label: str
    value: str
    detail: str = ""


@dataclass(slots=True)
class Section:
    """One section. ``data`` contains every number of the blocks, for ``report.json``; ``plain`` converts it to JSON.

    ``error``: why there is nothing but a note in it.
    """

    key: str
    title: str
    blocks: list[Block] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    highlights: list[Highlight] = field(default_factory=list)
    error: Exception | None = None


def number(value: float, digits: int = 2) -> str:
    """A number for people: a real minus, separated thousands, and a dash if there is none."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def interval(estimate: Estimate, digits: int = 3) -> str:
    """[low, high], or a dash."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return NONE
    return f"[{number(estimate.low, digits)}, {number(estimate.high, digits)}]"


def with_interval(estimate: Estimate, digits: int = 2) -> str:
    """0.74 [0.61, 0.85]; only a dash if the value is undefined."""
    shown = number(estimate.value, digits)
    return shown if math.isnan(estimate.low) else f"{shown} {interval(estimate, digits)}"


def cell(value: object, column: Column) -> Cell:
    """A value as the column shows it."""
    if isinstance(value, Estimate):
        return Cell(with_interval(value, column.digits), column.kind)
    if column.kind == "texts" and isinstance(value, Sequence) and not isinstance(value, str):
        return Cell("", column.kind, [str(text) for text in value])
    if value is None:
        return Cell(NONE, column.kind)
    if isinstance(value, bool | np.bool_):
        return Cell("yes" if value else "no", column.kind)
    if isinstance(value, int | np.integer):
        return Cell(number(float(value), 0), column.kind)
    if column.kind == "p" and isinstance(value, float | np.floating):
        return Cell(p_value(float(value)), "number")
    if isinstance(value, float | np.floating):
        return Cell(number(float(value), column.digits), column.kind)
    return Cell(str(value), column.kind)


def attempt(make: Callable[[], Estimate], *, n: int = 0, n_of: str = "units") -> Estimate:
    """The estimate, or an undefined one with the reason why it cannot be computed.

    A meaningless interval is removed, and the note gives the reason: a zero-width interval, resampled from a single
    unit, or an interval that does not contain the estimate, which can happen at the limits of the definition.
    """
    try:
        found = make()
    except ValueError as error:
        return Estimate(math.nan, n=n, n_of=n_of, note=str(error))
    if found.n < 2 and not math.isnan(found.low):
        return without_interval(found, f"no interval from only one of the {found.n_of}")
    if found.low > found.value or found.high < found.value:
        return without_interval(found, "no interval: that of the draws does not contain the estimate")
    return found


def without_interval(estimate: Estimate, why: str) -> Estimate:
    note = "; ".join(filter(None, [estimate.note, why]))
    return replace(estimate, low=math.nan, high=math.nan, note=note)


def estimates_table(caption: str, rows: Sequence[tuple[str, Estimate]], *, digits: int = 3, note: str = "") -> Table:
    """Name, value, interval, n and method, one row per estimate."""
    level = next((estimate.level for _, estimate in rows), 0.95)
    columns = [
        Column("Statistic", "text"),
        Column("Value", digits=digits),
        Column(f"{100 * level:g}% interval"),
        Column("n"),
        Column("How", "how"),
    ]
    body = [
        (name, estimate.value, interval(estimate, digits), size(estimate), how(estimate)) for name, estimate in rows
    ]
    return Table(caption, columns, body, note)


def size(estimate: Estimate) -> str:
    """1 set, 200 sets."""
    return counted(estimate.n, estimate.n_of.removesuffix("s"))


def how(estimate: Estimate) -> str:
    """The reason why there is no value, or the method and any further notes."""
    reason = estimate.note[:1].upper() + estimate.note[1:]
    if math.isnan(estimate.value):
        return f"Not defined. {reason or 'The data leave it undefined'}."
    method = estimate.method[:1].upper() + estimate.method[1:]
    return ". ".join(part for part in (method, reason) if part) + ("." if method or reason else "")


def plain(value: Any) -> Any:
    """A value that JSON can hold: frames as records, estimates as their fields, non-finite numbers as null."""
    if isinstance(value, Estimate):
        return plain(value.to_dict())
    if isinstance(value, pd.DataFrame):
        return [plain(row) for row in value.to_dict("records")]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return value
