"""Finding work, looking at it, accepting, working, returning."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from marketplace.models import Assignment, Hit, Worker
from marketplace.questions.answers_xml import read_answers
from marketplace.services.qualifications import builtin_types, grants
from tests.marketplace.support.work_site import (
    FORM,
    GOOD,
    external,
    html_question,
    make_assignment,
    make_hit,
    make_requester,
    make_type,
    make_worker,
    signed_in,
)

pytestmark = pytest.mark.django_db


def text_of(client: Client, name: str, *arguments: object, **query: str) -> str:
    response = client.get(reverse(name, args=arguments), query)
    assert response.status_code == 200
    return response.content.decode()


def frame_of(page: str) -> tuple[str, dict[str, str], str]:
    """The frame's address without its query, the query, and the tag."""
    (tag,) = re.findall(r"<iframe[^>]*>", page)
    parts = urlsplit(unescape(re.findall(r'src="([^"]*)"', tag)[0]))
    return parts._replace(query="").geturl(), dict(parse_qsl(parts.query)), tag


def sandbox_of(tag: str) -> set[str]:
    return set(re.findall(r'sandbox="([^"]*)"', tag)[0].split())


def country_only(code: str, guarded: str = "Accept") -> list[dict[str, object]]:
    place: dict[str, object] = {
        "QualificationTypeId": builtin_types.LOCALE,
        "Comparator": "EqualTo",
        "LocaleValues": [{"Country": code}],
    }
    return [place | {"ActionsGuarded": guarded}]


# --- The list -----------------------------------------------------------------------------------------------


def test_the_list_shows_the_tasks_on_offer() -> None:
    requester = make_requester("The Lab & Co")
    make_hit(requester, title="Rate <b>one</b> sentence", reward=Decimal("1.25"), max_assignments=3)
    make_hit(requester, title="Rate <b>one</b> sentence", reward=Decimal("1.25"), max_assignments=2)
    page = text_of(signed_in(make_worker()), "market_home")
    for words in ("Rate &lt;b&gt;one&lt;/b&gt; sentence", "$1.25", "The Lab &amp; Co", "10 minutes", "<dd>5</dd>"):
        assert words in page
    assert ">Accept<" in page and "no decisions yet" in page


def test_the_list_is_searched_and_sorted() -> None:
    make_hit(title="Short stories", keywords="fiction", reward=Decimal("0.10"))
    make_hit(title="Weather reports", reward=Decimal("2.00"))
    client = signed_in(make_worker())
    assert "Weather reports" not in text_of(client, "market_home", q="FICTION")
    assert "No tasks match." in text_of(client, "market_home", q="poetry")
    by_reward = text_of(client, "market_home", sort="reward")
    assert by_reward.index("Weather reports") < by_reward.index("Short stories")


def test_tasks_show_why_a_worker_does_not_qualify() -> None:
    make_hit(requirements=country_only("US"), title="Americans only")
    client = signed_in(make_worker(country="DE"))
    page = text_of(client, "market_home")
    assert "You do not qualify" in page and "Your country must be exactly US; yours is DE." in page
    only_qualified = text_of(client, "market_home", qualified="1")
    assert "Americans only" not in only_qualified and "No tasks match." in only_qualified


def test_the_way_to_a_missing_qualification_is_shown() -> None:
    requester = make_requester()
    needed = make_type(requester)
    wish = [{"QualificationTypeId": needed.type_id, "Comparator": "Exists", "ActionsGuarded": "Accept"}]
    make_hit(requester, requirements=wish)
    worker = make_worker()
    link = reverse("market_qualification", args=[needed.type_id])
    assert link in text_of(signed_in(worker), "market_home")
    grants.associate(type=needed, worker=worker)
    page = text_of(signed_in(worker), "market_home")
    assert link not in page and "You have the qualification “Sums”" in page


def test_hidden_groups_are_hidden_and_guarded_previews_closed() -> None:
    hidden = make_hit(requirements=country_only("US", "DiscoverPreviewAndAccept"), title="Secret")
    guarded = make_hit(requirements=country_only("US", "PreviewAndAccept"), title="Guarded")
    client = signed_in(make_worker(country="DE"))
    page = text_of(client, "market_home")
    assert "Secret" not in page and "Guarded" in page
    assert client.get(reverse("market_group", args=[hidden.hit_type.type_id])).status_code == 302
    assert "<iframe" not in text_of(client, "market_group", guarded.hit_type.type_id)


# --- Preview and accept -------------------------------------------------------------------------------------


def test_a_preview_gives_nothing_out_and_names_nobody() -> None:
    hit = make_hit(question=external("https://tasks.example/rate?set=a&x=%20"))
    worker = make_worker()
    url, query, _ = frame_of(text_of(signed_in(worker), "market_group", hit.hit_type.type_id))
    assert url == "https://tasks.example/rate"
    assert query == {
        "set": "a",
        "x": " ",
        "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE",
        "hitId": hit.hit_id,
        "turkSubmitTo": "http://testserver",
    }
    assert not Assignment.objects.exists()


