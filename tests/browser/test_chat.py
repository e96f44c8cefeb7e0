"""Conversations in a real Chromium: by keyboard alone, in place, read out once, and safe from whatever goes wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Rating, Step, Study
from generation.models import Suggestion
from tests.annotation.offers_helpers import answer, pass_time
from tests.annotation.task_types.chat_helpers import begin_answer, chat_study, newest
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.work_helpers import check_looks, open_start, start_work
from tests.services import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LOADED = "window.loadedOnce = (window.loadedOnce || 0) + 1"


def started(page: Page, live_server: LiveServer, study: Study) -> None:
    open_start(page, live_server, study)
    start_work(page)
    expect(page.get_by_label("Your message")).to_be_visible()


def asked(count: int) -> None:
    wait_for(lambda: Suggestion.objects.count() == count, "the requests")


def say(page: Page, message: str) -> None:
    page.keyboard.type(message)
    page.keyboard.press("Enter")


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("CHAT_SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def beside(page: Page, viewport: dict[str, int]) -> bool:
    """Whether both answers to the first message stand next to each other."""
    page.set_viewport_size(viewport)  # type: ignore[arg-type]
    picture(page, f"answered-{viewport['width']}")
    first, second = (page.locator("[data-turn='1'] .answer").nth(number).bounding_box() for number in (0, 1))
    assert first is not None and second is not None
    return first["y"] == second["y"]


def test_two_assistants_by_keyboard_alone_on_one_page(
    live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    page = new_page()
    started(page, live_server, chat_study(sides="two", questions=[]))
    page.evaluate(LOADED)
    page.get_by_label("Your message").focus()
    page.keyboard.type("A word?")
    page.keyboard.press("Shift+Enter")
    say(page, "Or two?")
    asked(2)
    begin_answer("A", "It rai")
    log = page.get_by_role("log", name="Conversation")
    expect(log.locator(".growing").first).to_have_text("It rai")
    expect(page.locator("#talk-status")).to_contain_text("The assistants are writing")
    check_looks(page, axe_core, "a conversation that waits")
    picture(page, "waiting")
    say(page, "")  # Enter while answers are written sends nothing
    for side in "AB":
        answer(newest(side), f"Rain {side}.\nIt rains.")

    expect(log.locator(".answer")).to_contain_text(["Good day.", "Good day.", "Rain A.", "Rain B."])
    expect(page.locator("#talk-status")).to_be_hidden()
    expect(page.get_by_label("Your message")).to_be_focused()
    expect(page.get_by_label("Your message")).to_have_value("")
    check_looks(page, axe_core, "a conversation")
    assert (beside(page, NARROW), beside(page, WIDE)) == (False, True)
    assert page.evaluate("window.loadedOnce") == 1, "the page stayed"
    assert Step.objects.get().answers == {"message": "A word?\nOr two?"}

    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="End the conversation")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What do you think of it?")).to_be_visible()
    check_looks(page, axe_core, "questions after a conversation")
    picture(page, "questions")
    page.keyboard.press("1")
    page.get_by_role("button", name="Send and continue").click()
    wait_for(lambda: Rating.objects.filter(question="better").count() == 1, "the comparison")


def test_a_reload_while_an_answer_is_written_loses_nothing(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page()
    started(page, live_server, chat_study())
    page.get_by_label("Your message").focus()
    say(page, "A word?")
    asked(1)
    page.reload()
    expect(page.locator("#waiting")).to_be_visible()
    begin_answer("A", "It rai")
    expect(page.locator(".growing")).to_have_text("It rai")
    answer(newest("A"), "It rains.")
    expect(page.get_by_role("log")).to_contain_text("It rains.")
    expect(page.get_by_label("Your message")).to_be_focused()
    assert Suggestion.objects.count() == 1


def test_after_the_last_message_there_is_no_box_for_another(live_server: LiveServer, new_page: NewPage) -> None:
    """While answers are written, the box takes the next message: its number is said, and after the last it goes."""
    page = new_page(viewport=NARROW)
    started(page, live_server, chat_study(max_turns=2))
    for number, expected in ((1, "Message 2 of at most 2"), (2, "")):
        expect(page.locator("#talk-count")).to_have_text(f"Message {number} of at most 2")
        page.get_by_label("Your message").fill("A word?")
        page.get_by_role("button", name="Send").click()
        asked(number)
        expect(page.locator("#talk-status")).to_contain_text("usually takes a few seconds")
        if expected:
            expect(page.locator("#talk-count")).to_have_text(expected)
            expect(page.get_by_label("Your message")).to_be_visible()
        else:
            for gone in ("#talk-count", "textarea", "[data-talk=send]", ".help.after"):
                expect(page.locator(gone)).to_be_hidden()
        answer(newest("A"), "It rains.")
        expect(page.get_by_role("log").get_by_text("It rains.")).to_have_count(number)
    expect(page.get_by_text("That was the last message of this conversation.")).to_be_visible()


def test_an_answer_that_does_not_come_is_said_and_asked_for_again(
    live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    page = new_page(viewport=NARROW)
    started(page, live_server, chat_study())
    page.get_by_label("Your message").focus()
    say(page, "A word?")
    asked(1)
    pass_time(31)
    expect(page.get_by_role("alert").filter(has_text="There is no answer to your last message.")).to_be_visible()
    retry = page.get_by_role("button", name="Try again")
    expect(retry).to_be_focused()
    check_looks(page, axe_core, "a conversation without an answer")
    picture(page, "failed-390")
    retry.press("Enter")
    asked(2)
    answer(newest("A"), "It rains.")
    expect(page.get_by_role("log")).to_contain_text("It rains.")
    say(page, "Thanks.")
    asked(3)
    assert Step.objects.order_by("number").last().answers == {"message": "Thanks."}  # type: ignore[union-attr]


def test_the_time_of_each_message_is_its_own(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page()
    started(page, live_server, chat_study())
    page.get_by_label("Your message").focus()
    page.wait_for_timeout(1500)
    say(page, "A word?")
    asked(1)
    answer(newest("A"), "It rains.")
    expect(page.get_by_role("log")).to_contain_text("It rains.")
    say(page, "More?")
    asked(2)
    first, second = (step.timing["message"]["seconds"] for step in Step.objects.order_by("number"))
    assert first >= 1.5
    assert second < first


def test_without_a_script_the_buttons_send_and_the_page_loads_again(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    started(page, live_server, chat_study())
    page.get_by_label("Your message").fill("A word?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#waiting")).to_be_visible()
    asked(1)
    answer(newest("A"), "It rains.")
    expect(page.get_by_role("log")).to_contain_text("It rains.")
    page.get_by_role("button", name="End the conversation").click()
    expect(page.get_by_role("heading", name="What do you think of it?")).to_be_visible()
