"""``python -m analysis agreement`` on good and bad files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main

DATA = Path(__file__).parent / "support" / "agreement_data"
EXAMPLE = DATA / "krippendorff_b.csv"
COLUMNS = ["--unit", "item", "--rater", "worker", "--value", "rating"]


def run(capsys: pytest.CaptureFixture[str], path: Any, *options: str, level: str = "ordinal") -> tuple[int, str, str]:
    status = main(["agreement", str(path), *COLUMNS, "--level", level, *options])
    return status, *capsys.readouterr()


def write(tmp_path: Path, content: Any, name: str = "ratings.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def figures(capsys: pytest.CaptureFixture[str], path: Any, *options: str, level: str = "ordinal") -> dict[str, Any]:
    status, out, err = run(capsys, path, "--json", *options, level=level)
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


# --- good files


@pytest.mark.parametrize(
    # Krippendorff 2011, sections C and D.
    ("level", "alpha"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_the_published_values_of_krippendorffs_example(
    capsys: pytest.CaptureFixture[str], level: str, alpha: float
) -> None:
    found = figures(capsys, EXAMPLE, level=level)
    assert found["estimates"]["krippendorff_alpha"]["value"] == pytest.approx(alpha, abs=5e-4)
    assert found["estimates"]["krippendorff_alpha"]["n"] == 11
    assert (found["data"]["ratings"], found["data"]["units"], found["data"]["raters"]) == (41, 12, 4)
    assert found["data"]["units_with_fewer_than_two_ratings"] == 1


def test_the_table_shows_estimates_with_intervals_and_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, EXAMPLE, "--seed", "3", "--draws", "200")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].endswith("41 ratings, 12 units, 4 raters, 5 values, 1–4 ratings per unit (median 4), level ordinal")
    assert "1 unit with fewer than 2 ratings" in lines[1]
    (alpha,) = [line for line in lines if line.startswith("Krippendorff's α (ordinal)")]
    assert "0.815" in alpha
    assert "jackknife over 11 units, for these 4 raters" in alpha
    for name in (
        "Fleiss' κ",
        "Percent agreement",
        "Gwet's AC1",
        "ICC(2,k)",
        "Split-half",
        "Noise ceiling",
    ):
        assert any(line.startswith(name) and "[" in line for line in lines), name
    assert "4 of 12 units lack some rater" in out


def test_the_same_seed_gives_the_same_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, EXAMPLE, "--draws", "100") == run(capsys, EXAMPLE, "--draws", "100")
    assert run(capsys, EXAMPLE, "--draws", "100") != run(capsys, EXAMPLE, "--draws", "100", "--seed", "2")


def test_without_draws_there_is_no_bootstrap_interval(capsys: pytest.CaptureFixture[str]) -> None:
    estimate = figures(capsys, EXAMPLE, "--draws", "0")["estimates"]["krippendorff_alpha"]
    assert (estimate["low"], estimate["method"]) == (None, "no interval")


HEADER = "item,worker,rating\n"
ROWS = "1,a,1\n1,b,2\n2,a,3\n2,b,3\n3,a,2\n3,b,\n"
OBJECTS = '{"item": 1, "worker": "a", "rating": 1}\n{"item": 1, "worker": "b", "rating": 2}\n\n' + "\n".join(
    json.dumps({"item": item, "worker": worker, "rating": rating})
    for item, worker, rating in [(2, "a", 3), (2, "b", 3), (3, "a", 2), (3, "b", None)]
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", HEADER + ROWS),
        ("bom.csv", b"\xef\xbb\xbf" + (HEADER + ROWS).encode()),
        ("crlf.csv", (HEADER + ROWS).replace("\n", "\r\n")),
        ("quoted.csv", HEADER + ROWS.replace("1,a,", '1,"a",')),
        ("semicolons.csv", (HEADER + ROWS).replace(",", ";")),
        ("tabs.tsv", (HEADER + ROWS).replace(",", "\t")),
        ("tabs", (HEADER + ROWS).replace(",", "\t")),
        ("lines.jsonl", OBJECTS),
        ("lines", OBJECTS),
    ],
)
def test_every_format_reads_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: Any
) -> None:
    found = figures(capsys, write(tmp_path, content, name), "--draws", "0")
    data = found["data"]
    assert (data["ratings"], data["missing"], data["units"], data["raters"]) == (5, 1, 3, 2)
    # By hand: coincidences 1–2, 3–3, mid-ranks 0.5, 1.5, 3: D_o = 2·1/4, D_e = 2(1 + 2·6.25 + 2·2.25)/(4·3), α = 5/6
    assert found["estimates"]["krippendorff_alpha"]["value"] == pytest.approx(5 / 6)


def test_words_are_nominal_or_ordinal_in_the_order_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "1,a,low\n1,b,mid\n2,a,high\n2,b,high\n3,a,low\n3,b,low\n")
    assert figures(capsys, path, level="nominal")["data"]["values"] == 3
    found = figures(capsys, path, "--categories", "low,mid,high,top")
    assert found["data"]["values"] == 4
    assert "icc_1_1" not in found["estimates"]


def test_a_missing_figure_has_a_reason_and_the_rest_is_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path, HEADER + "1,a,1\n1,b,1\n2,a,1\n2,b,1\n")
    estimates = figures(capsys, path)["estimates"]
    assert estimates["krippendorff_alpha"]["value"] is None
    assert "same value" in estimates["krippendorff_alpha"]["note"]
    assert estimates["percent_agreement"]["value"] == 1


# --- bad files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (HEADER, "there are no rows below the header"),
        (
            "item,worker,score\n1,a,2\n",
            'column "rating": there is no such column; the columns are "item", "worker", "score"',
        ),
        ("item,item,worker,rating\n1,1,a,2\n", 'column "item": the header has this name twice'),
        (HEADER + "1,a,2\n1,b,2,3\n", "row 2: has 4 cells, the header has 3"),
        (HEADER + "1,a,2,3\n1,b,2,3\n", "row 1: has 4 cells, the header has 3"),
        (HEADER + "1,a,2\n\n1,b\n", "row 3: has 2 cells, the header has 3; put texts that hold separators"),
        (HEADER + '1,a,2\n1,"b,3\n', "row 2: the quotes are broken"),
        (HEADER + "1,a,2\n\n1,b,good\n", 'row 3, column "rating": "good" is not a number'),
        (
            HEADER.encode() + b"1,a,caf\xe9\n",
            "line 2: byte 0xe9 is not UTF-8; save the file as UTF-8 (it may be Latin-1",
        ),
        (
            HEADER + "1,a,2\n1,b,good\n",
            'row 2, column "rating": "good" is not a number; give words in their order with --categories',
        ),
        (HEADER + "1,a,2\n1,b,inf\n", 'row 2, column "rating": "inf" is not a number'),
        (HEADER + "1,a,2\n,b,3\n", 'row 2, column "item": the cell is empty'),
        (HEADER + "1,a,2\n1,,3\n", 'row 2, column "worker": the cell is empty'),
        (HEADER + "1,a,\n1,b,\n", 'column "rating": every cell is empty'),
        (HEADER + "1,a,2\n1,a,3\n", "more than one rating: (1, a)"),
        (HEADER + "1,a,2\n2,a,3\n", "only one rater"),
        (HEADER + "1,a,2\n2,b,3\n", "no unit has two ratings"),
        ('{"item": 1}\n{"item": \n', "line 2: this is not JSON"),
        ('{"item": 1}\n[1, 2]\n', "line 2: this is not an object"),
    ],
)
def test_bad_input_is_one_line_that_names_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: Any, message: str
) -> None:
    path = write(tmp_path, content, "ratings.txt" if str(content).startswith("{") else "ratings.csv")
    status, out, err = run(capsys, path)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {path}")
    assert message in err
    assert err.count("\n") == 1


def test_negative_values_have_no_ratio_level(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = run(capsys, write(tmp_path, HEADER + "1,a,-1\n1,b,2\n"), level="ratio")
    assert (status, "0 or more" in err) == (2, True)


def test_categories_must_hold_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, EXAMPLE, "--categories", "1,2,3")
    assert (status, "not among the categories" in err) == (2, True)
    status, _, err = run(capsys, EXAMPLE, "--categories", "1,2,x", level="interval")
    assert (status, '--categories: "x" is not a number' in err) == (2, True)


def test_numbers_are_one_value_however_they_are_spelled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """At nominal level "4" and "4.0" agree, with and without words among the values."""
    for more in ("", "3,a,none\n3,b,none\n"):
        path = write(tmp_path, HEADER + "1,a,4\n1,b,4.0\n2,a,5\n2,b,5\n" + more)
        assert figures(capsys, path, level="nominal")["estimates"]["percent_agreement"]["value"] == 1


def test_only_an_empty_cell_means_no_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "NA,a,1\nNA,b,2\nnan,a,NA\nnan,NaN,3\nx,a,1\nx,NaN,1\n")
    found = figures(capsys, path)
    assert (found["data"]["units"], found["data"]["raters"], found["data"]["missing"]) == (3, 3, 1)


def test_several_columns_name_a_unit_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = "item,target,worker,rating\n" + "".join(
        f"{item},{target},{worker},{rating}\n"
        for item, target, a, b in [("1", "0-1", 1, 2), ("1", "0-2", 3, 3), ("2", "0-1", 2, 2)]
        for worker, rating in (("a", a), ("b", b))
    )
    path = write(tmp_path, rows)
    assert "more than one rating" in run(capsys, path)[2]
    found = figures(capsys, path, "--unit", "target")
    assert (found["data"]["units"], found["settings"]["unit"]) == (3, ["item", "target"])
    path.write_text(rows.replace("1,0-1,a", "1 / 0,1,a").replace("1,0-1,b", "1,0 / 1,b"))
    assert figures(capsys, path, "--unit", "target")["data"]["units"] == 4  # joined names stay apart


def test_a_file_with_several_questions_is_read_one_at_a_time(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The published example once more, between the rows of another question and one that is left out."""
    header, *rows = EXAMPLE.read_text("utf-8").splitlines()
    lines = [f"{header},question,included", *(f"{row},diversity,true" for row in rows)]
    lines += [f"{row.rsplit(',', 1)[0]},5,quality,true" for row in rows] + ["1,out,9,diversity,false"]
    path = write(tmp_path, "\n".join(lines) + "\n")
    status, _, err = run(capsys, path)
    assert (status, "--where" in err) == (2, True)
    found = figures(capsys, path, "--where", "question=diversity", "--where", "included=true", "--draws", "0")
    # Krippendorff's second example, ordinal.
    assert found["estimates"]["krippendorff_alpha"]["value"] == pytest.approx(0.8154, abs=5e-5)
    status, _, err = run(capsys, path, "--where", "question=nope")
    assert (status, '"diversity", "quality"' in err) == (2, True)
    assert "COLUMN=VALUE" in run(capsys, path, "--where", "question")[2]
    path.write_text("\n".join([*lines, "1,new,good,diversity,true"]) + "\n")
    status, _, err = run(capsys, path, "--where", "question=diversity", level="interval")
    assert (status, f'row {len(lines)}, column "rating": "good"' in err) == (2, True)


