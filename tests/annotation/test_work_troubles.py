"""Workers' pages when something goes wrong: mistakes, forged links, two tabs, time-outs, a database that fails."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Draft, Hit, Participant, Step, Study, Submission
from annotation.services import answers
from annotation.services.allocation import reclaim_expired
from annotation.task_types.items import ItemData
from annotation.tokens import form_token, participant_token
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(items=3, ratings_per_item=2, hits_per_worker=None)


@pytest.fixture
def worker(study: Study) -> WorkerBrowser:
    return WorkerBrowser(make_participant(study=study))


def expire(**which: Any) -> None:
    Assignment.objects.filter(**which).update(expires_at=timezone.now() - timedelta(minutes=1))


# --- mistakes ---


def test_a_mistake_gives_the_same_page_back_with_what_was_typed(worker: WorkerBrowser) -> None:
    typed = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    response = worker.send(own=typed, timing='{"own": {"seconds": 3}}')
    page = fields(response)
    assert response.status_code == 422
    assert page.values["own"] == typed
    assert page.values["timing"] == '{"own": {"seconds": 3}}'
    assert page.text.count("Please use at most 15 words; you wrote 16.") == 2
    assert b'href="#f-own"' in response.content
    assert b'aria-describedby="f-own-help f-own-error"' in response.content
    assert not Step.objects.exists()


def test_each_unanswered_question_of_many_is_listed_by_its_number() -> None:
    worker = WorkerBrowser(make_participant(study=make_study(task_type="sim_hds", items=1, responses=3)))
    worker.send(own="Yes.")
    worker.send(quality="4")
    keys = list(fields(worker.get()).options)
    response = worker.send(**{keys[1]: "4", "feedback": "Hm."})
    page = fields(response)
    assert "Please check 2 answers" in page.text
    assert "Question 1: Please choose one answer. Question 3:" in page.text
    assert page.values[keys[1]] == "4"
    assert page.values["feedback"] == "Hm."


@pytest.mark.parametrize("value", ["6", "0", "4.25", "nan", "5.0", "<b>"])
def test_ratings_outside_the_scale_are_refused(worker: WorkerBrowser, value: str) -> None:
    worker.send(own="Yes.")
    response = worker.send(quality=value)
    assert response.status_code == 422
    assert "is not one of the answers" in fields(response).text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> & “so on”",
        "שלום, מה שלומך היום?",
        "مرحبا بكم 🎉👩‍👩‍👧‍👦",
        "line one\nline two",
        "\n\nstarts with empty lines",
    ],
)
def test_any_text_comes_back_as_it_was_typed(worker: WorkerBrowser, text: str) -> None:
    form = worker.form()
    assert worker.draft(form, own=text).status_code == 204
    page = worker.get()
    assert fields(page).values["own"] == text.strip()
    assert b"<script>alert" not in page.content
    assert worker.send(own=text).status_code == 303
    assert Step.objects.get().answers == {"own": text.strip()}


def test_nul_bytes_are_dropped_and_the_rest_is_kept(worker: WorkerBrowser) -> None:
    form = worker.form()
    assert worker.draft(form, own="a\x00b", **{"k\x00ey": "v\x00"}).status_code == 204
    assert worker.post(form, own="two\x00 words", timing="\x00").status_code == 303
    assert Step.objects.get().answers == {"own": "two words"}


def test_a_megabyte_of_text_is_refused_and_given_back(worker: WorkerBrowser) -> None:
    text = "word " * 210_000
    response = worker.send(own=text)
    page = fields(response)
    assert response.status_code == 422
    assert "1,049,999 characters long; at most 20,000 fit" in page.text
    assert page.values["own"] == text.strip()


def test_a_submission_that_is_too_large_is_explained_in_plain_words(worker: WorkerBrowser) -> None:
    form = worker.form()
    response = worker.post(form, own="x" * 4_000_000)
    assert response.status_code == 413
    assert "too much to send" in fields(response).text
    many = worker.client.post(worker.url, {f"f{number}": "" for number in range(1600)})
    assert many.status_code == 413


@pytest.mark.parametrize(
    "timing", ["[1]", "{", "[" * 40_000, "null", '{"own": 3}', '{"own": {"seconds": 1e400}}', "1" * 5000]
)
def test_bad_measurements_never_stop_an_answer(worker: WorkerBrowser, timing: str) -> None:
    assert worker.send(own="Yes.", timing=timing).status_code == 303
    assert Step.objects.get().timing == {}


def test_item_texts_are_escaped_and_empty_ones_marked() -> None:
    payload: dict[str, Any] = {
        "sample_id": "s",
        "context": "<img src=x onerror=alert(1)>\nשורה שנייה",
        "responses": ["<b>bold</b>", "", "   "],
        "label_name": "",
        "label_value": None,
        "label_text": "",
        "extra": [],
    }
    study = make_study(payloads=[ItemData("s", payload)], config={"write_first": False, "rate_first": False})
    html = WorkerBrowser(make_participant(study=study)).get().content.decode()
    assert "<b>bold" not in html
    assert "<img" not in html
    assert '<p class="text" dir="auto">&lt;img src=x onerror=alert(1)&gt;\nשורה שנייה</p>' in html
    assert html.count("(empty)") == 2


# --- tokens ---


@pytest.mark.parametrize("name", ["work", "work_draft", "work_return", "work_done"])
def test_forged_and_truncated_addresses_are_explained_in_plain_words(worker: WorkerBrowser, name: str) -> None:
    other_kind = form_token(1, 0)
    for token in ("x", worker.token[:-1], worker.token + "A", worker.token.replace(".", "1."), other_kind):
        url = reverse(name, args=[token])
        for response in (worker.client.get(url), worker.client.post(url, {"form": "x"})):
            if response.status_code != 405:
                assert response.status_code == 404
                assert "This link is not complete" in fields(response).text


def test_a_deleted_participant_sees_the_same_message(worker: WorkerBrowser) -> None:
    assert worker.client.get(reverse("work", args=[participant_token(10**6)])).status_code == 404
    assert worker.client.get(reverse("work_done", args=[participant_token(10**18)])).status_code == 404


def test_a_form_of_somebody_elses_assignment_does_nothing(worker: WorkerBrowser, study: Study) -> None:
    theirs = WorkerBrowser(make_participant(study=study)).form()
    worker.get()
    for response in (worker.post(theirs, own="Mine?"), worker.post("", own="x"), worker.post(theirs[:-2], own="x")):
        assert response.status_code == 404
    assert worker.draft(theirs, own="Mine?").status_code == 409
    worker.give_back(theirs)
    assert not Step.objects.exists()
    assert not Draft.objects.exists()
    assert Assignment.objects.filter(state="accepted").count() == 2


# --- repeated, stale, late ---


def test_sending_the_same_step_again_changes_nothing_and_leads_on(worker: WorkerBrowser) -> None:
    form = worker.form()
    for text in ("First.", "First.", " First. "):
        response = worker.post(form, own=text)
        assert (response.status_code, response.headers["Location"]) == (303, worker.url)
    assert [step.answers["own"] for step in Step.objects.all()] == ["First."]


@pytest.mark.parametrize("other", [{"own": "Second thoughts."}, {"own": ""}, {}])
def test_other_answers_to_a_step_that_was_sent_are_not_saved_and_the_page_says_so(
    worker: WorkerBrowser, other: dict[str, str]
) -> None:
    form = worker.form()
    worker.post(form, own="First.")
    page = fields(worker.client.post(worker.url, {"form": form} | other, follow=True)).text
    assert "You have already sent that step" in page
    assert "What you just sent was not saved." in page
    assert "Step 2 of 3" in page
    assert [step.answers["own"] for step in Step.objects.all()] == ["First."]


def test_another_tab_on_the_last_step_leads_to_the_code_and_takes_no_new_task(worker: WorkerBrowser) -> None:
    worker.send(own="Yes.")
    worker.send(quality="4")
    form = worker.form()
    assert worker.post(form, diversity="2").headers["Location"] == worker.done_url
    assert worker.post(form, diversity="2").headers["Location"] == worker.done_url
    late = worker.client.post(worker.url, {"form": form, "diversity": "5"}, follow=True)
    assert "You have already sent that step" in fields(late).text
    assert Participant.objects.get().completion_code in fields(late).text
    assert Assignment.objects.count() == 1


def test_replaying_the_last_step_of_a_finished_hit_makes_no_second_submission() -> None:
    worker = WorkerBrowser(make_participant(study=make_study(items=1, hits_per_worker=1)))
    worker.send(own="Yes.")
    worker.send(quality="4")
    form = worker.form()
    for _ in range(3):
        assert worker.post(form, diversity="2").status_code == 303
    assert Submission.objects.count() == 1
    assert "Thank you" in fields(worker.get()).text


def test_a_step_that_is_not_due_yet_shows_the_one_that_is(worker: WorkerBrowser) -> None:
    worker.get()
    response = worker.post(form_token(Assignment.objects.get().pk, 2), diversity="2")
    assert response.status_code == 409
    assert "What you just sent was not saved" in fields(response).text
    assert "Step 1 of 3" in fields(response).text


def test_two_tabs_on_one_step_send_it_once(worker: WorkerBrowser) -> None:
    first, second = worker.form(), worker.form()
    assert first == second
    worker.post(first, own="From the first tab.")
    worker.post(second, own="From the second tab.")
    assert Step.objects.get().answers == {"own": "From the first tab."}
    assert "Step 2 of 3" in fields(worker.get()).text


def test_after_the_time_a_step_still_counts_while_the_place_is_free(worker: WorkerBrowser) -> None:
    form = worker.form()
    expire()
    assert "The time for this task is up" in fields(worker.get()).text
    reclaim_expired()
    assert worker.post(form, own="A little late.").status_code == 303
    assert Step.objects.get().answers == {"own": "A little late."}


def test_when_somebody_else_has_the_place_the_worker_sees_it_and_the_text_is_kept() -> None:
    study = make_study(items=1, ratings_per_item=1)
    worker = WorkerBrowser(make_participant(study=study))
    form = worker.form()
    expire()
    reclaim_expired()
    make_submission(study=study)
    response = worker.post(form, own="Too late, alas.")
    assert response.status_code == 409
    assert "The time for this task was up" in fields(response).text
    assert "does not count. What you wrote is saved" in fields(response).text
    assert "write to lab@example.org" in fields(response).text
    draft = Draft.objects.get()
    assert draft.late
    assert draft.answers["own"] == "Too late, alas."
    assert not Step.objects.filter(assignment=draft.assignment).exists()


def test_where_no_address_is_given_the_page_does_not_send_anybody_to_one() -> None:
    study = make_study(items=1, ratings_per_item=1, contact="")
    worker = WorkerBrowser(make_participant(study=study))
    form = worker.form()
    expire()
    reclaim_expired()
    make_submission(study=study)
    response = worker.post(form, own="Too late, alas.")
    assert "does not count" in fields(response).text
    assert "write to" not in fields(response).text.lower()


def test_a_new_task_after_a_time_out_says_what_became_of_the_last_one() -> None:
    study = make_study(items=2, ratings_per_item=1, hits_per_worker=None)
    worker = WorkerBrowser(make_participant(study=study))
    worker.draft(worker.form(), own="Half done")
    expire()
    reclaim_expired()
    make_submission(study=study)  # of the same hit, which comes first
    page = fields(worker.get()).text
    assert "The time for your last task was up, and somebody else has it now." in page
    assert "This is a new task" in page
    assert "This is a new task" not in fields(worker.get()).text
    worker.finish()
    assert "This is a new task" not in fields(worker.get()).text


def test_the_autosave_says_why_a_step_is_not_open(worker: WorkerBrowser) -> None:
    form = worker.form()
    worker.post(form, own="Yes.")
    sent = worker.draft(form, own="Again")
    assert (sent.status_code, sent.content) == (409, b"sent")
    form = worker.form()
    worker.give_back(form)
    ended = worker.draft(form, quality="3")
    assert (ended.status_code, ended.content) == (409, b"ended")


def test_giving_a_hit_back_frees_it_and_a_later_answer_is_not_used(worker: WorkerBrowser) -> None:
    form = worker.form()
    response = worker.give_back(form)
    assert response.status_code == 303
    assert "You have given the task back" in fields(worker.client.get(response.headers["Location"])).text
    assert Assignment.objects.get().state == "returned"
    late = worker.post(form, own="Changed my mind.")
    assert late.status_code == 409
    assert "You have given this task back" in fields(late).text
    assert not Step.objects.exists()


@pytest.mark.parametrize("status", ["paused", "closed"])
def test_work_accepted_before_may_be_sent_and_nothing_new_is_given_out(worker: WorkerBrowser, status: str) -> None:
    worker.get()
    Study.objects.update(status=status)
    worker.finish()
    assert Submission.objects.count() == 1
    page = fields(worker.get())
    assert f"This study is {status}" in page.text
    assert Participant.objects.get().completion_code in page.text
    assert Assignment.objects.count() == 1


@pytest.mark.parametrize(
    ("values", "done", "says"),
    [
        ({"hits_per_worker": 1}, 1, "all the tasks that one person can do"),
        ({"items": 1, "hits_per_worker": None}, 1, "There are no tasks for you right now"),
        ({"items": 1, "ratings_per_item": 1}, 0, "There are no tasks for you right now"),
    ],
)
def test_when_nothing_is_left_the_page_says_why(values: dict[str, Any], done: int, says: str) -> None:
    study = make_study(**values)
    participant = make_participant(study=study)
    if done:
        make_submission(study=study, participant=participant)
    else:
        make_submission(study=study)
    response = WorkerBrowser(participant).get()
    assert response.status_code == 200
    assert says in fields(response).text
    assert (participant.completion_code in fields(response).text) is bool(done)


# --- drafts ---


def test_a_draft_is_restored_and_deleted_once_the_step_is_sent(worker: WorkerBrowser) -> None:
    form = worker.form()
    assert worker.draft(form, own="Half a sen", timing='{"own": {"seconds": 2, "pastes": 1}}').status_code == 204
    again = fields(worker.get()).values
    assert again["own"] == "Half a sen"
    assert json.loads(again["timing"])["own"]["pastes"] == 1
    worker.post(form, own="Half a sentence, finished.")
    assert not Draft.objects.exists()
    assert worker.draft(form, own="From a tab left open").status_code == 409
    worker.draft(worker.form(), quality="2.5")
    assert fields(worker.get()).values["quality"] == "2.5"


def test_what_came_too_late_is_not_overwritten_from_a_tab_left_open(study: Study, worker: WorkerBrowser) -> None:
    form = worker.form()
    expire()
    reclaim_expired()
    Hit.objects.update(wanted=F("n_live"))
    assert worker.post(form, own="My last word.").status_code == 409
    assert worker.draft(form, own="My la").status_code == 409
    assert Draft.objects.get().answers["own"] == "My last word."
    assert Draft.objects.get().late
    Hit.objects.update(wanted=2)
    assert worker.get().status_code == 200
    assert worker.draft(form, own="On it again").status_code == 204
    assert Draft.objects.get().answers["own"] == "On it again"


def test_another_host_is_not_answered(worker: WorkerBrowser) -> None:
    assert worker.get(host="elsewhere.example").status_code == 400


def test_a_request_that_was_cut_off_is_reported_and_changes_nothing(worker: WorkerBrowser) -> None:
    form = worker.form()

    class CutOff(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise TimeoutError("nothing came")

    request: dict[str, Any] = {
        "CONTENT_TYPE": "application/x-www-form-urlencoded",
        "CONTENT_LENGTH": "100",
        "wsgi.input": CutOff(),
    }
    response = worker.client.post(worker.url, **request)
    assert response.status_code == 400
    assert "Only part of this arrived" in response.content.decode()
    assert worker.post(form, own="Again, and whole.").status_code == 303


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
            inner.setattr("annotation.views.work.save_draft", fail)
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
        patch.setattr("annotation.views.work_start.enrol", fail)
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


@pytest.mark.parametrize("step", ["0001999", "9" * 5000, "-1", "0", "2.0", "٣"])
def test_a_preview_of_a_step_that_does_not_exist_shows_the_first(client: Client, step: str) -> None:
    study = make_study(items=1)
    response = client.get(reverse("study_preview", args=[study.slug]), {"step": step})
    assert response.status_code == 200
    assert "Step 1 of" in fields(response).text
