"""Reads CSV and TSV strictly."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence

from annotation.table_files.encodings import EncodingCheck
from annotation.table_files.headers import (
    SEPARATOR_NAMES,
    first_record,
    layout_problems,
    name_problems,
    separator_in,
)
from annotation.table_files.tables import (
    Problems,
    ReadingOptions,
    Table,
    TableProblems,
    check_cells,
    check_size,
    no_rows,
    refused,
)
from annotation.task_types.items import Row
from common.words import counted

#: The separator of files with a single column. Files called .tsv or .tab have no other.
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_ALWAYS_TABS = (".tsv", ".tab")


def read_delimited(lines: Iterator[str], name: str, suffix: str, options: ReadingOptions) -> Table:
    """The table. Its header shows which character separates the cells. Raises TableProblems."""
    problems = Problems()
    encoding = EncodingCheck(options.encoding, problems)
    start = first_record(lines)
    if options.separator:
        delimiter = SEPARATOR_NAMES[options.separator]
    elif suffix in _ALWAYS_TABS:
        delimiter = "\t"
    else:
        delimiter = separator_in("".join(start), DELIMITERS[suffix])
    records = _records(itertools.chain(start, lines), delimiter, problems)
    try:
        return _read(records, name, delimiter, problems, encoding)
    except TableProblems as error:
        raise TableProblems(error.problems, error.total, error.table, encoding.offer) from None


def _read(
    records: Iterator[tuple[int, list[str]]], name: str, delimiter: str, problems: Problems, encoding: EncodingCheck
) -> Table:
    columns = _header(records, delimiter, problems, encoding)
    in_header = problems.total
    positions = {name: index for index, name in reversed(list(enumerate(columns))) if name}
    in_order = sorted(positions.items(), key=lambda pair: pair[1])
    rows: list[Row] = []
    for number, cells in records:
        if not any(cells):
            continue
        if len(cells) != len(columns):
            what = f"This row has {counted(len(cells), 'cell')}, the header has {len(columns)}."
            if len(cells) > len(columns):
                fix = "Put quotes around cells that contain the separator, or remove the extra cells."
                problems.add(number, f"cell {len(columns) + 1}", what, fix)
            else:
                fix = "Add the missing cells (they may be empty), or close a quotation mark in the row before."
                problems.add(number, columns[len(cells)], what, fix)
            continue
        _check(number, columns, cells, problems, encoding)
        if problems.total > in_header:
            continue
        rows.append(Row(number, {column: cells[index] for column, index in in_order}))
        check_size(len(rows), len(columns))
    encoding.finish()
    if in_header:
        raise TableProblems(problems.problems, problems.total, Table([column for column, _ in in_order], rows, name))
    problems.raise_if_any()
    if not rows:
        raise no_rows("below the header")
    return Table(columns, rows, name)


def _check(number: int, columns: Sequence[str], cells: list[str], problems: Problems, encoding: EncodingCheck) -> None:
    """Cells with bytes that are no text have this one problem."""
    good = list(cells)
    for index, cell in enumerate(cells):
        if not cell.isascii() and not encoding.look(number, columns[index], cell):
            good[index] = ""
    check_cells(number, columns, good, problems)


def _records(text: Iterator[str], delimiter: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """Numbered records; the header is 0. What the parser refuses is recorded, and reading continues after it."""
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    number = 0
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines = f"line {start}" if start >= reader.line_num else f"lines {start} to {reader.line_num}"
            what = f"A quotation mark is not closed, or a cell is far too long ({lines} of the file)."
            fix = "Close it, or write it twice if it is part of the text."
            if "expected after" in str(error):
                what = f"There is text after a closing quotation mark ({lines} of the file)."
                fix = (
                    "Put the whole cell in quotation marks and write each quotation mark inside it twice: "
                    '"she said ""yes"""'
                )
            problems.add(number, "", what, fix)
            number += 1
            if reader.line_num > start:
                return  # an open quote swallowed other rows: the rest would be nonsense
            continue
        yield number, cells
        number += 1


def _header(
    lines: Iterator[tuple[int, list[str]]], delimiter: str, cell_problems: Problems, encoding: EncodingCheck
) -> list[str]:
    """The column names; what is wrong with them goes to ``cell_problems``. Raises TableProblems if nothing below can be
    checked."""
    columns: list[str] = []
    for _, cells in lines:
        if any(cells):
            columns = [cell.strip() for cell in cells]
            break
    if not columns:
        cell_problems.raise_if_any()
        raise refused("The file has no header row.", "Put the names of the columns in the first line.")
    _check(0, columns, columns, cell_problems, encoding)
    if problems := layout_problems(columns, delimiter):
        raise TableProblems([*cell_problems.problems, *problems])
    for problem in name_problems(columns):
        cell_problems.add(problem.row, problem.column, problem.what, problem.fix)
    return columns