def test_a_missing_file_and_a_folder_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "no such file" in run(capsys, tmp_path / "none.csv")[2]
    assert "this is a folder" in run(capsys, tmp_path)[2]


@pytest.mark.parametrize(
    "options", [["--draws", "-1"], ["--draws", "1"], ["--draws", "many"], ["--seed", "-1"], ["--confidence", "95"]]
)
def test_options_are_checked(capsys: pytest.CaptureFixture[str], options: Any) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(capsys, EXAMPLE, *options)
    assert stopped.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_as_a_command_it_needs_no_django_and_no_torch() -> None:
    """In a separate process, as a person would run it, without settings."""
    code = (
        "import sys; from analysis.__main__ import main; status = main(sys.argv[1:]);"
        "loaded = {'django', 'torch'} & set(sys.modules); print(loaded, file=sys.stderr); sys.exit(status)"
    )
    command = [sys.executable, "-c", code, "agreement", str(EXAMPLE), *COLUMNS, "--level", "nominal", "--draws", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0
    assert done.stderr == "set()\n"
    assert "0.743" in done.stdout


def test_an_unexpected_error_is_not_a_stack_trace(tmp_path: Path) -> None:
    path = write(tmp_path, "nothing,here\n1,2\n")
    command = [sys.executable, "-m", "analysis", "agreement", str(path), *COLUMNS, "--level", "nominal"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 2
    assert done.stderr == (
        f'error: {path}, column "item": there is no such column; the columns are "nothing", "here"\n'
    )
