"""Exports and reports, through the API and with a token at the console's own addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import ApiToken
from annotation.models import ApiJob, AuditEntry, Membership, Study
from annotation.results import exports, saved_reports
from tests.annotation.api.running_helpers import get, program, reasons
from tests.annotation.console_helpers import as_role, make_user
from tests.factories import make_participant, make_study, make_submission
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items=2, ratings_per_item=4, hits_per_worker=None)
    make_submission(study=study)
    make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    return study


def content(response: Any) -> bytes:
    assert response.status_code == 200, response.status_code
    return b"".join(response.streaming_content)


def of(study: Study) -> saved_reports.Subject:
    """The report of the study as the database has it."""
    return saved_reports.of_study(Study.objects.get(pk=study.pk))


def owner_of(study: Study) -> Any:
    user = make_user("programmer")
    Membership.objects.create(study=study, user=user, role="owner")
    return user


def test_all_kinds_are_listed_and_streamed(study: Study) -> None:
    client = as_role("viewer", study)
    listed = get(client, "api_exports", study.slug)
    assert {(file["kind"], file["format"]) for file in listed} >= {
        ("long", "csv"),
        ("wide", "jsonl"),
        ("bundle", "zip"),
    }
    for file in listed:
        response = client.get(file["address"], headers={"Accept": "*/*"})
        assert response.headers["Content-Type"] == file["content_type"]
        assert content(response), file


@pytest.mark.parametrize("accept", ["text/csv", "application/json", "image/png"])
def test_a_file_comes_whatever_the_program_accepts(accept: str, study: Study) -> None:
    client = as_role("viewer", study)
    assert content(client.get(reverse("api_export", args=[study.slug, "long", "csv"]), headers={"Accept": accept}))


def test_an_export_is_that_of_the_console(study: Study) -> None:
    client = as_role("owner", study)
    for query, old in (
        ({}, {}),
        ({"simulated": "no"}, {"simulated": "no"}),
        ({"worker_ids": "true"}, {"worker_ids": 1}),
    ):
        new_file = content(client.get(reverse("api_export", args=[study.slug, "long", "csv"]), query))
        assert new_file == content(client.get(reverse("export", args=[study.slug, "long", "csv"]), old))
    assert AuditEntry.objects.filter(action="export worker ids").count() == 2


def test_an_export_is_streamed_in_pieces(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program reads first is sent before the rest is made."""
    made: list[int] = []

    def pieces(*_: Any, **__: Any) -> Any:
        for number in range(3):
            made.append(number)
            yield b"x"

    monkeypatch.setattr(exports, "pieces", pieces)
    response: Any = as_role("viewer", study).get(reverse("api_export", args=[study.slug, "long", "csv"]))
    assert made == []
    next(iter(response.streaming_content))
    assert made == [0]


@pytest.mark.parametrize(
    ("kind", "format", "query", "status"),
    [
        ("long", "pdf", {}, 404),
        ("tall", "csv", {}, 404),
        ("long", "csv", {"simulated": "maybe"}, 400),
        ("long", "csv", {"worker_ids": "maybe"}, 400),
        ("bundle", "zip", {"simulated": "no"}, 422),
    ],
)
def test_an_export_that_cannot_be(kind: str, format: str, query: Any, status: int, study: Study) -> None:
    response = as_role("owner", study).get(reverse("api_export", args=[study.slug, kind, format]), query)
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"


# --- reports ---


def test_a_small_report_is_made_at_once(study: Study) -> None:
    client = as_role("viewer", study)
    numbers = get(client, "api_report", study.slug)
    assert numbers == json.loads(content(client.get(reverse("report_file", args=[study.slug, "report.json"]))))
    page = content(client.get(reverse("api_report_page", args=[study.slug])))
    assert page.startswith(b"<!doctype html>")


def test_a_report_that_has_not_changed_is_not_sent_again(study: Study) -> None:
    client = as_role("viewer", study)
    address = reverse("api_report", args=[study.slug])
    tag = client.get(address).headers["ETag"]
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304
    make_submission(study=study)
    changed = client.get(address, headers={"If-None-Match": tag})
    assert (changed.status_code, changed.headers["ETag"] == tag) == (200, False)


