"""The fast reader of CSV files gives what `csv.reader` gives, or leaves the file to it."""

from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import regular_csv, tables
from analysis.regular_csv import regular_rows
from analysis.tables import InputError, read_columns, read_texts

#: Pieces of cells: whatever has confused a reader of CSV files.
PIECES = st.sampled_from(
    [
        *("", "a", "4", "4.0", " ", "NA", "nan", "None", "#N/A", "é", "日本", "\u2028", "\x85", "\ufeff", "x" * 50),
        *(",", ";", "\t", '"', '""', "'", "\\", "\n", "\r\n", "\r", "\0", "#", "1e5", "007", "true"),
    ]
)
CELLS = st.lists(PIECES, max_size=3).map("".join)


def reference(content: bytes, separator: str) -> list[list[str]] | None:
    """The cells as Python's own reader gives them; None if it refuses the file or rows differ in length."""
    try:
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = list(csv.reader(text, delimiter=separator, strict=True))
    except (csv.Error, UnicodeDecodeError):
        return None
    return rows if len({len(row) for row in rows}) == 1 else None


def cells_of(content: bytes, separator: str, width: int) -> list[list[str]] | None:
    columns = regular_rows(content, separator, width, range(width))
    if columns is None:
        return None
    return [list(row) for row in zip(*(column.texts[column.codes] for column in columns), strict=True)]


@settings(max_examples=400, deadline=None)
@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5),
    separator=st.sampled_from(",;\t"),
    ends=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    block=st.integers(1, 40),
)
def test_what_a_writer_wrote_is_read_alike(
    rows: list[list[str]], separator: str, ends: str, quoting: int, block: int
) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=separator, lineterminator=ends, quoting=quoting).writerows([["x", "y"], *rows])  # type: ignore[arg-type]
    content = written.getvalue().encode()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regular_csv, "BLOCK_BYTES", block)
        quick = cells_of(content, separator, 2)

    assert quick is None or [["x", "y"], *quick] == reference(content, separator)


@settings(max_examples=600, deadline=None)
@given(text=st.lists(PIECES, max_size=12).map("".join), block=st.integers(1, 10))
def test_of_any_text_the_fast_reader_gives_the_same_or_nothing(text: str, block: int) -> None:
    content = ("x,y\n" + text).encode()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regular_csv, "BLOCK_BYTES", block)
        quick = cells_of(content, ",", 2)

    assert quick is None or [["x", "y"], *quick] == reference(content, ",")


@pytest.mark.parametrize("block", [1, 60, 1 << 20])
def test_cells_of_all_lengths_are_told_apart(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight bytes are compared at once, and cells of more than 32 as texts: lengths around both, some in quotes."""
    monkeypatch.setattr(regular_csv, "BLOCK_BYTES", block)
    lengths = [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 8, 33, 0]
    cells = [letter * length for length in lengths for letter in ("a", "é", 'b"', "a, ")]
    written = io.StringIO(newline="")
    csv.writer(written).writerows([["x", "y"], *([cell, cell[::-1]] for cell in cells)])
    content = written.getvalue().encode()

    expected = reference(content, ",")

    assert expected is not None
    assert cells_of(content, ",", 2) == expected[1:]


def test_a_line_as_long_as_no_study_has_is_left_to_the_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_csv, "BLOCK_BYTES", 16)
    content = b"x,y\n" + b"a" * 100 + b",1\nb,2\n"
    assert cells_of(content, ",", 2) == [["a" * 100, "1"], ["b", "2"]]

    monkeypatch.setattr(regular_csv, "MOST_LINE_BYTES", 32)

    assert cells_of(content, ",", 2) is None


REGULAR = {
    "plain": "x,y\na,1\nb,2\n",
    "no line feed at the end": "x,y\na,1\nb,2",
    "CRLF": "x,y\r\na,1\r\n",
    "BOM": "\ufeffx,y\na,1\n",
    "texts in quotes": 'x,y\n"a, b",1\n"c\nd","say ""e"""\n"",2\n',
    "texts that pandas would take as missing": "x,y\nNA,nan\nnull,\n,\n",
    "a first cell that begins like a BOM": "x,y\n\ufeffa,1\n",
    "spaces": "x,y\n  , \n a , b \n",
    "a header over two lines": '"x\nz",y\na,1\n',
}
LEFT_TO_PYTHON = {
    "an empty line": "x,y\na,1\n\nb,2\n",
    "a row with a cell too few": "x,y\na,1\nb\n",
    "a row with a cell too many": "x,y\na,1,2\nb,2\n",
    "rows that only together have the right number": "x,y,z\na,1\nb,2,3,4\n",
    "a quote within a cell": 'x,y\na"b,1\n',
    "text after a quote": 'x,y\n"a"b,1\n',
    "a quote that does not end": 'x,y\n"a,1\n',
    "a line that ends in CR": "x,y\na,1\rb,2\n",
    "a NUL": "x,y\na\0b,1\n",
    "no rows": "x,y\n",
    "a single column": "x\na\n\nb\n",
}


@pytest.mark.parametrize("name", REGULAR)
def test_ordinary_files_are_read_fast(name: str) -> None:
    content = REGULAR[name].encode()

    expected = reference(content, ",")

    assert expected is not None
    assert cells_of(content, ",", 2) == expected[1:]


@pytest.mark.parametrize("name", LEFT_TO_PYTHON)
def test_other_files_are_left_to_the_slow_reader(name: str) -> None:
    content = LEFT_TO_PYTHON[name].encode()

    assert cells_of(content, ",", content.split(b"\n")[0].count(b",") + 1) is None


def test_a_byte_that_is_not_utf8_is_left_to_the_slow_reader() -> None:
    assert cells_of(b"x,y\na,\xe9\n", ",", 2) is None


def slow(path: Path, patch: pytest.MonkeyPatch) -> list[pd.DataFrame | str]:
    patch.setattr(tables, "regular_rows", MagicMock(return_value=None))
    return both(path)


def both(path: Path) -> list[pd.DataFrame | str]:
    """What the two functions give, or their error."""
    results: list[pd.DataFrame | str] = []
    for read in (read_texts, partial(read_columns, columns=["y"])):
        try:
            results.append(read(path))
        except InputError as error:
            results.append(str(error))
    return results


@pytest.mark.parametrize("name", [*REGULAR, *LEFT_TO_PYTHON])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_frames_and_errors_are_the_same(
    name: str, separator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ("table.tsv" if separator == "\t" else "table.csv")
    path.write_bytes({**REGULAR, **LEFT_TO_PYTHON}[name].replace(",", separator).encode())

    for quick, expected in zip(both(path), slow(path, monkeypatch), strict=True):
        if isinstance(expected, pd.DataFrame):
            assert isinstance(quick, pd.DataFrame)
            pd.testing.assert_frame_equal(quick, expected)
        else:
            assert quick == expected
