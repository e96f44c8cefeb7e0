"""Workers' pages when the database fails: nothing that was typed is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Step, Study
from annotation.work import answers
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(items=3, ratings_per_item=2, hits_per_worker=None)


@pytest.fixture
def worker(study: Study) -> WorkerBrowser:
    return WorkerBrowser(make_participant(study=study))


# --- the database fails ---


def fail(*args: object, **kwargs: object) -> Any:
    raise OperationalError("database is locked")


def test_when_a_step_cannot_be_stored_everything_typed_is_still_there(
    worker: WorkerBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = worker.form()
    with monkeypatch.context() as patch:
        patch.setattr(answers, "_store", fail)
        response = worker.post(form, own="Do not lose me <3", timing='{"own": {}}')
    page = fields(response)
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert "could not be saved just now" in page.text
    assert "Nothing is lost" in page.text
    assert page.values["own"] == "Do not lose me <3"
    assert page.values["form"] == form
    assert "Traceback" not in response.content.decode()
    assert worker.client.post(worker.url, page.values).status_code == 303
    assert Step.objects.get().answers == {"own": "Do not lose me <3"}


def test_when_nothing_can_be_read_either_what_was_sent_goes_back_in_a_form(
    worker: WorkerBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = worker.form()
    text = "A long answer " * 6 + "\nwith lines & <tags>"
    with monkeypatch.context() as patch:
        patch.setattr("annotation.sql.fetch_one", fail)
        response = worker.post(form, own=text)
        looked = worker.get()
        with monkeypatch.context() as inner:
            inner.setattr("annotation.work.pages.task.save_draft", fail)
            draft = worker.draft(form, own=text)
    assert [response.status_code, looked.status_code, draft.status_code] == [503] * 3
    sent = fields(response).values
    assert sent["own"] == text
    assert worker.client.post(worker.url, sent | {"own": "Short again."}).status_code == 303


def test_when_a_start_cannot_be_stored_the_button_starts_again(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    url = reverse("study_start", args=[study.slug])
    token = fields(client.get(url)).values["start"]
    with monkeypatch.context() as patch:
        patch.setattr("annotation.work.pages.start.enrol_with_hit", fail)
        response = client.post(url, {"start": token})
    assert response.status_code == 503
    assert client.post(url, fields(response).values).status_code == 303


def test_a_deadlock_with_another_tab_is_not_noticed(worker: WorkerBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deadlock(Exception):
        pgcode = "40P01"

    store, failures = answers._store, [Deadlock()]

    def store_later(*args: Any, **kwargs: Any) -> None:
        if failures:
            raise OperationalError("deadlock detected") from failures.pop()
        store(*args, **kwargs)

    monkeypatch.setattr(answers, "_store", store_later)
    assert worker.send(own="Sent while another tab took a hit.").status_code == 303
    assert failures == []
    assert Step.objects.count() == 1


@pytest.fixture
def sqlite_file() -> Iterator[str]:
    """The path of the test database, for tests that make SQLite itself fail."""
    if connection.vendor != "sqlite":
        pytest.skip("makes SQLite fail")
    connection.ensure_connection()
    yield connection.settings_dict["NAME"]
    connection.close()  # with all that a test has set on it


@pytest.mark.django_db(transaction=True)
def test_a_locked_database_loses_nothing(worker: WorkerBrowser, sqlite_file: str) -> None:
    form = worker.form()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(sqlite_file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        response = worker.post(form, own="While it was locked.")
        draft = worker.draft(form, own="While it was locked.")
        other.execute("ROLLBACK")
    assert (response.status_code, draft.status_code) == (503, 503)
    assert fields(response).values["own"] == "While it was locked."
    assert "Nothing is lost" in fields(response).text
    assert worker.client.post(worker.url, fields(response).values).status_code == 303
    assert Step.objects.get().answers == {"own": "While it was locked."}


@pytest.mark.django_db(transaction=True)
def test_a_full_disk_loses_nothing_and_leaves_nothing_half_written(worker: WorkerBrowser, sqlite_file: str) -> None:
    form = worker.form()
    text = " ".join(["x" * 1_300] * 15)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # tests before this one may have left free pages in the file
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        response = worker.post(form, own=text)
        cursor.execute("PRAGMA max_page_count = 1073741823")
    assert response.status_code == 503
    assert fields(response).values["own"] == text
    assert not Step.objects.exists()
    assert Assignment.objects.get().state == "accepted"
    assert worker.client.post(worker.url, fields(response).values).status_code == 303
    assert Step.objects.get().answers == {"own": text}
