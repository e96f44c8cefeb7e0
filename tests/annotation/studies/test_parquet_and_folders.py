"""Parquet files, folders of a data set as zip files, and lists in JSON, as tables of items."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.table_files import ReadingOptions, Table, TableProblems, read_table, tables, whole_files
from annotation.task_types.items import RowProblem
from tests.annotation.table_makers import parquet, workbook, zipped


def read(data: bytes, name: str, split: str = "") -> Table:
    return read_table(io.BytesIO(data), name=name, options=ReadingOptions(split=split))


def refused(data: bytes, name: str, split: str = "") -> TableProblems:
    with pytest.raises(TableProblems) as caught:
        read(data, name, split)
    return caught.value


def problems(data: bytes, name: str = "items.parquet") -> list[RowProblem]:
    return refused(data, name).problems


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array(["a\nb"]), "a\nb"),
        (pa.array([7], pa.int64()), "7"),
        (pa.array([0.1], pa.float64()), "0.1"),
        (pa.array([0.1], pa.float32()), "0.1"),
        (pa.array([np.float16(0.1)], pa.float16()), "0.1"),
        (pa.array([True]), "true"),
        (pa.array([None], pa.null()), ""),
        (pa.array([Decimal("1.50")]), "1.50"),
        (pa.array([date(2026, 11, 30)]), "2026-11-30"),
        (pa.array([datetime(2026, 11, 30, 14, 5, tzinfo=UTC)]), "2026-11-30T14:05:00+00:00"),
        (pa.array(["x"]).dictionary_encode(), "x"),
        (pa.array([["é", "b"]]), '["é", "b"]'),
        (pa.array([{"role": "user", "n": 1}]), '{"role": "user", "n": 1}'),
    ],
)
def test_values_of_parquet_become_text(values: pa.Array, text: str) -> None:
    data = parquet({"id": ["1"], "value": values})
    assert read(data, "items.parquet").rows[0].cells == {"id": "1", "value": text}


def test_a_note_names_the_columns_that_became_json() -> None:
    notes = read(parquet({"id": ["1"], "tags": [["a"]]}), "x.parquet").notes
    assert notes == ["Lists and objects were written as JSON text in the columns tags."]


@pytest.mark.parametrize(
    ("data", "row", "column", "what"),
    [
        (b"", 0, "", "The file is empty."),
        (b"PAR1 and nothing else", 0, "", "This is no Parquet file, or it is damaged."),
        (b"PARE" + b"\0" * 20, 0, "", "The Parquet file is encrypted."),
        (parquet({"id": ["a"] * 100})[:-30], 0, "", "This is no Parquet file, or it is damaged."),
        (parquet({"id": ["1"], "data": [b"\xff"]}), 0, "data", "The column contains binary data (binary), which has"),
        (
            parquet({"id": ["1"], "image": [{"bytes": b"\xff", "path": "a.png"}]}),
            0,
            "image",
            "The column contains binary data (struct<bytes: binary, path: string>)",
        ),
        (parquet({"id": ["1", "2"], "n": [1.0, float("nan")]}), 2, "n", "The value is NaN (not a number)."),
        (parquet({"id": ["1"], "n": [float("-inf")]}), 1, "n", "The value is infinite."),
        (parquet({"id": ["x\0"]}), 1, "id", "Character 2 of this cell, U+0000, is a control character"),
        (parquet({"id": pa.array([], pa.string())}), 0, "", "The file has no data rows."),
        (parquet({f"c{number}": [1] for number in range(1_001)}), 0, "", "The file has 1,001 columns."),
    ],
)
def test_what_is_wrong_with_a_parquet_file(data: bytes, row: int, column: str, what: str) -> None:
    problem = problems(data)[0]
    assert (problem.row, problem.column) == (row, column)
    assert problem.what.startswith(what)
    assert problem.fix


def test_two_columns_of_one_name_in_parquet() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], names=["x", "x"]), out)
    assert problems(out.getvalue())[0].what == "2 columns are called “x”."


def test_rows_of_parquet_are_counted_before_any_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    assert "more than 3 rows" in problems(parquet({"id": ["a"] * 4}))[0].what


def test_a_long_text_that_is_repeated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_files, "MAX_TEXT", 100_000)
    data = parquet({"id": ["x" * 10_000] * 11})
    assert len(data) < 20_000
    assert problems(data)[0].what == "The cells contain more than 100,000 characters when the file is unpacked."


# --- JSON lists ---


def test_a_list_of_objects_is_read() -> None:
    data = '\n[{"id": "a", "n": 0.70},\n {"id": "b, [c] {\\"", "t": null, "y": true} ] \n'
    assert [dict(row.cells) for row in read(data.encode(), "items.json").rows] == [
        {"id": "a", "n": "0.70", "t": "", "y": ""},
        {"id": 'b, [c] {"', "n": "", "t": "", "y": "true"},
    ]


@pytest.mark.parametrize(
    ("text", "row", "what"),
    [
        ('{"data": [{"id": 1}]}', 0, "The file is an object, not a list of objects."),
        ("3", 0, "The file is no list."),
        ("[]", 0, "The file has no data rows."),
        ("[1]", 1, "This entry is not an object."),
        ('[{"id": 1}, [2]]', 2, "This entry is not an object."),
        ('[{"id": NaN}]', 1, "NaN is not valid JSON. Write null for a missing number."),
        ('[{"id": Infinity}]', 1, "Infinity is not valid JSON. Write null for a missing number."),
        ('[{"id": 1}, {"id": [2]}]', 2, "The value is a list."),
        ('[{"id": 1, "id": 2}]', 1, "The name “id” is used 2 times in this object."),
        ('[{"id": 1},]', 2, "This entry is not valid JSON: Expecting value at character 1."),
        ('[{"id": 1} {"id": 2}]', 1, "This entry is not valid JSON: Extra data at character 11."),
        ('[{"id": 1}', 0, "The list does not end: a closing bracket ] is missing."),
        ('[{"id": "a}]', 0, "A text in entry 1 has no closing quotation mark."),
        ('[{"id": 1}] [2]', 0, "There is text after the end of the list."),
        ("[" * 100_000, 0, "The list does not end"),
    ],
)
def test_what_is_wrong_with_a_json_file(text: str, row: int, what: str) -> None:
    problem = problems(text.encode(), "items.json")[0]
    assert problem.row == row
    assert problem.what.startswith(what)
    assert problem.fix


def test_all_problems_of_a_list_are_found_at_once() -> None:
    text = '[1, {"a": [1]}, {"a": NaN}, {"a": "good"}]'
    assert [problem.row for problem in problems(text.encode(), "x.json")] == [1, 2, 3]


# --- folders ---

ONE = parquet({"id": ["a", "b"]})
TWO = parquet({"id": ["c"]})


@pytest.mark.parametrize(
    ("files", "split", "ids"),
    [
        ({"data/train-00000-of-00001.parquet": ONE, "README.md": "# Data"}, "", "ab"),
        ({"set/data/train-00000-of-00002.parquet": ONE, "set/data/train-00001-of-00002.parquet": TWO}, "", "abc"),
        ({"train.csv": "id;n\na;1\n", "test.csv": "id;n\nz;1\n"}, "test", "z"),
        ({"train.jsonl": '{"id": "a"}\n', "dev.jsonl": '{"id": "v"}\n'}, "validation", "v"),
        ({"train/part.json": '[{"id": "a"}]', "evaluation/part.json": '[{"id": "e"}]'}, "test", "e"),
        ({"data/hard-00000-of-00001.parquet": ONE, "data/easy-00000-of-00001.parquet": TWO}, "easy", "c"),
        ({"stories.csv": "id\na\n", "more.csv": "id\nb\n"}, "", "ba"),
        ({"train.csv": "id\na\n", "__MACOSX/._train.csv": "?", ".gitattributes": "x", "LICENSE.txt": "x"}, "", "a"),
        ({"train.csv": "id\na\n", "dataset_infos.json": "{}", "images/1.png": b"\x89PNG"}, "", "a"),
    ],
)
def test_one_split_of_a_folder_is_read(files: dict[str, bytes | str], split: str, ids: str) -> None:
    table = read(zipped(files), "set.zip", split)
    assert "".join(row.cells["id"] for row in table.rows) == ids
    assert [row.number for row in table.rows] == list(range(1, len(ids) + 1))


def test_a_folder_with_several_splits_offers_them() -> None:
    error = refused(zipped({"train.csv": "id\na\n", "test.csv": "id\nb\n"}), "set.zip")
    assert error.problems[0].what == "The folder has 2 splits: test, train."
    assert error.offer is not None
    assert (error.offer.option, list(error.offer.choices)) == (
        "split",
        [("test", "test (1 file)"), ("train", "train (1 file)")],
    )


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({"README.md": "x"}, "The zip file contains no data files."),
        ({"train/data-00000-of-00001.arrow": b"x"}, "The folder contains Arrow files, as save_to_disk() writes them."),
        ({"data/train-00001-of-00002.parquet": TWO}, "The split train should have 2 files; these are missing: 00000."),
        (
            {"data/train-00000-of-00001.parquet": ONE, "data/train-extra.parquet": TWO},
            "The split train has files from different exports",
        ),
        ({"train-a.csv": "id\na\n", "train-b.csv": "name\na\n"}, "The file train-b.csv has other columns than train-a"),
        ({"train-a.csv": "id\na\n", "train-b.csv": "id\na,b\n"}, "train-b.csv: This row has 2 cells, the header has 1"),
        ({"[Content_Types].xml": "x"}, "This is an Excel workbook, not a folder of a data set."),
    ],
)
def test_what_is_wrong_with_a_folder(files: dict[str, bytes | str], what: str) -> None:
    problem = problems(zipped(files), "set.zip")[0]
    assert problem.what.startswith(what)
    assert problem.fix


def test_a_folder_that_is_no_zip_file_or_damaged() -> None:
    assert problems(b"id\na\n", "set.zip")[0].what == "This is no zip file, or it is damaged."
    broken = bytearray(zipped({"train.csv": "id\n" + os.urandom(4000).hex()}))
    broken[200:210] = b"\0" * 10
    assert problems(bytes(broken), "set.zip")[0].what == "This is no zip file, or it is damaged."


def test_a_folder_with_a_password() -> None:
    data = bytearray(zipped({"train.csv": "id\na\n"}))
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= 1
    assert problems(bytes(data), "set.zip")[0].what == "The file is protected by a password."


# --- files under another name, and memory ---


@pytest.mark.parametrize(
    ("data", "name", "what"),
    [
        (workbook([["id"], ["a"]]), "items.csv", "This is a workbook or a zip file, not a text file."),
        (ONE, "items.csv", "This is a Parquet file, not a text file."),
        (b"id\na\n", "items.parquet", "This is no Parquet file, or it is damaged."),
    ],
)
def test_a_file_with_the_ending_of_another_kind(data: bytes, name: str, what: str) -> None:
    assert problems(data, name)[0].what == what


@pytest.mark.parametrize(("name", "data"), [("x.xlsx", workbook([["id"], ["a"]])), ("x.parquet", ONE)])
def test_the_upload_limit_holds_for_packed_files(name: str, data: bytes) -> None:
    with pytest.raises(TableProblems) as caught:
        read_table(io.BytesIO(data), name=name, limit=100)
    assert "larger than the limit" in caught.value.problems[0].what


def rows_of_text(number: int) -> list[list[str]]:
    return [["id", "text"], *([f"r{row}", f"text {row} " * 20] for row in range(number))]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("x.xlsx", lambda rows: workbook(rows)),
        ("x.parquet", lambda rows: parquet({"id": [row[0] for row in rows[1:]], "text": [row[1] for row in rows[1:]]})),
    ],
)
def test_ten_thousand_rows_are_read(name: str, make: Callable[[list[list[str]]], bytes]) -> None:
    rows = rows_of_text(10_000)
    table = read(make(rows), name)
    assert [[row.cells["id"], row.cells["text"]] for row in table.rows] == rows[1:]
