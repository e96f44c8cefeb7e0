"""Reads one sheet of an Excel workbook (.xlsx) strictly. Cells become the text that people see in them.

Numbers have the decimals of their format but are never rounded, dates are written as 2026-11-30, true and false in
small letters. A formula is read as its last result.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO

from openpyxl import load_workbook
from openpyxl.utils import coordinate_to_tuple, get_column_letter, range_boundaries
from openpyxl.utils.exceptions import InvalidFileException

from annotation.table_files.headers import name_problems
from annotation.table_files.tables import (
    MAX_COLUMNS,
    MAX_ROWS,
    Offer,
    Problems,
    Table,
    TableProblems,
    check_cells,
    check_size,
    no_rows,
    refused,
)
from annotation.table_files.whole_files import OLE, TextBudget, opened_archive, seekable
from annotation.task_types.items import Row
from common.words import counted

_PIECE = 1 << 20
#: More than a tag of a cell with its formula has. Pieces of a sheet overlap by so much.
_OVERLAP = 1 << 14
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*?\bref=\"([A-Z]+\d+:[A-Z]+\d+)\"")
#: A cell with a formula and without its result: the program that wrote the file does not calculate.
_NOT_CALCULATED = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_REFERENCE = re.compile(rb"\br=\"([A-Z]+\d+)\"")
_DECIMALS = re.compile(r"(?:#,##)?0(?:\.(0+))?(%?)")
_HAS_TIME = re.compile(r"[hs]", re.IGNORECASE)


def read_workbook(file: BinaryIO, name: str, sheet: str, limit: int | None) -> Table:
    """The sheet called ``sheet``, or the first one. Raises TableProblems."""
    with seekable(file, limit) as whole:
        start = whole.read(8)
        whole.seek(-len(start), 1)
        if not start:
            raise refused("The file is empty.", "Choose the file with the items.")
        if start == OLE:
            if "EncryptedPackage".encode("utf-16-le") in whole.read():
                fix = "In Excel, choose File, Info, Protect Workbook, Encrypt with Password, and clear the password."
                raise refused("The workbook is protected by a password.", fix)
            what = "This is a workbook of Excel 97 to 2003 (.xls), though its name ends in .xlsx."
            raise refused(what, "Open it in Excel or LibreOffice and save it as .xlsx.")
        damaged = refused(
            "This is no Excel workbook, or it is damaged.", "Open it in Excel or LibreOffice and save it as .xlsx."
        )
        with opened_archive(whole, damaged=damaged) as archive:
            if "[Content_Types].xml" not in archive.namelist():
                raise refused(
                    "This is a zip file, not an Excel workbook.", "Call it .zip if it is a folder of a data set."
                )
            _refuse_entities(archive)
            try:
                workbook = load_workbook(whole, read_only=True, data_only=True)
            except (InvalidFileException, KeyError, ValueError, TypeError, SyntaxError):
                raise damaged from None
            try:
                return _read_sheet(workbook, archive, name, sheet)
            except (KeyError, ValueError, TypeError, SyntaxError) as error:
                if isinstance(error, TableProblems):
                    raise
                raise damaged from error
            finally:
                workbook.close()


def _refuse_entities(archive: zipfile.ZipFile) -> None:
    """No workbook declares entities; a file that does could fill the memory."""
    for member in archive.infolist():
        if member.filename.endswith((".xml", ".rels")):
            with archive.open(member) as part:
                if b"<!DOCTYPE" in part.read(4096):
                    raise refused("The workbook contains a document type declaration.", "Save it again in Excel.")


def _read_sheet(workbook: Any, archive: zipfile.ZipFile, name: str, wanted: str) -> Table:
    titles = [sheet.title for sheet in workbook.worksheets]
    if not titles:
        raise refused("The workbook has no sheet with cells.", "Add a sheet with a header and one row per item.")
    if wanted and wanted not in titles:
        fix = f"The sheets are {', '.join(titles)[:500]}."
        raise refused(f"There is no sheet “{wanted[:60]}”.", fix, Offer("sheet", [(title, title) for title in titles]))
    sheet = next(sheet for sheet in workbook.worksheets if sheet.title == (wanted or titles[0]))
    others = [title for title in titles if title != sheet.title]
    problems = Problems()
    part = sheet._worksheet_path  # openpyxl has no public way to a sheet's part of the archive
    with archive.open(part) as xml:
        _scan(iter(lambda: xml.read(_PIECE), b""), problems)
    sheet.reset_dimensions()  # what the file says about its size may be wrong, or huge
    offer = Offer("sheet", [(title, title) for title in titles]) if others else None
    try:
        table = _rows(sheet, name, problems)
    except TableProblems as error:
        raise TableProblems(error.problems, error.total, error.table, offer) from None
    if not others or wanted:
        return replace(table, offer=offer)
    note = (
        f"Only the first sheet, “{sheet.title}”, was read; {counted(len(others), 'other sheet')} "
        f"({', '.join(f'“{title}”' for title in others)[:300]}) {'was' if len(others) == 1 else 'were'} not."
    )
    return replace(table, notes=[note], offer=offer)


def _scan(pieces: Iterator[bytes], problems: Problems) -> None:
    """Merged cells, and formulas without a result: nobody could say which text a row has there."""
    merged: dict[bytes, None] = {}
    without_result: dict[bytes, None] = {}
    kept = b""
    for piece in pieces:
        text = kept + piece
        merged |= dict.fromkeys(_MERGED.findall(text))
        for attributes in _NOT_CALCULATED.findall(text):
            without_result |= dict.fromkeys(_REFERENCE.findall(attributes))
        kept = text[-_OVERLAP:]
    for cell_range in merged:
        column, first, last_column, last = range_boundaries(cell_range.decode())
        cells = f"{get_column_letter(column)}{first}:{get_column_letter(last_column)}{last}"
        what = f"The cells {cells} are merged, so it is not clear to which rows and columns their text belongs."
        problems.add(first - 1, get_column_letter(column), what, "Unmerge them, and fill in each cell.")
    for reference in without_result:
        row, column = coordinate_to_tuple(reference.decode())
        what = f"The cell {reference.decode()} has a formula whose result is not in the file."
        fix = "Open the file in Excel or LibreOffice, which calculate it, and save it. Or write its result instead."
        problems.add(row - 1, get_column_letter(column), what, fix)


def _rows(sheet: Any, name: str, problems: Problems) -> Table:
    columns: list[str] = []
    rows: list[Row] = []
    budget = TextBudget()
    in_header = 0
    for number, cells in enumerate(sheet.iter_rows()):
        texts = [_text(cell, number, columns, problems) for cell in cells]
        while texts and not texts[-1]:
            texts.pop()
        if not any(texts):
            if number > MAX_ROWS:
                check_size(number, 1)
            continue
        if len(texts) > MAX_COLUMNS:
            what = f"Row {number + 1:,} of the sheet has {len(texts):,} columns. The limit is {MAX_COLUMNS:,}."
            raise refused(what, "Keep only the columns that the study needs.")
        if not columns:
            columns = [text.strip() for text in texts]
            check_cells(0, columns, columns, problems)
            for problem in name_problems(columns):
                problems.add(problem.row, problem.column, problem.what, problem.fix)
            in_header = problems.total
            continue
        if len(texts) > len(columns):
            letter = get_column_letter(len(columns) + 1)
            what = f"There is a cell in column {letter} or further right, where the header has no name."
            problems.add(number, letter, what, "Name the column in the header, or delete the cell.")
            continue
        texts += [""] * (len(columns) - len(texts))
        check_cells(number, columns, texts, problems)
        if problems.total > in_header:
            continue
        budget.spend(sum(map(len, texts)))
        rows.append(Row(number, dict(zip(columns, texts, strict=True))))
        check_size(len(rows), len(columns))
    if not columns:
        problems.raise_if_any()
        what = f"The sheet “{sheet.title}” is empty."
        raise refused(what, "Put the names of the columns in the first row, and one row per item below.")
    problems.raise_if_any()
    if not rows:
        raise no_rows("below the header")
    return Table(columns, rows, name)


def _text(cell: Any, number: int, columns: Sequence[str], problems: Problems) -> str:
    value = cell.value
    if isinstance(value, str):
        if cell.data_type == "e":
            index = cell.column - 1
            column = columns[index] if index < len(columns) else get_column_letter(cell.column)
            problems.add(number, column, f"This cell shows the error {value}.", "Correct its formula, or clear it.")
            return ""
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _number_text(value, cell.number_format or "")
    if isinstance(value, datetime):
        is_moment = value.time() != time() or _HAS_TIME.search(re.sub(r"\[.*?\]|\".*?\"", "", cell.number_format or ""))
        return value.isoformat() if is_moment else value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(value)


def _number_text(value: float, number_format: str) -> str:
    """The number with at least the decimals of its format, and with the 15 digits at most that Excel shows."""
    decimals = _DECIMALS.fullmatch(number_format)
    percent = bool(decimals and decimals[2])
    digits = f"{value * 100 if percent else value:.15g}"
    wanted = len(decimals[1] or "") if decimals else 0
    if wanted and "e" not in digits:
        whole, _, fraction = digits.partition(".")
        digits = f"{whole}.{fraction.ljust(wanted, '0')}"
    return f"{digits}%" if percent else digits
