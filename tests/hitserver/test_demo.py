"""The demo does the whole job and says clearly when it cannot."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import ROOT
from tests.support import clean_environment

SETS = "sample_id,context,label_value,label_name,resp_0,resp_1\n"


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hitserver.demo", "--no-serve", "--out", str(tmp_path / "out"), *arguments],
        cwd=ROOT,
        env=clean_environment({"HITSERVER_VAR": str(tmp_path / "var")}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("task", ["abs_hds", "asp_hds", "rnk_hds", "sim_hds"])
def test_from_a_csv_file_to_report_and_exports(tmp_path: Path, task: str) -> None:
    data = tmp_path / "sets.csv"
    rows = [f"s{n},Context {n},{label},content_diversity,Yes {n}.,No {n}.\n" for n in range(3) for label in (1, 0)]
    data.write_text(SETS + "".join(rows), encoding="utf-8")
    done = run(tmp_path, "--data", str(data), "--task", task, "--ratings", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "out"
    assert "Simulated data" in (out / "report.html").read_text("utf-8")
    assert json.loads((out / "report.json").read_text("utf-8"))
    [long] = out.glob("*long*.csv")
    with long.open(encoding="utf-8", newline="") as file:
        ratings = list(csv.DictReader(file))
    # Three questions for each of 2 ratings of each item; rnk_hds makes one item of two sets.
    assert len(ratings) == 3 * 2 * (3 if task == "rnk_hds" else 6)
    assert {row["synthetic"] for row in ratings} == {"true"}


def test_a_file_that_will_not_do_is_explained_without_a_stack_trace(tmp_path: Path) -> None:
    data = tmp_path / "sets.csv"
    data.write_text(SETS + "s1,,1,content_diversity,Yes.,No.\n", encoding="utf-8")
    done = run(tmp_path, "--data", str(data))
    assert done.returncode == 1
    assert "context" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere.csv"], "nowhere.csv"),
        (["--ratings", "0"], "at least 1"),
        (["--task", "no_such_task"], "no_such_task"),
    ],
)
def test_wrong_arguments_are_explained(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
