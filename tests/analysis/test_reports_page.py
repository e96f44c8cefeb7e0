"""The page of a report is complete, safe to open, and needs no other file."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from analysis.estimate import Estimate
from analysis.report import write_report
from analysis.report.png_files import png_file, save_pngs
from analysis.report.sections.collected import completeness
from analysis.report.tables import SAME_ENDS, Column, Table, estimates_table
from tests.analysis.support.examples import CLASS_VALUES, CLASSES
from tests.analysis.support.pages import Page, built, is_sound
from tests.analysis.support.studies import (
    Values,
    a_set,
    study_data,
)


def test_the_page_needs_no_other_file(tmp_path: Path) -> None:
    text, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    is_sound(text)
    assert not re.search(r"https?://|//[a-z]|url\(|@import|javascript:", text)


def test_simulated_data_are_announced_before_any_figure(tmp_path: Path) -> None:
    values: Values = {("one", "anna"): 2.0, ("one", "bot"): 4.0, ("two", "bot"): 5.0, ("two", "anna"): 1.0}
    data = study_data(["one", "two"], values, synthetic=["bot"])

    page, sections = built(data, tmp_path)

    assert page.index("Simulated data.</strong> 50.0% of the ratings") < page.index('class="highlights"')
    assert sections["data"]["ratings_simulated"] == 2
    assert "Simulated data" not in built(study_data(["one"], {("one", "anna"): 2.0}), tmp_path / "real")[0]


def test_a_whole_submission_has_a_time_only_if_people_sent_it(tmp_path: Path) -> None:
    values: Values = {("one", "bot"): 4.0, ("two", "bot"): 5.0}
    page, sections = built(study_data(["one", "two"], values, synthetic=["bot"]), tmp_path)
    assert "A whole submission" not in page
    assert "How long simulated workers took for a whole submission says nothing" in page
    assert list(sections["time"]["median_seconds"]) == ["One rating of “diversity”"]

    people = study_data(["one"], {("one", "bot"): 4.0, ("one", "anna"): 5.0}, synthetic=["bot"], seconds=75)
    page, sections = built(people, tmp_path)
    assert sections["time"]["median_seconds"]["A whole submission"]["value"] == 75
    assert "says nothing" not in page


def test_a_method_that_all_rows_share_is_said_once() -> None:
    few = Estimate(1.0, note="there are only 4")
    other = Estimate(2.0, note="there are only 3")
    alike = estimates_table("T", {"a": few, "b": few}, note="In seconds.")
    assert ([column.title for column in alike.columns], alike.note) == (
        ["Statistic", "Value", "95% interval", "n"],
        "In seconds. There are only 4.",
    )
    for estimates in ({"a": few, "b": other}, {"a": few}):
        table = estimates_table("T", estimates, note="In seconds.")
        assert (table.columns[-1].title, table.note) == ("How", "In seconds.")


NASTY = '<script>alert("1")</script><img src=x onerror=alert(2)>'


def test_texts_are_shown_not_run(tmp_path: Path) -> None:
    items = [a_set(f"<b>{at}</b>", label=at % 2, label_name=NASTY, responses=[NASTY, "{{ 7 }}"]) for at in range(4)]
    values = {(f"<b>{at}</b>", "anna"): 1.0 + at for at in range(4)}
    data = study_data(items, values, title=NASTY, wording=[("Consent", NASTY), ("Instructions", NASTY)])

    text, _ = built(data, tmp_path)

    page = Page(text)
    assert page.open == []
    assert not page.tags & {"script", "img", "b"}
    assert "&lt;script&gt;" in text
    assert "{{ 7 }}" in text


def test_right_to_left_texts_keep_their_direction(tmp_path: Path) -> None:
    arabic = "لا أعرف ماذا أقول"
    data = study_data([a_set("one", responses=[arabic, "שלום"])], {("one", "anna"): 2.0}, title=arabic)

    page, _ = built(data, tmp_path)

    assert f'<li dir="auto">1. {arabic}</li>' in page
    assert f'<h1 dir="auto">{arabic}</h1>' in page


def test_the_wording_is_complete_word_by_word(tmp_path: Path) -> None:
    data = study_data(
        ["one"],
        {("one", "anna"): 2.0},
        wording=[("Consent", "You may stop\n\nat any time."), ("Instructions", "Read slowly.")],
    )

    page, sections = built(data, tmp_path)

    assert "You may stop\n\nat any time." in page
    assert "Read slowly." in page
    (question,) = sections["wording"]["questions"]
    assert question["label"] in page
    assert [point["value"] for point in question["answers"]] == [5, 4.5, 4, 3.5, 3, 2.5, 2, 1.5, 1]
    assert all(point["label"] in page for point in question["answers"])


def test_a_failed_report_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = study_data(["one"], {("one", "anna"): 2.0})
    built(data, tmp_path)
    before = (tmp_path / "report.html").read_text()

    def full(*_: object, **__: object) -> int:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_report(data, out_dir=tmp_path, draws=10)

    assert (tmp_path / "report.html").read_text() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["report.html", "report.json"]


def test_a_report_without_draws_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one draw"):
        write_report(study_data(["one"]), out_dir=tmp_path, draws=0)


def test_figures_can_be_saved_as_svg_from_the_page(tmp_path: Path) -> None:
    text, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    files = is_sound(text).files
    assert len(files) == text.count("<figure>") > 5
    svg = ElementTree.fromstring(svg_text := base64.b64decode(files["d-score-label.svg"].partition(",")[2]))  # noqa: S314 - our own text
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    assert b"var(" not in svg_text


def test_every_figure_can_be_drawn_as_a_png_that_the_page_then_links(tmp_path: Path) -> None:
    text, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)
    assert not (tmp_path / "figures").exists()

    save_pngs(tmp_path)

    links = Page((tmp_path / "report.html").read_text()).files
    pngs = {name: address for name, address in links.items() if name.endswith(".png")}
    assert {name.removesuffix(".png") for name in pngs} == {name.removesuffix(".svg") for name in links.keys() - pngs}
    assert len(pngs) == text.count("<figure>")
    assert sorted(file.name for file in (tmp_path / "figures").iterdir()) == sorted(pngs)
    with Image.open(tmp_path / pngs["q-bars.png"]) as picture:
        assert picture.width == 1080
        pixels = np.asarray(picture.convert("RGB"), dtype=int)
    for wanted in ((255, 255, 255), (0, 114, 178)):  # paper, and the bars
        assert np.abs(pixels - np.array(wanted)).sum(axis=2).min() < 12


def test_a_png_is_drawn_once_and_only_for_figures_of_the_page(tmp_path: Path) -> None:
    built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    first = png_file(tmp_path, "q-bars")
    assert first is not None
    first.write_bytes(b"drawn before")

    assert png_file(tmp_path, "q-bars") == first
    assert first.read_bytes() == b"drawn before"
    assert png_file(tmp_path, "q-bar") is None
    assert png_file(tmp_path, "../report") is None


def test_wide_tables_become_lists_on_a_phone(tmp_path: Path) -> None:
    text, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    assert '<table class="stacks" role="table">' in text
    assert 'data-title="95% interval"' in text  # the name of each cell, which the style prints before it


@pytest.mark.parametrize(
    ("items", "complete", "without", "words"),
    [
        (36, 36, 0, "All 36 items are complete"),
        (36, 30, 0, "30 of 36 items complete"),
        (36, 30, 2, "30 of 36 items complete; 2 without any submission"),
        (1, 1, 0, "1 item, complete"),
        (0, 0, 0, "none"),
    ],
)
def test_how_many_items_are_complete_is_one_phrase(items: int, complete: int, without: int, words: str) -> None:
    counts = {"items": items, "items_complete": complete, "items_without_rating": without}
    assert completeness(counts) == words


def test_plurals_are_right(tmp_path: Path) -> None:
    data = study_data(CLASSES[:1], {("low0", "anna"): 2.0})

    text, _ = built(data, tmp_path)

    assert not re.search(r"(?<![\d,.])1 (items|ratings|workers|submissions|values|sets)\b", text)
    assert "1 item has one" in text


def test_the_list_of_contents_leads_to_every_section_and_heading(tmp_path: Path) -> None:
    text, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    contents = text.partition('<nav class="contents"')[2].partition("</nav>")[0]
    links = re.findall(r'<a href="#([^"]*)"[^>]*>([^<]*)</a>', contents)
    assert links[0] == ("top", "Summary")
    sections = re.findall(r'<section id="([^"]*)"', text)
    headings = re.findall(r'<h3 id="([^"]*)"[^>]*>([^<]*)</h3>', text)
    assert [key for key, _ in links if key in sections] == sections
    assert headings == [(key, title) for key, title in links[1:] if key not in sections]
    assert len(headings) > 2
    targets = re.findall(r' id="([^"]*)"', text)
    assert len(set(targets)) == len(targets)
    assert {key for key, _ in links} <= set(targets)


def test_the_list_of_contents_stays_in_sight(tmp_path: Path) -> None:
    text, _ = built(study_data(CLASSES, CLASS_VALUES), tmp_path)

    style = text.partition("<style>")[2].partition("</style>")[0]
    assert re.search(r"\.contents \{[^}]*position: sticky; top: 0", style)
    assert "scroll-margin-top" in style


def test_an_interval_whose_ends_look_alike_is_explained() -> None:
    def table(low: float) -> Table:
        return Table("Means", [Column("Mean", digits=2, shows="mean")], [{"mean": Estimate(0.5, low, 0.5021)}], "Note.")

    assert table(0.4999).note == f"Note. {SAME_ENDS}"
    assert table(0.49).note == "Note."
