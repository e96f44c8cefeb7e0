"""The paper's part on the server: the same as from the bundle, for members, and no worker's id in it."""

from __future__ import annotations

import io
import re
import zipfile
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from kombu.exceptions import OperationalError

from analysis.data import read_bundle, read_pages
from analysis.paper import write_paper
from annotation.models import Membership, Posting, Study
from annotation.people.redacting_files import remove_reports
from annotation.platforms import platform_class
from annotation.results import exports, paper_folder
from annotation.results.description import describe_study
from annotation.results.tasks import make_paper
from annotation.results.worker_pages import CONTACT, worker_pages
from tests.factories import make_participant, make_researcher, make_study, make_submission
from tests.report_data import a_set, rated_study

pytestmark = pytest.mark.django_db
PLATFORM_ID = "A1SECRETPLATFORMID"


@pytest.fixture(autouse=True)
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "VAR", tmp_path / "var")
    monkeypatch.setattr("analysis.paper.making.picture_pages", lambda folder, names: [])
    return tmp_path / "var"


@pytest.fixture
def study() -> Study:
    study = rated_study([a_set("one"), a_set("two")], {("one", "anna"): 2.0, ("one", "ben"): 4.0})
    study.contact = "someone@lab.example"
    study.save()
    return study


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def client_of(study: Study, role: str = "viewer") -> Client:
    user = make_researcher(f"{role}-{study.pk}")
    if role != "outsider":
        Membership.objects.create(study=study, user=user, role=role)
    return signed_in(user)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def url(study: Study, name: str = "") -> str:
    return f"/console/studies/{study.slug}/paper/{name}"


# --- the same bytes ---


def test_the_server_and_the_bundle_give_the_same_bytes(study: Study, tmp_path: Path) -> None:
    paper_folder.write_study_paper(study, tmp_path / "server")
    with (tmp_path / "bundle.zip").open("wb") as file:
        exports.export(study, kind="bundle", out=file)
    write_paper(tmp_path / "bundle.zip", tmp_path / "laptop")
    assert contents(tmp_path / "server") == contents(tmp_path / "laptop")
    assert {"methods.tex", "heds.md", "croissant.json", "pages/01-start.html"} <= contents(tmp_path / "server").keys()


def test_nothing_identifies_a_worker_or_the_server(study: Study, tmp_path: Path) -> None:
    participant = make_participant(study=study, name=PLATFORM_ID)
    make_submission(study=study, participant=participant)
    assert participant.worker.platform_id == PLATFORM_ID
    paper_folder.write_study_paper(study, tmp_path / "paper")
    for name, content in contents(tmp_path / "paper").items():
        for secret in (PLATFORM_ID, "someone@lab.example", settings.BASE_URL):
            assert secret.encode() not in content, (name, secret)


# --- pages ---


def test_pages_need_nothing_and_run_nothing(study: Study) -> None:
    pages = worker_pages(study)
    assert next(iter(pages)) == "pages/01-start.html"
    assert pages["pages/01-start.html"].title == "Start page"
    for name, page in pages.items():
        html = page.content.decode()
        assert "<script" not in html and "<style>" in html, name
        assert not re.search(r'(?:src|href|action)="(?:/|http|\?)', html), name
        assert 'type="hidden"' not in html and "Content-Security-Policy" in html
        assert "Preview" not in html, "it is what workers see, not a preview"
        assert CONTACT in html


def test_pages_are_the_same_every_time(study: Study) -> None:
    assert worker_pages(study) == worker_pages(study)


def test_pages_that_cannot_be_drawn_leave_the_data(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*args: object) -> None:
        raise ValueError("no page")

    monkeypatch.setattr("annotation.results.worker_pages.hit_with", fails)
    with (tmp_path / "b.zip").open("wb") as file:
        exports.export(study, kind="bundle", out=file)
    assert read_pages(tmp_path / "b.zip") == {}
    assert len(read_bundle(tmp_path / "b.zip").all_ratings) == 2
    assert "cannot be drawn" in caplog.text


def test_arms_with_the_same_pages_have_them_once() -> None:
    same = make_study(items=2, ratings_per_item=2, arms=[{"name": "low"}, {"name": "high"}])
    dearer = make_study(items=2, ratings_per_item=2, arms=[{"name": "low"}, {"name": "high", "reward": "0.9"}])
    kinds = [[page.title for page in worker_pages(study).values()] for study in (same, dearer)]
    assert kinds[0][0] == "Start page (arm low)"
    assert not any("arm high" in title for title in kinds[0])
    assert "Start page (arm high)" in kinds[1]


# --- what the study knows about its workers ---


def test_what_a_platform_asked_of_workers_is_described(study: Study) -> None:
    study.platforms = {"mturk": {"locales": ["US", "GB"], "least_percent_approved": 97, "least_approved": 500}}
    study.save()
    Posting.objects.create(study=study, platform="mturk", external_id="3HIT")
    way_in = next(way for way in describe_study(study).recruitment if way.name == "mturk")
    assert list(way_in.asked_for) == [
        ("countries", "US, GB"),
        ("approved HITs", "at least 500"),
        ("approval rate", "at least 97%"),
    ]
    assert way_in.confirms
    assert way_in.title == "a marketplace with the interface of Mechanical Turk"


