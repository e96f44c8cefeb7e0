"""Excel workbooks as tables of items. The expected texts are those that Excel shows in the cells."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl
import pytest

from annotation.table_files import ReadingOptions, Table, TableProblems, read_table
from annotation.task_types.items import RowProblem
from tests.annotation.table_makers import changed, saved, workbook, zipped

SHEET = "xl/worksheets/sheet1.xml"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def read(data: bytes, sheet: str = "") -> Table:
    return read_table(io.BytesIO(data), name="items.xlsx", options=ReadingOptions(sheet=sheet))


def problems(data: bytes, sheet: str = "") -> list[RowProblem]:
    with pytest.raises(TableProblems) as caught:
        read(data, sheet)
    return caught.value.problems


def cell(value: Any, number_format: str = "General") -> str:
    """The text of one cell with this format."""
    book = openpyxl.Workbook()
    book.active.append(["id", "value"])
    book.active.append(["1", value])
    book.active["B2"].number_format = number_format
    return read(saved(book)).rows[0].cells["value"]


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (5, "General", "5"),
        (5.0, "General", "5"),
        (0.1 + 0.2, "General", "0.3"),
        (0.7, "0.00", "0.70"),
        (3.14159, "0.00", "3.14159"),
        (1234.5, "#,##0.00", "1234.50"),
        (0.25, "0%", "25%"),
        (0.255, "0.00%", "25.50%"),
        (True, "General", "true"),
        (False, "General", "false"),
        (date(2026, 11, 30), "yyyy-mm-dd", "2026-11-30"),
        (datetime.fromisoformat("2026-11-30"), "dd.mm.yyyy", "2026-11-30"),
        (datetime.fromisoformat("2026-11-30"), "dd.mm.yyyy hh:mm", "2026-11-30T00:00:00"),
        (datetime.fromisoformat("2026-11-30T14:05"), "dd.mm.yyyy hh:mm", "2026-11-30T14:05:00"),
        (time(9, 30), "hh:mm", "09:30:00"),
        (timedelta(hours=30, minutes=2), "[h]:mm:ss", "30:02:00"),
        (" two\nlines ", "General", " two\nlines "),
        ("007", "@", "007"),
        ("שלום 👩‍🔬", "General", "שלום 👩‍🔬"),
    ],
)
def test_cells_become_the_text_that_people_see(value: Any, number_format: str, text: str) -> None:
    assert cell(value, number_format) == text


def test_rows_keep_the_numbers_of_the_sheet_and_blank_ones_are_skipped() -> None:
    table = read(workbook([["id", " text "], ["a", "one"], [None, None], ["b", None]]))
    assert table.columns == ["id", "text"]
    assert [(row.number, dict(row.cells)) for row in table.rows] == [
        (1, {"id": "a", "text": "one"}),
        (3, {"id": "b", "text": ""}),
    ]


def test_the_first_sheet_is_read_and_a_note_names_the_others() -> None:
    data = workbook([["id"], ["a"]], Notes=[["x"], ["y"]])
    assert read(data).notes == ["Only the first sheet, “Items”, was read; 1 other sheet (“Notes”) was not."]
    assert [row.cells for row in read(data, "Notes").rows] == [{"x": "y"}]
    assert read(data, "Notes").notes == ()


def test_a_sheet_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(TableProblems) as caught:
        read(workbook([["id"], ["a"]], Notes=[["x"]]), "Itms")
    assert caught.value.problems[0].fix == "The sheets are Items, Notes."
    assert caught.value.offer is not None
    assert [name for name, _ in caught.value.offer.choices] == ["Items", "Notes"]


def test_the_result_of_a_formula_is_read() -> None:
    book = workbook([["id", "n"], ["a", "=1+1"]])
    # As Excel writes it, with the result beside the formula.
    calculated = changed(book, SHEET, "<f>1+1</f><v />", "<f>1+1</f><v>2</v>")
    assert read(calculated).rows[0].cells["n"] == "2"


def test_a_formula_without_a_result_is_refused() -> None:
    problem = problems(workbook([["id", "n"], ["a", "=1+1"]]))[0]
    assert (problem.row, problem.column) == (1, "B")
    assert problem.what == "The cell B2 has a formula whose result is not in the file."


def test_merged_cells_are_refused() -> None:
    book = openpyxl.Workbook()
    for row in (["id", "text"], ["a", "one"], ["b", None]):
        book.active.append(row)
    book.active.merge_cells("B2:B3")
    problem = problems(saved(book))[0]
    assert (problem.row, problem.column) == (1, "B")
    assert problem.what.startswith("The cells B2:B3 are merged")


def test_an_error_in_a_cell_is_refused() -> None:
    problem = problems(workbook([["id", "n"], ["a", "#N/A"]]))[0]
    assert (problem.row, problem.column, problem.what) == (1, "n", "This cell shows the error #N/A.")


def test_all_problems_of_a_workbook_are_listed_at_once() -> None:
    rows: list[list[Any]] = [["id", "n", "n"], ["a", "#REF!", 1], ["b", 2, 3, "outside"], ["c", "x" * 20_001]]
    listed = [(problem.row, problem.column) for problem in problems(workbook(rows))]
    assert listed == [(0, "n"), (1, "n"), (2, "D"), (3, "n")]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "The file is empty."),
        (b"id,text\n1,2\n", "This is no Excel workbook, or it is damaged."),
        (OLE + b"\0" * 600, "This is a workbook of Excel 97 to 2003 (.xls), though its name ends in .xlsx."),
        (
            OLE + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 40,
            "The workbook is protected by a password.",
        ),
        (zipped({"train.csv": "a\n1\n"}), "This is a zip file, not an Excel workbook."),
        (workbook([["id", "text"]]), "The file has no data rows."),
        (workbook([]), "The sheet “Items” is empty."),
        (workbook([["id"], ["a"]])[:-200], "This is no Excel workbook, or it is damaged."),
        (changed(workbook([["id"], ["a"]]), SHEET, "</row>", "</rom>"), "This is no Excel workbook, or it is damaged."),
        (workbook([["id"] * 1_001, ["a"]]), "Row 1 of the sheet has 1,001 columns. The limit is 1,000."),
    ],
)
def test_a_file_that_is_no_usable_workbook(data: bytes, what: str) -> None:
    problem = problems(data)[0]
    assert problem.what == what
    assert problem.fix


def test_a_workbook_that_declares_entities_is_refused() -> None:
    head = "<worksheet "
    entities = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><worksheet '
    assert "document type" in problems(changed(workbook([["id"], ["a"]]), SHEET, head, entities))[0].what


def test_a_workbook_that_unpacks_to_gigabytes_is_refused_by_its_size() -> None:
    data = zipped({"[Content_Types].xml": "x", "xl/big.xml": b" " * 310_000_000})
    assert len(data) < 1_000_000
    assert problems(data)[0].what == "Unpacked, the file is larger than 300 MB."


def test_a_row_at_the_end_of_the_sheet_is_refused_as_too_many_rows() -> None:
    data = changed(workbook([["id"], ["a"]]), SHEET, '<row r="2"><c r="A2"', '<row r="1048576"><c r="A1048576"')
    assert "more than 200,000 rows" in problems(data)[0].what
