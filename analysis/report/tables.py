"""Tables of a report: records under typed columns. The page's table, the JSON table and the named records in
``report.json`` are all made from them, so a section writes each number once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from analysis.estimate import Estimate, p_value, trust_in_words
from analysis.findings.answers import names_in_words
from analysis.report.estimates import NONE, how, interval, looks_certain, number, size, with_interval
from analysis.report.records import Records

#: Under a table in which both ends of an interval are printed alike.
SAME_ENDS = (
    "Where both ends of an interval are the same, resamples of these answers hardly differ. That does not make the "
    "figure certain."
)
#: With so many, a table is set narrower.
MANY_COLUMNS = 7
Kind = Literal["text", "number", "code", "name", "prose", "texts", "how", "p"]


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    kind: Kind
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what it shows of a record, and how.

    A ``number`` is aligned right, with ``digits`` decimals unless whole, and with its interval if it is an Estimate; a
    ``code`` never wraps; ``how`` is a sentence about the row, or an Estimate whose method and note it gives; ``p`` is a
    p value. ``name`` (of an item), ``prose`` and ``texts`` (several) are by people, in any script.

    ``shows`` is a key of records that are mappings, an attribute of other records, or a function of the record. None:
    the record is a sequence, and the column shows the value at its own place.
    """

    title: str
    kind: Kind = "number"
    digits: int = 2
    shows: str | Callable[[Any], object] | None = None

    def value(self, record: Any, position: int) -> object:
        """What report.json holds: numbers unrounded."""
        if self.shows is None:
            value = record[position]
        elif callable(self.shows):
            value = self.shows(record)
        else:
            value = record[self.shows] if isinstance(record, Mapping) else getattr(record, self.shows)
        return how(value) if self.kind == "how" and isinstance(value, Estimate) else value

    def cell(self, value: object) -> Cell:
        """What the page shows."""
        if isinstance(value, Estimate):
            return Cell(with_interval(value, self.digits), self.kind)
        if self.kind == "texts" and isinstance(value, Sequence) and not isinstance(value, str):
            return Cell("", self.kind, [str(text) for text in value])
        if value is None:
            return Cell(NONE, self.kind)
        if isinstance(value, bool | np.bool_):
            return Cell("yes" if value else "no", self.kind)
        if isinstance(value, int | np.integer):
            return Cell(number(float(value), 0), self.kind)
        if isinstance(value, float | np.floating):
            if self.kind == "p":
                return Cell(p_value(float(value)), "number")
            return Cell(number(float(value), self.digits), self.kind)
        return Cell(str(value), self.kind)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption. ``fold``: closed at first, for long tables.

    ``rows`` has what the columns show of each record: numbers, text, Estimates and None. It is made with the table, so
    that a column that fails ends its section and not the report. A column ``how`` that says the same in several rows is
    a sentence of the note instead.
    """

    macro: ClassVar[str] = "table"
    caption: str
    columns: Sequence[Column]
    records: Sequence[Any]
    note: str = ""
    fold: bool = False
    rows: list[list[object]] = field(init=False)

    def __post_init__(self) -> None:
        rows = [
            [column.value(record, position) for position, column in enumerate(self.columns)] for record in self.records
        ]
        object.__setattr__(self, "rows", rows)
        self._say_once()
        if trust := self._trust_unsaid():
            object.__setattr__(self, "note", f"{self.note} {trust}".strip())
        narrow = any(
            isinstance(value, Estimate) and column.kind == "number" and looks_certain(value, column.digits)
            for row in self.rows
            for column, value in zip(self.columns, row, strict=True)
        )
        if narrow:
            object.__setattr__(self, "note", f"{self.note} {SAME_ENDS}".strip())

    def _say_once(self) -> None:
        for place, column in enumerate(self.columns):
            ways = {str(row[place]) for row in self.rows}
            if column.kind == "how" and len(self.rows) > 1 and len(ways) == 1:
                shown = [other for other in range(len(self.columns)) if other != place]
                object.__setattr__(self, "columns", [self.columns[other] for other in shown])
                object.__setattr__(self, "rows", [[row[other] for other in shown] for row in self.rows])
                object.__setattr__(self, "note", f"{self.note} {ways.pop()}".strip())
                return

    def _trust_unsaid(self) -> str:
        """How far the intervals of each column hold, where neither the note nor a row says so."""
        said = [self.note, *(value for row in self.rows for value in row if isinstance(value, str))]
        columns: dict[str, list[str]] = {}
        for place, column in enumerate(self.columns):
            shown = (row[place] for row in self.rows if column.kind == "number")
            for remark in trust_in_words(value for value in shown if isinstance(value, Estimate)):
                if not any(remark in text for text in said):
                    columns.setdefault(remark, []).append(column.title)
        return " ".join(f"{names_in_words(titles)}: {remark}." for remark, titles in columns.items())

    @property
    def stacks(self) -> bool:
        """Whether the table is too wide for a phone, which then shows each row as a list of its cells."""
        return len(self.columns) > 4 or any(column.kind in ("prose", "texts", "how") for column in self.columns)

    @property
    def is_wide(self) -> bool:
        """Whether its columns only fit beside each other with less room between them."""
        return len(self.columns) >= MANY_COLUMNS

    @property
    def body(self) -> list[list[Cell]]:
        return [[column.cell(value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        titles = [column.title for column in self.columns]
        return {"caption": self.caption, "columns": titles, "rows": plain(self.rows), "note": self.note}


def estimates_table(
    caption: str,
    estimates: Mapping[str, Estimate] | Iterable[tuple[str, Estimate]],
    *,
    digits: int = 3,
    note: str = "",
    fold: bool = False,
) -> Table:
    """Name, value, interval, n and method, one row per estimate."""
    records = list(estimates.items() if isinstance(estimates, Mapping) else estimates)
    level = records[0][1].level if records else 0.95
    columns = [
        Column("Statistic", "text"),
        Column("Value", digits=digits, shows=lambda record: record[1].value),
        Column(f"{100 * level:g}% interval", shows=lambda record: interval(record[1], digits)),
        Column("n", shows=lambda record: size(record[1])),
        Column("How", "how", shows=lambda record: record[1]),
    ]
    if any(looks_certain(estimate, digits) for _, estimate in records):
        note = f"{note} {SAME_ENDS}".strip()
    return Table(caption, columns, records, note, fold)


def keyed(records: Iterable[Mapping[str, Any]], key: str) -> dict[Any, dict[str, Any]]:
    """Records by one of their fields, without it. No two may have the same."""
    return {record[key]: without(record, key) for record in records}


def grouped(records: Iterable[Mapping[str, Any]], key: str) -> dict[Any, list[dict[str, Any]]]:
    """Lists of records by one of their fields, without it."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record[key], []).append(without(record, key))
    return groups


def without(record: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in keys}


def in_columns(value: Any) -> Any:
    """As `plain`, but frames and records whose values need no change stay by column."""
    records = Records.of(value) if isinstance(value, pd.DataFrame) and value.columns.is_unique else value
    return records if isinstance(records, Records) and records.is_flat else plain(value)


def plain(value: Any) -> Any:
    """A value that JSON can hold: frames as records, estimates as their fields, non-finite numbers as null."""
    # The frequent ones first: the report of a large study has hundreds of thousands of values.
    if type(value) in (str, int, bool, type(None)):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, Estimate):
        return plain(value.to_dict())
    if isinstance(value, pd.DataFrame):
        return plain(value.to_dict("records"))
    if isinstance(value, list | tuple | np.ndarray | Records):
        return [plain(member) for member in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return value
