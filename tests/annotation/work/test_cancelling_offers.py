"""Suggestions that nobody needs any more are cancelled, and asked for again if their writer comes back."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Offer, Step, Study, Submission
from annotation.work.cancelling_offers import cancel_offers
from annotation.work.ending import reclaim_expired
from generation.models import Suggester, Suggestion
from tests.annotation.offers_helpers import (
    LAST,
    PICKED,
    TEXTS,
    answer,
    answer_all,
    asked,
    assignment_of,
    is_waiting,
    offers,
    pass_time,
    shown_texts,
    story_study,
    writer,
)
from tests.annotation.pages import WorkerBrowser
from tests.annotation.work import test_requested_offers as slogans

pytestmark = pytest.mark.django_db


def states() -> set[str]:
    return set(Suggestion.objects.values_list("state", flat=True))


def waiting_writer(study: Study) -> WorkerBrowser:
    browser = writer(study)
    assert is_waiting(browser)
    return browser


def time_out() -> None:
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert reclaim_expired() == 1


def test_giving_a_story_back_cancels_its_suggestions_and_no_others() -> None:
    study = story_study()
    leaving, staying = waiting_writer(study), waiting_writer(study)

    leaving.give_back(leaving.form())

    found = list(Suggestion.objects.order_by("pk").values_list("state", flat=True))
    assert found == ["cancelled", "cancelled", "waiting", "waiting"]
    assert is_waiting(staying)


def test_stopping_for_part_pay_cancels_what_is_being_written() -> None:
    browser = waiting_writer(story_study(reward=Decimal("0.90"), part_pay="steps"))

    browser.client.post(reverse("work_stop", args=[browser.token]), {"form": browser.form()})

    assert Assignment.objects.get().state == "stopped"
    assert states() == {"cancelled"}


def test_a_time_out_cancels_what_is_being_written() -> None:
    waiting_writer(story_study())

    time_out()

    assert states() == {"cancelled"}


def test_a_writer_who_comes_back_after_a_time_out_gets_suggestions_after_all() -> None:
    study = story_study()
    browser = waiting_writer(study)
    seeds = [asked(side).seed for side in TEXTS]
    pass_time(6)
    assert is_waiting(browser), "the late suggestions have been asked for again"
    time_out()
    pass_time(600)

    assert is_waiting(browser)
    assert [asked(side).state for side in TEXTS] == ["waiting"] * 2
    assert [asked(side).seed for side in TEXTS] == seeds
    assert asked("1").deadline > timezone.now() + timedelta(seconds=8), "a new wait begins"
    answer_all()

    assert shown_texts(browser) == list(TEXTS.values())
    assert {offer.source for offer in offers(study).values()} == {"live"}
    assert max(offer.latency or 0 for offer in offers(study).values()) < 5, "the time away is no wait"


def test_after_a_second_wait_the_pool_still_steps_in() -> None:
    study = story_study()
    browser = waiting_writer(study)
    time_out()
    assert is_waiting(browser)
    pass_time(11)

    assert not is_waiting(browser)
    assert {offer.source for offer in offers(study).values()} == {"pool"}


def test_a_suggester_that_was_stopped_meanwhile_answers_from_its_pool_at_once() -> None:
    study = story_study()
    browser = waiting_writer(study)
    time_out()
    Suggester.objects.update(active=False)

    assert not is_waiting(browser)
    assert {offer.source for offer in offers(study).values()} == {"pool"}


def test_an_attempt_that_lost_to_the_other_one_is_not_asked_for_again() -> None:
    browser = waiting_writer(story_study())
    pass_time(6)
    is_waiting(browser)
    answer(asked("1", again=True), TEXTS["1"])
    is_waiting(browser)
    assert asked("1").state == "cancelled"

    is_waiting(browser)

    assert asked("1").state == "cancelled"


def test_when_a_story_is_finished_nothing_waits() -> None:
    browser = waiting_writer(story_study())
    pass_time(6)
    is_waiting(browser)
    answer_all()
    shown_texts(browser)
    browser.send(**PICKED)
    browser.send(**LAST)

    assert Submission.objects.count() == 1
    assert states() == {"done", "cancelled"}


# --- at the press of a button ---


def test_sending_a_slogan_cancels_what_is_being_written_for_it() -> None:
    browser = slogans.writer(slogans.slogan_study())
    slogans.press(browser, keywords="storm")

    browser.send(keywords="storm", slogan="Dry in any storm.")

    assert Step.objects.count() == 1
    assert states() == {"cancelled"}
    assert not Offer.objects.exists()


def test_suggestions_that_came_stay_when_the_slogan_is_sent() -> None:
    browser = slogans.writer(slogans.slogan_study())
    slogans.press(browser, keywords="storm")
    answer(slogans.asked(1, "1"), "Dry in any storm.")

    browser.send(keywords="storm", slogan="Dry in any storm.")

    assert [slogans.asked(1, side).state for side in ("1", "2")] == ["done", "cancelled"]


def test_an_answer_that_is_refused_cancels_nothing() -> None:
    browser = slogans.writer(slogans.slogan_study())
    slogans.press(browser, keywords="storm")

    assert browser.send(keywords="storm", slogan="").status_code == 422

    assert states() == {"waiting"}


def test_giving_a_slogan_back_cancels_what_is_being_written() -> None:
    browser = slogans.writer(slogans.slogan_study())
    slogans.press(browser, keywords="storm")

    browser.give_back(browser.form())

    assert states() == {"cancelled"}


def test_only_the_requests_of_that_page_are_cancelled() -> None:
    study = story_study()
    waiting_writer(study)
    rows = list(Suggestion.objects.order_by("pk"))
    for row, page in zip(rows, ("1", "10"), strict=True):
        assignment, _, rest = row.key.split("/", 2)
        Suggestion.objects.filter(pk=row.pk).update(key=f"{assignment}/{page}/{rest}")

    assert cancel_offers(assignments=[assignment_of(study).pk], number=1) == 1
    assert sorted(Suggestion.objects.values_list("state", flat=True)) == ["cancelled", "waiting"]
