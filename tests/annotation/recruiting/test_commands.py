"""From start to finish on the command line: publish, work in the frame, sync, approve."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import Payment, Posting, Study
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from annotation.results.frames import study_data
from marketplace.models import Assignment as MarketAssignment
from tests.annotation.pages import fields
from tests.annotation.recruiting.helpers import accept_there
from tests.factories import make_study
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """The command's client, in process."""
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def draft() -> Study:
    study = make_study(items=2, ratings_per_item=10, live=False, reward=Decimal("0.18"), slug="weather")
    assert study.status == "draft"
    return study


def test_a_dry_run_prints_calls_and_cost_and_changes_nothing() -> None:
    study = draft()
    said = run("publish", "weather", "--platform", "mturk", "--dry-run")
    assert said.count("create_hit_with_hit_type {") == 4
    assert "20 assignments: $3.60 in rewards and $0.80 in fees, $4.40 in total." in said
    assert "which saves $0.60" in said  # 40 % of 0.18 is charged as 0.07, 20 % as 0.04
    study.refresh_from_db()
    assert (study.status, Posting.objects.count()) == ("draft", 0)


def test_the_progress_of_publishing_ends_at_the_number_of_hits(capsys: pytest.CaptureFixture[str]) -> None:
    draft()  # 2 items × 10 ratings, split into 4 HITs
    run("publish", "weather", "--platform", "mturk", "--progress")
    shown = capsys.readouterr().err
    assert "4/4" in shown and "10" not in shown.partition("[")[0]


def test_a_wrong_setting_is_named() -> None:
    draft()
    with pytest.raises(CommandError, match=r"Nothing was written"):
        run("publish", "weather", "--platform", "mturk", "--set", "lifetime_dais=3")


def test_without_a_key_it_says_where_to_get_one(settings: Any) -> None:
    settings.MTURK_ACCESS_KEY_ID = ""
    draft()
    with pytest.raises(CommandError, match="make-key NAME"):
        run("publish", "weather", "--platform", "mturk")


def work_in_frame(posting: Posting) -> tuple[MarketAssignment, bytes]:
    """Accept there, answer here as the framed browser does. Returns what the last page shows."""
    worker = make_market_worker()
    accepted = accept_there(posting, worker)
    browser = Client()
    given = {
        "assignmentId": accepted.assignment_id,
        "hitId": posting.external_id,
        "workerId": worker.worker_id,
        "turkSubmitTo": "http://testserver",
    }
    address = posting.url.partition("//")[2].partition("/")[2]
    page = browser.get(f"/{address}?{urlencode(given)}")
    assert b"Start" in page.content
    response = browser.post(f"/{address}?{urlencode(given)}", fields(page).values)
    for _ in range(10):
        page = browser.get(response["Location"])
        if b"Your answers are saved" in page.content:
            return accepted, page.content
        if page.status_code == 303:
            response = page
            continue
        form = fields(page).values
        radio = {"diversity": "4"} if b'name="diversity"' in page.content else {"own": "Yes.", "quality": "3"}
        response = browser.post(response["Location"], form | radio)
    raise AssertionError("never done")


def test_the_whole_workflow() -> None:
    draft()
    said = run("publish", "weather", "--platform", "mturk", "--set", "split=", "--set", "lifetime_days=2")
    assert "the platform has 2 of 2 HITs" in said
    assert "0 new or changed" in run("sync", "weather")
    posting = Posting.objects.order_by("pk")[0]
    accepted, page = work_in_frame(posting)
    assert f'value="{accepted.assignment_id}"'.encode() in page
    assert b'action="http://testserver/mturk/externalSubmit"' in page
    said = run("sync", "weather")
    assert f"Here only: assignment {accepted.assignment_id}" in said
    assert len(study_data(Study.objects.get()).ratings) == 0  # not confirmed yet
    assert "0 assignments to approve" in run("approve", "weather")
    sent = Client().post("/mturk/externalSubmit", {"assignmentId": accepted.assignment_id, "completionCode": "x"})
    assert sent.status_code in (200, 302, 303)
    assert "1 new or changed" in run("sync", "weather")
    assert len(study_data(Study.objects.get()).ratings) > 0
    assert "1 assignment to approve, $0.18 in rewards" in run("approve", "weather", "--dry-run")
    assert "Approved: 1, $0.18." in run("approve", "weather")
    assert "0 assignments to approve" in run("approve", "weather")
    assert Payment.objects.get().platform_id == accepted.assignment_id
    assert "2 HITs ended." in run("end", "weather")


def test_a_study_that_is_on_no_platform_says_so() -> None:
    make_study(slug="weather")
    with pytest.raises(CommandError, match="on no platform"):
        run("sync", "weather")
