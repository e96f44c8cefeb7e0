"""Forms as workers see them: sliders, numbers and dates by mouse and keyboard, and without JavaScript."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Rating, Study
from tests.annotation.task_types.form_helpers import make_form_study
from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import check_looks, open_start, start_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROWS = [
    {
        "sample_id": "s1",
        "source": "Die Eule wartete, bis der Regen aufgehört hatte.",
        "mt_a": "The owl waited until the rain had stopped.",
        "mt_b": "The owl has waited until the rain stops.",
    }
]
CONFIG = {
    "texts": ["mt_a", "mt_b"],
    "shown": [{"field": "source", "heading": "Source", "as": "text"}],
    "questions": [
        {
            "kind": "slider",
            "topic": "da",
            "question": "How well does it say what the source says?",
            "low_label": "Not at all",
            "high_label": "Perfectly",
            "of": "text",
        },
        {"kind": "number", "topic": "age", "question": "How old are you?", "unit": "years", "min_value": 18},
        {"kind": "date", "topic": "day", "question": "Which day is it?", "required": False},
    ],
}


def measured(study: Study) -> dict[tuple[str, str], float]:
    rows = Rating.objects.filter(submission__assignment__hit__study=study)
    return {(row.question, row.target): float(row.value or 0) for row in rows}


def test_a_slider_has_no_place_until_it_is_used(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    study = make_form_study(ROWS, CONFIG, feedback_box=False)
    page = new_page(viewport=NARROW)
    open_start(page, live_server, study)
    start_work(page)
    sliders = page.get_by_role("slider")
    expect(sliders).to_have_count(2)
    expect(sliders.first).to_have_attribute("aria-valuetext", "not answered yet")
    check_looks(page, axe_core, "a form")
    if folder := os.environ.get("FORM_SHOTS"):
        page.screenshot(path=f"{folder}/work-wide.png", full_page=True)
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=f"{folder}/work-narrow.png", full_page=True)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Please choose a place on the line.").first).to_be_visible()
    sliders.first.focus()
    page.keyboard.press("Space")  # the middle
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-kind=slider] [data-value]").first).to_have_value("51")
    sliders.nth(1).focus()
    page.keyboard.press("End")
    page.get_by_label("How old are you?").fill("44")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    stored = measured(study)
    assert sorted(value for (topic, _), value in stored.items() if topic == "da") == [51.0, 100.0]
    assert {target for topic, target in stored if topic == "da"} == {"mt_a", "mt_b"}
    assert stored["age", ""] == 44.0


def test_a_form_works_without_javascript(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_form_study(ROWS, CONFIG, feedback_box=False)
    page = new_page(java_script_enabled=False)
    open_start(page, live_server, study)
    start_work(page)
    boxes = page.locator("[data-kind=slider] [data-value]")
    boxes.nth(0).fill("20")
    boxes.nth(1).fill("2000")
    page.get_by_label("How old are you?").fill("20")
    page.get_by_label("Which day is it?").fill("2026-11-26")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Please use a number from 0 to 100 in steps of 1.").first).to_be_visible()
    boxes.nth(1).fill("30")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    assert sorted(value for (topic, _), value in measured(study).items() if topic == "da") == [20.0, 30.0]


ERRORS = {
    "texts": ["mt_b"],
    "shown": [{"field": "source", "heading": "Source", "as": "text"}],
    "questions": [
        {"kind": "spans", "topic": "errors", "question": "Mark all errors."},
        {"kind": "slider", "topic": "score", "question": "How good is the translation?"},
    ],
}
#: “has waited” and “stops” in “The owl has waited until the rain stops.”
BOTH = '[{"start":8,"end":18,"severity":"major"},{"start":34,"end":39,"severity":"minor"}]'


def stored_errors(study: Study) -> str:
    return Rating.objects.get(submission__assignment__hit__study=study, question="errors").text


def test_marks_by_mouse_and_by_keyboard(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    study = make_form_study(ROWS, ERRORS, feedback_box=False)
    page = new_page()
    open_start(page, live_server, study)
    start_work(page)
    text = page.locator("[data-text]")
    text.get_by_text("has", exact=True).click()
    text.get_by_text("waited", exact=True).click()
    page.get_by_role("button", name="Major").click()
    expect(page.locator(".marks li")).to_have_text("has waited Major ChangeRemove")
    check_looks(page, axe_core, "marks")
    if folder := os.environ.get("FORM_SHOTS"):
        page.screenshot(path=f"{folder}/marks-wide.png", full_page=True)
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=f"{folder}/marks-narrow.png", full_page=True)
    page.keyboard.press("End")  # the focus is back in the text
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Minor")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".marks li")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".marks li")).to_have_count(1)
    text.get_by_text("stops", exact=True).click()
    page.get_by_role("button", name="Minor").click()
    page.get_by_role("slider").focus()
    page.keyboard.press("Space")
    page.reload()  # what was marked survives
    expect(page.locator(".marks li")).to_have_count(2)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    assert stored_errors(study) == BOTH
    assert measured(study)["errors", ""] == 6.0


def test_marks_by_touch(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_form_study(ROWS, ERRORS, feedback_box=False)
    page = new_page(viewport=NARROW, has_touch=True)
    open_start(page, live_server, study)
    start_work(page)
    text = page.locator("[data-text]")
    for words, severity in (("has waited", "Major"), ("stops", "Minor")):
        for word in words.split():
            text.get_by_text(word, exact=True).tap()
        page.get_by_role("button", name=severity).tap()
    page.locator("[data-kind=slider] [data-value]").fill("40")
    page.get_by_role("button", name="Send").tap()
    expect(page.locator("h1")).to_have_text("Thank you")
    assert stored_errors(study) == BOTH


def test_marks_without_javascript(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_form_study(ROWS, ERRORS, feedback_box=False)
    page = new_page(java_script_enabled=False)
    open_start(page, live_server, study)
    start_work(page)
    page.locator("textarea[name=errors]").fill("major: has waited\nminor: eagle")
    page.locator("[name=score]").fill("40")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("“eagle” is not in the text. Copy the words from the text.").first).to_be_visible()
    page.locator("textarea[name=errors]").fill("major: has waited\nminor: stops")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    assert stored_errors(study) == BOTH