def test_amazon_is_named_only_if_calls_go_there(settings: object) -> None:
    settings.MTURK_ENDPOINT = "https://mturk-requester.us-east-1.amazonaws.com"  # type: ignore[attr-defined]
    assert platform_class("mturk").paper_name() == "Amazon Mechanical Turk"


def test_filters_on_prolific_are_described() -> None:
    from annotation.platforms.prolific.platform import Prolific

    filters = [
        {"filter": "first-language", "values": "english", "from": "", "to": "", "weights": ""},
        {"filter": "age", "values": "", "from": "18", "to": "", "weights": ""},
    ]
    asked = Prolific.asked_for({"filters": filters, "devices": ["desktop"]})
    assert asked == [("first language", "english"), ("age", "18 to any"), ("devices", "computers")]


def test_minimum_pay_and_terms_are_described(study: Study, settings: object) -> None:
    settings.MINIMUM_HOURLY_PAY = Decimal("12.50")  # type: ignore[attr-defined]
    other = make_study(items=1)
    study.exclude_studies.add(other)
    study.exam_study, study.exam_percent = "the-exam", 75
    study.save()
    described = describe_study(study)
    assert described.minimum_hourly_pay == Decimal("12.50")
    terms = dict(described.conditions)
    assert terms["exam"] == "at least 75% right answers in an exam (study the-exam)"
    assert terms["not in other studies"] == f"nobody who took part in {other.slug}"


# --- doors ---


def test_the_command_writes_the_folder_and_refuses_one_in_use(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("study", "report", study.slug, "--paper", str(tmp_path / "paper"))
    assert f"The paper's part is in {tmp_path / 'paper'}" in capsys.readouterr().out
    assert (tmp_path / "paper" / "methods.tex").is_file()
    before = contents(tmp_path / "paper")
    with pytest.raises(CommandError, match="the folder is not empty; choose a new folder"):
        call_command("study", "report", study.slug, "--paper", str(tmp_path / "paper"))
    assert contents(tmp_path / "paper") == before


def test_a_study_without_ratings_has_a_paper(tmp_path: Path) -> None:
    paper_folder.write_study_paper(make_study(items=2), tmp_path / "paper")
    assert "There are no answers in the analysis yet." in (tmp_path / "paper" / "methods.md").read_text()


def test_members_download_the_zip_file(study: Study) -> None:
    client = client_of(study)
    page = client.get(url(study))
    assert page.status_code == 200 and b"Download paper.zip" in page.content
    response = client.get(url(study, "paper.zip"))
    assert response["Content-Type"] == "application/zip"
    assert response["Content-Disposition"] == f'attachment; filename="{study.slug}-paper.zip"'
    with zipfile.ZipFile(io.BytesIO(b"".join(response))) as archive:
        names = archive.namelist()
    assert f"{study.slug}-paper/README.md" in names and f"{study.slug}-paper/figures/q-bars.pdf" in names


def test_for_everybody_else_the_page_is_not_found(study: Study) -> None:
    outsider = client_of(study, "outsider")
    assert [outsider.get(url(study, name)).status_code for name in ("", "paper.zip")] == [404, 404]
    assert Client().get(url(study)).status_code == 302


def test_while_it_is_made_the_page_says_so(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    queued: list[int] = []
    monkeypatch.setattr("annotation.results.pages.reports.make_paper.delay", queued.append)
    client = client_of(study)
    page = client.get(url(study))
    assert page.status_code == 202 and b"The files are being made" in page.content and b"refresh" in page.content
    assert client.get(url(study, "paper.zip")).status_code == 302
    assert queued == [study.pk]
    assert make_paper(study.pk)
    assert client.get(url(study)).status_code == 200


def test_without_a_queue_the_page_says_that_it_failed(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*args: object) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr("annotation.results.pages.reports.make_paper.delay", refuses)
    page = client_of(study).get(url(study))
    assert page.status_code == 202 and b"The files could not be made" in page.content


def test_the_report_links_to_it(study: Study) -> None:
    assert url(study).encode() in client_of(study).get(f"/console/studies/{study.slug}/report/").content


def test_the_zip_file_is_not_a_report(study: Study) -> None:
    assert client_of(study).get(f"/console/studies/{study.slug}/report/paper.zip").status_code == 404


def test_new_data_make_it_again_and_a_deletion_removes_it(study: Study, var: Path) -> None:
    assert make_paper(study.pk)
    first = next((var / "papers" / str(study.pk)).iterdir()).name
    make_submission(study=study)
    assert make_paper(study.pk)
    names = [folder.name for folder in (var / "papers" / str(study.pk)).iterdir()]
    assert len(names) == 1 and names != [first]
    remove_reports([study.pk])
    assert not (var / "papers" / str(study.pk)).exists()


def test_a_study_that_is_gone_needs_nothing() -> None:
    assert make_paper(10**6)
