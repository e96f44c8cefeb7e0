"""A story that is interrupted, and texts that no line of a story can be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Assignment, Offer, Output, Rating, Step, Submission
from annotation.work.ending import reclaim_expired
from tests.annotation.offers_helpers import LAST, answer, asked, is_waiting, shown_texts, story_study, writer
from tests.annotation.pages import WorkerBrowser, fields

pytestmark = pytest.mark.django_db
STORY = " ".join(f"This is sentence {number} of a story that somebody wrote elsewhere." for number in range(1, 51))


def own(number: int) -> str:
    return f"This is what I wrote myself in round {number}."


def suggested(number: int, side: str) -> str:
    return f"Suggestion {side} of round {number} is about a bell."


def write(browser: WorkerBrowser, number: int) -> None:
    """A line written alone; then the suggesters write theirs."""
    assert browser.send(turn=own(number)).status_code == 303
    assert is_waiting(browser)
    for side in ("1", "2"):
        answer(asked(side), suggested(number, side))


def choose(browser: WorkerBrowser, number: int) -> None:
    browser.get()
    assert browser.send(pick="1", pick_history="1", turn=suggested(number, "1")).status_code == 303


def time_out() -> None:
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert reclaim_expired() == 1
    assert Assignment.objects.get().state == "abandoned"


def test_a_time_out_in_the_fourth_round_loses_nothing() -> None:
    browser = writer(story_study(rounds=5), begun=False)
    for number in (1, 2, 3):
        write(browser, number)
        choose(browser, number)
    write(browser, 4)
    before = shown_texts(browser)
    edited = f"{suggested(4, '2')} It rang twice."
    browser.draft(browser.form(), pick="2", pick_history="1 2", turn=edited, turn_edits="{}")
    time_out()

    page = fields(browser.get())

    assert Assignment.objects.get().state == "accepted", "the same story continues"
    assert shown_texts(browser) == before == [suggested(4, "1"), suggested(4, "2")]
    assert (page.values["pick"], page.values["pick_history"], page.values["turn"]) == ("2", "1 2", edited)
    assert own(4) in page.text
    assert browser.send(pick="2", pick_history="1 2", turn=edited).status_code == 303
    write(browser, 5)
    choose(browser, 5)
    browser.send(**LAST)
    lines = [text for number in range(1, 6) for text in (own(number), suggested(number, "1"))]
    lines[7] = edited
    assert Submission.objects.count() == 1
    assert Output.objects.get(kind="text").texts == [" ".join(lines)]
    turns = Rating.objects.filter(question="turn").values_list("target", "text")
    assert sorted((int(target), text) for target, text in turns) == list(enumerate(lines, start=1))
    assert Offer.objects.count() == 10


def test_a_time_out_between_a_line_and_its_suggestions_loses_nothing() -> None:
    browser = writer(story_study(rounds=5), begun=False)
    for number in (1, 2, 3):
        write(browser, number)
        choose(browser, number)
    browser.send(turn=own(4))
    assert is_waiting(browser)
    time_out()

    assert is_waiting(browser)
    for side in ("1", "2"):
        answer(asked(side), suggested(4, side))
    choose(browser, 4)

    assert [step.answers["turn"] for step in Step.objects.order_by("number")][6:] == [own(4), suggested(4, "1")]


def test_a_line_that_is_sent_after_the_time_out_counts() -> None:
    browser = writer(story_study(rounds=5), begun=False)
    form = browser.form()
    time_out()

    assert browser.post(form, turn=own(1)).status_code == 303

    assert Step.objects.get().answers == {"turn": own(1)}
    assert is_waiting(browser)


def test_a_whole_story_is_no_line_and_comes_back_as_it_was_pasted() -> None:
    browser = writer(story_study(), begun=False)

    response = browser.send(turn=STORY)

    page = fields(response)
    assert response.status_code == 422
    assert f"Please use at most 260 characters; you wrote {len(STORY):,}." in page.text
    assert page.values["turn"] == STORY
    assert not Step.objects.exists()


def test_a_whole_story_over_a_suggestion_is_refused_and_the_choice_stays() -> None:
    browser = writer(story_study(), begun=False)
    write(browser, 1)
    browser.get()

    page = fields(browser.send(pick="2", pick_history="1 2", turn=STORY))

    assert (page.values["pick"], page.values["pick_history"], page.values["turn"]) == ("2", "1 2", STORY)
    assert Step.objects.count() == 1
    assert not Offer.objects.filter(chosen=True).exists()


def test_a_line_of_several_paragraphs_is_one_turn() -> None:
    browser = writer(story_study(), begun=False)

    browser.send(turn="The first half of it.\r\n\r\n\tThe second half of it.")

    assert is_waiting(browser)
    assert asked("1").prompt == "The first half of it. The second half of it."
