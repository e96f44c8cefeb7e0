"""The demo on the marketplace, from a CSV file through paid HITs to the report."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hitserver.demo_marketplace import Page
from tests.services import ROOT
from tests.support import clean_environment

SETS = "sample_id,context,label_value,label_name,resp_0,resp_1\n"


@pytest.mark.slow
def test_from_a_csv_file_through_paid_hits_to_the_report(tmp_path: Path) -> None:
    data = tmp_path / "sets.csv"
    rows = [f"s{n},Context {n},1,content_diversity,Yes {n}.,No {n}.\n" for n in range(3)]
    data.write_text(SETS + "".join(rows), encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "hitserver.demo", "--no-serve", "--platform", "marketplace"),
            *("--data", str(data), "--ratings", "2", "--out", str(tmp_path / "out")),
        ],
        cwd=ROOT,
        env=clean_environment({"HITSERVER_VAR": str(tmp_path / "var")}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # 3 sets × 2 ratings × $0.18. A fee of 20 % is $0.036, charged as $0.04: 6 × 0.04 = 0.24.
    assert "3 HITs, 6 assignments: $1.08 in rewards and $0.24 in fees, $1.32 in total." in done.stdout
    assert "$ manage.py study publish demo --platform mturk" in done.stdout
    assert "Approved: 6, $1.08." in done.stdout
    assert "The marketplace charged $1.32: $1.08 for workers and $0.24 in fees." in done.stdout
    assert "The study recorded $1.08 in 6 payments. The books agree." in done.stdout
    assert "Simulated data" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    [long] = (tmp_path / "out").glob("*long*.csv")
    with long.open(encoding="utf-8", newline="") as file:
        ratings = list(csv.DictReader(file))
    # Three questions for each of 2 ratings of 3 sets, all marked as simulated.
    assert len(ratings) == 18
    assert {row["synthetic"] for row in ratings} == {"true"}


def test_a_page_as_a_simulated_worker_reads_it() -> None:
    page = Page(
        "http://example.org/a/b",
        '<form action="/c/return"><input type="hidden" name="k" value="&lt;1&gt;"><input type="checkbox" name="next" '
        'value="1"></form><iframe src="d?x=1&amp;y=2"></iframe><form><input name="z"></form>',
    )
    assert [(form.action, form.fields) for form in page.forms] == [
        ("http://example.org/c/return", {"k": "<1>"}),
        ("http://example.org/a/b", {"z": ""}),
    ]
    assert page.frame == "http://example.org/a/d?x=1&y=2"
