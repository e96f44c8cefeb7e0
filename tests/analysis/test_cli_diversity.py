"""``python -m analysis diversity|contest|dectest|ranking|nuggets`` as a person uses them."""

import csv
import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main

SMALL = Path(__file__).parent / "support" / "diversity_data" / "small.csv"


def run(*words: object) -> int:
    return main([str(word) for word in words])


def figures(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert run(*words, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(found) == ["command", "file", "settings", "data", "estimates", "figures"]
    assert found["command"] == words[0]
    return found


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def changed(folder: Path, **cells: str) -> Path:
    """A copy of the small file with one column's cell in row 2 changed, or the column dropped (None)."""
    table = rows(SMALL)
    for column, value in cells.items():
        place = table[0].index(column)
        for number, row in enumerate(table):
            if value == "DROP":
                del row[place]
            elif value.startswith("ALL ") and number > 0:
                row[place] = value[4:]
            elif number == 2 and not value.startswith("ALL "):
                row[place] = value
    path = folder / "changed.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)
    return path


def test_metrics_are_added_and_all_else_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run("diversity", SMALL, "--metric", "distinct-n,cos-sim", "--out", out) == 0
    before, after = rows(SMALL), rows(out)
    assert [row[:-2] for row in after] == before
    assert after[0][-2:] == ["metric_distinct_n", "metric_cos_sim"]
    # Row 3 is the example of the authors' diversity_metrics.py, counted by hand in test_diversity_metrics.
    assert after[2][-2:] == [
        f"{(5 / 10 + 5 / 7 + 3 / 4 + 1 + 0) / 5:.6f}",
        f"{-((1 + 4 / math.sqrt(18)) / 3 + 1 / 3 + 1 / 3) / 5:.6f}",
    ]
    # NA and None are words of the texts: 3 + 1 + 3 unigrams, 2 + 0 + 2 bigrams, 1 + 0 + 1 trigrams, each once.
    assert float(after[1][-2]) == pytest.approx((7 / 7 + 4 / 4 + 2 / 2 + 0 + 0) / 5)


def test_metrics_go_to_standard_output_and_replace_their_own_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    run("diversity", SMALL, "--metric", "cos-sim", "--out", out)
    assert run("diversity", out, "--metric", "cos-sim") == 0
    assert capsys.readouterr().out == out.read_text(encoding="utf-8")
    assert run("diversity", out, "--metric", "cos-sim", "--out", out) == 0
    assert rows(out)[0].count("metric_cos_sim") == 1


def test_contest_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, "contest", SMALL, "--metric", "metric_hds")
    rho, oca = found["estimates"]["rho"], found["estimates"]["oca"]
    # Scores 4.5 4 2 (high) and 2 1.5 1 (low): the two 2s cannot be told apart, so 5 of 6 at best; the lower of the two
    # cuts that reach it is between 1.5 and 2.
    assert oca["value"] == pytest.approx(5 / 6)
    assert found["figures"] == {"threshold": 1.75, "direction": "above"}
    # Ranks 6 5 3.5 and 3.5 2 1 against 5 5 5 and 2 2 2 (by hand): ρ = 12 / √(17 · 13.5).
    assert rho["value"] == pytest.approx(12 / math.sqrt(17 * 13.5))
    assert (found["data"], rho["n"]) == ({"sets": 6, "low": 3, "high": 3}, 6)


def test_contexts_are_resampled_as_in_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, "contest", SMALL, "--metric", "metric_hds")
    assert found["settings"]["resampled"] == "context"
    assert found["estimates"]["rho"]["method"].startswith("percentile bootstrap over groups of sets")
    singly = figures(capsys, "contest", SMALL, "--metric", "metric_hds", "--resample-by", "sets")
    assert singly["settings"]["resampled"] == "sets"
    assert singly["estimates"]["rho"]["method"].startswith("percentile bootstrap over sets")


def test_contest_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("contest", SMALL, "--metric", "distinct-n", "--draws", 50) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"conTest of distinct-n in {SMALL}\nrho ")
    assert "groups of sets, 50 resamples" in said
    assert "sets       3 low, 3 high" in said


