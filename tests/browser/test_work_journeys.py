"""Whole journeys of workers in a real Chromium: each task type, by mouse, by keyboard alone, without JavaScript."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Participant, Rating, Step, Study, Submission
from annotation.task_types.base import ItemData
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LOOKS = [(NARROW, "light"), (NARROW, "dark"), (WIDE, "light"), (WIDE, "dark")]
TYPES = {"abs_hds": "Judge the set", "asp_hds": "Judge the set", "rnk_hds": "Compare", "sim_hds": "Compare each pair"}


def open_start(page: Page, live_server: Any, study: Study) -> None:
    page.goto(live_server.url + reverse("study_start", args=[study.slug]))


def check_looks(page: Page, axe_core: Path, where: str) -> None:
    """No accessibility problem and no sideways scrolling, at both widths and in both colour schemes."""
    for viewport, scheme in LOOKS:
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert axe_problems(page, axe_core) == [], f"{where} at {viewport['width']} {scheme}"
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], where


def send(page: Page, then: str) -> None:
    page.locator(".send button").click()
    expect(page.locator("h1")).to_contain_text(then)


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
    page.get_by_role("button", name="Start").click()
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


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until the element has the focus; every stop on the way must show where it is."""
    for _ in range(30):
        page.keyboard.press("Tab")
        ring = page.evaluate(
            """() => { const at = document.activeElement, seen = [at, at.parentElement];
                       return seen.some(node => getComputedStyle(node).outlineStyle !== 'none'); }"""
        )
        assert ring, page.evaluate("document.activeElement.outerHTML")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab never reached {selector}")


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
    page.get_by_role("button", name="Start").click()
    page.get_by_label("Write your own reply").fill("word " * 16)
    page.get_by_role("button", name="Send and go on").click()
    assert page.locator("#summary a").get_attribute("href") == "#f-own"
    assert page.locator("textarea").input_value().split() == ["word"] * 16
    page.get_by_label("Write your own reply").fill("Did you lock it, I wonder?")
    page.get_by_role("button", name="Send and go on").click()
    page.get_by_role("radio", name="3.5 between “Good” and “Somewhat”").check()
    page.get_by_role("button", name="Send and go on").click()
    page.get_by_role("radio", name="2 Almost not diverse").check()
    page.get_by_role("button", name="Send and finish").click()
    assert page.locator("h1").inner_text() == "Thank you"
    assert dict(Rating.objects.exclude(value=None).values_list("question", "value")) == {"quality": 3.5, "diversity": 2}


def test_the_browser_says_what_the_server_says(live_server: Any, new_page: NewPage) -> None:
    """The check before sending is a comfort: same problems, same words."""
    study = make_study(items=1)
    said = []
    for enabled in (True, False):
        page = new_page(java_script_enabled=enabled)
        open_start(page, live_server, study)
        page.get_by_role("button", name="Start").click()
        for text in ("", "word " * 17):
            page.locator("textarea").fill(text)
            page.locator(".send button").click()
            said.append((page.locator("#summary").inner_text(), page.locator(".question .error").inner_text()))
    assert said[:2] == said[2:]
    assert not Step.objects.exists()


def test_long_words_and_many_lines_stay_on_a_narrow_screen(live_server: Any, new_page: NewPage) -> None:
    texts = ["x" * 400, "https://example.org/" + "a/" * 200, "line\n" * 6, "שלום " * 60]
    payload = {"sample_id": "s", "context": "W" * 300, "responses": texts, "label_name": "", "label_value": None}
    payload |= {"label_text": "", "extra": {}}
    config = {"write_first": False, "rate_first": False}
    study = make_study(payloads=[ItemData("s", payload)], config=config, ratings_per_item=3)
    for viewport in (NARROW, WIDE, {"width": 320, "height": 600}):
        page = new_page(viewport=viewport)
        open_start(page, live_server, study)
        page.get_by_role("button", name="Start").click()
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
    for press in ("Start", "Send and go on", "Send and go on", "Send and finish"):
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
        assert len(visit) <= 6, visit
        assert sum(visit.values()) <= 60_000, visit
    everything = {re.sub(r"/[sw]/.*", "/page", url): size for visit in visits for url, size in visit.items()}
    assert sum(everything.values()) <= 60_000, everything
