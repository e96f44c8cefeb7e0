"""Writing in a real browser: a suggestion in the box, suggestions at the press of a button, and a plain box."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Offer, Output, Pull, Step, Study, Submission
from annotation.tokens import participant_token
from generation.models import Suggestion
from generation.suggestions import suggester_process
from generation.suggestions.suggester_process import SuggesterProcess
from tests.annotation.task_types.test_mil_story import FIRST, story_study
from tests.annotation.work.test_requested_offers import slogan_study
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.work_helpers import check_looks, open_start, send, start_work, tab_to
from tests.factories import make_participant, make_study
from tests.generation.support.toy_suggestions import ToyShop
from tests.services import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
Write = Callable[[], None]


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Lets the suggester process, with a toy for a model, answer all that waits; until it is called, nothing comes."""
    monkeypatch.setattr(suggester_process, "REFRESH_SECONDS", 0.01)
    process = SuggesterProcess(open_backend=ToyShop(), poll=0)

    def turned(done: Callable[[], bool]) -> Callable[[], bool]:
        def turn() -> bool:
            process.turn()
            return done()

        return turn

    def loaded() -> bool:
        return bool(process.lanes) and all(lane.state == "ready" for lane in process.lanes.values())

    def write_all() -> None:
        wait_for(turned(loaded), "the models")
        wait_for(turned(lambda: not Suggestion.objects.filter(state="waiting").exists()), "the suggestions")

    yield write_all
    process._finish()


def open_work(new_page: NewPage, live_server: Any, study: Study, **options: Any) -> Page:
    page = new_page(**options)
    page.goto(live_server.url + reverse("work", args=[participant_token(make_participant(study=study).pk)]))
    return page


def choose_everywhere(page: Page) -> None:
    for row in page.locator(".grid-row, fieldset.question").all():
        row.locator("label.point").nth(2).click()


# --- a suggestion in the box ---


def test_a_story_with_every_second_sentence_suggested(
    new_page: NewPage, live_server: Any, write: Write, axe_core: Path
) -> None:
    study = story_study(config={"sentences": 2})
    page = new_page()
    open_start(page, live_server, study)
    start_work(page)
    expect(page.locator("h1")).to_have_text("Write the first sentence of a story")
    check_looks(page, axe_core, "story-first")
    page.fill("#f-sentence", "Oh")
    expect(page.locator(".counter")).to_have_text("2 characters; 5 to 300 needed")
    page.fill("#f-sentence", FIRST)
    send(page, "Write the next sentence")
    expect(page.locator("#waiting-title")).to_have_text("The suggestion is being written")
    check_looks(page, axe_core, "story-waiting")
    write()

    expect(page.locator("h1")).to_have_text("Use or change the next sentence")
    suggestion = Suggestion.objects.get().text
    box = page.locator("#f-sentence")
    expect(box).to_have_value(suggestion)
    check_looks(page, axe_core, "story-suggested")
    page.get_by_role("button", name="Empty the box").click()
    expect(box).to_have_value("")
    expect(box).to_be_focused()
    page.get_by_role("button", name="Put the suggestion back").click()
    expect(box).to_have_value(suggestion)
    page.keyboard.press("End")
    page.keyboard.type(" It was late.")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    expect(box).to_have_value(f"{suggestion} It was late.")
    send(page, "Your story is finished")
    expect(page.locator(".story p")).to_have_text(f"{FIRST} {suggestion} It was late.")
    check_looks(page, axe_core, "story-rating")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Your story is finished")
    choose_everywhere(page)
    send(page, "A few questions about the task")
    check_looks(page, axe_core, "story-survey")
    choose_everywhere(page)
    for text in page.locator("textarea:not([name=feedback])").all():
        text.fill("Nothing in particular.")
    page.click(".send button")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert Submission.objects.count() == 1
    assert Output.objects.get(kind="text").texts == [f"{FIRST} {suggestion} It was late."]


# --- suggestions at the press of a button ---