def test_dectest_with_logarithm_and_subsamples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "topk.csv"
    lines = [f"{k},top_k,{math.log10(k) + 1}" for k in (1, 10, 100, 1000, 10000)]
    path.write_text("label_value,label_name,metric_x\n" + "\n".join(lines) + "\n")
    options = ["--metric", "metric_x", "--draws", 40]
    found = figures(capsys, "dectest", path, *options, "--log10", "--subsample", 4, "--repeats", 7)["estimates"]
    assert found["pearson"]["value"] == pytest.approx(1)
    assert found["spearman"]["value"] == pytest.approx(1)
    assert found["subsampled_spearman"]["value"] == pytest.approx(1)
    assert found["subsampled_spearman"]["method"] == "7 subsamples of 4 without replacement"
    assert found["subsampled_spearman_sd"]["value"] == pytest.approx(0)
    assert figures(capsys, "dectest", path, *options)["estimates"]["pearson"]["value"] < 0.9


def test_ranking_pairs_the_sets_of_a_context(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, "ranking", SMALL, "--metric", "metric_hds")
    assert found["estimates"]["accuracy"]["value"] == 1
    assert found["data"]["pairs"] == 3


def test_ranking_does_not_depend_on_the_order_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header, *sets = rows(SMALL)
    path = tmp_path / "turned.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *sets[::-1]])
    one, two = (figures(capsys, "ranking", each, "--metric", "cos-sim") for each in (SMALL, path))
    assert one["estimates"] == two["estimates"]


def test_ranking_of_rated_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("label_value,mean\n0.2,3.5\n-0.4,2\n0.3,3\n0.6,5\n-0.1,2.5\n")
    found = figures(capsys, "ranking", path, "--metric", "mean", "--pairs", "--midpoint", 3)
    assert found["estimates"]["accuracy"]["value"] == pytest.approx(4 / 5)  # the third is a tie


