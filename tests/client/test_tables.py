"""Rows, data frames and files as items, and what a notebook shows."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from hitserver_client.cards import Overview
from hitserver_client.reports import Report
from hitserver_client.tables import frame_of_csv, rows_in_file, rows_of

ROOT = Path(__file__).parents[2]


def test_a_data_frame_becomes_rows_of_text() -> None:
    frame = pd.DataFrame({"id": [1.0, 2.0], "text": ["One", None], "score": [0.5, float("nan")], "gold": [True, False]})
    assert rows_of(frame) == [
        {"id": "1", "text": "One", "score": "0.5", "gold": "true"},
        {"id": "2", "text": "", "score": "", "gold": "false"},
    ]


def test_columns_get_the_names_of_the_task_type() -> None:
    assert rows_of([{"output": "One", "id": 1}], {"output": "text"}) == [{"text": "One", "id": "1"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'id,text\n1,"One, two"\n'),
        ("a.tsv", "id\ttext\n1\tOne, two\n"),
        ("a.jsonl", '{"id": 1, "text": "One, two"}\n'),
    ],
)
def test_files_that_python_reads_alone_are_rows(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert rows_in_file(tmp_path / name) == [{"id": "1", "text": "One, two"}]


def test_only_the_server_reads_workbooks(tmp_path: Path) -> None:
    (tmp_path / "items.xlsx").write_bytes(b"PK")
    assert rows_in_file(tmp_path / "items.xlsx") is None


def test_ids_in_a_frame_stay_text_and_missing_values_are_missing(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("item,value,label\n007,,NA\n008,2.5,\n", encoding="utf-8")
    frame = frame_of_csv(tmp_path / "long.csv")
    assert list(frame["item"]) == ["007", "008"]
    assert frame["value"].isna().tolist() == [True, False] and frame["value"][1] == 2.5
    assert frame["label"][0] == "NA"  # somebody's label, not a missing one


def test_a_notebook_shows_progress_and_cost_without_running_what_a_title_contains() -> None:
    study: dict[str, object] = {
        "title": "<script>alert(1)</script>",
        "slug": "mine",
        "status": "live",
        "task_type": "likert",
    }
    study |= {"items": 4, "wanted": 8, "submitted": 2}
    progress = {"items": 4, "items_done": 1, "wanted": 8, "submitted": 2, "workers": 2, "workers_synthetic": 1}
    overview = Overview(study, progress, "$1.20 of $5.00 spent or promised")
    assert overview.lines()[1:] == [
        "1 of 4 items have all their ratings",
        "2 of 8 submissions, by 2 workers (1 of them simulated)",
        "Cost: $1.20 of $5.00 spent or promised",
    ]
    assert "<script>" not in overview.html() and "width: 25%" in overview.html()


def test_a_report_in_a_notebook_cannot_leave_its_frame() -> None:
    shown = Report("mine", {}, '<p title="x">Findings</p>')._repr_html_()
    assert shown.startswith("<iframe sandbox ") and "&lt;p title=&quot;x&quot;&gt;" in shown


def test_the_client_without_async_is_made_from_the_one_with_it() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "client" / "make_sync.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
