"""Writes with an Idempotency-Key happen once, whatever is killed and however often they are sent."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from annotation.api.views import Endpoint
from annotation.models import ApiAnswer, ApiJob, BulkAction, Study
from annotation.review import bulk_decisions
from hitserver import retention
from tests.annotation.api.running_helpers import post, program, reasons
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items=2, ratings_per_item=3, hits_per_worker=None)
    make_submission(study=study)
    return study


@pytest.fixture
def nothing_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.api.decisions.start_bulk_action", lambda bulk_id: None)


def exclude(client: Client, study: Study, *, key: str = "", note: str = "too fast") -> Any:
    submission = study.submissions.get()
    return post(client, "api_exclude", study.slug, submission.pk, key=key, note=note)


def test_the_same_key_again_gets_the_same_answer_and_writes_nothing(study: Study) -> None:
    client = as_role("editor", study)
    first, again = exclude(client, study, key="k1"), exclude(client, study, key="k1")

    assert (first.status_code, again.status_code) == (202, 202)
    assert first.content == again.content
    assert first.headers["Location"] == again.headers["Location"]
    assert (first.headers.get("Idempotency-Replayed"), again.headers["Idempotency-Replayed"]) == (None, "true")
    assert BulkAction.objects.count() == ApiJob.objects.count() == 1


def test_without_a_key_each_request_is_a_new_one(study: Study) -> None:
    client = as_role("editor", study)
    exclude(client, study)
    exclude(client, study)
    assert BulkAction.objects.count() == 2
    assert not ApiAnswer.objects.exists()


def test_a_key_with_another_body_is_refused(study: Study) -> None:
    client = as_role("editor", study)
    exclude(client, study, key="k1")
    other = exclude(client, study, key="k1", note="another reason")

    assert other.status_code == 422
    assert "another address or body" in other.json()["detail"]
    assert BulkAction.objects.count() == 1


def test_a_key_at_another_address_is_refused(study: Study) -> None:
    client = as_role("editor", study)
    exclude(client, study, key="k1")
    submission = study.submissions.get()
    other = post(client, "api_include", study.slug, submission.pk, key="k1", note="too fast")
    assert other.status_code == 422


def test_two_users_can_send_the_same_key(study: Study) -> None:
    exclude(as_role("editor", study), study, key="k1")
    assert exclude(as_role("owner", study), study, key="k1").headers.get("Idempotency-Replayed") is None
    assert BulkAction.objects.count() == 2


def test_a_token_and_a_session_of_one_user_share_their_keys(study: Study) -> None:
    user = make_user("both", is_superuser=True)
    exclude(program(user), study, key="k1")
    assert exclude(signed_in(user), study, key="k1").headers["Idempotency-Replayed"] == "true"


def test_after_a_refusal_the_same_key_can_be_tried_again(study: Study) -> None:
    client = as_role("editor", study)
    pk = study.submissions.get().pk
    refused = post(client, "api_exclude_many", study.slug, key="k1", ids=[pk, 999_999], note="")
    assert refused.status_code == 422
    assert not ApiAnswer.objects.exists()
    assert not BulkAction.objects.exists()
    assert post(client, "api_exclude_many", study.slug, key="k1", ids=[pk], note="").status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there", "ümlaut"])
def test_a_key_that_cannot_be_stored_is_refused(key: str, study: Study) -> None:
    client = as_role("editor", study)
    pk = study.submissions.get().pk
    response = client.post(
        f"/api/v1/studies/{study.slug}/submissions/{pk}/exclude/",
        "{}",
        content_type="application/json",
        headers={"Idempotency-Key": key},
    )
    assert response.status_code == 422
    assert [field for field, _ in reasons(response)] == ["Idempotency-Key"]


def test_after_its_time_a_key_is_new_again(study: Study) -> None:
    client = as_role("editor", study)
    exclude(client, study, key="k1")
    ApiAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert exclude(client, study, key="k1", note="later").headers.get("Idempotency-Replayed") is None
    assert ApiAnswer.objects.get().created_at > timezone.now() - timedelta(minutes=1)


def test_retention_deletes_answers_that_nobody_gets_any_more(study: Study) -> None:
    client = as_role("editor", study)
    for key, hours in (("old", 25), ("new", 23)):
        exclude(client, study, key=key)
        ApiAnswer.objects.filter(key=key).update(created_at=timezone.now() - timedelta(hours=hours))
    retention.delete()
    assert list(ApiAnswer.objects.values_list("key", flat=True)) == ["new"]


class Killed(BaseException):
    """The process ends: no handler of exceptions runs."""


def test_killed_before_the_commit_nothing_was_done(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    client = as_role("editor", study)

    def end(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr("annotation.api.idempotency._store", end)
        exclude(client, study, key="k1")
    assert not BulkAction.objects.exists()
    assert not ApiJob.objects.exists()

    assert exclude(client, study, key="k1").status_code == 202
    assert BulkAction.objects.count() == 1


def test_killed_between_commit_and_answer_the_next_try_gets_the_answer(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = as_role("editor", study)

    def end(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Endpoint, "finalize_response", end)
        exclude(client, study, key="k1")
    job = ApiJob.objects.get()

    again = exclude(client, study, key="k1")
    assert (again.status_code, again.json()["id"], again.headers["Idempotency-Replayed"]) == (202, job.pk, "true")
    assert BulkAction.objects.count() == ApiJob.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("nothing_is_queued")
@pytest.mark.parametrize("dies_at", ["annotation.api.idempotency._store", "annotation.api.jobs.follow"])
def test_a_process_that_is_killed_leaves_all_or_nothing(
    dies_at: str, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = as_role("editor", study)
    child = os.fork()
    if child == 0:
        kept_open = connection.connection  # the parent's; closing it here would close it there
        connection.connection = None
        monkeypatch.setattr(dies_at, lambda *_, **__: os._exit(9))
        exclude(client, study, key="k1")
        os._exit(0 if kept_open else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    assert not BulkAction.objects.exists()

    assert exclude(client, study, key="k1").status_code == 202
    assert exclude(client, study, key="k1").headers["Idempotency-Replayed"] == "true"
    assert BulkAction.objects.count() == ApiJob.objects.count() == 1


def in_threads(*calls: Callable[[], Any]) -> list[Any]:
    answers: list[Any] = [None] * len(calls)

    def run(number: int) -> None:
        try:
            answers[number] = calls[number]()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("nothing_is_queued")
def test_requests_that_race_with_one_key_write_once(study: Study) -> None:
    user = make_user("racer", is_superuser=True)
    clients = [signed_in(user) for _ in range(6)]
    submission = study.submissions.get().pk

    def race(client: Client) -> Any:
        return post(client, "api_exclude", study.slug, submission, key="k1", note="")

    answers = in_threads(*(lambda client=client: race(client) for client in clients))

    assert {answer.status_code for answer in answers} <= {202, 409}
    assert BulkAction.objects.count() == ApiJob.objects.count() == ApiAnswer.objects.count() == 1
    assert {answer.json()["id"] for answer in answers if answer.status_code == 202} == {ApiJob.objects.get().pk}
    assert all(answer.headers["Retry-After"] for answer in answers if answer.status_code == 409)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("nothing_is_queued")
def test_while_the_first_request_runs_the_second_is_told_to_wait(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite it waits for the writer, who is the first request, and gets its answer."""
    user = make_user("racer", is_superuser=True)
    first, second = signed_in(user), signed_in(user)
    has_begun, may_end = threading.Event(), threading.Event()
    plan = bulk_decisions.plan_action

    def slowly(**values: Any) -> Any:
        has_begun.set()
        may_end.wait(10)
        return plan(**values)

    monkeypatch.setattr("annotation.api.decisions.plan_action", slowly)
    submission = study.submissions.get().pk

    def ask_again() -> Any:
        has_begun.wait(10)
        if connection.vendor == "sqlite":
            may_end.set()
        try:
            return post(second, "api_exclude", study.slug, submission, key="k1", note="")
        finally:
            may_end.set()

    done, waiting = in_threads(lambda: post(first, "api_exclude", study.slug, submission, key="k1", note=""), ask_again)
    assert done.status_code == 202
    if connection.vendor == "postgresql":
        assert (waiting.status_code, waiting.headers["Retry-After"]) == (409, "2")
    else:
        assert (waiting.status_code, waiting.headers["Idempotency-Replayed"]) == (202, "true")
    assert BulkAction.objects.count() == 1


def test_bodies_are_compared_by_what_they_say(study: Study) -> None:
    client = as_role("editor", study)
    pk = study.submissions.get().pk
    address = f"/api/v1/studies/{study.slug}/submissions/{pk}/exclude/"
    bodies = ('{"note": "a", "release": false}', '{"release":false,\n "note":"a"}')
    answers = [
        client.post(address, body, content_type="application/json", headers={"Idempotency-Key": "k1"})
        for body in bodies
    ]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert BulkAction.objects.count() == 1
