"""The folder of a paper's part: the same bytes always, bad input, figures, datasheet, data set."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.data import BundleError, StudyData, files_of, read_bundle, read_pages, write_bundle_folder
from analysis.description import ReportSection
from analysis.paper import PaperFolderError, write_paper
from analysis.paper.columns import COLUMNS_IN_WORDS, TABLES_IN_WORDS
from analysis.paper.heds_questions import QUESTIONS
from analysis.paper.references import ENTRIES, SOURCES
from analysis.plots import image_files
from analysis.report import build
from analysis.report.source import Source
from analysis.study_tables import TABLES
from tests.analysis.support.papers import PAGES, a_bundle, changed_bundle, paper_of
from tests.analysis.support.studies import ABS_HDS
from tests.analysis.test_cli_report import WITHOUT_DJANGO, python
from tests.analysis.test_paper_methods import rated


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return a_bundle(tmp_path / "study.zip", rated())


# --- the same bytes ---


def test_another_process_without_django_makes_the_same_bytes_later(bundle: Path, tmp_path: Path) -> None:
    write_paper(bundle, tmp_path / "here", draws=40, pictures=False)
    time.sleep(1.1)  # PDF files have dates in seconds
    code = WITHOUT_DJANGO + "from analysis.__main__ import main\nsys.exit(main(sys.argv[1:]))"
    paper = str(tmp_path / "there")

    done = python(code, "report", str(bundle), "--paper", paper, "--draws", "40", "--no-pictures")

    assert (done.returncode, done.stderr) == (0, "")
    assert contents(tmp_path / "here") == contents(Path(paper))
    assert len(contents(tmp_path / "here")) > 50


def test_a_folder_gives_the_same_as_a_zip_file(tmp_path: Path) -> None:
    data = rated()
    write_bundle_folder(data, tmp_path / "folder")
    write_paper(tmp_path / "folder", tmp_path / "one", draws=40, pictures=False)
    write_paper(a_bundle(tmp_path / "x.zip", data, {}), tmp_path / "two", draws=40, pictures=False)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_the_report_comes_from_the_same_computation(bundle: Path, tmp_path: Path) -> None:
    write_paper(bundle, tmp_path / "paper", out_dir=tmp_path / "report", draws=40, pictures=False)
    main(["report", str(bundle), "--out", str(tmp_path / "alone"), "--draws", "40"])
    reports = [
        json.loads((tmp_path / name / "report.json").read_text()) | {"made_at": ""} for name in ("report", "alone")
    ]
    assert reports[0] == reports[1]


# --- bad input ---


def test_a_folder_in_use_is_refused_and_nothing_in_it_changes(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = tmp_path / "used"
    used.mkdir()
    (used / "notes.txt").write_text("mine")
    status = main(["report", str(bundle), "--paper", str(used)])
    message = capsys.readouterr().err
    assert status == 2
    assert "the folder is not empty" in message and "choose a new folder" in message and "Traceback" not in message
    assert contents(used) == {"notes.txt": b"mine"}
    with pytest.raises(PaperFolderError, match="it is a file; choose a folder"):
        write_paper(bundle, used / "notes.txt")


def test_neither_folder_is_refused(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(bundle)]) == 2
    assert "give --out DIR, --paper DIR or both" in capsys.readouterr().err


def test_a_missing_bundle_and_a_place_that_cannot_be_written(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "none.zip"), "--paper", str(tmp_path / "p")]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["report", str(bundle), "--paper", str(tmp_path / "file" / "below"), "--no-pictures"]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["../evil.html", "pages/../../evil.html", "/etc/x.html", "pages/x.html/y", "pages/X.html"]
)
def test_a_page_whose_name_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    data = rated()
    with zipfile.ZipFile(a_bundle(tmp_path / "good.zip", data)) as archive:
        head = json.loads(archive.read("study.json"))
    head["pages"] = {name: "Evil"}
    bad = changed_bundle(data, tmp_path / "bad.zip", {"study.json": json.dumps(head).encode()})
    with pytest.raises(BundleError, match="pages is not a list of pages"):
        write_paper(bad, tmp_path / "paper")
    assert not (tmp_path / "paper").exists()


def test_a_section_that_fails_leaves_its_note_and_the_rest_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(source: Source, **parameters: object) -> None:
        raise ZeroDivisionError("nothing to divide")

    monkeypatch.setitem(build.SECTIONS, "systems", fails)
    caplog.set_level(logging.CRITICAL)
    failing = rated(sections=(ReportSection("systems"),))
    lines = write_paper(a_bundle(tmp_path / "b.zip", failing), tmp_path / "paper", draws=40, pictures=False)
    assert lines == ["The section “Systems” could not be made: ZeroDivisionError: nothing to divide."]
    readme = (tmp_path / "paper" / "README.md").read_text()
    assert "## What is missing" in readme and "“Systems” could not be made: ZeroDivisionError" in readme
    whole = paper_of(rated(), tmp_path / "whole")
    assert (tmp_path / "paper" / "methods.md").read_text() == whole["methods.md"]


# --- figures ---


def test_figures_are_as_wide_as_a_column_with_their_fonts(bundle: Path, tmp_path: Path) -> None:
    write_paper(bundle, tmp_path / "paper", draws=40, pictures=False)
    files = sorted((tmp_path / "paper" / "figures").glob("*.pdf"))
    assert len(files) >= 5
    for file in files:
        pdf = file.read_bytes()
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
        assert box and float(box[1]) == pytest.approx(84 / 25.4 * 72, abs=0.01)
        fonts = len(re.findall(rb"/Type /Font\b", pdf))
        assert fonts and pdf.count(b"/FontFile2") >= 1 and b"/Type3" not in pdf
        assert b"CreationDate" not in pdf
        svg = file.with_suffix(".svg").read_text()
        assert 'width="84mm"' in svg and "var(--" not in svg


def test_type_in_figures_is_at_least_seven_points() -> None:
    from analysis.plots.canvas import FONT

    assert FONT * image_files.COLUMN_SCALE >= 7.0  # in the SVG
    assert FONT * image_files.COLUMN_SCALE * image_files.LARGER >= 7.0  # in the PDF


def test_every_figure_and_every_table_of_the_report_is_there(tmp_path: Path) -> None:
    files = paper_of(rated(), tmp_path)
    captions = re.findall(
        r"\\caption\{(.*)\}", "".join(text for name, text in files.items() if name.startswith("tables/"))
    )
    assert len(captions) == len(set(re.findall(r"\\input\{(tables/[^}]*)\}", files["tables.tex"])))
    shown = set(re.findall(r"\\includegraphics\[[^]]*\]\{(figures/[^}]*)\.pdf\}", files["figures.tex"]))
    assert shown == {name[:-4] for name in files if name.endswith(".svg")}


# --- datasheet ---


def test_the_datasheet_has_the_questions_of_heds_3() -> None:
    """The form at nlp-heds.github.io counts 41 blank fields before any criterion is named, and has 21 for each.

    Ranges of numbers: arXiv:2412.07940, section 1.
    """
    general = [number for number in QUESTIONS if not number.startswith("4")]
    assert (len(general), len(QUESTIONS) - len(general)) == (41, 21)
    for first, last in (
        ("1.1.1", "1.3.2.3"),
        ("2.1", "2.5"),
        ("3.1.1", "3.3.8"),
        ("4.1.1", "4.3.12.2"),
        ("5.1", "5.4"),
    ):
        of_section = [number for number in QUESTIONS if number[0] == first[0]]
        assert (of_section[0], of_section[-1]) == (first, last)


def test_the_datasheet_is_prefilled_and_blanks_are_marked(tmp_path: Path) -> None:
    sheet = json.loads(paper_of(rated(), tmp_path)["heds.json"])
    answers = {row["number"]: row for row in sheet["answers"]}
    assert list(answers) == [number for number in QUESTIONS if not number.startswith("4")]
    assert answers["3.2.1"] == {"number": "3.2.1", "label": "Number of evaluators", "answer": "6", "complete": True}
    assert answers["5.1"]["complete"] is False and answers["5.1"]["answer"] == "**[… to fill in]**"
    creative = {row["number"]: row["answer"] for row in sheet["criteria"][0]["answers"]}
    assert creative["4.3.3"] == "7" and creative["4.3.7"] == "“This story is creative.”"
    assert creative["4.3.4"] == "1 Strongly disagree; 2; 3; 4; 5; 6; 7 Strongly agree"
    assert "Krippendorff’s α, ordinal" in creative["4.3.11.1"]


# --- data set ---


def test_every_column_of_a_bundle_is_described() -> None:
    assert {name: list(table.types) for name, table in TABLES.items()} == {
        name: list(columns) for name, columns in COLUMNS_IN_WORDS.items()
    }
    assert list(TABLES_IN_WORDS) != [] and set(TABLES_IN_WORDS) == set(TABLES)


def test_croissant_is_valid_and_gives_the_rows(tmp_path: Path) -> None:
    with zipfile.ZipFile(a_bundle(tmp_path / "b.zip", rated())) as archive:
        archive.extractall(tmp_path / "b")
    # In a process of its own: it puts a handler on all logs.
    code = """
