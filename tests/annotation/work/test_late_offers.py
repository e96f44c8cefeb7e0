"""Live suggestions that are late, missing or odd: the writer always continues, and reads why."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from annotation.models import Rating
from generation.models import Suggester, Suggestion
from tests.annotation.offers_helpers import (
    LAST,
    TEXTS,
    answer,
    answer_all,
    asked,
    is_waiting,
    offers,
    pass_time,
    poll,
    shown_texts,
    story_study,
    writer,
)
from tests.annotation.pages import fields

pytestmark = pytest.mark.django_db


def test_a_late_suggestion_is_asked_for_again_and_the_writer_reads_why() -> None:
    browser = writer(story_study())
    assert "2 suggestions are being written" in fields(browser.get()).text
    answer(asked("1"), TEXTS["1"])
    assert "The suggestion is being written" in fields(browser.get()).text
    pass_time(6)

    assert "This is taking longer than usual" in fields(browser.get()).text

    again = asked("2", again=True)
    assert again.seed != asked("2").seed
    assert again.deadline == pytest.approx(asked("2").deadline, abs=timedelta(seconds=1))
    assert Suggestion.objects.count() == 3, "the one that came is not asked for again"
    polled = poll(browser)
    assert polled["reload"] is False
    assert re.search(r"We have asked again\. You can continue in [34] seconds at the latest\.", polled["text"])


def test_the_second_try_counts_if_it_comes_first_and_is_marked() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer(asked("1"), TEXTS["1"])
    pass_time(6)
    is_waiting(browser)

    answer(asked("2", again=True), TEXTS["2"])

    assert shown_texts(browser) == [TEXTS["1"], TEXTS["2"]]
    assert [offers(study)[side].source for side in ("1", "2")] == ["live", "second_try"]
    assert asked("2").state == "cancelled"
    assert (offers(study)["2"].latency or 0) > 5, "counted from the first request"


def test_after_the_deadline_the_pool_steps_in_and_is_marked() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer(asked("1"), TEXTS["1"])
    pass_time(6)
    is_waiting(browser)
    pass_time(5)

    page = fields(browser.get())

    offer = offers(study)["2"]
    assert offer.source == "pool"
    assert offer.text.startswith(f"A line from the pool of {offer.suggester}")
    assert (offer.model, offer.seed) == ("", None), "nobody knows who wrote a text of a file"
    assert "prepared" not in page.text and "in time" not in page.text, "where a text comes from is no cue for writers"
    assert asked("2", again=True).state == "cancelled"
    assert Suggestion.objects.filter(from_pool=True).count() == 1, "one text of the pool is used"


def test_with_an_empty_pool_the_writer_continues_alone() -> None:
    study = story_study(pool=False)
    browser = writer(study)
    is_waiting(browser)
    pass_time(11)

    page = browser.get()

    assert "There is no suggestion this time" in fields(page).text
    assert "pick" not in fields(page).options
    assert {offer.source for offer in offers(study).values()} == {"none"}
    assert browser.send(turn="We went in without saying a word.").status_code == 303
    assert {offer.chosen for offer in offers(study).values()} == {False}


def test_one_missing_suggestion_leaves_the_other() -> None:
    study = story_study(pool=False)
    browser = writer(study)
    is_waiting(browser)
    answer(asked("2"), TEXTS["2"])
    pass_time(11)

    assert shown_texts(browser) == [TEXTS["2"]]
    page = fields(browser.get()).text
    assert "One suggestion is missing" in page
    assert "There is only one this time. The other one did not come in time." in page
    assert "You can also replace it with a text of your own." in page
    assert browser.send(pick="1", turn=TEXTS["2"]).status_code == 422
    assert browser.send(pick="2", turn=TEXTS["2"]).status_code == 303


def test_one_suggestion_alone_is_no_choice_between_suggesters() -> None:
    study = story_study(pool=False)
    browser = writer(study)
    is_waiting(browser)
    answer(asked("2"), TEXTS["2"])
    pass_time(11)
    browser.get()
    browser.send(pick="2", turn=TEXTS["2"])
    assert browser.send(**LAST).status_code == 303

    topics = set(Rating.objects.values_list("question", flat=True))
    assert {"turn", "suggested"} <= topics
    assert not {"choice", "switches"} & topics


def test_where_a_model_wrote_nothing_usable_the_pool_steps_in_at_once() -> None:
    study = story_study()
    browser = writer(study)
    is_waiting(browser)
    answer(asked("1"), TEXTS["1"])
    answer(asked("2"), "")

    assert len(shown_texts(browser)) == 2
    assert offers(study)["2"].source == "pool"


def test_html_in_a_suggestion_is_shown_as_it_is() -> None:
    browser = writer(story_study())
    is_waiting(browser)
    answer_all({"1": "<b>Bold</b> & <script>alert(1)</script> it was.", "2": TEXTS["2"]})

    html = browser.get().content.decode()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>alert(1)" not in html


def test_a_suggester_that_is_not_there_never_stops_a_writer() -> None:
    study = story_study()
    Suggester.objects.filter(name="model-b").update(name="gone")
    browser = writer(study)
    is_waiting(browser)
    known = Suggestion.objects.get()
    answer(known, TEXTS["1"])

    assert shown_texts(browser) == [TEXTS["1"]]
    assert sorted(offer.source for offer in offers(study).values()) == ["live", "none"]


def test_a_template_that_does_not_fit_never_stops_a_writer() -> None:
    study = story_study()
    Suggester.objects.update(template="{keywords}")

    assert "There is no suggestion this time" in fields(writer(study).get()).text


def test_an_inactive_suggester_answers_from_its_pool_at_once() -> None:
    study = story_study()
    Suggester.objects.update(active=False)

    assert ["from the pool" in text for text in shown_texts(writer(study))] == [True, True]
