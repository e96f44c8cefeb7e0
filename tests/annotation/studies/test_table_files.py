"""Files of rows: what is read, and the messages for files that cannot be."""

import io
import time
from dataclasses import dataclass

import pytest
from django.conf import LazySettings

from annotation.table_files import Table, TableProblems, read_table, tables
from annotation.task_types.items import RowProblem


def read(data: bytes | str, name: str = "sets.csv") -> Table:
    return read_table(io.BytesIO(data.encode() if isinstance(data, str) else data), name=name)


def problems(data: bytes | str, name: str = "sets.csv") -> list[RowProblem]:
    with pytest.raises(TableProblems) as caught:
        read(data, name)
    return caught.value.problems


def cells(table: Table) -> list[dict[str, str]]:
    return [dict(row.cells) for row in table.rows]


@dataclass
class Case:
    name: str
    data: str | bytes
    columns: list[str]
    rows: list[dict[str, str]]
    file: str = "sets.csv"


GOOD = [
    Case("plain", "a,b\n1,2\n", ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("byte order mark", b"\xef\xbb\xbfa,b\r\n1,2\r\n", ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("no line break at the end", "a,b\n1,2", ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("old Mac line breaks", "a,b\r1,2\r", ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("line break in a cell", 'a,b\n"one\ntwo",2\n', ["a", "b"], [{"a": "one\ntwo", "b": "2"}]),
    Case("doubled quotes", 'a\n"she said ""yes"""\n', ["a"], [{"a": 'she said "yes"'}]),
    Case("quotes within an open cell", 'a,b\nsay "no",2\n', ["a", "b"], [{"a": 'say "no"', "b": "2"}]),
    Case("spaces stay", "a,b\n x , \n", ["a", "b"], [{"a": " x ", "b": " "}]),
    Case("spaces around names go", " a ,b\n1,2\n", ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("TSV", "a\tb\n1,5\t2\n", ["a", "b"], [{"a": "1,5", "b": "2"}], "x.TSV"),
    Case("semicolons", "a;b\n1,5;2\n", ["a", "b"], [{"a": "1,5", "b": "2"}]),
    Case("tabs in a CSV", "a\tb\n1,5\t2;3\n", ["a", "b"], [{"a": "1,5", "b": "2;3"}]),
    Case("commas in a .txt", "a,b\n1,2\n", ["a", "b"], [{"a": "1", "b": "2"}], "x.txt"),
    Case("another separator in a quoted name", '"a;1",b\n1,2\n', ["a;1", "b"], [{"a;1": "1", "b": "2"}]),
    Case("blank lines before the header", "\n;;\na;b\n1;2\n", ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("beyond ASCII", "a\nאבג 👩‍🔬 café\n", ["a"], [{"a": "אבג 👩‍🔬 café"}]),
    Case("Excel's Unicode text", "a\tb\r\n1,5\té🙂\r\n".encode("utf-16"), ["a", "b"],
         [{"a": "1,5", "b": "é🙂"}], "x.txt"),
    Case("UTF-16, big end first", b"\xfe\xff" + "a,b\n1,2\n".encode("utf-16-be"), ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("UTF-16 with tabs, renamed", "a\tb\n1\t2\n".encode("utf-16"), ["a", "b"], [{"a": "1", "b": "2"}]),
    Case("UTF-16 JSON lines", '{"a": "é"}\n'.encode("utf-16"), ["a"], [{"a": "é"}], "x.jsonl"),
    Case("JSON lines", '{"a": "x", "b": 0.70}\n\n{"b": 12, "c": null}\n', ["a", "b", "c"],
         [{"a": "x", "b": "0.70", "c": ""}, {"a": "", "b": "12", "c": ""}], "x.jsonl"),
    Case("JSON true", '{"a": true}\n', ["a"], [{"a": "true"}], "x.ndjson"),
    Case("JSON escapes", '{"a": "\\ud83d\\ude00\\n"}\n', ["a"], [{"a": "😀\n"}], "x.jsonl"),
]  # fmt: skip


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_a_file_is_read(case: Case) -> None:
    table = read(case.data, case.file)
    assert table.columns == case.columns
    assert cells(table) == case.rows


def test_blank_lines_are_skipped_and_rows_keep_the_numbers_of_the_spreadsheet() -> None:
    table = read("a,b\n\n1,2\n,\n3,4\n\n")
    assert [(row.number, row.cells["a"]) for row in table.rows] == [(2, "1"), (4, "3")]


@dataclass
class Bad:
    name: str
    data: str | bytes
    row: int
    column: str
    what: str
    file: str = "sets.csv"


BAD = [
    Bad("empty", b"", 0, "", "empty"),
    Bad("only blank lines", b"\n\n\n", 0, "", "no header"),
    Bad("header only", "a,b\n", 0, "", "no data rows"),
    Bad("duplicate columns", "a,b,a\n1,2,3\n", 0, "a", "2 columns are called “a”"),
    Bad("a column without a name", "a,,c\n1,2,3\n", 0, "column 2", "no name"),
    Bad("commas in a TSV", "a,b\n1,2\n", 0, "", "separated by commas, not tabs", "sets.tsv"),
    Bad("two separators", "a,b;c\n1,2;3\n", 0, "", "contains commas (2 columns) and semicolons (2 columns)"),
    Bad("a row with more cells", "a,b\n1,2\n1,2,3\n", 2, "cell 3", "3 cells, the header has 2"),
    Bad("a row with fewer cells", "a,b,c\n1\n", 1, "b", "1 cell, the header has 3"),
    Bad("a quote that is never closed", 'a,b\n1,2\n"3,4\n5,6\n', 2, "", "lines 3 to 4"),
    Bad("text after a quote", 'a,b\n"1"x,2\n3,4\n', 1, "", "after a closing quotation mark"),
    Bad("NUL", "a,b\n1,x\x00y\n", 1, "b", "U+0000"),
    Bad("a control character", "a,b\n1,x\x1by\n", 1, "b", "U+001B"),
    Bad("a control character in a name", "a,b\x07\n1,2\n", 0, "b�", "U+0007"),
    Bad("Latin-1", "a,b\n1,caf\xe9\n".encode("latin-1"), 1, "b", "0xE9 (in Windows-1252 it is “é”) at character 4"),
    Bad("UTF-16 cut off", "a,b\n1,2\n".encode("utf-16")[:-1], 0, "", "UTF-16"),
    Bad("half a surrogate pair in UTF-16", b"\xff\xfea\x00\n\x00\x3d\xd8\n\x00", 1, "a", "half a character"),
    Bad("a workbook", b"PK\x03\x04rest", 0, "", "workbook"),
    Bad("a long cell", "a,b\n1," + "x" * 20_001 + "\n", 1, "b", "20,001 characters"),
    Bad("a very long cell", "a,b\n1," + "x" * 200_000 + "\n", 1, "", "far too long"),
    Bad("another kind of file", b"x", 0, "", "not a supported file type", "sets.pdf"),
    Bad("an old workbook by its name", b"x", 0, "", "not a supported file type", "sets.xls"),
    Bad("no ending", b"x", 0, "", "not a supported file type", "sets"),
    Bad("not valid JSON", '{"a": 1}\n{"a": \n', 2, "", "not valid JSON", "x.jsonl"),
    Bad("a list on a line", "[1, 2]\n", 1, "", "not an object", "x.jsonl"),
    Bad("a nested value", '{"a": {"b": 1}, "c": [1]}\n', 1, "a", "an object", "x.jsonl"),
    Bad("half a surrogate pair", '{"a": "\\ud83d"}\n', 1, "a", "lone surrogate", "x.jsonl"),
    Bad("NUL in JSON", '{"a": "\\u0000"}\n', 1, "a", "U+0000", "x.jsonl"),
    Bad("a name twice", '{"a": 1, "a": 2}\n', 1, "", "is used 2 times", "x.jsonl"),
    Bad("NaN", '{"a": NaN}\n', 1, "", "NaN", "x.jsonl"),
    Bad("nested very deep", "[" * 100_000 + "\n", 1, "", "nested too deep", "x.jsonl"),
    Bad("Latin-1 JSON", '{"a": "caf\xe9"}\n'.encode("latin-1"), 1, "", "byte 0xE9", "x.jsonl"),
    Bad("empty JSON lines", "\n\n", 0, "", "no data rows", "x.jsonl"),
]  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_says_what_is_wrong_and_where(case: Bad) -> None:
    first = problems(case.data, case.file)[0]
    assert (first.row, first.column) == (case.row, case.column)
    assert case.what in first.what
    assert first.fix
    first.what.encode()  # fit for any page and terminal


def test_the_error_for_a_latin_1_file_says_how_to_save_it_as_utf_8() -> None:
    assert "UTF-8" in problems("a\ncaf\xe9\n".encode("latin-1"))[0].fix


def test_every_problem_is_found_at_once() -> None:
    data = b"a,b\n1,2,3\n\xe9,ok\nx\x00,y\x01\n1\n"
    assert [(problem.row, problem.column) for problem in problems(data)] == [
        (1, "cell 3"),
        (2, "a"),
        (3, "a"),
        (3, "b"),
        (4, "b"),
    ]


def test_reading_continues_after_a_quote_problem_in_one_line() -> None:
    found = problems('a,b\n"1"x,2\n3,4,5\n')
    assert [problem.row for problem in found] == [1, 2]


def test_a_file_with_millions_of_problems_is_counted_but_not_kept() -> None:
    with pytest.raises(TableProblems) as caught:
        read("a,b\n" + "1\n" * 30_000)
    refused = caught.value
    assert refused.total == 30_000
    assert len(refused.problems) == tables.KEPT_PROBLEMS
    assert len(refused.shown) == 200
    assert refused.n_hidden == 29_800


def test_a_file_over_the_upload_limit_is_refused(settings: LazySettings) -> None:
    settings.MAX_UPLOAD_BYTES = 1024 * 1024
    data = b"a,b\n" + b"1,222222222\n" * 100_000
    assert "larger than the limit of 1 MB" in problems(data)[0].what
    with pytest.raises(TableProblems):
        read_table(io.BytesIO(data), name="x.csv", limit=1000)


def test_more_rows_than_a_study_accepts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    assert len(read("a\n1\n2\n3\n").rows) == 3
    assert "more than 3 rows" in problems("a\n1\n2\n3\n4\n")[0].what
    assert "more than 3 rows" in problems('{"a": 1}\n' * 4, "x.jsonl")[0].what


def test_more_columns_than_anybody_uses_are_refused() -> None:
    header = ",".join(f"c{number}" for number in range(1001))
    assert "1,001 columns" in problems(f"{header}\n")[0].what


def test_50_megabytes_in_one_line_are_refused_in_seconds() -> None:
    start = time.process_time()
    assert problems(b"a,b\n1," + b"x" * 50_000_000)
    assert time.process_time() - start < 10


def test_the_file_stays_open() -> None:
    file = io.BytesIO(b"a\n1\n")
    read_table(file, name="x.csv")
    assert not file.closed


def test_after_an_unclosed_quote_no_further_problems_are_reported() -> None:
    found = problems('a,b\n"1\n2"x,3\n4\n')
    assert [(problem.row, "lines 2 to 3" in problem.what) for problem in found] == [(1, True)]


def test_rows_are_checked_though_the_header_is_wrong() -> None:
    found = problems(b"a,b,a,\n1,2,3,4\n1,2\n5,caf\xe9,7,8\n")
    assert [(problem.row, problem.column) for problem in found] == [
        (0, "column 4"),
        (0, "a"),
        (2, "a"),
        (3, "b"),
    ]


def test_nothing_below_a_header_with_another_separator_is_checked() -> None:
    assert [problem.row for problem in problems("a;b\n1;2\n3\t4\n", "x.tsv")] == [0]


def test_rows_that_can_be_read_below_a_wrong_header_are_there() -> None:
    with pytest.raises(TableProblems) as caught:
        read("a,b,a,\n1,2,3,4\n1,2\n")
    assert caught.value.table is not None
    assert cells(caught.value.table) == [{"a": "1", "b": "2"}]
