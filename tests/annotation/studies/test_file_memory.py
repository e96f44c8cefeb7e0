"""Items files and study files that would fill the memory: each is refused using little of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.annotation.table_makers import parquet, workbook
from tests.memory import run_limited

SET_UP = """
import django
django.setup()
import annotation.studies.study_files, annotation.table_files.parquet, annotation.table_files.workbooks
"""
READ_TABLE = """
from pathlib import Path
from annotation.table_files import TableProblems, read_table
try:
    with open({path!r}, "rb") as file:
        table = read_table(file, name={path!r})
        print("read", len(table.rows))
except TableProblems as refused:
    print(*refused.problems[:3], sep="\\n")
"""
READ_STUDY = """
from pathlib import Path
from annotation.studies.study_files import FileRefused, read_study_file
try:
    read_study_file(Path({path!r}))
except FileRefused as refused:
    print("\\n".join(map(str, refused.problems)))
"""


def run(tmp_path: Path, code: str, megabytes: int) -> str:
    # Arrow's own allocator reserves a gigabyte that it may never use.
    env = {"DJANGO_SETTINGS_MODULE": "hitserver.settings", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return run_limited(code, imports=SET_UP, megabytes=megabytes, var=tmp_path / "var", env=env)


def different_names() -> str:
    """Ten bytes a line; with a cell for every name in every row it would be 30 GB."""
    return "\n".join(f'{{"n{number % 999}":1}}' for number in range(200_000))


def a_line_of_lists() -> str:
    return '{"id": "1", "context": [' + "[]," * 20_000_000 + "1]}"


def a_header_of_commas() -> str:
    return "," * 60_000_000 + "\nx\n"


def wide_rows() -> str:
    names = ",".join(f"n{number}" for number in range(1_000))
    row = "," * 999
    return "\n".join([names, *[f"x{row}"] * 60_000])


@pytest.mark.parametrize(
    ("name", "attack", "megabytes", "told"),
    [
        ("i.jsonl", different_names, 300, "are more than 5,000,000 cells, which is the limit."),
        ("i.jsonl", a_line_of_lists, 150, "Line 1 of the file has more than 4,000,000 characters."),
        ("i.csv", a_header_of_commas, 150, "Line 1 of the file has more than 4,000,000 characters."),
        ("i.csv", wide_rows, 700, "5,001 rows with 1,000 columns are more than 5,000,000 cells"),
    ],
)
def test_an_items_file_that_would_fill_the_memory(
    tmp_path: Path, name: str, attack: Callable[[], str], megabytes: int, told: str
) -> None:
    path = tmp_path / name
    path.write_text(attack())
    assert told in run(tmp_path, READ_TABLE.format(path=str(path)), megabytes)


def a_workbook() -> bytes:
    return workbook(rows_of_text())


def a_parquet_file() -> bytes:
    rows = rows_of_text()
    return parquet({name: [row[index] for row in rows[1:]] for index, name in enumerate(rows[0])})


def rows_of_text() -> list[list[str]]:
    return [["id", "text"], *([f"r{number}", f"text {number} " * 20] for number in range(10_000))]


@pytest.mark.parametrize(
    ("name", "make", "megabytes"), [("i.xlsx", a_workbook, 250), ("i.parquet", a_parquet_file, 250)]
)
def test_ten_thousand_rows_need_little_memory(
    tmp_path: Path, name: str, make: Callable[[], bytes], megabytes: int
) -> None:
    path = tmp_path / name
    path.write_bytes(make())
    assert run(tmp_path, READ_TABLE.format(path=str(path)), megabytes).strip() == "read 10000"


def a_list_of_lists() -> str:
    return f"[{a_line_of_lists()}]"


def test_a_json_list_that_would_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    path.write_text(a_list_of_lists())
    assert "Entry 1 has more than 4,000,000 characters." in run(tmp_path, READ_TABLE.format(path=str(path)), 450)


def test_a_file_with_many_names_in_few_rows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "i.jsonl"
    path.write_text("\n".join(json.dumps({f"n{number}": str(number)}) for number in range(999)))
    assert run(tmp_path, READ_TABLE.format(path=str(path)), 300).strip() == "read 999"


def test_a_study_file_that_would_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f"slug: s\ntask_type: likert\ntitle: t\nconfig: [{'[],' * 340_000}]\n")
    said = run(tmp_path, READ_STUDY.format(path=str(path)), 200)
    assert said.startswith("file: The file has more than 100,000 values; line 4 is the first beyond that.")
    assert len(said) < 400
