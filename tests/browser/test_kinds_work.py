"""Rankings, matrices, several texts and statements as workers see them: by mouse, touch and keyboard, and without
JavaScript."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import QuestionnaireReply, Rating, Study
from tests.annotation.questionnaire_helpers import asking_study
from tests.annotation.task_types.form_helpers import make_form_study
from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import check_looks, open_start, start_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROWS = [{"sample_id": "s1", "text": "The owl waited until the rain had stopped."}]
MATRIX = {
    "kind": "matrix",
    "topic": "quality",
    "question": "How good is the text?",
    "rows": [
        {"key": "fluent", "label": "Fluency", "points": 7, "low_label": "Broken", "high_label": "Perfect"},
        {"key": "facts", "label": "Facts", "labels": ["Wrong", "Partly right", "Right"], "help": "Of the story."},
        {"key": "fun", "label": "How funny is it?", "points": 5},
    ],
}
FIELDS = {
    "kind": "fields",
    "topic": "notes",
    "question": "What would you change?",
    "texts": [
        {"key": "best", "label": "The most important thing", "min_words": 2, "max_words": 10},
        {"key": "other", "label": "Another thing", "optional": True},
    ],
}
CONFIRM = {
    "kind": "confirm",
    "topic": "sure",
    "question": "Please confirm:",
    "statements": [
        {"key": "read", "label": "I read the text to the end."},
        {"key": "again", "label": "I would read it again.", "optional": True},
    ],
}
ALL = {"questions": [MATRIX, FIELDS, CONFIRM]}
OPTIONS = [
    {"key": "plot", "label": "The plot"},
    {"key": "end", "label": "The ending", "description": "How it comes to a close."},
    {"key": "style", "label": "The style"},
    {"key": "people", "label": "The people in it and what they say to each other"},
]
RANKING = {"kind": "ranking", "topic": "order", "question": "What matters most?", "options": OPTIONS}


def begin(page: Page, live_server: LiveServer, config: dict[str, Any]) -> Study:
    study = make_form_study(ROWS, config, feedback_box=False)
    open_start(page, live_server, study)
    start_work(page)
    return study


def answers(study: Study) -> dict[str, Any]:
    rows = Rating.objects.filter(submission__assignment__hit__study=study)
    return {row.question + (f"/{row.target}" if row.target else ""): row.value or row.text or 0 for row in rows}


def send(page: Page) -> None:
    page.get_by_role("button", name="Send").click()
    expect(page.locator("h1")).to_have_text("Thank you")


def shoot(page: Page, name: str) -> None:
    if folder := os.environ.get("FORM_SHOTS"):
        page.screenshot(path=f"{folder}/{name}-wide.png", full_page=True)
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=f"{folder}/{name}-narrow.png", full_page=True)


def test_groups_by_keyboard(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    page = new_page()
    study = begin(page, live_server, ALL)
    expect(page.get_by_role("radiogroup", name="Facts")).to_be_visible()
    check_looks(page, axe_core, "groups")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#summary li")).to_have_text(
        [
            "Fluency Please choose one answer.",
            "Facts Please choose one answer.",
            "How funny is it? Please choose one answer.",
            "The most important thing Please write something here.",
            "Please confirm: Please tick every statement that is not optional.",
        ]
    )
    shoot(page, "groups")
    for key in ("6", "Enter", "3", "Enter", "1", "Enter"):
        page.keyboard.press(key)
    page.keyboard.type("The last word")
    expect(page.locator(".counter:visible")).to_have_text("3 words; 2 to 10 needed")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    send(page)
    assert answers(study) == {
        "quality_fluent": 6.0,
        "quality_facts": 3.0,
        "quality_fun": 1.0,
        "notes_best": "The last word",
        "sure/read": 1.0,
        "sure/again": 0,
    }


def test_groups_without_javascript(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False, viewport=NARROW)
    study = begin(page, live_server, ALL)
    page.get_by_role("radiogroup", name="Fluency").get_by_role("radio").nth(1).check()
    page.get_by_role("radio", name="Partly right").check()
    page.get_by_label("The most important thing").fill("Nothing")
    page.get_by_role("checkbox", name="again").check()
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#summary li")).to_have_count(3)
    page.get_by_role("radiogroup", name="How funny is it?").get_by_role("radio").nth(4).check()
    page.get_by_label("The most important thing").fill("Nothing at all")
    page.get_by_role("checkbox", name="I read").check()
    send(page)
    stored = answers(study)
    assert (stored["quality_fluent"], stored["quality_facts"], stored["quality_fun"]) == (2.0, 2.0, 5.0)
    assert (stored["sure/read"], stored["sure/again"]) == (1.0, 1.0)


def test_a_heading_hides_with_its_questions(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page()
    begin(page, live_server, {"questions": [MATRIX, FIELDS | {"shown_if": {"quality_facts": [1]}}]})
    heading = page.get_by_role("heading", name="What would you change?")
    expect(heading).to_be_hidden()
    page.get_by_role("radio", name="Wrong").check()
    expect(heading).to_be_visible()


def order(page: Page) -> list[str]:
    return [text.split("\n")[0] for text in page.locator(".rank .name").all_inner_texts()]


def handle(page: Page, name: str) -> Locator:
    return page.locator(".rank", has_text=name).locator(".handle")


def test_a_ranking_by_keyboard(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    page = new_page()
    study = begin(page, live_server, {"questions": [RANKING]})
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Please give each option a rank.").first).to_be_visible()
    handle(page, "The style").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#say")).to_have_text("The style: rank 2 of 4")
    expect(handle(page, "The style")).to_be_focused()
    page.keyboard.press("Home")
    assert order(page)[:3] == ["The style", "The plot", "The ending"]
    handle(page, "The plot").focus()
    page.keyboard.press("End")
    check_looks(page, axe_core, "a ranking")
    shoot(page, "ranking")
    page.reload()
    assert order(page)[-1] == "The plot"
    send(page)
    assert answers(study) == {"order/style": 1.0, "order/end": 2.0, "order/people": 3.0, "order/plot": 4.0}


def drag(page: Page, name: str, onto: str) -> None:
    start, end = handle(page, name).bounding_box(), page.locator(".rank", has_text=onto).bounding_box()
    assert start is not None
    assert end is not None
    x = start["x"] + start["width"] / 2
    page.mouse.move(x, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(x, end["y"] + end["height"] / 2, steps=8)
    page.mouse.move(x, end["y"] + (2 if end["y"] < start["y"] else end["height"] - 2), steps=3)


def test_a_ranking_by_drag(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page(viewport=NARROW)
    study = begin(page, live_server, {"questions": [RANKING]})
    drag(page, "The people", "The plot")
    page.mouse.up()
    assert order(page) == ["The people in it and what they say to each other", "The plot", "The ending", "The style"]
    drag(page, "The plot", "The style")
    page.keyboard.press("Escape")  # puts it back
    page.mouse.up()
    assert order(page)[1] == "The plot"
    drag(page, "The plot", "The style")
    page.mouse.up()
    expect(page.locator("#say")).to_have_text("The plot: rank 4 of 4")
    send(page)
    assert answers(study) == {"order/people": 1.0, "order/end": 2.0, "order/style": 3.0, "order/plot": 4.0}


def test_a_ranking_by_touch(live_server: LiveServer, new_page: NewPage) -> None:
    """A finger on the handle drags and does not scroll."""
    page = new_page(viewport=NARROW, has_touch=True)
    study = begin(page, live_server, {"questions": [RANKING]})
    first, last = handle(page, "The plot").bounding_box(), page.locator(".rank").last.bounding_box()
    assert first is not None
    assert last is not None
    x, y = first["x"] + 20, first["y"] + 20
    finger = page.context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        down = y + (last["y"] + last["height"] - 4 - y) * step / 8
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": down}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.locator("#say")).to_have_text("The plot: rank 4 of 4")
    page.get_by_role("heading", name="Read and answer").tap()  # Chromium makes no click of the tap after such a drag
    page.get_by_role("button", name="Move The ending down").tap()
    send(page)
    assert answers(study) == {"order/style": 1.0, "order/end": 2.0, "order/people": 3.0, "order/plot": 4.0}


def test_a_ranking_with_ties(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page()
    study = begin(page, live_server, {"questions": [RANKING | {"ties": True}]})
    for name, rank in (("The plot", "3"), ("The style", "1"), ("The ending", "1"), ("The people", "4")):
        page.get_by_role("combobox", name=f"Rank of {name}").select_option(rank)
    assert order(page)[:3] == ["The ending", "The style", "The plot"]
    page.get_by_role("button", name="Move The people").first.click()  # the two above stay tied
    send(page)
    assert answers(study) == {"order/end": 1.5, "order/style": 1.5, "order/people": 3.0, "order/plot": 4.0}


def test_a_ranking_without_javascript(live_server: LiveServer, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    study = begin(page, live_server, {"questions": [RANKING]})
    for key, rank in (("plot", "2"), ("end", "2"), ("style", "1"), ("people", "4")):
        page.locator(f"[name='order.{key}']").select_option(rank)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Please use each rank from 1 to 4 exactly once.").first).to_be_visible()
    page.locator("[name='order.end']").select_option("3")
    send(page)
    assert answers(study)["order/end"] == 3.0


def test_questions_with_scripts_before_the_tasks(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    slider = {"kind": "slider", "topic": "tired", "question": "How tired are you?"}
    study = asking_study(before=[MATRIX, RANKING, slider])
    page = new_page(viewport=NARROW)
    open_start(page, live_server, study)
    start_work(page)
    check_looks(page, axe_core, "before")
    for name in ("Fluency", "Facts", "How funny is it?"):
        page.get_by_role("radiogroup", name=name).get_by_role("radio").nth(1).check()
    page.get_by_role("button", name="Move The ending up").click()
    page.get_by_role("slider").press("Space")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Before you start")
    reply = QuestionnaireReply.objects.get()
    assert reply.answers == {
        "quality_fluent": 2.0,
        "quality_facts": 2.0,
        "quality_fun": 2.0,
        "order": ["end", "plot", "style", "people"],
        "tired": 50.0,
    }