def accept(client: Client, of_group: Hit, **given: str):  # type: ignore[no-untyped-def]
    return client.post(reverse("market_accept", args=[of_group.hit_type.type_id]), given)


def test_accepting_leads_to_the_work_page() -> None:
    hit, worker = make_hit(), make_worker()
    response = accept(signed_in(worker), hit)
    assignment = Assignment.objects.get()
    assert assignment.worker == worker and assignment.hit == hit
    assert response.headers["Location"] == reverse("market_task", args=[assignment.assignment_id])


def test_a_task_that_somebody_else_took_is_replaced_by_the_next_of_the_group() -> None:
    requester = make_requester()
    first, second = make_hit(requester), make_hit(requester)
    make_assignment(make_worker(), first)
    accept(signed_in(make_worker("late")), second, hit=first.hit_id)
    assert Assignment.objects.get(worker__user__username="late").hit == second


def test_nothing_is_accepted_without_qualifying_or_when_none_is_left() -> None:
    client = signed_in(make_worker(country="DE"))
    american, taken = make_hit(requirements=country_only("US")), make_hit()
    make_assignment(make_worker(), taken)
    for hit, words in ((american, "must be exactly US"), (taken, "no more of these tasks")):
        response = client.post(reverse("market_accept", args=[hit.hit_type.type_id]), follow=True)
        assert words in response.content.decode()
    assert Assignment.objects.count() == 1


# --- The work page ------------------------------------------------------------------------------------------


def work_page(worker: Worker, assignment: Assignment):  # type: ignore[no-untyped-def]
    return signed_in(worker).get(reverse("market_task", args=[assignment.assignment_id]))


def test_an_external_question_is_framed_as_mturk_does() -> None:
    worker = make_worker()
    assignment = make_assignment(worker, question=external("http://127.0.0.1:8765/task?set=a", height=720))
    response = work_page(worker, assignment)
    url, query, tag = frame_of(response.content.decode())
    assert url == "http://127.0.0.1:8765/task"
    assert list(query.items()) == [
        ("set", "a"),
        ("assignmentId", assignment.assignment_id),
        ("hitId", assignment.hit.hit_id),
        ("workerId", worker.worker_id),
        ("turkSubmitTo", "http://testserver"),
    ]
    assert {"allow-scripts", "allow-forms", "allow-same-origin"} <= sandbox_of(tag)
    assert not {"allow-top-navigation", "allow-top-navigation-by-user-activation"} & sandbox_of(tag)
    assert 'height="720"' in tag
    policy = response.headers["Content-Security-Policy"]
    assert "frame-src 'self' http://127.0.0.1:8765" in policy and "frame-ancestors 'none'" in policy
    seconds = int(re.findall(rb'data-seconds-left="(\d+)"', response.content)[0])
    assert 590 <= seconds <= 600


def test_an_html_question_is_served_as_nobody() -> None:
    html = (
        '<form id="mturk_form" method="post" action="https://www.mturk.com/mturk/externalSubmit">'
        '<input type="hidden" name="assignmentId" id="assignmentId"></form>'
        '<script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script>'
    )
    worker = make_worker()
    assignment = make_assignment(worker, question=html_question(html))
    url, query, tag = frame_of(work_page(worker, assignment).content.decode())
    assert {"allow-scripts", "allow-forms"} <= sandbox_of(tag) and "allow-same-origin" not in sandbox_of(tag)
    assert query["assignmentId"] == assignment.assignment_id and query["workerId"] == worker.worker_id
    served = Client().get(url, query)  # no session: the frame needs none
    assert served.status_code == 200 and not served.cookies
    assert 'action="http://testserver/mturk/externalSubmit"' in served.content.decode()
    assert "http://testserver/static/marketplace-question.js" in served.content.decode()
    policy = served.headers["Content-Security-Policy"]
    assert set(policy.partition("; sandbox ")[2].split()) == sandbox_of(tag)
    assert "X-Frame-Options" not in served.headers
    assert Client().get(url.replace("/frame/", "/frame/x")).status_code == 404


def test_returning_gives_the_place_back() -> None:
    worker = make_worker()
    assignment = make_assignment(worker)
    response = signed_in(worker).post(reverse("market_return", args=[assignment.assignment_id]))
    assert response.headers["Location"] == reverse("market_home")
    assignment.refresh_from_db()
    assert assignment.state == "Returned" and Hit.objects.get().n_available == 1
    assert work_page(worker, assignment).status_code == 410


def test_when_the_time_is_over_it_says_so() -> None:
    worker = make_worker()
    assignment = make_assignment(worker)
    past = timezone.now() - timedelta(minutes=1)
    Assignment.objects.update(deadline=past)
    Hit.objects.update(due_at=past)
    response = work_page(worker, assignment)
    assert response.status_code == 410 and b"Out of time" in response.content
    again = signed_in(worker).post(reverse("market_return", args=[assignment.assignment_id]), follow=True)
    assert b"Out of time" in again.content or b"time for this task is up" in again.content


# --- QuestionForm -------------------------------------------------------------------------------------------


