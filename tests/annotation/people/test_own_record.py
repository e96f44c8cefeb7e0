"""What is recorded about a worker: they can read it, take it with them, and ask for its deletion."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, DeletionRequest, Membership, Participant
from annotation.people.redacting import ask_for_deletion, redact
from tests.annotation.pages import WorkerBrowser
from tests.factories import make_participant, make_researcher, make_study

pytestmark = pytest.mark.django_db


def worker(**values: Any) -> WorkerBrowser:
    """Somebody who has finished a hit with a remark."""
    browser = WorkerBrowser(make_participant(study=make_study(items=1, ratings_per_item=2, **values)))
    browser.finish(feedback="=The buttons are small.")
    return browser


def see(browser: WorkerBrowser, name: str = "work_record") -> Any:
    return browser.client.get(reverse(name, args=[browser.token]))


def ask(browser: WorkerBrowser) -> Any:
    return browser.client.post(reverse("work_ask_deletion", args=[browser.token]))


def test_the_page_says_what_is_recorded_and_sets_no_cookie() -> None:
    response = see(worker())
    text = response.content.decode()
    assert (response.status_code, dict(response.cookies)) == (200, {})
    assert "<script" not in text
    assert "Tasks sent</dt><dd>1<" in text
    assert Participant.objects.get().pseudonym in text


def test_every_page_of_a_worker_links_to_it() -> None:
    browser = WorkerBrowser(make_participant(study=make_study(items=1)))
    link = reverse("work_record", args=[browser.token])
    assert link in browser.get().content.decode()
    assert link in browser.client.get(browser.done_url).content.decode()


def test_the_download_has_every_answer_and_the_remark() -> None:
    browser = worker()
    rows = json.loads(see(browser, "work_record_json").content)
    values = {(row["about"].split()[0], row["what"]): row["value"] for row in rows}
    assert values["task", "feedback"] == "=The buttons are small."
    assert {"own": "I would ask the neighbours."} in [row["value"] for row in rows]
    assert values["you", "completion code"] == Participant.objects.get().completion_code


def test_the_csv_says_the_same_and_is_safe_in_a_spreadsheet() -> None:
    browser = worker()
    rows = list(csv.DictReader(io.StringIO(see(browser, "work_record_csv").content.decode())))
    assert len(rows) == len(json.loads(see(browser, "work_record_json").content))
    assert [row["value"] for row in rows if row["what"] == "feedback"] == ["'=The buttons are small."]


def test_nobody_reads_it_without_the_link() -> None:
    assert Client().get("/w/1/record").status_code == 404


def test_a_request_appears_once_and_the_worker_sees_its_state() -> None:
    browser = worker()
    assert "Ask for deletion" in see(browser).content.decode()
    assert ask(browser).status_code == 303
    ask(browser)
    assert DeletionRequest.objects.get().done_at is None
    assert "You asked for the deletion on" in see(browser).content.decode()
    assert AuditEntry.objects.filter(action="ask for deletion").count() == 1


def test_after_the_deletion_the_worker_sees_that_it_is_done_and_gets_no_more_hits() -> None:
    browser = worker(hits_per_worker=None)
    ask(browser)
    redact(participants=[Participant.objects.get()], actor="ann")
    assert "Your data were deleted on" in see(browser).content.decode()
    assert DeletionRequest.objects.get().done_at is not None
    assert "Your data in this study are deleted" in browser.get().content.decode()
    assert Participant.objects.get().assignments.count() == 1
    assert "neighbours" not in see(browser, "work_record_json").content.decode()


@pytest.mark.parametrize(("keeps", "words"), [(True, "They keep your ratings"), (False, "They delete your ratings")])
def test_the_worker_reads_whether_ratings_stay(keeps: bool, words: str) -> None:
    assert words in see(worker(keep_ratings=keeps)).content.decode()


# --- the console ---


def owner_of(browser: WorkerBrowser, role: str = "owner") -> tuple[Client, str, Participant]:
    participant = Participant.objects.get()
    user = make_researcher("ann")
    Membership.objects.create(study=participant.study, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client, reverse("console_delete_data", args=[participant.study.slug, participant.pseudonym]), participant


def test_an_owner_sees_the_request_looks_at_the_preview_and_deletes() -> None:
    browser = worker()
    ask(browser)
    client, url, participant = owner_of(browser)
    study = reverse("console_study", args=[participant.study.slug])
    assert "1 worker has asked for the deletion of their data" in client.get(study).content.decode()
    listed = client.get(reverse("console_deletion_requests", args=[participant.study.slug])).content.decode()
    assert url in listed
    assert "<dt>Pages sent</dt><dd>3</dd>" in client.get(url).content.decode()

    assert client.post(url).status_code == 422
    assert Participant.objects.get().redacted_at is None
    done = client.post(url, {"sure": "yes"}, follow=True)

    assert "are deleted in 1 study" in done.content.decode()
    assert Participant.objects.get().redacted_at is not None
    assert "asked for the deletion" not in client.get(study).content.decode()


def test_an_editor_cannot_delete() -> None:
    client, url, _ = owner_of(worker(), role="editor")
    assert (client.get(url).status_code, client.post(url, {"sure": "yes"}).status_code) == (404, 404)


def test_the_owner_deletes_only_in_studies_that_they_own() -> None:
    browser = worker()
    client, url, participant = owner_of(browser)
    elsewhere = make_study(items=1)
    other = make_participant(study=elsewhere, worker=participant.worker)
    assert elsewhere.title not in client.get(url).content.decode()
    client.post(url, {"sure": "yes", "everywhere": "yes"})
    other.refresh_from_db()
    assert other.redacted_at is None
    assert other.worker_id == participant.worker_id


def test_asking_after_the_deletion_is_done_at_once() -> None:
    worker()
    redact(participants=[Participant.objects.get()], actor="ann")
    assert ask_for_deletion(participant_id=Participant.objects.get().pk).done_at is not None
