"""The parts of a report. A section contains blocks to show and, as plain data, every number that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from markupsafe import Markup

from analysis.report.tables import Table, in_columns, plain


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
class Sentences:
    """Findings, each a criterion with what was found on it."""

    macro: ClassVar[str] = "sentences"
    rows: Sequence[tuple[str, str]]


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
class Figure:
    """A plot, what it shows in words, and its numbers as a table."""

    macro: ClassVar[str] = "figure"
    svg: Markup
    caption: str
    table: Table

    @property
    def key(self) -> str:
        """The plot's id, which is unique in the page."""
        plot_id = re.search(r'aria-labelledby="(\S+)-t ', self.svg)
        return plot_id[1] if plot_id else "figure"


@dataclass(frozen=True, slots=True)
class Figures:
    """Plots to show side by side if there is room."""

    macro: ClassVar[str] = "figures"
    figures: Sequence[Figure]


Part = Heading | Note | Sentences | Facts | Wording | Table | Figure | Figures


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts that are closed at first: evidence that only some readers want."""

    macro: ClassVar[str] = "fold"
    title: str
    parts: Sequence[Part]


Block = Part | Fold


@dataclass(frozen=True, slots=True)
class Highlight:
    """One of the few figures at the top of the report."""

    label: str
    value: str
    detail: str = ""


@dataclass(slots=True)
class Section:
    """One section.

    ``data`` goes into ``report.json`` as `analysis.report.tables.plain` makes it, with all tables after it.
    ``answers``: what the study found here, as criteria with a sentence each, for the first section of the report.
    ``error``: why there is nothing but a note in the section.
    """

    key: str
    title: str
    blocks: list[Block] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    highlights: list[Highlight] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    error: Exception | None = None

    def add(self, *blocks: Block) -> None:
        self.blocks += blocks

    def add_named(self, name: str, table: Table) -> None:
        """Show a table whose records are also in ``report.json`` under this name."""
        self.data[name] = table.records
        self.blocks.append(table)

    @property
    def parts(self) -> Iterator[Part]:
        """All blocks, also those within a fold, in the order of the page."""
        for block in self.blocks:
            if isinstance(block, Fold):
                yield from block.parts
            else:
                yield block

    @property
    def tables(self) -> Iterator[Table]:
        """All tables, those of plots included, in the order of the page."""
        for block in self.parts:
            if isinstance(block, Table):
                yield block
            elif isinstance(block, Figure):
                yield block.table
            elif isinstance(block, Figures):
                yield from (figure.table for figure in block.figures)

    def to_json(self) -> dict[str, Any]:
        result: dict[str, Any] = plain(self.members())
        return result

    def members(self) -> dict[str, Any]:
        """As `to_json`, but large records are by column (`Records`), to be written faster."""
        failed = {} if self.error is None else {"title": self.title, "error": error_in_words(self.error)}
        data = {str(name): in_columns(value) for name, value in self.data.items()}
        return data | failed | {"tables": [table.to_json() for table in self.tables]}


def error_in_words(error: Exception) -> str:
    """The error as the end of a sentence, without a full stop."""
    return f"{type(error).__name__}: {error}".strip().rstrip(".:")
