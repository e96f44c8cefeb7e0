"""A carriage return in a cell stays in its cell, in every file that the project writes."""

from __future__ import annotations

import ast
import csv
import io
from pathlib import Path

import pytest

from common.csv_files import CsvLine, CsvWriter, csv_text

ROOT = Path(__file__).parents[2]
PACKAGES = ("accounts", "analysis", "annotation", "bench", "client", "common", "generation", "hitserver", "marketplace")
WRITERS = {"writer", "DictWriter"}
ROWS = [
    ["id", "text"],
    ["1", "one\rtwo"],
    ["2", "one\r\ntwo"],
    ["3", "\r"],
    ["4", 'a "quoted", line\nfeed'],
    ["5", ""],
    ["6", "plain"],
]


def written(rows: list[list[str]], delimiter: str) -> str:
    out = io.StringIO(newline="")
    CsvWriter(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_rows_come_back_as_they_were_written(delimiter: str) -> None:
    for text in (written(ROWS, delimiter), csv_text(ROWS, delimiter=delimiter)):
        assert list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) == ROWS


def test_only_cells_that_need_quotes_have_them() -> None:
    """By RFC 4180: quotes around a carriage return, a line feed, a quote and the separator."""
    assert csv_text([["a", "b\rc"], ["d", "e"]]) == 'a,"b\rc"\nd,e\n'
    assert CsvLine(line_end="\r\n").of(["a", "b\rc"]) == 'a,"b\rc"\r\n'


def test_nothing_else_uses_pythons_own_writer() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path != ROOT / "common" / "csv_files.py"
        for line in bare_writers(path.read_text("utf-8"))
    ]

    assert not found, f"Write CSV files with common.csv_files: {', '.join(found)}"


@pytest.mark.parametrize("code", ["csv.writer(file)", "csv.DictWriter(file, names)", "from csv import writer"])
def test_the_scan_sees(code: str) -> None:
    assert bare_writers(code) == [1]


def bare_writers(source: str) -> list[int]:
    """The lines where Python's writers of CSV files are used or imported."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            bare = node.attr in WRITERS and ast.unparse(node.value) == "csv"
        elif isinstance(node, ast.ImportFrom):
            bare = node.module == "csv" and bool(WRITERS & {name.name for name in node.names})
        else:
            continue
        if bare:
            lines.append(node.lineno)
    return lines
