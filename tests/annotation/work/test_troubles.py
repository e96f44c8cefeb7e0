"""Workers' pages when an answer or an address is wrong: mistakes, forged links, previews of missing steps."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Draft, Step, Study
from annotation.task_types.items import ItemData
from annotation.tokens import form_token, participant_token
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(items=3, ratings_per_item=2, hits_per_worker=None)


@pytest.fixture
def worker(study: Study) -> WorkerBrowser:
    return WorkerBrowser(make_participant(study=study))


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


@pytest.mark.parametrize("step", ["0001999", "9" * 5000, "-1", "0", "2.0", "٣"])
def test_a_preview_of_a_step_that_does_not_exist_shows_the_first(client: Client, step: str) -> None:
    study = make_study(items=1)
    response = client.get(reverse("study_preview", args=[study.slug]), {"step": step})
    assert response.status_code == 200
    assert "Step 1 of" in fields(response).text
