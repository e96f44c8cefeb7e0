"""A worker who accepts a HIT with a text that they have had learns so before any work, and is asked to return it."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Arm, Assignment, Hit, HitItem, Posting
from annotation.recruiting import arrivals
from annotation.work.posted_hits import posted_hit
from tests.annotation.recruiting.helpers import finish_assignment
from tests.annotation.recruiting.separate_hits import (
    address,
    arrive,
    arrive_at_once,
    offered,
    refusal,
    send_last_step,
)

pytestmark = pytest.mark.django_db


def with_one_text_in_two_hits() -> list[Posting]:
    """Three postings. The first two have a text in common."""
    one, two, three = offered(hits_per_worker=None)
    assert one.hit and two.hit
    HitItem.objects.create(hit=two.hit, item=one.hit.items.get(), position=1)
    Arm.objects.filter(study=one.study).update(shares_items=True)
    return [one, two, three]


def test_who_has_rated_a_text_is_told_to_return_another_hit_with_it_before_any_work() -> None:
    one, two, three = with_one_text_in_two_hits()
    finish_assignment(arrive(one, "A1"))
    answer = Client().get(address(two, "A2"))
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "You have already rated a text of this HIT" in page
    assert "Please return this HIT." in page
    assert refusal(two, "A2") == "had_text"
    assert arrive(three, "A3").state == "accepted"
    assert arrive(two, "A2", worker="AOTHER").state == "accepted"


def test_who_is_rating_a_text_in_another_hit_can_say_that_they_returned_that() -> None:
    one, two, _ = with_one_text_in_two_hits()
    first = arrive(one, "A1")
    client, here = Client(), address(two, "A2")
    page = client.get(here).content.decode()
    assert "You have another HIT of this study open" in page
    assert "It has a text that is also in this HIT" in page
    assert refusal(two, "A2") == "had_text_open"
    client.post(here, {"returned": str(first.pk)})
    assert arrive(two, "A2").state == "accepted"


def test_an_open_hit_whose_time_is_up_keeps_its_texts_from_nobody() -> None:
    one, two, _ = with_one_text_in_two_hits()
    first = arrive(one, "A1")
    Assignment.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert arrive(two, "A2").state == "accepted"
    first.refresh_from_db()
    assert first.state == "abandoned"


def test_a_lie_about_a_returned_hit_gives_no_text_twice() -> None:
    one, two, _ = with_one_text_in_two_hits()
    first = arrive(one, "A1")
    Client().post(address(two, "A2"), {"returned": str(first.pk)})
    finish_assignment(arrive(two, "A2"))
    assert send_last_step(first) == "late"
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_a_posting_of_many_hits_gives_none_with_a_text_that_was_rated() -> None:
    one, two, three = with_one_text_in_two_hits()
    whole = Posting.objects.create(
        study=one.study, hit=None, platform="prolific", wanted=6, state="open", external_id="P1", reward=None
    )
    hits = []
    for number in (1, 2):
        work = arrive(whole, f"S{number}")
        finish_assignment(work)
        hits.append(work.hit_id)
    assert set(hits) in ({one.hit_id, three.hit_id}, {two.hit_id, three.hit_id})


@pytest.mark.django_db(transaction=True)
def test_two_hits_with_one_text_accepted_at_once_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(hit_id: int, posting: Posting) -> Hit:
        time.sleep(0.2)  # after the check, before the hit is taken
        return posted_hit(hit_id, posting)

    one, two, _ = with_one_text_in_two_hits()
    monkeypatch.setattr(arrivals, "posted_hit", slowly)
    assert arrive_at_once(one, two) == ["accepted", "had_text_open"]
