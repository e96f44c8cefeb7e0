"""Workers' pages over HTTP, without JavaScript: going through a hit, and everything that can go wrong on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Draft, Participant, Rating, Step, Study, Submission
from annotation.tokens import participant_token
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_invitation, make_participant, make_researcher, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(items=3, ratings_per_item=2, hits_per_worker=None)


@pytest.fixture
def worker(study: Study) -> WorkerBrowser:
    return WorkerBrowser(make_participant(study=study))


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
    assert "Your answers are saved. You have done 1 task in this study." in done
    assert "You have done all the tasks that one person can do here." in done
    assert "Paste the code where you were asked for it. It stays the same" in done
    assert "Next task" not in done


def test_after_a_hit_the_page_shows_the_code_and_offers_the_next_task(worker: WorkerBrowser) -> None:
    assert worker.finish().headers["Location"] == worker.done_url
    page = worker.client.get(worker.done_url).content.decode()
    code = Participant.objects.get().completion_code
    assert "Your answers are saved. You have done 1 task in this study." in page
    assert f'<span class="code" id="code">{code}</span>' in page
    assert f'<a class="button primary" href="{worker.url}" data-next>Next task</a>' in page
    assert "When you are done, paste the code where you were asked for it." in page
    assert page.count('class="foot"') == 1, "one paragraph, so that no gap is between the contact and the record"
    assert Assignment.objects.count() == 1  # looking at the code takes no task
    assert "Task 2 · Step 1 of 3" in fields(worker.get()).text
    assert "Continue your task" in fields(worker.client.get(worker.done_url)).text


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


def test_no_page_sets_a_cookie_or_lets_another_site_frame_it(worker: WorkerBrowser, study: Study) -> None:
    start = worker.client.get(reverse("study_start", args=[study.slug]))
    preview = worker.client.get(reverse("study_preview", args=[study.slug]))
    for response in (start, preview, worker.get(), worker.send(own="Yes."), worker.client.get(worker.done_url)):
        assert not response.cookies
        assert "Cookie" not in response.headers.get("Vary", "")
        assert response.headers["Content-Security-Policy"].endswith("frame-ancestors 'self'")


def test_platforms_that_are_allowed_to_may_frame_the_page(worker: WorkerBrowser, settings: Any) -> None:
    settings.FRAME_ANCESTORS = ("https://market.example.org",)
    response = WorkerBrowser.get(worker)
    assert "frame-ancestors https://market.example.org" in response.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in response.headers


def test_feedback_in_which_nothing_can_be_seen_is_none() -> None:
    worker = WorkerBrowser(make_participant(study=make_study(items=1, feedback_box=True)))
    worker.finish(feedback="\u200b" * 200)
    assert Submission.objects.get().feedback == ""


def test_the_feedback_box_is_only_on_the_last_step_and_only_if_the_study_has_one() -> None:
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
    study = make_study(access=Study.Access.INVITED)
    url = f"{reverse('study_start', args=[study.slug])}?k={make_invitation(study=study).key}"
    client = Client()
    sent = fields(client.get(url)).values
    first = client.post(url, sent)
    assert first.status_code == 303
    back = client.get(url)
    assert "Welcome back" in fields(back).text
    assert first.headers["Location"] in back.content.decode()
    assert client.post(url, sent).headers["Location"] == first.headers["Location"]
    Study.objects.update(status=Study.Status.CLOSED)
    assert first.headers["Location"] in client.get(url).content.decode()


def test_a_personal_link_opens_no_other_study_and_no_unknown_key_opens_any() -> None:
    study, other = make_study(), make_study()
    key = make_invitation(study=other).key
    for wrong in (key, key[:-1], "anna", "", "\x00", "x" * 5000):
        response = Client().get(reverse("study_start", args=[study.slug]), {"k": wrong})
        assert response.status_code == 404
        assert "This link is not complete" in fields(response).text


def test_a_study_by_invitation_explains_itself_to_others() -> None:
    study = make_study(access=Study.Access.INVITED)
    client = Client()
    for url in (reverse("study_start", args=[study.slug]), reverse("study_preview", args=[study.slug])):
        response = client.get(url)
        assert response.status_code == 403
        assert "by invitation" in fields(response).text
        assert "This link is not complete" in fields(client.get(url, {"k": "forged"})).text
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


def test_members_and_nobody_else_preview_a_draft() -> None:
    owner = make_researcher("owner")
    outsider = make_researcher("outsider")
    study = make_study(live=False, owner=owner)
    url = reverse("study_preview", args=[study.slug])
    client = Client()
    client.force_login(owner)
    assert client.get(url).status_code == 200
    client.force_login(outsider)
    assert client.get(url).status_code == 403


def test_a_missing_study_has_no_page() -> None:
    assert Client().get(reverse("study_start", args=["nothing"])).status_code == 404


# --- cost ---


def test_the_open_step_needs_one_query_however_many_items(django_assert_num_queries: Any) -> None:
    for values in ({"items": 1}, {"items": 12, "items_per_hit": 6}, {"task_type": "sim_hds", "responses": 10}):
        worker = WorkerBrowser(make_participant(study=make_study(**values)))
        worker.get()
        with django_assert_num_queries(1):
            worker.get()


def test_sending_a_step_needs_the_same_few_queries_however_many_items(django_assert_max_num_queries: Any) -> None:
    counted = []
    # On PostgreSQL, the first step that a connection sends prepares its statements.
    studies: list[dict[str, Any]] = [{"items": 1}, {"items": 1}, {"items": 12, "items_per_hit": 6}]
    for values in studies:
        worker = WorkerBrowser(make_participant(study=make_study(**values)))
        form = worker.form()
        with django_assert_max_num_queries(8) as taken:
            worker.post(form, own="Yes.")
        counted.append(len(taken))
    assert counted[1] == counted[2] <= 5


def test_the_page_after_a_hit_needs_two_queries(worker: WorkerBrowser, django_assert_max_num_queries: Any) -> None:
    worker.finish()
    with django_assert_max_num_queries(2):
        assert "Next task" in fields(worker.client.get(worker.done_url)).text


def test_start_and_preview_need_few_queries(study: Study, django_assert_max_num_queries: Any) -> None:
    client = Client()
    with django_assert_max_num_queries(6):
        client.get(reverse("study_start", args=[study.slug]))
    with django_assert_max_num_queries(5):
        client.get(reverse("study_preview", args=[study.slug]))