@pytest.fixture
def slow_reports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every report counts as large; the queue only notes what it gets."""
    queued: list[int] = []
    monkeypatch.setattr(saved_reports, "is_small", lambda study: False)
    for name in ("make_report", "make_paper"):
        monkeypatch.setattr(f"annotation.api.job_states.{name}.delay", queued.append)
    return queued


def test_a_large_report_is_a_job(study: Study, slow_reports: list[int]) -> None:
    client = as_role("viewer", study)
    address = reverse("api_report", args=[study.slug])
    waiting = client.get(address)
    assert (waiting.status_code, waiting.headers["Retry-After"]) == (202, "3")
    assert waiting.headers["Location"] == reverse("api_job", args=[waiting.json()["id"]])
    assert client.get(address).json()["id"] == waiting.json()["id"]
    assert slow_reports == [study.pk]
    assert ApiJob.objects.count() == 1

    saved_reports.make(of(study))
    job = get(client, "api_job", waiting.json()["id"])
    assert (job["state"], job["links"]["report"]) == ("done", address)
    assert client.get(address).status_code == 200


def test_an_older_report_is_answered_only_on_request(study: Study, slow_reports: list[int]) -> None:
    client = as_role("viewer", study)
    saved_reports.make(of(study))
    make_submission(study=study)
    assert client.get(reverse("api_report", args=[study.slug])).status_code == 202
    assert get(client, "api_report", study.slug, older="true")


def test_a_report_that_fails_says_so(study: Study, slow_reports: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    client = as_role("viewer", study)
    pk = client.get(reverse("api_report", args=[study.slug])).json()["id"]

    def fail(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(saved_reports, "_build_report", fail)
    saved_reports.make(of(study))
    job = get(client, "api_job", pk)
    assert (job["state"], "could not be made" in job["message"]) == ("failed", True)


def test_a_paper_is_a_job(study: Study, slow_reports: list[int]) -> None:
    response = as_role("viewer", study).get(reverse("api_paper", args=[study.slug]))
    assert (response.status_code, response.json()["kind"]) == (202, "paper")
    assert slow_reports == [study.pk]


# --- the console's own addresses ---

PAGES = [
    ("report", []),
    ("report_file", ["report.json"]),
    ("report_figure", ["time-0"]),
    ("paper_file", []),
    ("export", ["long", "csv"]),
]


@pytest.mark.parametrize(("name", "more"), PAGES)
def test_a_token_opens_exports_and_reports(
    name: str, more: list[str], study: Study, slow_reports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse(name, args=[study.slug, *more])
    client = program(owner_of(study))
    saved_reports.make(of(study))
    response = client.get(address)
    assert response.status_code == (302 if name == "paper_file" else 200)  # to the page that makes the paper
    assert "sessionid" not in response.cookies

    assert Client().get(address).headers["Location"].startswith(reverse("console_login"))
    wrong = Client(headers={"Authorization": "Bearer hits_wrong"}).get(address)
    assert (wrong.status_code, wrong.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert program(make_user("outsider")).get(address).status_code == 404
    assert program(make_user("worker", researcher=False)).get(address).status_code == 403

    monkeypatch.setattr(ApiToken, "allows", lambda self, scope: scope == "pay", raising=False)
    refused = client.get(address)
    assert (refused.status_code, b"lacks the scope" in refused.content) == (403, True)


def test_a_token_opens_no_other_page(study: Study) -> None:
    client = program(owner_of(study))
    for name in ("console_study", "console_payments", "console_payments_file"):
        response = client.get(reverse(name, args=[study.slug]))
        assert response.headers["Location"].startswith(reverse("console_login")), name


def test_a_token_opens_the_samples_and_the_report_of_a_run() -> None:
    run = make_run({"greedy": [["a text"]]}, name="sweep-1")
    user = make_user("its-owner")
    type(run).objects.update(created_by=user.get_username())
    client = program(user)
    assert b"a text" in content(client.get(reverse("run_samples", args=["sweep-1", "csv"])))
    assert client.get(reverse("run_report", args=["sweep-1"])).status_code == 200
    assert program(make_user("other")).get(reverse("run_samples", args=["sweep-1", "csv"])).status_code == 404


def test_a_blind_coder_is_refused_with_a_token_too(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.results.pages.exports.works_blind", lambda study, user: True)
    monkeypatch.setattr("annotation.api.views.works_blind", lambda study, user: True)
    client = program(owner_of(study))
    assert client.get(reverse("export", args=[study.slug, "long", "csv"])).status_code == 403
    response = client.get(reverse("api_export", args=[study.slug, "long", "csv"]))
    assert (response.status_code, reasons(response)) == (403, [])