def test_ranking_says_which_pairs_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sets.csv"
    path.write_text("context,label_value,m\n" + "a,1,5\na,1,4\na,0,1\nb,0,2\nb,1,1\n")
    found = figures(capsys, "ranking", path, "--metric", "m")
    assert found["data"] == {"pairs": 3, "pairs_of_equal_label_left_out": 1}
    assert found["estimates"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert "bootstrap over groups" in found["estimates"]["accuracy"]["method"]
    assert run("ranking", path, "--metric", "m") == 0
    assert "1 pair of equal label_value left out" in capsys.readouterr().out


FORMATS = {
    "comma.csv": lambda header, sets: delimited(header, sets, ","),
    "semicolon.csv": lambda header, sets: delimited(header, sets, ";"),
    "tab.tsv": lambda header, sets: delimited(header, sets, "\t"),
    "lines.jsonl": lambda header, sets: "".join(
        json.dumps(dict(zip(header, row, strict=True)) | {"label_value": float(row[2])}) + "\n" for row in sets
    ),
}


def delimited(header: list[str], sets: list[list[str]], separator: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows([header, *sets])
    return out.getvalue()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read_alike_and_written_as_it_was(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, *sets = rows(SMALL)
    path, out = tmp_path / name, tmp_path / f"out-{name}"
    path.write_text(FORMATS[name](header, sets), encoding="utf-8", newline="")
    found = figures(capsys, "contest", path, "--metric", "cos-sim")
    assert found["estimates"] == figures(capsys, "contest", SMALL, "--metric", "cos-sim")["estimates"]

    assert run("diversity", path, "--metric", "distinct-n", "--out", out) == 0

    if name.endswith(".jsonl"):
        before, after = ([json.loads(line) for line in each.read_text().splitlines()] for each in (path, out))
        assert [{**row, "metric_distinct_n": 0} for row in before] == [{**row, "metric_distinct_n": 0} for row in after]
        assert all(isinstance(row["metric_distinct_n"], float) for row in after)
    else:
        assert (
            out.read_text().splitlines()[0]
            == path.read_text().splitlines()[0]
            + {
                "comma.csv": ",",
                "semicolon.csv": ";",
                "tab.tsv": "\t",
            }[name]
            + "metric_distinct_n"
        )


def test_nuggets_are_rows_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "nuggets.csv"
    assert run("nuggets", SMALL, "--metric", "metric_hds", "--group-size", 4, "--out", out) == 0
    # Sorted by metric_hds, file order among equals: 1 1.5 2 2 (low low low high) and 4 4.5 (both high): one of both.
    chosen = rows(out)[1:]
    assert sorted(float(row[2]) for row in chosen) == [0, 1]
    assert all(row in rows(SMALL) for row in chosen)
    assert capsys.readouterr().err == "2 of 6 sets chosen, as many of either class\n"


@pytest.mark.parametrize(
    ("words", "cells", "said"),
    [
        (
            ["contest", "--metric", "metric_hds"],
            {"label_value": "DROP"},
            'column "label_value": there is no such column; it holds',
        ),
        (
            ["contest", "--metric", "metric_hds"],
            {"label_value": "high"},
            'row 2, column "label_value": "high" is not a',
        ),
        (["contest", "--metric", "metric_hds"], {"label_value": ""}, 'row 2, column "label_value": the cell is empty'),
        (
            ["contest", "--metric", "metric_hds"],
            {"label_value": "ALL 1"},
            'column "label_value": all labels are 1: two classes are needed; write two classes, such as 0 and 1',
        ),
        (
            ["contest", "--metric", "metric_hds"],
            {"label_value": "0.5"},
            'column "label_value": labels must hold two classes, not 3 values from 0 to 1; write two classes',
        ),
        (["contest", "--metric", "metric_hds"], {"metric_hds": "n/a"}, 'row 2, column "metric_hds": "n/a" is not a'),
        (
            ["contest", "--metric", "bleu"],
            {},
            '--metric "bleu": there is no such column and no such metric; use one of distinct-n',
        ),
        (
            ["contest", "--metric", "cos-sim"],
            {"resp_1": "DROP"},
            'column "resp_1": is missing between the others; number',
        ),
        (
            ["contest", "--metric", "metric_hds"],
            {"label_name": "temp"},
            'column "label_name": there are several parameters: content_diversity, temp; choose one with --label-name',
        ),
        (["contest", "--metric", "cos-sim", "--label-name", "t"], {}, 'column "label_name": no row has "t"; use one'),
        (
            ["contest", "--metric", "cos-sim", "--resample-by", "who"],
            {},
            'column "who": there is no such column; the columns are',
        ),
        (
            ["dectest", "--metric", "metric_hds"],
            {"label_value": "ALL 2"},
            'column "label_value": all labels are the same, so there is no parameter to correlate with; use sets made',
        ),
        (
            ["dectest", "--metric", "metric_hds", "--log10"],
            {},
            'row 2, column "label_value": 0 or less has no logarithm',
        ),
        (
            ["dectest", "--metric", "metric_hds", "--subsample", "9"],
            {},
            "needs a size from 3 to 6 and 2 or more repeats",
        ),
        (
            ["ranking", "--metric", "metric_hds", "--by", "who"],
            {},
            'column "who": there is no such column; the columns are',
        ),
        (["ranking", "--metric", "metric_hds", "--by", "resp_1"], {"resp_1": "NA"}, "needs at least 3 scores"),
        (["nuggets", "--metric", "metric_hds"], {"label_value": "ALL 1"}, 'column "label_value": all labels are 1'),
        (["diversity"], {"resp_0": "DROP"}, 'column "resp_0": is missing between the others'),
        (["diversity", "--out", "/none/out.csv"], {}, "cannot be written (there is no folder /none); choose another"),
    ],
)
def test_wrong_input_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], cells: dict[str, str], said: str
) -> None:
    path = changed(tmp_path, **cells)
    assert run(words[0], path, *words[1:]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize("command", ["diversity", "contest", "dectest", "ranking", "nuggets"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        (b"", "the file is empty"),
        (b"resp_0,resp_1\ncaf\xe9,b\n", "line 2: byte 0xe9 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, content: bytes | None, said: str
) -> None:
    path = tmp_path / "sets.csv"
    if content is not None:
        path.write_bytes(content)
    options = [] if command == "diversity" else ["--metric", "cos-sim"]
    assert run(command, path, *options) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["diversity", SMALL, "--metric", "distinct-n,bleu"],
        ["contest", SMALL, "--metric", "cos-sim", "--draws", "1"],
        ["contest", SMALL, "--metric", "cos-sim", "--confidence", "95"],
    ],
)
def test_wrong_options_exit_with_status_2(words: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*words)
    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


def test_neither_django_nor_torch_is_imported() -> None:
    program = (
        "import sys, pkgutil, importlib, analysis.diversity as package, analysis.commands.diversity\n"
        "for module in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(module.name)\n"
        "print(sorted({'django', 'torch', 'transformers'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert found.stdout.strip() == "[]"


def test_it_is_a_command_of_the_package() -> None:
    root = Path(__file__).parents[2]
    words = [sys.executable, "-m", "analysis", "contest", str(SMALL), "--metric"]
    good = subprocess.run([*words, "metric_hds"], capture_output=True, text=True, cwd=root)
    assert (good.returncode, good.stderr) == (0, "")
    bad = subprocess.run([*words, "bleu"], capture_output=True, text=True, cwd=root)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith(f'error: {SMALL}, --metric "bleu": ')


def test_a_reader_that_stops_early_is_not_an_error(tmp_path: Path) -> None:
    long = tmp_path / "long.csv"
    long.write_text("resp_0,resp_1\n" + "a b c,d e f\n" * 20_000)
    command = f"{sys.executable} -m analysis diversity {long} --metric distinct-n | head -1"
    root = Path(__file__).parents[2]
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=root)
    assert (found.stdout, found.stderr) == ("resp_0,resp_1,metric_distinct_n\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["contest", SMALL, "--metrc", "cos-sim"],
            "there is no option --metrc; did you mean --metric? The options are",
        ),
        (
            ["contest", SMALL, "--metric", "cos-sim", "--drws", "50"],
            "no option --drws; did you mean --draws? The options",
        ),
        (
            ["contest", SMALL, "--metric", "cos-sim", "--draws", "1"],
            "--draws: 1 is too few for an interval; give 40 or",
        ),
        (["contest", SMALL, "more", "--metric", "cos-sim"], "“more” is one argument too many"),
        (["contets", SMALL], "invalid choice: 'contets' (choose from"),
        (["agreement", SMALL, "--level", "cardinal"], "--level: invalid choice: 'cardinal' (choose from 'nominal', "),
        (["dectest", SMALL, "--metric", "cos-sim", "--repeats", "none"], "--repeats: “none” is not a whole number"),
    ],
)
def test_wrong_options_are_named_with_the_valid_ones(
    words: list[object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["contest", "diversity"])
def test_a_full_disk_gives_a_one_line_error(command: str) -> None:
    words = [sys.executable, "-m", "analysis", command, str(SMALL), "--metric", "cos-sim"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stderr) == (1, "error: standard output: No space left on device\n")


def test_a_device_is_written_to_and_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diversity", SMALL, "--metric", "cos-sim", "--out", "/dev/full") == 2
    assert "/dev/full: cannot be written (No space left on device)" in capsys.readouterr().err
    assert not Path("/dev/full").is_file()


def test_resamples_of_half_the_sets_are_wider(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sets.csv"
    cells = [f"{number % 2},a,b,{(number * 7) % 10 + 4 * (number % 2)}" for number in range(40)]
    path.write_text("\n".join(["label_value,resp_0,resp_1,metric_own", *cells]))
    words = ["contest", path, "--metric", "metric_own"]
    usual, half = (figures(capsys, *words, *more)["estimates"]["rho"] for more in ([], ["--resample-size", "half"]))
    assert half["method"].endswith("resamples of 20")
    assert half["high"] - half["low"] > usual["high"] - usual["low"]
    assert half["value"] == usual["value"]
    with pytest.raises(SystemExit):
        run(*words, "--resample-size", "third")
    assert "“third” is not a whole number of 1 or more" in capsys.readouterr().err
