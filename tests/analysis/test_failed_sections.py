"""A section of a report that fails shows its error in its place, and the rest of the report stands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.data import StudyData, write_bundle
from analysis.description import ReportSection
from analysis.report import build, failed_sections, write_report
from analysis.report.blocks import Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from tests.analysis.support.pages import built, is_sound
from tests.analysis.support.studies import DIVERSITY, Values, a_set, study_data

VALUES: Values = {(f"i{at}", worker): 1 + (at + len(worker)) % 5 for at in range(6) for worker in ("x", "yy", "zzz")}
ITEMS = [a_set(f"i{at}", label=at % 2) for at in range(6)]


def study(**about: Any) -> StudyData:
    return study_data(ITEMS, VALUES, **about)


def fails(source: Source, **parameters: object) -> None:
    source.key("systems")  # as a section does before anything can fail
    raise ZeroDivisionError("nothing to divide <by>")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> StudyData:
    monkeypatch.setitem(build.SECTIONS, "systems", fails)
    return study(sections=(ReportSection("systems"), ReportSection("diversity")))


def test_the_error_is_in_the_place_of_the_section(
    failing: StudyData, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    page, sections = built(failing, tmp_path)
    is_sound(page)
    assert sections["systems"] == {
        "title": "Systems",
        "error": "ZeroDivisionError: nothing to divide <by>",
        "tables": [],
    }
    keys = list(sections)
    assert keys.index("systems") < keys.index("diversity") < keys.index("answers") < keys.index("data")
    assert "ZeroDivisionError: nothing to divide &lt;by&gt;." in page
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_the_other_sections_are_as_without_it(failing: StudyData, tmp_path: Path) -> None:
    _, sections = built(failing, tmp_path / "failing")
    _, whole = built(study(sections=(ReportSection("diversity"),)), tmp_path / "whole")
    changed = [key for key in whole if sections[key] != whole[key]]
    assert changed in ([], ["design"])


def test_a_column_that_cannot_be_shown_ends_only_its_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def section_with_a_wrong_column(source: Source) -> Section:
        return Section(source.key("systems"), "Systems", [Table("Scores", [Column("Score", shows="missing")], [{}])])

    monkeypatch.setitem(build.SECTIONS, "systems", section_with_a_wrong_column)
    page, sections = built(study(sections=(ReportSection("systems"),)), tmp_path)
    is_sound(page)
    assert [(key, section["error"]) for key, section in sections.items() if "error" in section] == [
        ("systems", "KeyError: 'missing'")
    ]


def test_options_of_a_scale_question_are_shown_like_those_of_a_choice(tmp_path: Path) -> None:
    """A mistake in a task type's declaration: only choices and rankings have options."""
    page, sections = built(study(questions=(replace(DIVERSITY, targets={"a": "A", "b": "B"}),)), tmp_path)
    is_sound(page)
    assert not [key for key, section in sections.items() if "error" in section]
    assert "share of answers that chose each option" in page


@pytest.mark.parametrize("name", ["design", "collected", "workers", "times"])
def test_a_general_section_may_fail(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"analysis.report.sections.{name}.make_section", fails)
    page, sections = built(study(), tmp_path)
    is_sound(page)
    assert sum("error" in section for section in sections.values()) == 1
    assert len(failed_sections(tmp_path)) == 1


def test_the_command_says_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "pilot.zip").open("wb") as file:
        write_bundle(study(), file)
    monkeypatch.setattr("analysis.report.sections.workers.make_section", fails)
    status = main(["report", str(tmp_path / "pilot.zip"), "--out", str(tmp_path / "out"), "--draws", "40"])
    told = capsys.readouterr().err
    assert status == 0
    assert "The section “Workers” could not be made: ZeroDivisionError: nothing to divide <by>.\n" in told
    assert json.loads((tmp_path / "out" / "report.json").read_text())["sections"]["answers"]["diversity"]["n"] == 18


def test_errors_that_stop_the_report_are_raised(failing: StudyData, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_report(failing, out_dir=tmp_path, draws=20, stops=(ZeroDivisionError,))
    assert not (tmp_path / "report.html").exists()
