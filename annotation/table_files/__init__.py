"""Reads files of rows strictly, and reports all problems of a file at once.

CSV, TSV and JSON are UTF-8, or UTF-16 if the file starts with that byte order mark (Excel's “Unicode Text” is UTF-16
with tabs), or Windows-1252 if somebody says so. Workbooks (.xlsx), Parquet files and folders of a data set (.zip) are
read by modules that are only imported for such a file: they load openpyxl, pyarrow and numpy.

Cells are text, exactly as in the file: nothing is trimmed, and line breaks within a cell stay. Lines without content
are skipped. Rows are numbered from 1 as in a spreadsheet, without the header but with skipped lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO, Literal

from django.conf import settings

from annotation.table_files.delimited import DELIMITERS
from annotation.table_files.encodings import ENCODINGS, TooBig
from annotation.table_files.headers import SEPARATOR_NAMES
from annotation.table_files.mapping import renamed
from annotation.table_files.tables import (
    MAX_COLUMNS,
    MAX_ROWS,
    Offer,
    Problems,
    ReadingOptions,
    Table,
    TableProblems,
    check_cells,
    check_size,
    readable,
    refused,
)
from annotation.table_files.text_files import TEXT_SUFFIXES, read_text
from annotation.task_types.items import Row, SourceRow

WORKBOOK, PARQUET, FOLDER = ".xlsx", ".parquet", ".zip"
SUFFIXES = (*TEXT_SUFFIXES, WORKBOOK, PARQUET, FOLDER)
#: Formats that look like ours and are not, with what to do.
_OTHERS = {
    ".xls": "Open it in Excel or LibreOffice and save it as .xlsx.",
    ".xlsm": "Save it as .xlsx, without macros.",
    ".xlsb": "Save it as .xlsx.",
    ".ods": "In LibreOffice, save it as .xlsx or as CSV (UTF-8).",
    ".numbers": "In Numbers, export it to Excel (.xlsx) or CSV (Unicode UTF-8).",
    ".arrow": "Save it as Parquet: Dataset.to_parquet() does.",
}
_TOO_BIG_FIX = "Split it into several studies, or use “manage.py study apply”, which has no such limit."

__all__ = [
    "ENCODINGS",
    "MAX_COLUMNS",
    "MAX_ROWS",
    "SEPARATOR_NAMES",
    "SUFFIXES",
    "Offer",
    "ReadingOptions",
    "Table",
    "TableProblems",
    "read_table",
    "table_of",
]


def read_table(file: BinaryIO, *, name: str, limit: int | None = -1, options: ReadingOptions | None = None) -> Table:
    """The whole file as a table. The extension of ``name`` decides between the formats, ``options`` how it is read.

    ``limit`` is in bytes: by default, the largest upload allowed; None for no limit. Raises TableProblems, with an
    ``offer`` if the file could be read with other options.
    """
    most: int | None = settings.MAX_UPLOAD_BYTES if limit == -1 else limit
    options = options or ReadingOptions()
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        what = f"“{name[-100:]}” is not a supported file type."
        usual = f"Save it as CSV, Excel workbook, JSON or Parquet. The name must end in one of {', '.join(SUFFIXES)}."
        raise refused(what, _OTHERS.get(suffix, usual))
    _check_options(options, suffix)
    try:
        if suffix == WORKBOOK:
            from annotation.table_files.workbooks import read_workbook  # loads openpyxl and numpy

            table = read_workbook(file, name, options.sheet, most)
        elif suffix == PARQUET:
            from annotation.table_files.parquet import read_parquet  # loads pyarrow and numpy

            table = read_parquet(file, name, most)
        elif suffix == FOLDER:
            from annotation.table_files.folders import read_folder  # loads pyarrow and numpy

            table = read_folder(file, name, options, most)
        else:
            table = read_text(file, name, suffix, options, most)
    except TooBig:
        raise refused(f"The file is larger than the limit of {(most or 0) / 1024**2:,.4g} MB.", _TOO_BIG_FIX) from None
    return replace(renamed(table, options.mapping), options=options)


def _check_options(options: ReadingOptions, suffix: str) -> None:
    """Raises TableProblems for an option that does not exist, or that is for other files."""
    is_text = suffix in (*TEXT_SUFFIXES, FOLDER)
    separated = suffix in (*DELIMITERS, FOLDER)
    for called, value, choices, applies, where in (
        ("encoding", options.encoding, ENCODINGS, is_text, "text files"),
        ("separator", options.separator, SEPARATOR_NAMES, separated, "CSV files"),
        ("sheet", options.sheet, None, suffix == WORKBOOK, "workbooks (.xlsx)"),
        ("split", options.split, None, suffix == FOLDER, "folders of a data set (.zip)"),
    ):
        if value and not applies:
            raise refused(f"The option {called} is only for {where}.", "Leave it out.")
        if value and choices is not None and value not in choices:
            raise refused(f"There is no {called} “{value[:60]}”.", f"Known: {', '.join(choices)}.")


def table_of(rows: Iterable[SourceRow], *, name: str, origin: Literal["run", "study"]) -> Table:
    """A table of the rows that a task type made from samples or outputs. Raises TableProblems.

    Characters that cannot be stored become U+FFFD. A model that samples single bytes can generate some.
    """
    problems = Problems()
    row_list = list(rows)
    columns = list(dict.fromkeys(column for row in row_list for column in row.cells))
    check_size(len(row_list), len(columns))
    empty = dict.fromkeys(columns, "")
    table: list[Row] = []
    for number, row in enumerate(row_list, 1):
        cells = {column: readable(cell) for column, cell in row.cells.items()}
        check_cells(number, list(cells), list(cells.values()), problems)
        table.append(Row(number, empty | cells, row.sources, row.file_row))
    problems.raise_if_any()
    return Table(columns, table, name, origin)
