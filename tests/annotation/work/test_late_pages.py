"""Workers' pages sent twice, from two tabs or too late; drafts."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from annotation.models import Assignment, Draft, Hit, Participant, Step, Study, Submission
from annotation.tokens import form_token
from annotation.work.ending import reclaim_expired
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
    said = fields(response).text
    assert "it came too late: it is not in the results, and it is not paid" in said
    assert "kept as a draft, not as an answer" in said
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
    assert "it is not in the results" in fields(response).text
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
        ({"hits_per_worker": 1}, 1, "You have done all the tasks that one person can do here."),
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