def test_a_question_form_is_drawn_without_what_could_run() -> None:
    worker = make_worker()
    assignment = make_assignment(worker, question=FORM)
    page = work_page(worker, assignment).content.decode()
    assert "It was <b>late</b>." in page and '<ul dir="auto"><li>No dictionary</li>' in page
    assert "steal()" not in page and "onclick" not in page
    assert page.count('type="radio"') == 2 and page.count('type="checkbox"') == 4 and page.count("<select name=") == 1
    assert "<textarea" in page and "Write at least 5 and at most 40 characters." in page


def test_answers_to_a_form_are_stored_as_mturk_stores_them() -> None:
    worker = make_worker()
    assignment = make_assignment(worker, question=FORM)
    url = reverse("market_task", args=[assignment.assignment_id])
    response = signed_in(worker).post(url, GOOD)
    assert response.headers["Location"] == reverse("market_done", args=[assignment.assignment_id])
    assignment.refresh_from_db()
    assert assignment.state == "Submitted"
    assert read_answers(assignment.answer) == {
        "tone": ["sad"],
        "about": ["time", "people"],
        "sure": ["2"],
        "words": ["3"],
        "why": ["It says <so>.\nReally."],
    }
    assert "<SelectionIdentifier>people</SelectionIdentifier>" in assignment.answer
    assert "<QuestionIdentifier>words</QuestionIdentifier><FreeText>3</FreeText>" in assignment.answer


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q1": ""}, "Please answer this question."),
        ({"q1": "other"}, "Please choose from the options shown."),
        ({"q2": ["time", "place", "people"]}, "Please choose at most 2."),
        ({"q4": "many"}, "Please enter a number."),
        ({"q4": "12"}, "At most 9."),
        ({"q5": "No."}, "At least 5 characters."),
        ({"q5": "x" * 41}, "At most 40 characters."),
    ],
)
def test_a_refused_form_keeps_what_was_typed(changed: dict[str, object], message: str) -> None:
    worker = make_worker()
    assignment = make_assignment(worker, question=FORM)
    sent = {"q5": "Because I say so."} | GOOD | changed
    response = signed_in(worker).post(reverse("market_task", args=[assignment.assignment_id]), sent)
    page = response.content.decode()
    assert response.status_code == 422 and message in page and 'role="alert"' in page
    assert 'value="time" checked' in page
    assignment.refresh_from_db()
    assert assignment.state == "Accepted"


def test_an_external_question_is_not_answered_on_our_page() -> None:
    worker = make_worker()
    assignment = make_assignment(worker)
    assert (
        signed_in(worker).post(reverse("market_task", args=[assignment.assignment_id]), {"a": "1"}).status_code == 404
    )


# --- Afterwards ---------------------------------------------------------------------------------------------


def test_one_click_leads_to_the_next_of_the_group() -> None:
    requester, worker = make_requester(), make_worker()
    first, second = make_hit(requester, question=FORM), make_hit(requester, question=FORM)
    assignment = make_assignment(worker, first)
    client = signed_in(worker)
    client.post(reverse("market_task", args=[assignment.assignment_id]), GOOD)
    done = text_of(client, "market_done", assignment.assignment_id)
    assert "Accept the next task<" in done
    accept(client, second)
    following = Assignment.objects.get(hit=second)
    client.post(reverse("market_task", args=[following.assignment_id]), GOOD)
    assert "There are no more tasks for you in this group." in text_of(client, "market_done", following.assignment_id)


def test_asking_too_early_whether_it_arrived_leads_back_to_the_task() -> None:
    worker = make_worker()
    assignment = make_assignment(worker)
    response = signed_in(worker).get(reverse("market_done", args=[assignment.assignment_id]), follow=True)
    assert b"Your answers have not arrived yet." in response.content


def test_addresses_and_searches_full_of_nonsense_break_nothing() -> None:
    hit, client = make_hit(), signed_in(make_worker())
    for path in ("groups/%00/", "tasks/%00/", "history/a%00b/", "qualifications/%00/", "join/%00/", "frame/%00/"):
        assert client.get(f"/marketplace/{path}").status_code == 404
    for name in ("market_home", "market_qualifications"):
        assert client.get(reverse(name), {"q": "a\x00b", "page": "x", "sort": "\x00"}).status_code == 200
    assert accept(client, hit, hit="\x00").status_code == 302


def test_returning_a_task_asks_first() -> None:
    worker = make_worker()
    assignment = make_assignment(worker)
    page = work_page(worker, assignment).content.decode()
    asked = re.search(
        r"<details class=\"confirm\"[^>]*><summary[^>]*>Return this task</summary>(.*?)</details>", page, re.S
    )
    assert asked  # works without a script
    assert "You are not paid" in asked[1]
    assert reverse("market_return", args=[assignment.assignment_id]) in asked[1]
    assert page.count(reverse("market_return", args=[assignment.assignment_id])) == 1


def test_the_page_has_what_the_end_of_the_time_means_for_the_clock() -> None:
    worker = make_worker()
    page = work_page(worker, make_assignment(worker)).content.decode()
    over = re.search(r'<p class="notice warn" id="time-over"[^>]* hidden>(.*?)</p>', page, re.S)
    assert over
    assert "offered to somebody else" in over[1]
    assert "does not count against you" in over[1]
