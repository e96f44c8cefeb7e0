"""Live suggestions in exports, frames and bundles."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from analysis.data import BundleError, read_bundle, write_bundle, write_bundle_folder
from analysis.study_tables import OfferRow
from annotation.models import Assignment, Offer, Posting, Study
from annotation.results.exports import ExportError, export, kinds_of
from annotation.results.frames import study_data, write_study_bundle
from annotation.results.worker_pages import worker_pages
from tests.annotation.offers_helpers import LAST, PICKED, TEXTS, answer_all, is_waiting, story_study, writer
from tests.annotation.results.exports.helpers import exported, read_csv, read_jsonl
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """One finished story, and one whose writer is still choosing."""
    study = story_study()
    for finishes in (True, False):
        browser = writer(study)
        is_waiting(browser)
        answer_all({"1": "=Behind it stood a piano.", "2": TEXTS["2"]})
        browser.get()
        if finishes:
            browser.send(**PICKED | {"pick_history": "1 2 1"})
            browser.send(**LAST)
    return study


def test_each_offer_is_a_row_with_what_became_of_it(study: Study) -> None:
    rows = read_csv(exported(study, "offers"))

    assert [(row["page"], row["round"], row["side"], row["source"]) for row in rows] == [
        ("2", "1", "1", "live"),
        ("2", "1", "2", "live"),
    ] * 2
    assert [(row["chosen"], row["switches"], row["included"]) for row in rows] == [
        ("true", "1", "true"),
        ("false", "1", "true"),
        ("", "", "false"),
        ("", "", "false"),
    ]
    assert rows[0]["text"] == "'=Behind it stood a piano.", "guarded against spreadsheets"
    assert rows[0]["submission"] == str(study.submissions.get().pk)
    assert rows[2]["submission"] == ""
    assert {row["model"] for row in rows} == {"toy"}
    assert read_jsonl(exported(study, "offers", "jsonl"))[0]["text"] == "=Behind it stood a piano."


def test_simulated_writers_can_be_left_out(study: Study) -> None:
    assert len(read_csv(exported(study, "offers", simulated=False))) == 4
    assert read_csv(exported(study, "offers", simulated=True)) == []


def test_studies_without_suggestions_have_no_such_export() -> None:
    other = make_study(items=1)

    assert "offers" not in kinds_of(other)
    with pytest.raises(ExportError, match="no live suggestions"):
        export(other, kind="offers", out=io.BytesIO())


def test_the_frames_have_the_offers_of_finished_hits(study: Study) -> None:
    offers = study_data(study).offers

    assert list(offers.columns) == list(OfferRow._fields)
    assert offers[["side", "chosen", "switches"]].to_numpy().tolist() == [["1", True, 1], ["2", False, 1]]
    assert offers["seed"][0] == str(Offer.objects.order_by("pk")[0].seed)


def test_offers_come_back_from_a_bundle(study: Study, tmp_path: Path) -> None:
    data = study_data(study)
    path = tmp_path / "bundle.zip"
    with path.open("wb") as out:
        write_bundle(data, out)

    assert read_bundle(path).offers.to_dict("records") == data.offers.to_dict("records")


def test_a_bundle_has_no_file_of_offers_that_are_all_left_out(study: Study, tmp_path: Path) -> None:
    posting = Posting.objects.create(study=study, platform="mturk", external_id="3HIT", hit=study.hits.first())
    Assignment.objects.filter(hit__study=study).update(posting=posting)
    from_frames, row_by_row = io.BytesIO(), io.BytesIO()

    write_bundle(study_data(study), from_frames, worker_pages(study))
    write_study_bundle(study, row_by_row)

    assert b"offers.csv" not in from_frames.getvalue()
    assert row_by_row.getvalue() == from_frames.getvalue()


def test_a_bundle_without_offers_has_no_such_file_and_one_that_lost_it_is_refused(study: Study, tmp_path: Path) -> None:
    other = make_study(items=1, ratings_per_item=1)
    make_submission(study=other)
    write_bundle_folder(study_data(other), tmp_path / "other")
    assert not (tmp_path / "other" / "offers.csv").exists()
    assert read_bundle(tmp_path / "other").offers.empty

    write_bundle_folder(study_data(study), tmp_path / "mine")
    (tmp_path / "mine" / "offers.csv").unlink()
    with pytest.raises(BundleError, match=r"offers\.csv is missing"):
        read_bundle(tmp_path / "mine")
