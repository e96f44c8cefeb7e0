"""Files in Windows-1252, separators that somebody must choose, and columns under other names."""

from __future__ import annotations

import io

import pytest

from annotation.table_files import ReadingOptions, Table, TableProblems, read_table
from annotation.table_files.mapping import guessed_mapping, target_problems
from annotation.task_types.items import Column, RowProblem

TEXT = "id;text\n1;Müller’s café\n2;plain\n"
WINDOWS = TEXT.encode("cp1252")


def read(
    data: bytes | str,
    name: str = "items.csv",
    *,
    encoding: str = "",
    separator: str = "",
    sheet: str = "",
    split: str = "",
) -> Table:
    data = data.encode() if isinstance(data, str) else data
    options = ReadingOptions(encoding=encoding, separator=separator, sheet=sheet, split=split)
    return read_table(io.BytesIO(data), name=name, options=options)


def mapped(data: str, **mapping: str) -> Table:
    return read_table(io.BytesIO(data.encode()), name="items.csv", options=ReadingOptions(mapping=mapping))


def refused(data: bytes | str, name: str = "items.csv", **options: str) -> TableProblems:
    with pytest.raises(TableProblems) as caught:
        read(data, name, **options)
    return caught.value


def test_a_windows_file_is_not_read_silently_but_offered_with_its_cells() -> None:
    error = refused(WINDOWS)
    assert error.problems[0].what.startswith("Not UTF-8: byte 0xFC (in Windows-1252 it is “ü”)")
    assert "choose the encoding windows-1252" in error.problems[0].fix
    assert error.offer is not None
    assert error.offer.option == "encoding"
    assert [name for name, _ in error.offer.choices] == ["windows-1252"]
    assert [tuple(cell) for cell in error.offer.preview] == [(1, "text", "Müller’s café")]


def test_a_windows_file_is_read_if_somebody_says_so() -> None:
    assert [row.cells["text"] for row in read(WINDOWS, encoding="windows-1252").rows] == ["Müller’s café", "plain"]
    line = '{"id": "é"}\n'
    assert read(line.encode("cp1252"), "x.jsonl", encoding="windows-1252").rows[0].cells == {"id": "é"}


def test_names_of_columns_can_be_in_windows_1252() -> None:
    data = "id,für\n1,2\n".encode("cp1252")
    assert refused(data).offer is not None
    assert read(data, encoding="windows-1252").columns == ["id", "für"]


def test_a_utf_8_file_is_not_read_as_windows_1252() -> None:
    problem = refused(TEXT, encoding="windows-1252").problems[0]
    assert problem.what == (
        "The file is UTF-8, not Windows-1252: all of its letters beyond ASCII are. "
        "Row 1 would begin with “MÃ¼ller’s cafÃ©” instead of “Müller’s café”."
    ).replace("r’s", "râ€™s", 1)


def test_a_byte_that_windows_1252_lacks_is_named() -> None:
    problem = refused(b"id,text\n1,caf\xe9 \x81\n", encoding="windows-1252").problems[0]
    assert (problem.row, problem.column) == (1, "text")
    assert problem.what.startswith("Byte 0x81 is no character in Windows-1252, at character 6")


def test_plain_ascii_can_be_read_as_either() -> None:
    assert read("id\na\n", encoding="windows-1252").rows[0].cells == {"id": "a"}


def test_a_separator_is_offered_where_the_header_has_several() -> None:
    data = "id,text;more\n1,2;3\n"
    error = refused(data)
    assert error.offer is not None
    assert (error.offer.option, [name for name, _ in error.offer.choices]) == ("separator", ["comma", "semicolon"])
    assert read(data, separator="comma").columns == ["id", "text;more"]
    assert read(data, separator="semicolon").columns == ["id,text", "more"]


@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("x.csv", {"encoding": "latin-1"}, "There is no encoding “latin-1”."),
        ("x.csv", {"separator": "|"}, "There is no separator “|”."),
        ("x.csv", {"sheet": "Items"}, "The option sheet is only for workbooks (.xlsx)."),
        ("x.csv", {"split": "train"}, "The option split is only for folders of a data set (.zip)."),
        ("x.parquet", {"encoding": "utf-8"}, "The option encoding is only for text files."),
        ("x.jsonl", {"separator": "comma"}, "The option separator is only for CSV files."),
    ],
)
def test_options_that_do_not_fit_are_refused(name: str, options: dict[str, str], what: str) -> None:
    assert refused("id\na\n", name, **options).problems[0].what == what


# --- columns under other names ---


def test_columns_get_the_names_of_a_mapping() -> None:
    table = mapped("Key,Answer,more\n1,yes,x\n", Key="id", Answer="text")
    assert table.columns == ["id", "text", "more"]
    assert table.rows[0].cells == {"id": "1", "text": "yes", "more": "x"}


@pytest.mark.parametrize(
    ("mapping", "listed"),
    [
        ({"Kee": "id"}, [("Kee", "The file has no column “Kee”.", "Did you mean “Key”?")]),
        (
            {"Key": "text", "Answer": "text"},
            [("text", "2 columns would be called text: “Key” and “Answer”.", "Give each column a different name.")],
        ),
        (
            {"Key": "more"},
            [("more", "2 columns would be called more: “Key” and “more”.", "Give each column a different name.")],
        ),
        ({"Key": " "}, [("Key", "The column would have no name.", "Name it, or leave it out of the mapping.")]),
    ],
)
def test_a_mapping_that_cannot_be_used(mapping: dict[str, str], listed: list[tuple[str, str, str]]) -> None:
    with pytest.raises(TableProblems) as caught:
        mapped("Key,Answer,more\n1,yes,x\n", **mapping)
    assert caught.value.problems == [RowProblem(0, *problem) for problem in listed]


COLUMNS = [Column("id", "The id."), Column("text", "The text."), Column("resp_0 …", "Texts.", required=False)]


def test_targets_that_the_study_lacks_are_named() -> None:
    mapping = {"a": "id", "b": "resp_12", "c": "image", "d": "gold:topic", "e": "txt", "f": "resp_x"}
    wrong = target_problems(mapping, COLUMNS, ["image"])
    assert [(problem.column, problem.fix) for problem in wrong] == [
        ("e", "Did you mean “text”?"),
        ("f", "Did you mean “resp_0 …”?"),
    ]


@pytest.mark.parametrize(
    ("file_columns", "guesses"),
    [
        (["ID", "Text"], {"ID": "id", "Text": "text"}),
        (["item_id", "output"], {"item_id": "id", "output": "text"}),
        (["id", "texts"], {"texts": "text"}),
        (["id", "text", "output"], {}),
        (["id", "answer", "Text"], {"Text": "text"}),
        (["colour", "shape"], {}),
    ],
)
def test_likely_columns_are_guessed_by_their_names(file_columns: list[str], guesses: dict[str, str]) -> None:
    assert guessed_mapping(file_columns, COLUMNS) == guesses
