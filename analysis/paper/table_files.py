"""The tables of a report as LaTeX with booktabs, and as CSV.

The LaTeX has what the page shows, rounded; the CSV has every number unrounded, with the ends of intervals, n and
methods in columns of their own. What the column “How” says is below the LaTeX table instead, once for all its rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.estimate import Estimate
from analysis.paper.latex import escape, label
from analysis.report.blocks import Section
from analysis.report.tables import Cell, Column, Table, plain
from common.cells import protect_cell
from common.csv_files import csv_text

#: Rows of one LaTeX table, so that it fits on a page; and of all its parts. The CSV has all rows.
MOST_ROWS, MOST_ROWS_IN_ALL = 45, 180
#: A wider table takes both columns; a still wider one has smaller type. In letters.
COLUMN_LETTERS, PAGE_LETTERS, SMALL_LETTERS = 55, 110, 130
#: The most letters that a cell of prose counts for: it is set in lines.
WRAPPED = 32
PROSE = ("prose", "texts", "text", "name", "how")


@dataclass(frozen=True, slots=True)
class TableFile:
    """One table under the name of its files, without ending."""

    name: str
    table: Table
    section: str

    @property
    def latex(self) -> str:
        table = self.table
        shown = [position for position, column in enumerate(table.columns) if column.kind != "how"]
        body = [[row[position] for position in shown] for row in table.body[:MOST_ROWS_IN_ALL]]
        columns = [table.columns[position] for position in shown]
        chunks = [body[start : start + MOST_ROWS] for start in range(0, len(body), MOST_ROWS)]
        parts = []
        for number, chunk in enumerate(chunks, start=1):
            part = f" (part {number} of {len(chunks)})" if len(chunks) > 1 else ""
            suffix = f"-{number}" if number > 1 else ""
            note = note_of(table) if number == len(chunks) else ""
            parts.append(_latex(columns, chunk, f"{table.caption}{part}", f"tab:{self.name}{suffix}", note))
        return "\n".join(parts)

    @property
    def csv(self) -> str:
        has_estimates = [
            any(isinstance(row[position], Estimate) for row in self.table.rows)
            for position in range(len(self.table.columns))
        ]
        header: list[str] = []
        for column, several in zip(self.table.columns, has_estimates, strict=True):
            header.append(column.title)
            if several:
                header += [f"{column.title} {name}" for name in ("low", "high", "n", "unit", "method")]
        records = [header]
        for row in self.table.rows:
            cells: list[str] = []
            for value, several in zip(row, has_estimates, strict=True):
                if isinstance(value, Estimate):
                    how = "; ".join(part for part in (value.method, value.note) if part)
                    ends = [_csv_cell(end) for end in (value.value, value.low, value.high)]
                    cells += [*ends, str(value.n) if value.n else "", value.n_of if value.n else "", protect_cell(how)]
                else:
                    cells += [_csv_cell(value), *[""] * (5 * several)]
            records.append(cells)
        return csv_text(records)


def table_files(sections: Sequence[Section]) -> list[TableFile]:
    """Every table that has rows, in the order of the page. Names are unique."""
    files = []
    for section in sections:
        for number, table in enumerate((table for table in section.tables if table.rows), start=1):
            name = label(section.key, f"{number:02d}", table.caption[:48])
            files.append(TableFile(name, table, section.title))
    return files


# --- LaTeX ---


def _latex(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], caption: str, name: str, note: str) -> str:
    lengths = [max(len(column.title), *(len(text_of(row[at])) for row in rows)) for at, column in enumerate(columns)]
    widths = [min(length, WRAPPED) for length in lengths]
    letters = sum(widths) + 2 * len(widths)
    wide = letters > COLUMN_LETTERS
    size = "\\small" if letters <= PAGE_LETTERS else "\\footnotesize" if letters <= SMALL_LETTERS else "\\scriptsize"
    environment = "table*" if wide else "table"
    total = sum(widths)
    room = 0.92 - 0.02 * len(widths)
    layout = "".join(
        f"p{{{max(0.08, room * width / total):.2f}\\linewidth}}"
        if length > WRAPPED or (letters > SMALL_LETTERS and column.kind in PROSE)
        else "l"
        if column.kind in PROSE or column.kind == "code"
        else "r"
        for column, width, length in zip(columns, widths, lengths, strict=True)
    )
    lines = [
        f"\\begin{{{environment}}}[tp]",
        "\\centering",
        size,
        f"\\caption{{{escape(caption)}}}",
        f"\\label{{{name}}}",
        f"\\begin{{tabular}}{{{layout}}}",
        "\\toprule",
        f"{' & '.join(escape(column.title) for column in columns)} \\\\",
        "\\midrule",
        *(f"{' & '.join(escape(text_of(cell)) for cell in row)} \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    if note:
        lines.append(
            f"\\par\\smallskip\\begin{{minipage}}{{0.95\\linewidth}}\\footnotesize {escape(note)}\\end{{minipage}}"
        )
    return "\n".join([*lines, f"\\end{{{environment}}}", ""])


def text_of(cell: Cell) -> str:
    return "; ".join(cell.texts) if cell.texts else cell.text


def note_of(table: Table) -> str:
    """The note, n where no column has it, what “How” says, and which rows are missing."""
    parts = [table.note.strip()]
    for position, column in enumerate(table.columns):
        if column.kind == "how":
            parts += _ways(table, position)
    if sizes := sizes_in_words(table):
        parts.append(sizes)
    if len(table.rows) > MOST_ROWS_IN_ALL:
        parts.append(f"The first {MOST_ROWS_IN_ALL} of {len(table.rows):,} rows; the CSV file has all.")
    return " ".join(part for part in parts if part)


def _ways(table: Table, position: int) -> list[str]:
    """What is said of rows, each once, with the names of the rows unless it is true of all."""
    rows_by_text: dict[str, list[str]] = {}
    for row in table.body:
        if row[position].text:
            rows_by_text.setdefault(row[position].text, []).append(text_of(row[0]))
    if len(rows_by_text) == 1 and len(next(iter(rows_by_text.values()))) == len(table.rows):
        return list(rows_by_text)
    return [f"{', '.join(names[:8])}{' …' if len(names) > 8 else ''}: {text}" for text, names in rows_by_text.items()]


def sizes_in_words(table: Table) -> str:
    """How many units the estimates of a table rest on, if no column says so."""
    if any(column.title.lower() in ("n", "answers", "items", "ratings", "choices") for column in table.columns):
        return ""
    sizes = [(cell.n, cell.n_of) for row in table.rows for cell in row if isinstance(cell, Estimate) and cell.n]
    if not sizes or len({unit for _, unit in sizes}) > 1:
        return ""
    least, most, unit = min(sizes)[0], max(sizes)[0], sizes[0][1]
    return f"n = {least:,} {unit}." if least == most else f"n is from {least:,} to {most:,} {unit}."


# --- CSV ---


def _csv_cell(value: object) -> str:
    """Numbers unrounded, texts safe for spreadsheets, nothing where there is no value."""
    value = plain(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return protect_cell("; ".join(map(str, value)))
    return protect_cell(str(value))
