"""Tables of sets: what is read, what is refused, and what the message says."""

from pathlib import Path

import pytest

from analysis.diversity.set_files import numbers, read_sets, responses, write_sets
from analysis.tables import InputError

SMALL = Path(__file__).parent / "support" / "diversity_data" / "small.csv"


def written(folder: Path, text: str | bytes, name: str = "sets.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_texts_are_read_unchanged() -> None:
    frame = read_sets(SMALL)
    # Rows count from 1 below the header, and a line break in a cell does not start one.
    assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert frame.loc[1, "context"] == "Two lines,\none context"
    assert responses(frame, SMALL)[0] == ["i am going", "NA", "None, said he"]
    assert responses(frame, SMALL)[2] == ["null", "", "nothing at all"]
    assert responses(frame, SMALL)[3] == ["it rains.", "it rains", 'it "rains"']
    assert numbers(frame, "label_value", SMALL).tolist() == [1, 0, 1, 0, 1, 0]


def test_what_is_written_reads_back_the_same(tmp_path: Path) -> None:
    frame = read_sets(SMALL)
    write_sets(frame, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == SMALL.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\n\r\n"])
def test_bom_and_line_ends_do_not_matter(tmp_path: Path, start: bytes, end: bytes) -> None:
    path = written(tmp_path, start + end.join([b"resp_0,resp_1", b"a b,\xc3\xa9", b"c,d", b""]))
    assert responses(read_sets(path), path) == [["a b", "é"], ["c", "d"]]


def test_responses_go_by_number_not_by_column(tmp_path: Path) -> None:
    names = [f"resp_{number}" for number in (10, 2, 0, 1, 9, 3, 4, 5, 6, 7, 8)]
    path = written(tmp_path, ",".join(names) + "\n" + ",".join(name[5:] for name in names) + "\n")
    assert responses(read_sets(path), path) == [[str(number) for number in range(11)]]


def test_a_text_of_a_megabyte_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "resp_0,resp_1\n" + "x " * 500_000 + ",b\n")
    assert len(responses(read_sets(path), path)[0][0]) == 1_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "{file}: the file is empty; it needs a header and rows"),
        (b"\n\n", "{file}: the file is empty; it needs a header and rows"),
        (b"resp_0,resp_1\n", "{file}: there are no rows below the header; add one row for each rating or set"),
        (
            b"resp_0,resp_1\na,b\ncaf\xe9,d\n",
            "{file}, line 3: byte 0xe9 is not UTF-8; save the file as UTF-8 (it may be Latin-1 or UTF-16)",
        ),
        (
            "resp_0,resp_1\na,b\n".encode("utf-16"),
            "{file}, line 1: byte 0xff is not UTF-8; save the file as UTF-8 (it may be Latin-1 or UTF-16)",
        ),
        (
            b'resp_0,resp_1\n"a\nb",c\nd\n',
            "{file}, row 2: has 1 cell, the header has 2; put texts that hold separators or line breaks in quotes",
        ),
        (
            b"resp_0,resp_1\na,b,c\n",
            "{file}, row 1: has 3 cells, the header has 2; put texts that hold separators or line breaks in quotes",
        ),
        (
            b"resp_0,context,context\n",
            '{file}, column "context": the header has this name twice; rename or remove one of them',
        ),
        (b"resp_0,,resp_1\n", "{file}, header, column 2: the column has no name; name it or remove it"),
        (
            b'resp_0,resp_1\na,b\n"c,d\n',
            "{file}, row 2: the quotes are broken (unexpected end of data); close every quote, and double a quote "
            'inside a text: ""',
        ),
    ],
)
def test_unreadable_input_is_reported_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as error:
        read_sets(path)
    assert str(error.value) == message.format(file=path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("a,b", "there is no response column; a set needs two or more responses, in columns resp_0, resp_1 …"),
        ("resp_0,b", "there is one response column; a set needs two or more responses, in columns resp_0, resp_1 …"),
        (
            "resp_0,resp_2",
            'column "resp_1": is missing between the others; number the columns from resp_0 without a gap',
        ),
    ],
)
def test_wrong_response_columns_are_refused(tmp_path: Path, header: str, message: str) -> None:
    path = written(tmp_path, header + "\nx,y\n")
    with pytest.raises(InputError) as error:
        responses(read_sets(path), path)
    assert str(error.value).endswith(message)


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("", "the cell is empty"),
        (" ", "the cell is empty"),
        ("high", '"high" is not a number'),
        ("0,6", '"0,6" is not a number'),
        ("1_000", '"1_000" is not a number'),
        ("nan", '"nan" is not a finite number'),
        ("1e999", '"1e999" is not a finite number'),
        ("x" * 60, f'"{"x" * 39}…" is not a number'),
    ],
)
def test_cells_that_are_not_numbers(tmp_path: Path, cell: str, what: str) -> None:
    path = written(tmp_path, f'label_value,resp_0\n1,a\n"{cell}",b\n')
    with pytest.raises(InputError) as error:
        numbers(read_sets(path), "label_value", path)
    fix = "write a plain number with a decimal point, such as 0.6"
    assert str(error.value) == f'{path}, row 2, column "label_value": {what}; {fix}'


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file; check its name"):
        read_sets(tmp_path / "none.csv")
    with pytest.raises(InputError, match="this is a folder; name a file in it"):
        read_sets(tmp_path)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    frame = read_sets(SMALL)
    with pytest.raises(InputError, match="cannot be written"):
        write_sets(frame, tmp_path / "none" / "out.csv")
    folder = tmp_path / "taken.csv"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_sets(frame, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.csv"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    out = written(tmp_path, "old")
    frame = read_sets(SMALL)
    frame.iloc[-1, 0] = "\ud800"  # cannot be encoded, and is met after other rows were written
    with pytest.raises(UnicodeEncodeError):
        write_sets(frame, out)
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["sets.csv"]


def test_lines_of_json_need_every_response(tmp_path: Path) -> None:
    path = written(tmp_path, '{"resp_0": "a", "resp_1": "b"}\n\n{"resp_0": "c"}\n', "sets.jsonl")
    with pytest.raises(InputError, match='row 3, column "resp_1": there is no text; an empty response is ""'):
        responses(read_sets(path), path)
    path = written(tmp_path, '{"resp_0": "NA", "resp_1": ""}\n', "sets.jsonl")
    assert responses(read_sets(path), path) == [["NA", ""]]
