"""Workers' pages over HTTP, without JavaScript: going through a hit, and everything that can go wrong on the way."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Draft, Participant, Rating, Step, Study, Submission
from annotation.services import answers
from annotation.services.allocation import reclaim_expired
from annotation.task_types.base import ItemData
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


# --- the way through ---


def test_a_whole_hit_from_first_step_to_completion_code() -> None:
    study = make_study(items=1, hits_per_worker=1, title="Diversity of replies")
    participant = make_participant(study=study)
    worker = WorkerBrowser(participant)
    assert "Step 1 of 3" in fields(worker.get()).text
    assert worker.send(own="Did you lock it?").headers["Location"] == worker.url
    assert "Step 2 of 3" in fields(worker.get()).text
    assert worker.send(quality="4.5").headers["Location"] == worker.url
    last = worker.send(diversity="2", feedback="Nice.", timing=json.dumps({"diversity": {"seconds": 4.5, "at": 9}}))
    assert (last.status_code, last.headers["Location"]) == (303, worker.done_url)
    submission = Submission.objects.get()
    assert submission.feedback == "Nice."
    rows = dict(Rating.objects.values_list("question", "value"))
    assert rows == {"own_response": None, "quality": 4.5, "diversity": 2.0}
    assert Rating.objects.get(question="diversity").seconds == 4.5
    done = fields(worker.client.get(worker.done_url)).text
    assert participant.completion_code in done
    assert "You have done 1 task." in done


def test_after_a_hit_the_next_one_follows_at_once_where_there_may_be_more(worker: WorkerBrowser) -> None:
    assert worker.finish().headers["Location"] == worker.url
    assert "Task 2 · Step 1 of 3" in fields(worker.get()).text


def test_the_form_shows_every_point_of_the_scale_once_best_first(worker: WorkerBrowser) -> None:
    worker.send(own="Did you lock it?")
    page = fields(worker.get())
    assert page.options["quality"] == ["5", "4.5", "4", "3.5", "3", "2.5", "2", "1.5", "1"]
    assert "3.5 between “Good” and “Somewhat”" in page.text


def test_similarity_asks_all_pairs_each_with_its_two_texts() -> None:
    worker = WorkerBrowser(make_participant(study=make_study(task_type="sim_hds", items=1)))
    worker.send(own="Did you lock it?")
    worker.send(quality="4")
    page = fields(worker.get())
    assert len(page.options) == 10
    assert "Pair 10 of 10" in page.text
    assert worker.send(**dict.fromkeys(page.options, "2")).headers["Location"] == worker.done_url


def test_a_comparison_shows_both_sets() -> None:
    worker = WorkerBrowser(make_participant(study=make_study(task_type="rnk_hds", items=1)))
    worker.send(own="Did you lock it?")
    worker.send(quality="4")
    html = worker.get().content.decode()
    assert html.index("Set A</h2>") < html.index("Set B</h2>") < html.index('name="ranking"')


def test_no_page_sets_a_cookie_or_lets_anybody_frame_it(worker: WorkerBrowser, study: Study) -> None:
    start = worker.client.get(reverse("study_start", args=[study.slug]))
    preview = worker.client.get(reverse("study_preview", args=[study.slug]))
    for response in (start, preview, worker.get(), worker.send(own="Yes."), worker.client.get(worker.done_url)):
        assert not response.cookies
        assert "Cookie" not in response.headers.get("Vary", "")
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]


def test_platforms_that_are_allowed_to_may_frame_the_page(worker: WorkerBrowser, settings: Any) -> None:
    settings.FRAME_ANCESTORS = ("https://market.example.org",)
    response = WorkerBrowser.get(worker)
    assert "frame-ancestors https://market.example.org" in response.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in response.headers


def test_feedback_is_asked_on_the_last_step_only_and_not_where_the_study_has_no_box() -> None:
    for box in (True, False):
        worker = WorkerBrowser(make_participant(study=make_study(items=1, feedback_box=box)))
        assert "feedback" not in fields(worker.get()).values
        worker.send(own="Yes.")
        worker.send(quality="3")
        assert ("feedback" in fields(worker.get()).values) is box


# --- looking changes nothing ---


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in (Participant, Assignment, Step, Draft, Submission)}


def test_head_and_prefetch_never_allocate(worker: WorkerBrowser) -> None:
    assert worker.client.head(worker.url).status_code == 200
    assert worker.get(**{"Sec-Purpose": "prefetch;prerender"}).status_code == 503
    assert Assignment.objects.count() == 0
    worker.get()
    assert Assignment.objects.count() == 1


def test_looking_at_the_start_page_and_all_of_the_preview_stores_nothing() -> None:
    study = make_study(items=2, consent="You may stop at any time.")
    before = counts()
    client = Client()
    assert "You may stop at any time." in fields(client.get(reverse("study_start", args=[study.slug]))).text
    url = reverse("study_preview", args=[study.slug])
    for step in ("1", "2", "3", "4", "-1", "x", "٣", "9" * 5000):
        page = client.get(url, {"step": step})
        assert page.status_code == 200
        assert "form" not in fields(page).values
        assert b"<fieldset disabled>" in page.content
    assert client.post(url, {"own": "x"}).status_code == 405
    assert counts() == before


def test_the_preview_shows_a_real_item() -> None:
    study = make_study(items=1)
    page = fields(Client().get(reverse("study_preview", args=[study.slug]), {"step": "3"}))
    payload = study.items.get().payload
    assert payload["context"] in page.text
    assert all(text in page.text for text in payload["responses"])


# --- starting ---


def start(client: Client, study: Study, **sent: str) -> Any:
    return client.post(reverse("study_start", args=[study.slug]), sent)


def test_starting_makes_one_participant_however_often_the_button_is_pressed(study: Study) -> None:
    client = Client()
    token = fields(client.get(reverse("study_start", args=[study.slug]))).values["start"]
    first, second = start(client, study, start=token), start(client, study, start=token)
    assert first.status_code == second.status_code == 303
    assert first.headers["Location"] == second.headers["Location"]
    participant = Participant.objects.get()
    assert first.headers["Location"] == reverse("work", args=[participant_token(participant.pk)])
    assert participant.consented_at is None


def test_consent_must_be_given_and_is_recorded() -> None:
    study = make_study(consent="We publish your answers.")
    client = Client()
    token = fields(client.get(reverse("study_start", args=[study.slug]))).values["start"]
    refused = start(client, study, start=token)
    assert refused.status_code == 422
    assert "Please tick this box if you agree" in fields(refused).text
    assert not Participant.objects.exists()
    assert fields(refused).values["start"] == token
    assert start(client, study, start=token, agree="yes").status_code == 303
    assert Participant.objects.get().consented_at


def test_a_forged_start_token_is_refused(study: Study) -> None:
    response = start(Client(), study, start="1-2.forged")
    assert response.status_code == 404
    assert "This link is not complete" in fields(response).text
    assert not Participant.objects.exists()


def test_a_personal_link_leads_to_one_participant_and_back_again() -> None:
    from annotation.tokens import invite_token

    study = make_study(access=Study.Access.INVITED)
    url = reverse("study_start", args=[study.slug])
    k = invite_token(study.pk, "anna")
    client = Client()
    sent = fields(client.get(url, {"k": k})).values
    first = client.post(url, sent)
    assert first.status_code == 303
    back = client.get(url, {"k": k})
    assert "Welcome back" in fields(back).text
    assert first.headers["Location"] in back.content.decode()
    assert client.post(url, sent).headers["Location"] == first.headers["Location"]
    Study.objects.update(status=Study.Status.CLOSED)
    assert first.headers["Location"] in client.get(url, {"k": k}).content.decode()


def test_a_study_by_invitation_explains_itself_to_others() -> None:
    study = make_study(access=Study.Access.INVITED)
    client = Client()
    for url in (reverse("study_start", args=[study.slug]), reverse("study_preview", args=[study.slug])):
        response = client.get(url)
        assert response.status_code == 403
        assert "by invitation" in fields(response).text
        assert "This link is not complete" in fields(client.get(url, {"k": "1~anna.forged"})).text
    assert start(client, study, start="").status_code == 403


@pytest.mark.parametrize(
    ("status", "says", "code"),
    [("draft", "not open yet", 403), ("paused", "paused", 403), ("closed", "closed", 410)],
)
def test_a_study_that_is_not_live_says_so(status: str, says: str, code: int) -> None:
    study = make_study(live=False, status=status, title="Not for everybody's eyes")
    client = Client()
    for response in (client.get(reverse("study_start", args=[study.slug])), start(client, study, start="x")):
        assert response.status_code == code
        assert says in fields(response).text
    assert not Participant.objects.exists()
    if status == "draft":
        assert "eyes" not in client.get(reverse("study_start", args=[study.slug])).content.decode()
        assert client.get(reverse("study_preview", args=[study.slug])).status_code == 403


def test_members_and_nobody_else_preview_a_draft(django_user_model: Any) -> None:
    owner = django_user_model.objects.create_user("owner")
    outsider = django_user_model.objects.create_user("outsider")
    study = make_study(live=False, owner=owner)
    url = reverse("study_preview", args=[study.slug])
    client = Client()
    client.force_login(owner)
    assert client.get(url).status_code == 200
    client.force_login(outsider)
    assert client.get(url).status_code == 403


def test_there_is_no_page_for_a_study_that_is_not_there() -> None:
    assert Client().get(reverse("study_start", args=["nothing"])).status_code == 404


# --- mistakes ---


def test_a_mistake_gives_the_same_page_back_with_what_was_typed(worker: WorkerBrowser) -> None:
    typed = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    response = worker.send(own=typed, timing='{"own": {"seconds": 3}}')
    page = fields(response)
    assert response.status_code == 422
    assert page.values["own"] == typed
    assert page.values["timing"] == '{"own": {"seconds": 3}}'
    assert page.text.count("Please use at most 15 words; this is 16.") == 2
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
    assert "is not a point of this scale" in fields(response).text


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


def test_a_megabyte_of_text_is_told_and_given_back(worker: WorkerBrowser) -> None:
    text = "word " * 210_000
    response = worker.send(own=text)
    page = fields(response)
    assert response.status_code == 422
    assert "1,049,999 characters long; at most 20,000 fit" in page.text
    assert page.values["own"] == text.strip()


def test_more_than_the_server_takes_is_told_in_plain_words(worker: WorkerBrowser) -> None:
    form = worker.form()
    response = worker.post(form, own="x" * 4_000_000)
    assert response.status_code == 413
    assert "too much to send at once" in fields(response).text
    many = worker.client.post(worker.url, {f"f{number}": "" for number in range(1100)})
    assert many.status_code == 413


@pytest.mark.parametrize(
    "timing", ["[1]", "{", "[" * 40_000, "null", '{"own": 3}', '{"own": {"seconds": 1e400}}', "1" * 5000]
)
def test_bad_measurements_never_stop_an_answer(worker: WorkerBrowser, timing: str) -> None:
    assert worker.send(own="Yes.", timing=timing).status_code == 303
    assert Step.objects.get().timing == {}


def test_item_texts_are_escaped_and_empty_ones_marked() -> None:
    payload = {
        "sample_id": "s",
        "context": "<img src=x onerror=alert(1)>\nשורה שנייה",
        "responses": ["<b>bold</b>", "", "   "],
        "label_name": "",
        "label_value": None,
        "label_text": "",
        "extra": {},
    }
    study = make_study(payloads=[ItemData("s", payload)], config={"write_first": False, "rate_first": False})
    html = WorkerBrowser(make_participant(study=study)).get().content.decode()
    assert "<b>bold" not in html
    assert "<img" not in html
    assert '<p class="text" dir="auto">&lt;img src=x onerror=alert(1)&gt;\nשורה שנייה</p>' in html
    assert html.count("(empty)") == 2


# --- tokens ---


@pytest.mark.parametrize("name", ["work", "work_draft", "work_return", "work_done"])
def test_forged_and_truncated_addresses_are_told_in_plain_words(worker: WorkerBrowser, name: str) -> None:
    other_kind = form_token(1, 0)
    for token in ("x", worker.token[:-1], worker.token + "A", worker.token.replace(".", "1."), other_kind):
        url = reverse(name, args=[token])
        for response in (worker.client.get(url), worker.client.post(url, {"form": "x"})):
            if response.status_code != 405:
                assert response.status_code == 404
                assert "This link is not complete" in fields(response).text


def test_a_participant_who_is_gone_is_told_the_same(worker: WorkerBrowser) -> None:
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
    for text in ("First.", "First.", "Second thoughts."):
        response = worker.post(form, own=text)
        assert (response.status_code, response.headers["Location"]) == (303, worker.url)
    assert [step.answers["own"] for step in Step.objects.all()] == ["First."]


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
    assert "This is the step that is due" in fields(response).text
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


def test_after_the_place_went_to_somebody_else_the_worker_is_told_and_the_text_kept() -> None:
    study = make_study(items=1, ratings_per_item=1)
    worker = WorkerBrowser(make_participant(study=study))
    form = worker.form()
    expire()
    reclaim_expired()
    make_submission(study=study)
    response = worker.post(form, own="Too late, alas.")
    assert response.status_code == 409
    assert "The time for this task was up" in fields(response).text
    draft = Draft.objects.get()
    assert draft.late
    assert draft.answers["own"] == "Too late, alas."
    assert not Step.objects.filter(assignment=draft.assignment).exists()


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
        ({"hits_per_worker": 1}, 1, "all that one person can do"),
        ({"items": 1, "hits_per_worker": None}, 1, "There is no task for you at the moment"),
        ({"items": 1, "ratings_per_item": 1}, 0, "There is no task for you at the moment"),
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


def test_a_draft_is_put_back_and_gone_once_the_step_is_sent(worker: WorkerBrowser) -> None:
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
        patch.setattr("annotation.services.sql.fetch_one", fail)
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


# --- cost ---


def test_the_open_step_takes_one_query_however_many_items(django_assert_num_queries: Any) -> None:
    for values in ({"items": 1}, {"items": 12, "items_per_hit": 6}, {"task_type": "sim_hds", "responses": 10}):
        worker = WorkerBrowser(make_participant(study=make_study(**values)))
        worker.get()
        with django_assert_num_queries(1):
            worker.get()


def test_sending_a_step_takes_the_same_few_queries_however_many_items(django_assert_max_num_queries: Any) -> None:
    counted = []
    for values in ({"items": 1}, {"items": 12, "items_per_hit": 6}):
        worker = WorkerBrowser(make_participant(study=make_study(**values)))
        form = worker.form()
        with django_assert_max_num_queries(8) as taken:
            worker.post(form, own="Yes.")
        counted.append(len(taken))
    assert counted[0] == counted[1]


def test_start_and_preview_take_few_queries(study: Study, django_assert_max_num_queries: Any) -> None:
    client = Client()
    with django_assert_max_num_queries(1):
        client.get(reverse("study_start", args=[study.slug]))
    with django_assert_max_num_queries(2):
        client.get(reverse("study_preview", args=[study.slug]))
