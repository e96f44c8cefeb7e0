"""What several apps share: messages about problems, and files that appear once they are complete."""

from pathlib import Path

import pytest

from common.files import replaced, write_whole
from common.problems import Invalid, Problem, refuse_if_any, unknown


@pytest.mark.parametrize(
    ("name", "known", "fix"),
    [
        ("rewrad", ["reward", "title"], "Did you mean “reward”?"),
        ("x", ["reward", "title"], "Known: reward, title."),
        ("x", [], "There are none."),
    ],
)
def test_an_unknown_name_comes_with_the_closest_or_all_known_ones(name: str, known: list[str], fix: str) -> None:
    assert unknown("key", name, known) == Problem("key", f"There is no “{name}”.", fix)


def test_all_problems_are_refused_at_once() -> None:
    problems = [Problem("a", "This is empty.", "Fill it in."), Problem("b", "This is long.")]

    refuse_if_any([])
    with pytest.raises(Invalid) as refused:
        refuse_if_any(problems)

    assert refused.value.problems == problems
    assert str(refused.value) == "a: This is empty. Fill it in.\nb: This is long."


def test_a_file_is_replaced_only_when_its_writer_is_done(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_whole(path, "old")

    with pytest.raises(RuntimeError), replaced(path) as file:
        file.write(b"half of the new")
        raise RuntimeError

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, "é")
    assert path.read_bytes() == "é".encode()


def test_a_missing_folder_and_a_folder_in_place_of_a_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_whole(tmp_path / "none" / "file", "")
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        write_whole(tmp_path, "")
