"""Addresses that a marketplace would not send: they give out no hit, and no work is sent to another site."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from annotation.models import Assignment, Participant, Posting
from annotation.tokens import posting_token
from tests.annotation.recruiting.helpers import finish_assignment
from tests.annotation.recruiting.test_arrivals import arrive, in_two_parts, posted_study

pytestmark = pytest.mark.django_db
GIVEN = {"assignmentId": "3ASSIGNMENT", "workerId": "AWORKER", "turkSubmitTo": "http://testserver"}


def address(posting: Posting, **changes: str) -> str:
    query = {**GIVEN, "hitId": posting.external_id, **changes}
    return f"/p/{posting_token(posting.pk)}/?{urlencode(query)}"


def first_posting() -> Posting:
    _, postings = posted_study(items=1)
    return postings[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"workerId": ""},
        {"workerId": "A" * 101},
        {"workerId": "A WORKER"},
        {"workerId": "<script>"},
        {"workerId": "A\x00B"},
        {"assignmentId": ""},
        {"assignmentId": "../3ASSIGNMENT"},
        {"assignmentId": "3" * 101},
        {"assignmentId": "٣"},  # a digit that is not ASCII
        {"hitId": "3ANOTHERHIT"},
        {"hitId": ""},
    ],
)
def test_malformed_ids_give_out_nothing(changes: dict[str, str]) -> None:
    posting = first_posting()
    for method in ("get", "post"):
        answer = getattr(Client(), method)(address(posting, **changes))
        assert (answer.status_code, b"This address is not complete" in answer.content) == (400, True)
    assert not Assignment.objects.exists()
    assert not Participant.objects.exists()


def test_a_posting_that_was_made_up_is_not_found() -> None:
    posting = first_posting()
    right = posting_token(posting.pk)
    for wrong in (right[:-1] + ("A" if right[-1] != "A" else "B"), right.replace(str(posting.pk), "999999", 1), "1.x"):
        answer = Client().post(f"/p/{wrong}/?{urlencode(GIVEN)}")
        assert (answer.status_code, b"This link is not complete" in answer.content) == (404, True)
    assert not Assignment.objects.exists()


@pytest.mark.parametrize(
    "site",
    [
        "https://evil.example",
        "https://www.mturk.com.evil.example",
        "https://www.mturk.com@evil.example",
        "//www.mturk.com",
        "http://www.mturk.com",  # without the s
        "javascript:alert(1)",
        "https://[",
        "",
    ],
)
def test_a_foreign_site_is_never_sent_the_work(site: str) -> None:
    posting = first_posting()
    browser = Client()
    token = browser.post(address(posting, turkSubmitTo=site))["Location"]
    finish_assignment(Assignment.objects.get())
    last = browser.get(f"{token}done")
    page = last.content.decode()
    assert "Submit it on the site where you accepted it" in page
    assert Participant.objects.get().completion_code in page
    assert "<form" not in page
    assert "form-action 'self';" in last.headers["Content-Security-Policy"]


@pytest.mark.parametrize("site", ["https://www.mturk.com", "https://workersandbox.mturk.com/", "http://testserver"])
def test_a_known_site_gets_the_work_and_only_that_one(site: str) -> None:
    posting = first_posting()
    browser = Client()
    token = browser.post(address(posting, turkSubmitTo=site))["Location"]
    finish_assignment(Assignment.objects.get())
    last = browser.get(f"{token}done")
    wanted = site.rstrip("/")
    assert f'action="{wanted}/mturk/externalSubmit"' in last.content.decode()
    assert f"form-action 'self' {wanted};" in last.headers["Content-Security-Policy"]


def test_the_ids_of_a_worker_do_not_open_the_work_of_another() -> None:
    posting = first_posting()
    theirs = Client().post(address(posting))["Location"]
    for changes in ({"workerId": "ASTRANGER"}, {"assignmentId": "3ANOTHER", "workerId": "ASTRANGER"}):
        mine = Client().post(address(posting, **changes))["Location"]
        assert mine != theirs
    worker = Assignment.objects.order_by("pk").first()
    assert worker is not None
    assert worker.participant.worker.platform_id == "AWORKER"


def test_a_participant_of_another_study_on_prolific_gets_nothing_there() -> None:
    """The id of the person is right, but the address is that of another study here."""
    postings = []
    for slug in ("one", "two"):
        study, _ = posted_study(items=1, slug=slug)
        study.postings.all().delete()
        made: dict[str, Any] = {"platform": "prolific", "state": "open", "reward": study.reward, "wanted": 2}
        postings.append(Posting.objects.create(study=study, external_id=slug * 8, code=f"CODE{slug}", **made))
    query = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": postings[1].external_id, "SESSION_ID": "b" * 24}
    answer = Client().post(f"/p/{posting_token(postings[0].pk)}/?{urlencode(query)}")
    assert (answer.status_code, b"This link belongs to another study" in answer.content) == (400, True)
    assert not Assignment.objects.exists()


def test_who_comes_to_a_second_part_of_a_hit_reads_what_to_do() -> None:
    one, two = in_two_parts()
    arrive(one, "AWORKER", "3FIRST")
    answer = Client().post(address(two))
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "You are already doing this task in another HIT" in page
    assert "Each person can do it once, so finish that HIT." in page
    assert "Please return this HIT." in page
