"""Whole journeys of workers in a real Chromium: each task type, by mouse, by keyboard alone, without JavaScript."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.models import Participant, Rating, Step, Submission
from annotation.task_types.items import ItemData
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.work_helpers import check_looks, open_start, send, start_work, tab_to
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TYPES = {"abs_hds": "Judge the set", "asp_hds": "Judge the set", "rnk_hds": "Compare", "sim_hds": "Compare each pair"}


@pytest.mark.parametrize("task_type", TYPES)
def test_a_whole_journey(task_type: str, live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    study = make_study(task_type=task_type, items=1, consent="You may stop at any time.", reward="0.18")
    page = new_page()
    open_start(page, live_server, study)
    check_looks(page, axe_core, "start")
    page.get_by_role("link", name="Look at a task").click()
    check_looks(page, axe_core, "preview")
    page.get_by_role("link", name="Back to the start page").click()
    page.get_by_label("I have read this and agree").check()
    start_work(page)
    check_looks(page, axe_core, "write")
    page.get_by_label("Write your own reply").fill("Did you lock it, I wonder?")
    send(page, "Rate one reply")
    check_looks(page, axe_core, "quality")
    page.get_by_role("radio", name="4 Good").check()
    send(page, TYPES[task_type])
    page.locator(".send button").click()
    expect(page.locator("#summary")).to_be_focused()
    check_looks(page, axe_core, "judge with mistakes")
    groups = page.get_by_role("radiogroup").all()
    assert len(groups) == (10 if task_type == "sim_hds" else 1)
    for group in groups:
        group.get_by_role("radio").nth(2).check()
    if task_type == "sim_hds":
        expect(page.locator("#answered")).to_have_text("10 of 10 answered")
    page.get_by_label("Is there anything").fill("Thanks!")
    check_looks(page, axe_core, "judge")
    send(page, "Thank you")
    check_looks(page, axe_core, "done")
    expect(page.locator(".code")).to_have_text(Participant.objects.get().completion_code)
    assert Submission.objects.get().feedback == "Thanks!"
    assert all(seconds and seconds > 0 for seconds in Rating.objects.values_list("seconds", flat=True))
    assert page.context.cookies() == []


def test_the_keyboard_alone_is_enough(live_server: Any, new_page: NewPage) -> None:
    study = make_study(items=1, consent="You may stop at any time.")
    page = new_page()
    open_start(page, live_server, study)
    tab_to(page, "[name=agree]")
    page.keyboard.press("Space")
    tab_to(page, "button.primary")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Write your own reply")
    tab_to(page, "summary")
    page.keyboard.press("Enter")
    expect(page.get_by_text("A set is diverse when")).to_be_visible()
    tab_to(page, "textarea")
    page.keyboard.type("Did you lock it, I wonder?")
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Rate one reply")
    tab_to(page, "[name=quality]")
    page.keyboard.press("ArrowDown")  # from 5 to 4.5
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Judge the set")
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_be_focused()
    tab_to(page, "#summary a")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.name") == "diversity"
    page.keyboard.press("Space")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert dict(Rating.objects.exclude(value=None).values_list("question", "value")) == {"quality": 4.5, "diversity": 3}


def test_javascript_is_not_needed(live_server: Any, new_page: NewPage) -> None:
    study = make_study(items=1)
    page = new_page(viewport=NARROW, java_script_enabled=False)
    open_start(page, live_server, study)
    start_work(page)
    page.get_by_label("Write your own reply").fill("word " * 16)
    page.get_by_role("button", name="Send and continue").click()
    assert page.locator("#summary a").get_attribute("href") == "#f-own"
    assert page.locator("textarea").input_value().split() == ["word"] * 16
    page.get_by_label("Write your own reply").fill("Did you lock it, I wonder?")
    page.get_by_role("button", name="Send and continue").click()
    page.get_by_role("radio", name="3.5 between “Good” and “Somewhat”").check()
    page.get_by_role("button", name="Send and continue").click()
    page.get_by_role("radio", name="2 Almost not diverse").check()
    page.get_by_role("button", name="Send and finish").click()
    assert page.locator("h1").inner_text() == "Thank you"
    assert dict(Rating.objects.exclude(value=None).values_list("question", "value")) == {"quality": 3.5, "diversity": 2}


def test_the_browser_shows_the_servers_messages(live_server: Any, new_page: NewPage) -> None:
    """The check before sending is a comfort: same problems, same words."""
    study = make_study(items=1)
    said = []
    for enabled in (True, False):
        page = new_page(java_script_enabled=enabled)
        open_start(page, live_server, study)
        start_work(page)
        for text in ("", "word " * 17):
            page.locator("textarea").fill(text)
            page.locator(".send button").click()
            said.append((page.locator("#summary").inner_text(), page.locator(".question .error").inner_text()))
    assert said[:2] == said[2:]
    assert not Step.objects.exists()


def test_a_browser_takes_part_once_in_a_study_that_asks_for_that(live_server: Any, new_page: NewPage) -> None:
    studies = [make_study(items=2, ratings_per_item=9, identity="browser") for _ in range(2)]
    page, other, plain = new_page(), new_page(), new_page(java_script_enabled=False)
    addresses = []
    for visitor in (page, page, other, plain, plain):
        open_start(visitor, live_server, studies[0])
        start_work(visitor)
        expect(visitor.locator("h1")).to_have_text("Write your own reply")
        addresses.append(visitor.url)
    assert addresses[0] == addresses[1]
    assert len(set(addresses)) == 4
    key = page.evaluate("localStorage.getItem('hitserver-browser')")
    assert re.fullmatch("[0-9a-f]{32}", key)
    open_start(page, live_server, studies[1])
    start_work(page)
    people = Participant.objects.filter(worker__platform="browser", worker__platform_id=key)
    assert set(people.values_list("study_id", flat=True)) == {study.pk for study in studies}
    assert page.context.cookies() == []


def test_long_words_and_many_lines_stay_on_a_narrow_screen(live_server: Any, new_page: NewPage) -> None:
    texts = ["x" * 400, "https://example.org/" + "a/" * 200, "line\n" * 6, "שלום " * 60]
    payload: dict[str, Any] = {
        "sample_id": "s",
        "context": "W" * 300,
        "responses": texts,
        "label_name": "",
        "label_value": None,
    }
    payload |= {"label_text": "", "extra": []}
    config = {"write_first": False, "rate_first": False}
    study = make_study(payloads=[ItemData("s", payload)], config=config, ratings_per_item=3)
    for viewport in (NARROW, WIDE, {"width": 320, "height": 600}):
        page = new_page(viewport=viewport)
        open_start(page, live_server, study)
        start_work(page)
        expect(page.locator("h1")).to_have_text("Judge the set")
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        if viewport["width"] < 400:
            for point in page.locator(".point").all():
                box = point.bounding_box()
                assert box is not None
                assert box["height"] >= 44


@pytest.mark.parametrize("task_type", TYPES)
def test_a_page_is_small_and_asks_nobody_else(task_type: str, live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type=task_type, items=1)
    page = new_page()
    sizes: dict[str, int] = {}

    def note(response: Any) -> None:
        sizes[response.url] = 0 if 300 <= response.status < 400 else len(response.body())

    page.on("response", note)
    open_start(page, live_server, study)
    visits = [dict(sizes)]
    for press in ("Start", "Send and continue", "Send and continue", "Send and finish"):
        if page.locator("#f-own").count():
            page.locator("#f-own").fill("Did you lock it, I wonder?")
        for group in page.get_by_role("radiogroup").all():
            group.get_by_role("radio").first.check()
        page.context.clear_cookies()
        sizes.clear()
        page.get_by_role("button", name=press).click()
        page.wait_for_load_state("networkidle")
        visits.append(dict(sizes))
    assert page.locator("h1").inner_text() == "Thank you"
    for visit in visits:
        assert all(url.startswith((live_server.url, "data:")) for url in visit), visit
        assert len(visit) <= 7, visit  # the page, one style sheet, five small scripts that stay in the cache
        assert sum(visit.values()) <= 85_000, visit  # uncompressed, keys included; a third of it on the wire
    everything = {re.sub(r"/[sw]/.*", "/page", url): size for visit in visits for url, size in visit.items()}
    assert sum(everything.values()) <= 70_000, everything
