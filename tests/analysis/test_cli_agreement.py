"""``python -m analysis agreement`` on good and bad files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.__main__ import main

DATA = Path(__file__).parent / "agreement_data"
EXAMPLE = DATA / "krippendorff_b.csv"
COLUMNS = ["--unit", "item", "--rater", "worker", "--value", "rating"]


def run(capsys, path, *options, level="ordinal"):
    status = main(["agreement", str(path), *COLUMNS, "--level", level, *options])
    return status, *capsys.readouterr()


def write(tmp_path, content, name="ratings.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def figures(capsys, path, *options, level="ordinal"):
    status, out, err = run(capsys, path, "--json", *options, level=level)
    assert (status, err) == (0, "")
    return json.loads(out)


# --- good files


@pytest.mark.parametrize(
    # Krippendorff 2011, sections C and D.
    ("level", "alpha"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_the_published_values_of_krippendorffs_example(capsys, level, alpha):
    found = figures(capsys, EXAMPLE, level=level)
    assert found["estimates"]["krippendorff_alpha"]["value"] == pytest.approx(alpha, abs=5e-4)
    assert found["estimates"]["krippendorff_alpha"]["n"] == 11
    assert (found["ratings"], found["units"], found["raters"]) == (41, 12, 4)
    assert found["units_with_fewer_than_two_ratings"] == 1


def test_the_table_shows_estimates_with_intervals_and_what_was_left_out(capsys):
    status, out, _ = run(capsys, EXAMPLE, "--seed", "3", "--draws", "200")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].endswith("41 ratings, 12 units, 4 raters, 5 values, 1–4 ratings per unit (median 4), level ordinal")
    assert "1 unit with fewer than 2 ratings" in lines[1]
    (alpha,) = [line for line in lines if line.startswith("Krippendorff's α (ordinal)")]
    assert "0.815" in alpha
    assert "200 draws, seed 3" in alpha
    for name in (
        "Fleiss' κ",
        "Percent agreement",
        "Gwet's AC1",
        "Cohen's κ",
        "ICC(2,k)",
        "Split-half",
        "Noise ceiling",
    ):
        assert any(line.startswith(name) and "[" in line for line in lines), name
    assert "4 of 12 units lack some rater" in out


def test_the_same_seed_gives_the_same_output(capsys):
    assert run(capsys, EXAMPLE, "--draws", "100") == run(capsys, EXAMPLE, "--draws", "100")
    assert run(capsys, EXAMPLE, "--draws", "100") != run(capsys, EXAMPLE, "--draws", "100", "--seed", "1")


def test_without_draws_there_is_no_bootstrap_interval(capsys):
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
def test_every_format_reads_the_same(capsys, tmp_path, name, content):
    found = figures(capsys, write(tmp_path, content, name), "--draws", "0")
    assert (found["ratings"], found["missing"], found["units"], found["raters"]) == (5, 1, 3, 2)
    # By hand: coincidences 1–2, 3–3, mid-ranks 0.5, 1.5, 3: D_o = 2·1/4, D_e = 2(1 + 2·6.25 + 2·2.25)/(4·3), α = 5/6
    assert found["estimates"]["krippendorff_alpha"]["value"] == pytest.approx(5 / 6)


def test_words_are_nominal_or_ordinal_in_the_order_given(capsys, tmp_path):
    path = write(tmp_path, HEADER + "1,a,low\n1,b,mid\n2,a,high\n2,b,high\n3,a,low\n3,b,low\n")
    assert figures(capsys, path, level="nominal")["values"] == 3
    found = figures(capsys, path, "--categories", "low,mid,high,top")
    assert found["values"] == 4
    assert "icc_1_1" not in found["estimates"]


def test_what_cannot_be_had_says_why_and_the_rest_is_shown(capsys, tmp_path):
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
        (HEADER, "there is a header but no rows"),
        (
            "item,worker,score\n1,a,2\n",
            'column "rating": there is no such column; the columns are "item", "worker", "score"',
        ),
        ("item,item,worker,rating\n1,1,a,2\n", 'column "item": the header has this name more than once'),
        (HEADER + "1,a,2\n1,b,2,3\n", "rows do not match the header"),
        (HEADER + "1,a,2,3\n1,b,2,3\n", "rows do not match the header"),
        (HEADER + "1,a,2\n\n1,b\n", "rows do not match the header (row 3 has 2 cells, the header 3)"),
        (HEADER + '1,a,2\n1,"b,3\n', "the quotes in row 2 are broken"),
        (HEADER + "1,a,2\n\n1,b,good\n", 'column "rating": row 3 has "good", not a number'),
        (HEADER.encode() + b"1,a,caf\xe9\n", "line 2 is not UTF-8 (byte 0xe9); the file may be Latin-1"),
        (HEADER + "1,a,2\n1,b,good\n", 'column "rating": row 2 has "good", not a number'),
        (HEADER + "1,a,2\n1,b,inf\n", 'column "rating": row 2 has "inf", not a number'),
        (HEADER + "1,a,2\n,b,3\n", 'column "item": row 2 is empty'),
        (HEADER + "1,a,2\n1,,3\n", 'column "worker": row 2 is empty'),
        (HEADER + "1,a,\n1,b,\n", 'column "rating": every cell is empty'),
        (HEADER + "1,a,2\n1,a,3\n", "more than one rating: (1, a)"),
        (HEADER + "1,a,2\n2,a,3\n", "one rater only"),
        (HEADER + "1,a,2\n2,b,3\n", "no unit has two ratings"),
        ('{"item": 1}\n{"item": \n', "line 2 is not JSON"),
        ('{"item": 1}\n[1, 2]\n', "line 2 is not an object"),
    ],
)
def test_bad_input_is_one_line_that_names_the_file(capsys, tmp_path, content, message):
    path = write(tmp_path, content, "ratings.txt" if str(content).startswith("{") else "ratings.csv")
    status, out, err = run(capsys, path)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {path}")
    assert message in err
    assert err.count("\n") == 1


def test_negative_values_have_no_ratio_level(capsys, tmp_path):
    status, _, err = run(capsys, write(tmp_path, HEADER + "1,a,-1\n1,b,2\n"), level="ratio")
    assert (status, "0 or more" in err) == (2, True)


def test_categories_must_hold_every_value(capsys):
    status, _, err = run(capsys, EXAMPLE, "--categories", "1,2,3")
    assert (status, "not among the categories" in err) == (2, True)
    status, _, err = run(capsys, EXAMPLE, "--categories", "1,2,x", level="interval")
    assert (status, 'the category "x" is not a number' in err) == (2, True)


def test_a_file_with_several_questions_is_read_one_at_a_time(capsys, tmp_path):
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
    assert (status, f'row {len(lines)} has "good"' in err) == (2, True)


def test_a_file_that_is_not_there_and_a_folder(capsys, tmp_path):
    assert "no such file" in run(capsys, tmp_path / "none.csv")[2]
    assert "cannot be read" in run(capsys, tmp_path)[2]


@pytest.mark.parametrize("options", [["--draws", "-1"], ["--draws", "many"], ["--seed", "-1"]])
def test_options_are_checked(capsys, options):
    with pytest.raises(SystemExit) as stopped:
        run(capsys, EXAMPLE, *options)
    assert stopped.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_as_a_command_it_needs_no_django_and_no_torch():
    """In a process of its own, as a person runs it, without settings."""
    code = (
        "import sys; from analysis.__main__ import main; status = main(sys.argv[1:]);"
        "loaded = {'django', 'torch'} & set(sys.modules); print(loaded, file=sys.stderr); sys.exit(status)"
    )
    command = [sys.executable, "-c", code, "agreement", str(EXAMPLE), *COLUMNS, "--level", "nominal", "--draws", "10"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0
    assert done.stderr == "set()\n"
    assert "0.743" in done.stdout


def test_a_stranger_error_is_not_a_stack_trace(tmp_path):
    path = write(tmp_path, "nothing,here\n1,2\n")
    command = [sys.executable, "-m", "analysis", "agreement", str(path), *COLUMNS, "--level", "nominal"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 2
    assert done.stderr == (
        f'error: {path}, column "item": there is no such column; the columns are "nothing", "here"\n'
    )
