"""Workers of a posting that offers several hits: each session gets one, and nobody gets more than allowed."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Hit, Participant, Posting, Study
from annotation.platforms.base import Claim
from annotation.recruiting.arrivals import accept_hit
from annotation.tokens import posting_token
from annotation.work.allocation import NotAdmitted
from tests.annotation.pages import fields
from tests.factories import make_assignment, make_author, make_study, make_worker

pytestmark = pytest.mark.django_db
WHO, SESSION = "5f0c" * 6, "60d9" * 6


def posted(platform: str = "prolific", **values: Any) -> Posting:
    defaults: dict[str, Any] = {"items": 2, "ratings_per_item": 2, "reward": Decimal("1.25")}
    study = make_study(**defaults | values)
    wanted = sum(hit.wanted for hit in study.hits.all())
    return Posting.objects.create(
        study=study,
        platform=platform,
        reward=Decimal("1.25"),
        wanted=wanted,
        external_id=f"S{study.pk}",
        code="THECODE",
    )


def arrive(posting: Posting, worker: str = "W1", session: str = "A1") -> Assignment:
    claim = Claim(posting.platform, worker, session)
    soon = timezone.now() + timedelta(hours=1)
    return accept_hit(posting=posting, claim=claim, expires_at=soon, consented=False)


def submit(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(state="submitted", ended_at=timezone.now())


def refusal(posting: Posting, worker: str = "W1", session: str = "A1") -> str:
    with pytest.raises(NotAdmitted) as refused:
        arrive(posting, worker, session)
    return refused.value.reason


def live(posting: Posting) -> list[int]:
    return list(posting.study.hits.order_by("position").values_list("n_live", flat=True))


# --- which hit ---


def test_sessions_are_spread_over_the_hits() -> None:
    posting = posted()
    made = [arrive(posting, f"W{number}", f"A{number}") for number in range(4)]
    assert live(posting) == [2, 2]
    assert len({(each.hit_id, each.slot) for each in made}) == 4


def test_the_same_session_is_the_same_assignment() -> None:
    posting = posted()
    assert arrive(posting).pk == arrive(posting).pk
    assert live(posting) == [1, 0]


def test_a_new_session_ends_the_one_before() -> None:
    posting = posted()
    first, second = arrive(posting, session="A1"), arrive(posting, session="A2")
    first.refresh_from_db()
    assert (first.state, second.state, sum(live(posting))) == ("returned", "accepted", 1)


def test_nobody_does_more_hits_than_they_may() -> None:
    posting = posted(hits_per_worker=1)
    submit(arrive(posting, session="A1"))
    assert refusal(posting, session="A2") == "limit"


def test_with_several_hits_per_worker_each_session_is_another_hit() -> None:
    posting = posted(hits_per_worker=None)
    first = arrive(posting, session="A1")
    submit(first)
    second = arrive(posting, session="A2")
    submit(second)
    assert first.hit_id != second.hit_id
    assert refusal(posting, session="A3") == "taken"


def test_only_hits_of_the_posted_reward_are_given_out() -> None:
    posting = posted(arms=({"name": "a", "reward": Decimal("2")}, {"name": "b"}))
    for number in range(4):
        assert arrive(posting, f"W{number}", f"A{number}").participant.arm.name == "b"
    dear = Posting.objects.create(study=posting.study, platform="prolific", reward=Decimal("2"), external_id="dear")
    assert refusal(dear, "W1", "A9") == "other_arm"
    assert arrive(dear, "W9", "A9").participant.arm.name == "a"


def test_nobody_judges_their_own_text_or_comes_from_an_excluded_study() -> None:
    posting = posted(items=1)
    make_author(item=posting.study.items.get(), worker=make_worker(platform="prolific", name="W1"))
    assert refusal(posting) == "taken"
    other = posted()
    other.study.exclude_studies.add(posting.study)
    arrive(posting, "W2", "A2")
    assert refusal(other, "W2", "A3") == "took_part"


def test_an_excluded_worker_gets_nothing_more() -> None:
    posting = posted(hits_per_worker=None)
    submit(arrive(posting))
    Participant.objects.update(excluded_at=timezone.now())
    assert refusal(posting, session="A2") == "excluded"


def test_a_withdrawn_posting_and_a_closed_study_give_out_nothing() -> None:
    posting = posted()
    Study.objects.filter(pk=posting.study_id).update(status="paused")
    assert refusal(Posting.objects.get()) == "ended"
    posting.withdrawn_at = timezone.now()
    assert refusal(posting) == "ended"


# --- when all places are taken ---


def full(platform: str) -> tuple[Posting, list[Assignment]]:
    posting = posted(platform, ratings_per_item=1)
    return posting, [arrive(posting, f"W{number}", f"A{number}") for number in (1, 2)]


def test_a_place_that_prolific_gives_out_ends_the_oldest_one_here() -> None:
    posting, (first, second) = full("prolific")
    third = arrive(posting, "W3", "A3")
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state, third.hit_id) == ("abandoned", "accepted", first.hit_id)
    assert live(posting) == [1, 1]


def test_where_all_are_sent_prolific_gets_one_more_place() -> None:
    posting, made = full("prolific")
    for each in made:
        submit(each)
    arrive(posting, "W3", "A3")
    assert sum(Hit.objects.values_list("wanted", flat=True)) == 3


def test_somebody_who_came_by_the_link_earlier_keeps_their_work_when_prolific_gives_out_a_place() -> None:
    """Prolific cannot have ended it, so its place is one more than wanted."""
    posting = posted(items=1, ratings_per_item=1)
    by_link = make_assignment(study=posting.study)
    arrive(posting)
    by_link.refresh_from_db()
    assert by_link.state == "accepted"
    assert posting.study.hits.get().wanted == 2


def test_a_panel_that_sends_too_many_people_gets_a_message() -> None:
    posting, (first, _) = full("panel")
    assert refusal(posting, "W3", "A3") == "taken"
    Assignment.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    assert arrive(posting, "W3", "A3").hit_id == first.hit_id


# --- the pages ---


def address(posting: Posting, **query: str) -> str:
    given = {"PROLIFIC_PID": WHO, "STUDY_ID": posting.external_id, "SESSION_ID": SESSION} | query
    return f"/p/{posting_token(posting.pk)}/?" + "&".join(f"{name}={value}" for name, value in given.items() if value)


def test_the_whole_way_of_a_worker_from_prolific(settings: Any) -> None:
    posting = posted(consent="Your answers are published.")
    browser = Client()
    page = browser.get(address(posting))
    assert b"Start" in page.content
    refused = browser.post(address(posting), fields(page).values)
    assert refused.status_code == 422
    assert b"please return your submission on Prolific" in refused.content
    response = browser.post(address(posting), fields(page).values | {"agree": "yes"})
    for _ in range(10):
        page = browser.get(response["Location"])
        if b"Your answers are saved" in page.content:
            break
        if page.status_code == 303:
            response = page
            continue
        radio = {"diversity": "4"} if b'name="diversity"' in page.content else {"own": "Yes.", "quality": "3"}
        response = browser.post(response["Location"], fields(page).values | radio)
    assert b'href="https://app.prolific.com/submissions/complete?cc=THECODE"' in page.content
    assert b'<span class="code">THECODE</span>' in page.content
    again = browser.get(address(posting))  # the address still leads to the last page
    assert b"cc=THECODE" in browser.get(browser.get(again["Location"])["Location"]).content
    assert Assignment.objects.get().platform_assignment_id == SESSION


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"STUDY_ID": "f" * 24}, b"This link belongs to another study"),
        ({"STUDY_ID": ""}, b"This link belongs to another study"),
        ({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, b"This address is not complete"),
        ({"PROLIFIC_PID": "", "SESSION_ID": ""}, b"This address is not complete"),
        ({"SESSION_ID": "x" * 65}, b"This address is not complete"),
        ({"SESSION_ID": "%3Cscript%3E"}, b"This address is not complete"),
    ],
)
def test_an_address_that_mixes_things_up_gives_out_nothing(query: dict[str, str], said: bytes) -> None:
    posting = posted()
    for method in ("get", "post"):
        answer = getattr(Client(), method)(address(posting, **query))
        assert (answer.status_code, said in answer.content) == (400, True)
    assert not Assignment.objects.exists()


def test_without_any_id_it_is_a_preview() -> None:
    posting = posted()
    answer = Client().get(f"/p/{posting_token(posting.pk)}/")
    assert answer["Location"] == f"/s/{posting.study.slug}/preview/"


def test_refusals_name_the_way_out_of_the_platform() -> None:
    posting = posted(hits_per_worker=1)
    submit(arrive(posting, WHO, "another"))
    answer = Client().post(address(posting))
    assert answer.status_code == 403
    assert b"Please return your submission on Prolific" in answer.content


def test_the_plain_link_has_no_such_address() -> None:
    posting = Posting.objects.create(study=make_study(), platform="link", external_id="x")
    assert Client().get(f"/p/{posting_token(posting.pk)}/?k=1").status_code == 400


def test_a_study_on_prolific_cannot_be_joined_by_its_link() -> None:
    posting = posted()
    answer = Client().get(f"/s/{posting.study.slug}/")
    assert answer.status_code == 403
    assert b"done on another site" in answer.content


@pytest.mark.django_db(transaction=True)
def test_many_who_come_at_once_all_get_a_place_and_nobody_loses_one() -> None:
    posting = posted(items=1, ratings_per_item=8)
    start = threading.Barrier(8)
    troubles: list[Exception] = []

    def come(number: int) -> None:
        try:
            start.wait(30)
            arrive(Posting.objects.select_related("study").get(pk=posting.pk), f"W{number}", f"A{number}")
        except Exception as error:  # the main thread reports it
            troubles.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=come, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not troubles
    assert list(Assignment.objects.values_list("state", flat=True)) == ["accepted"] * 8
    assert live(posting) == [8]
