"""Background work on a platform: one process at a time, resumable, and no call twice even if two run at once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from moto import mock_aws

from annotation.models import Payment, PlatformCall, PlatformJob, Study
from annotation.platforms import pacing
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk import queue
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import (
    changing_offers,
    deciding_on_platform,
    job_requests,
    polling,
    publishing,
    syncing,
    tasks,
)
from common.problems import Invalid
from marketplace.models import Hit as MarketHit
from tests.annotation.recruiting.helpers import posted_study, send_both
from tests.factories import make_study
from tests.marketplace.support.clients import Key, boto3_client

pytestmark = pytest.mark.django_db
Kind, State = PlatformJob.Kind, PlatformJob.State


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """The platform that `connect` returns: this server's own marketplace, in process, as fast as it can."""
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    settings.MTURK_CALLS_PER_SECOND = 0
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


@pytest.fixture
def nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Requested jobs do not run. Returns their ids."""
    sent: list[int] = []

    def note(job_id: int) -> bool:
        sent.append(job_id)
        return True

    monkeypatch.setattr(job_requests, "send", note)
    return sent


def request(study: Study, kind: str = Kind.PUBLISH, **params: Any) -> PlatformJob:
    return job_requests.request_job(study=study, kind=kind, platform="mturk", actor="test", params=params)


def live() -> Study:
    return make_study(items=3, ratings_per_item=2, reward="0.18")


def test_publishing_in_the_background_posts_everything(
    nothing_is_sent: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    study = live()
    with django_capture_on_commit_callbacks(execute=True):
        job = request(study)
    assert nothing_is_sent == [job.pk]
    assert [tasks.run_job(job.pk) for _ in range(2)] == [True, False]
    job.refresh_from_db()
    assert (job.state, job.said, job.n_done, job.n_total) == ("done", "MTurk has 3 of 3 HITs.", 3, 3)
    assert MarketHit.objects.count() == 3


def test_it_stops_with_what_to_do_and_continues_where_it_stopped(
    nothing_is_sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, whole = live(), Mturk.call
    job = request(study)

    def poor(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        if operation == "create_hit_with_hit_type" and MarketHit.objects.count() == 1:
            raise PlatformTrouble("The account is empty.", "Add money.", code="InsufficientFunds")
        return whole(self, operation, **params)

    with monkeypatch.context() as patched:
        patched.setattr(Mturk, "call", poor)
        tasks.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.said, job.fix) == ("failed", "The account is empty.", "Add money.")
    assert tasks.run_job(job.pk) is False  # only a person continues
    tasks.run_job(request(study).pk)
    assert MarketHit.objects.count() == 3


def test_two_at_once_post_nothing_twice(nothing_is_sent: list[int]) -> None:
    study = live()
    job = request(study)
    first = job_requests.take_lock(job.pk)
    assert first is not None
    assert job_requests.take_lock(job.pk) is None
    with pytest.raises(Invalid, match="already in progress"):
        request(study)
    PlatformJob.objects.update(seen_at=timezone.now() - job_requests.LEASE - timedelta(seconds=1))
    second = job_requests.take_lock(job.pk)
    assert second is not None
    with pytest.raises(job_requests.LockLost):
        first.step(1, 3)
    assert first.end(State.DONE) is False
    publishing.plan_postings(study=study, platform=Mturk.connected(), actor="test")
    for _ in range(2):  # both, one after the other: every call is made once
        publishing.post_all(study=study, platform=Mturk.connected())
    assert MarketHit.objects.count() == 3


def test_a_job_longer_than_a_task_is_continued_by_the_next(nothing_is_sent: list[int], settings: Any) -> None:
    job = request(live())
    settings.CELERY_TASK_SOFT_TIME_LIMIT = -1
    tasks.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, nothing_is_sent) == ("waiting", [job.pk])
    settings.CELERY_TASK_SOFT_TIME_LIMIT = 1770
    tasks.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, MarketHit.objects.count()) == ("done", 3)


def test_jobs_that_were_left_behind_are_sent_again(nothing_is_sent: list[int]) -> None:
    job = request(live())
    assert job_requests.send_forgotten() == 0
    PlatformJob.objects.update(asked_at=timezone.now() - timedelta(minutes=2))
    assert job_requests.send_forgotten() == 1
    PlatformJob.objects.update(state="running", seen_at=timezone.now() - timedelta(minutes=6))
    assert job_requests.send_forgotten() == 1
    assert nothing_is_sent == [job.pk, job.pk]


def test_a_bug_is_logged_and_shown_without_its_trace(
    nothing_is_sent: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = request(live())
    monkeypatch.setattr(publishing, "post_all", lambda **_: 1 / 0)
    tasks.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, "unexpected" in job.said, "division" in job.said + job.fix) == ("failed", True, False)
    assert "ZeroDivisionError" in caplog.text


def test_without_a_key_the_job_says_how_to_set_one(nothing_is_sent: list[int], settings: Any) -> None:
    settings.MTURK_ACCESS_KEY_ID = ""
    job = request(live())
    tasks.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, "HITSERVER_MTURK_ACCESS_KEY_ID" in job.fix) == ("failed", True)


# --- by the clock ---


def test_every_posted_study_is_synced_until_nothing_more_can_happen(nothing_is_sent: list[int], api: Mturk) -> None:
    study = posted_study(api, items=1, ratings_per_item=2)
    make_study(items=1)  # on no platform
    assert polling.request_due_syncs() == 1
    assert polling.request_due_syncs() == 0  # one is waiting
    job = PlatformJob.objects.get()
    tasks.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.said) == ("done", "1 HIT asked for, 0 new or changed.")
    send_both(study.postings.get())
    PlatformJob.objects.update(asked_at=timezone.now() - timedelta(hours=1))
    assert tasks.sync_due() == 1
    tasks.run_job(job.pk)
    assert study.postings.get().outside.get().state == "submitted"
    changing_offers.end_postings(study=study, platform=api, actor="test")
    Study.objects.update(status="closed")
    deciding_on_platform.approve(outside=study.postings.get().outside.get(), platform=api, actor="test")
    long_ago = timezone.now() - timedelta(days=2)
    study.postings.update(expires_at=long_ago, synced_at=timezone.now())
    PlatformJob.objects.update(asked_at=long_ago)
    assert polling.request_due_syncs() == 0


def test_a_sync_in_the_background_records_what_the_platform_paid(nothing_is_sent: list[int], api: Mturk) -> None:
    study = posted_study(api, items=1, ratings_per_item=1)
    sent = send_both(study.postings.get())
    api.call("approve_assignment", AssignmentId=sent.platform_assignment_id)  # on the platform's own site
    for _ in range(2):
        tasks.run_job(request(study, Kind.SYNC).pk)
    paid = Payment.objects.get()
    assert (paid.platform_id, str(paid.amount)) == (sent.platform_assignment_id, "0.180")


def test_a_sync_offers_lost_places_again_unless_the_owner_said_no(nothing_is_sent: list[int], api: Mturk) -> None:
    study = posted_study(api, items=1, ratings_per_item=1)
    posting = study.postings.get()
    send_both(posting)
    syncing.sync_study(study=study, platform=api)
    deciding_on_platform.reject(outside=posting.outside.get(), platform=api, actor="test", feedback="Empty.")
    publish = request(study, replace=False)
    tasks.run_job(request(study, Kind.SYNC).pk)
    assert MarketHit.objects.get().max_assignments == 1
    PlatformJob.objects.filter(pk=publish.pk).update(params={"replace": True})
    job = request(study, Kind.SYNC)
    tasks.run_job(job.pk)
    job.refresh_from_db()
    assert MarketHit.objects.get().max_assignments == 2
    assert "Lost places offered again: 1." in job.said


# --- notifications ---


def message(*hits: str) -> str:
    events = [{"EventType": "AssignmentSubmitted", "HITId": hit, "HITTypeId": "T"} for hit in hits]
    return json.dumps({"EventDocVersion": "2014-08-15", "EventDocId": "d", "CustomerId": "C", "Events": events})


@pytest.fixture
def sqs(settings: Any) -> Iterator[Any]:
    """A queue of moto's SQS, as the server's own client sees it."""
    import boto3

    queue._client.cache_clear()
    with mock_aws():
        client = boto3.client("sqs", region_name="us-east-1", aws_access_key_id="AKIA", aws_secret_access_key="secret")
        url = client.create_queue(QueueName="events", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
        settings.MTURK_QUEUE_URL, settings.MTURK_QUEUE_WAIT_SECONDS = url, 0
        yield client
    queue._client.cache_clear()


def waiting(client: Any, settings: Any) -> int:
    asked = client.get_queue_attributes(
        QueueUrl=settings.MTURK_QUEUE_URL, AttributeNames=["ApproximateNumberOfMessages"]
    )
    return int(asked["Attributes"]["ApproximateNumberOfMessages"])


def test_a_notification_only_makes_us_poll(sqs: Any, settings: Any, api: Mturk) -> None:
    study = posted_study(api, items=1, ratings_per_item=2)
    posting = study.postings.get()
    send_both(posting)
    for body in (message(posting.external_id), message(posting.external_id), message("3UNKNOWN"), "<html>"):
        sqs.send_message(QueueUrl=settings.MTURK_QUEUE_URL, MessageBody=body)
    assert tasks.listen() == 2  # doubled: polled twice, stored once
    assert posting.outside.count() == 1
    assert waiting(sqs, settings) == 0


def test_a_message_stays_in_the_queue_until_its_poll_succeeds(
    sqs: Any, settings: Any, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    posting = posted_study(api, items=1).postings.get()
    sqs.send_message(QueueUrl=settings.MTURK_QUEUE_URL, MessageBody=message(posting.external_id))

    def fails(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        raise PlatformTrouble("Busy.", again=True)

    with monkeypatch.context() as patched:
        patched.setattr(Mturk, "call", fails)
        assert tasks.listen() == 0
    assert waiting(sqs, settings) == 1
    assert tasks.listen() == 1
    assert waiting(sqs, settings) == 0


def test_publishing_asks_for_notifications_of_each_hit_type_once(
    settings: Any, nothing_is_sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MTURK_QUEUE_URL = "https://sqs.us-east-1.amazonaws.com/123456789012/events"
    asked: list[dict[str, Any]] = []
    whole = Mturk.call

    def noted(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        if operation == "update_notification_settings":
            asked.append(params)
            return {}
        return whole(self, operation, **params)

    monkeypatch.setattr(Mturk, "call", noted)
    study = live()
    for _ in range(2):
        tasks.run_job(request(study).pk)
    assert [each["Notification"]["Destination"] for each in asked] == [settings.MTURK_QUEUE_URL]
    assert PlatformCall.objects.get(operation="update_notification_settings").state == "done"


def test_without_a_queue_nothing_is_asked() -> None:
    assert tasks.listen() == 0


# --- pace ---


def test_all_threads_and_processes_share_one_pace(own_var_folder: Path) -> None:
    """Ten calls at 50 a second, from two threads: the last begins 9/50 s after the first."""
    pacing.wait_for_turn("test", 50)
    began = time.monotonic()
    threads = [Thread(target=lambda: [pacing.wait_for_turn("test", 50) for _ in range(5)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 0.18


def test_a_clock_that_was_set_back_does_not_stop_all_calls(own_var_folder: Path) -> None:
    (own_var_folder / "pace-odd").write_text(f"{time.time() + 9_000:.3f}")
    assert pacing.wait_for_turn("odd", 10_000) < 1
    (own_var_folder / "pace-odd").write_text("not a number")
    assert pacing.wait_for_turn("odd", 10_000) < 1
    assert pacing.wait_for_turn("odd", 0) == 0


@pytest.mark.django_db(transaction=True)
def test_two_processes_run_a_job_only_once(nothing_is_sent: list[int]) -> None:
    job = request(live())
    took: list[bool] = []

    def take() -> None:
        took.append(job_requests.take_lock(job.pk) is not None)
        connection.close()

    threads = [Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(took) == [False, False, False, True]


# --- an endpoint that is no marketplace ---


@pytest.mark.parametrize("status", [200, 404])
def test_a_web_page_instead_of_an_answer_is_a_failure(status: int, settings: Any, own_var_folder: Path) -> None:
    """A network's sign-in page answers every request with 200 and HTML: nothing counts as posted or paid."""

    class SignIn(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = b"<html><body>Sign in</body></html>"
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), SignIn)
    Thread(target=server.serve_forever, daemon=True).start()
    client = boto3_client(f"http://127.0.0.1:{server.server_port}/", Key("A" * 16, "b" * 20))
    try:
        for operation, params in (("get_account_balance", {}), ("approve_assignment", {"AssignmentId": "3A"})):
            with pytest.raises(PlatformTrouble, match="HITSERVER_MTURK_ENDPOINT"):
                api_module.call(client, operation, params)
    finally:
        server.shutdown()
        server.server_close()