import json, sys
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
rows = list(dataset.records(record_set="ratings"))
errors = [str(error) for error in dataset.metadata.ctx.issues.errors]
print(json.dumps([errors, len(rows), rows[0]["ratings/question"].decode(), float(rows[0]["ratings/value"])]))
"""
    done = python(code, str(tmp_path / "b" / "croissant.json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[], 48, "creative", 1.0]


def test_the_card_has_the_header_that_hugging_face_reads(tmp_path: Path) -> None:
    import yaml

    card = paper_of(rated(title="It's: “a” test"), tmp_path)["dataset-card.md"]
    header = yaml.safe_load(card.split("---")[1])
    assert header["pretty_name"] == "It's: “a” test" and header["size_categories"] == ["n<1K"]
    assert {row["config_name"]: row["data_files"] for row in header["configs"]}["ratings"] == "ratings.csv"
    assert "Licence (`license` above): **[…]**" in card


def test_a_bundle_carries_pages_card_and_metadata(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        names = archive.namelist()
        assert {"croissant.json", "README.md", "pages/01-start.html"} <= set(names)
        for file in json.loads(archive.read("croissant.json"))["distribution"]:
            assert file["sha256"] == files_of(bundle)[file["name"]]["sha256"]
    assert read_pages(bundle) == PAGES
    assert isinstance(read_bundle(bundle), StudyData)


# --- references, pictures ---


def test_every_reference_has_what_a_reader_needs_to_find_it() -> None:
    needed = {
        "article": {"author", "title", "journal", "year", "volume", "pages"},
        "inproceedings": {"author", "title", "booktitle", "year", "pages"},
        "book": {"author", "title", "publisher", "year"},
        "phdthesis": {"author", "title", "school", "year"},
        "techreport": {"author", "title", "institution", "year"},
        "misc": {"author", "title", "year", "eprint"},
    }
    for key, entry in ENTRIES.items():
        assert needed[entry.kind] <= entry.fields.keys(), key
        assert entry.fields["year"] == key[-4:]
        assert key[:-4] in entry.fields["author"].lower().replace("{\\'a}", "a").replace("-", "")
    assert set(SOURCES.values()) <= set(ENTRIES)


def test_without_chromium_there_are_no_pictures_and_nothing_fails(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    write_paper(bundle, tmp_path / "paper", draws=40)
    assert not list((tmp_path / "paper").rglob("*.png"))


def test_a_browser_that_fails_leaves_the_pages(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: sys.executable)
    write_paper(bundle, tmp_path / "paper", draws=40)
    assert (tmp_path / "paper" / "pages" / "01-start.html").is_file()
    assert "There is no picture of pages/01-start.html" in caplog.text


def test_types_of_diversity_have_their_references(tmp_path: Path) -> None:
    about: dict[str, Any] = ABS_HDS
    values = {(f"i{at}", worker): 1 + (at + len(worker)) % 5 for at in range(6) for worker in ("x", "yy", "zzz")}
    from tests.analysis.support.studies import a_set, study_data

    text = paper_of(study_data([a_set(f"i{at}", label=at % 2) for at in range(6)], values, **about), tmp_path)[
        "methods.md"
    ]
    assert "follows an instrument of earlier work [@tevet2021]" in text
    assert "[@li2016]" in text