def test_a_slogan_with_suggestions_on_request(
    new_page: NewPage, live_server: Any, write: Write, axe_core: Path
) -> None:
    page = open_work(new_page, live_server, slogan_study())
    slogan, keywords = page.locator("#f-slogan"), page.locator("#f-keywords")
    check_looks(page, axe_core, "slogan-empty")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    needs = page.locator("#pull-needs")
    expect(needs.locator("li:visible")).to_have_count(2)
    keywords.fill("storm, dry")
    expect(needs.locator("li:visible")).to_have_text(["Write a first draft of your slogan. You can still change it."])
    page.get_by_role("button", name="Get suggestions").click()
    expect(needs).to_contain_text("Something is still missing")
    check_looks(page, axe_core, "slogan-missing")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    keywords.fill("")
    expect(needs.locator("li:visible")).to_have_count(2)
    keywords.fill("storm, dry")
    slogan.fill("Let it")
    expect(needs).to_be_hidden()
    page.get_by_role("button", name="Get suggestions").click()
    expect(page.locator("#pull-title")).to_have_text("2 suggestions are being written")
    check_looks(page, axe_core, "slogan-waiting")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    slogan.focus()
    page.keyboard.press("End")
    page.keyboard.type(" rain")
    write()

    expect(page.locator(".suggested li")).to_have_count(2)
    expect(slogan).to_have_value("Let it rain")
    expect(slogan).to_be_focused()
    text = page.locator(".suggested .words").first.inner_text()
    page.locator(".suggested button").first.click()
    expect(slogan).to_have_value(text)
    page.get_by_role("button", name="Put back what I had").click()
    expect(slogan).to_have_value("Let it rain")
    page.locator(".suggested button").nth(1).click()
    keywords.fill("umbrella")
    page.get_by_role("button", name="Get suggestions").click()
    expect(page.locator("#pull-waiting")).to_be_visible()
    write()
    expect(page.locator(".suggested li")).to_have_count(4)
    check_looks(page, axe_core, "slogan-history")
    expect(page.locator("#saved")).to_have_text("Saved")

    page.reload()
    expect(page.locator(".suggested li")).to_have_count(4)
    expect(keywords).to_have_value("umbrella")
    send(page, "Your slogan is finished")
    check_looks(page, axe_core, "slogan-rating")
    choose_everywhere(page)
    send(page, "A few questions about the task")
    check_looks(page, axe_core, "slogan-survey")
    offer = Offer.objects.get(chosen=True)
    assert (offer.number, offer.side) == (1, "2")
    assert Pull.objects.get(number=1).typed["slogan"] == "Let it"
    assert Step.objects.get(number=0).answers["used"] == ["1/2"]


def test_the_button_works_without_javascript_and_loses_nothing(
    new_page: NewPage, live_server: Any, write: Write
) -> None:
    page = open_work(new_page, live_server, slogan_study(), java_script_enabled=False, viewport=NARROW)
    page.fill("#f-keywords", "storm")
    page.click("#pull-ask")
    expect(page.locator("#pull-needs li:visible")).to_have_count(1)
    expect(page.locator("#f-keywords")).to_have_value("storm")
    page.fill("#f-slogan", "Let it")
    page.click("#pull-ask")
    expect(page.locator("#pull-title")).to_have_text("2 suggestions are being written")
    page.fill("#f-slogan", "Let it rain")
    write()
    page.get_by_role("button", name="Show the suggestions").click()

    expect(page.locator(".suggested li")).to_have_count(2)
    expect(page.locator("#f-slogan")).to_have_value("Let it rain")
    page.fill("#f-slogan", page.locator(".suggested .words").nth(1).inner_text())
    send(page, "Your slogan is finished")
    assert Offer.objects.get(chosen=True).side == "2"


def test_suggestions_and_errors_work_with_the_keyboard_alone(new_page: NewPage, live_server: Any, write: Write) -> None:
    page = open_work(new_page, live_server, slogan_study())
    page.fill("#f-keywords", "storm")
    page.fill("#f-slogan", "Let it")
    tab_to(page, "#pull-ask")
    page.route("**/suggest", lambda route: route.abort())
    page.keyboard.press("Enter")
    expect(page.locator("#pull-note")).to_contain_text("The server does not answer")
    page.unroute("**/suggest")
    page.keyboard.press("Enter")
    expect(page.locator("#pull-title")).to_be_visible()
    write()
    expect(page.locator("#pull-ask")).to_be_focused()
    tab_to(page, ".suggested button")
    page.keyboard.press("Enter")
    expect(page.locator("#f-slogan")).to_be_focused()
    assert page.locator("#f-slogan").input_value() == page.locator(".suggested .words").first.inner_text()


# --- a plain box ---


def test_three_responses_to_a_context(new_page: NewPage, live_server: Any, axe_core: Path) -> None:
    study = make_study(task_type="production", items=1, config={"responses": 3, "least_words": 2, "most_words": 8})
    page = open_work(new_page, live_server, study, viewport=NARROW)
    check_looks(page, axe_core, "production-empty")
    for number, text in enumerate(("Look in your coat.", "Keys.", "look in YOUR coat"), start=1):
        page.fill(f"#f-response-{number}", text)
    page.click(".send button")
    expect(page.locator("#summary")).to_contain_text("Please write at least 2 words; you wrote 1.")
    page.fill("#f-response-2", "Ask your neighbour.")
    page.click(".send button")
    expect(page.locator("#summary")).to_contain_text("This is the same as “Reply 1”.")
    check_looks(page, axe_core, "production")
    page.fill("#f-response-3", "Not again, please.")
    page.click(".send button")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert Output.objects.filter(kind="text").count() == 3
