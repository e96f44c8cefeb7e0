"""The report's section about hits that workers stopped for part pay. Expected numbers are worked out by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.data import StudyData, read_bundle, write_bundle
from analysis.report import report_numbers
from analysis.study_tables import StoppedRow
from tests.analysis.support.pages import built, is_sound, unknown_numbers
from tests.analysis.support.studies import NOON, arm, study_data

#: Worker, simulated, arm, hit, steps sent, steps in all, promised, paid.
ROWS = [
    ("ann", False, "solo", 1, 2, 12.0, "0.40", "0.40"),
    ("bob", False, "solo", 1, 2, 12.0, "0.40", "0.00"),
    ("bob", False, "solo", 2, 9, 12.0, "1.80", "1.80"),
    ("cat", False, "mil", 3, 5, float("nan"), "0.50", "0.50"),
    ("bot", True, "mil", 3, 1, 12.0, "0.20", "0.00"),
]


def stopped_study(rows: list[tuple[Any, ...]] = ROWS, **values: Any) -> StudyData:
    """Nine submissions by people: five in the arm solo, four in mil."""
    people = {f"s{at}": "solo" for at in range(5)} | {f"m{at}": "mil" for at in range(4)}
    given: dict[str, Any] = {"arms": (arm("solo"), arm("mil")), "arm_of": people} | values
    data = study_data(["one"], {("one", worker): 3.0 for worker in people}, **given)
    frame = pd.DataFrame([(*row, NOON) for row in rows], columns=list(StoppedRow._fields))
    return dataclasses.replace(data, stopped=frame)


def test_how_many_stopped_where_and_what_they_were_paid(tmp_path: Path) -> None:
    page, sections = built(stopped_study(), tmp_path)
    found = sections["stopped"]
    # Four hits of people against nine submissions: 4 / 13.
    assert (found["stopped"], found["workers"], found["submitted"]) == (4, 3, 9)
    assert found["share"] == pytest.approx(4 / 13)
    assert found["simulated"] == 1
    assert [float(found[name]) for name in ("promised_usd", "paid_usd", "unpaid_usd")] == [3.10, 2.70, 0.40]
    solo, mil = found["arms"]
    # 2, 2 and 9 steps in solo: the median is 2. Three of eight hits.
    assert (solo["arm"], solo["stopped"], solo["workers"], solo["median_steps"]) == ("solo", 3, 2, 2.0)
    assert solo["share"] == pytest.approx(3 / 8)
    assert (mil["stopped"], mil["share"], float(mil["paid_usd"])) == (1, pytest.approx(1 / 5), 0.50)
    assert [tuple(row.values()) for row in found["steps"]] == [
        ("solo", 2, 12.0, 2),
        ("solo", 9, 12.0, 1),
        ("mil", 5, None, 1),
    ]
    assert "4 hits by 3 workers" in page
    assert "30.8% of 13 hits that people submitted or stopped" in page
    assert "$2.70; $0.40 for 1 hit is not paid yet" in page


def test_the_page_is_sound_and_its_numbers_are_in_the_json(tmp_path: Path) -> None:
    page, sections = built(stopped_study(), tmp_path)
    assert not unknown_numbers(is_sound(page), sections)


def test_without_arms_there_is_one_table(tmp_path: Path) -> None:
    rows = [(worker, simulated, "", *rest) for worker, simulated, _, *rest in ROWS]
    _, sections = built(stopped_study(rows, arms=(), arm_of={}), tmp_path)
    assert [table["caption"] for table in sections["stopped"]["tables"]] == ["After which step"]


def test_nobody_stopped_so_there_is_no_section(tmp_path: Path) -> None:
    _, sections = built(stopped_study([]), tmp_path)
    assert "stopped" not in sections


def test_simulated_workers_alone_are_only_counted(tmp_path: Path) -> None:
    page, sections = built(stopped_study(ROWS[-1:]), tmp_path)
    assert (sections["stopped"]["stopped"], sections["stopped"]["simulated"]) == (0, 1)
    is_sound(page)


def test_a_bundle_brings_them_back(tmp_path: Path) -> None:
    data = stopped_study()
    with (tmp_path / "b.zip").open("wb") as file:
        write_bundle(data, file)
    again = read_bundle(tmp_path / "b.zip")
    pd.testing.assert_frame_equal(again.stopped, data.stopped, check_dtype=False)
    first, second = (report_numbers(each, draws=20, seed=1, made_at=NOON) for each in (data, again))
    assert first["sections"]["stopped"] == second["sections"]["stopped"]
