"""Marks in a text at the edges: the first word, and texts whose lines end as Windows writes them."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Rating
from tests.annotation.task_types.form_helpers import make_form_study
from tests.browser.conftest import NewPage
from tests.browser.work_helpers import open_start, start_work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUESTION = {"kind": "spans", "topic": "errors", "question": "Mark all errors."}
CONFIG = {"texts": ["text"], "questions": [QUESTION]}


def stored_after_reload(live_server: LiveServer, page_maker: NewPage, text: str, words: list[str]) -> str:
    """What is stored once a worker marks each of these words as minor, loads the page again and sends it."""
    study = make_form_study([{"sample_id": "s1", "text": text}], CONFIG, feedback_box=False)
    page = page_maker()
    open_start(page, live_server, study)
    start_work(page)
    for word in words:
        page.locator("[data-text]").get_by_text(word, exact=True).click()
        page.get_by_role("button", name="Minor").click()
    page.reload()
    expect(page.locator(".marks li")).to_have_text([f"{word} Minor ChangeRemove" for word in words])
    last = page.locator(".marks li").last
    last.get_by_role("button", name="Remove").click()  # every mark is written once more
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    return Rating.objects.get(submission__assignment__hit__study=study, question="errors").text


def test_a_mark_on_the_first_word_survives_a_reload(live_server: LiveServer, new_page: NewPage) -> None:
    stored = stored_after_reload(live_server, new_page, "The owl waited.", ["The", "owl"])
    assert stored == '[{"start":0,"end":3,"severity":"minor"},{"start":4,"end":7,"severity":"minor"}]'


def test_places_count_the_line_ends_of_the_stored_text(live_server: LiveServer, new_page: NewPage) -> None:
    """A carriage return is a code point of the stored text, though a page's source loses it before a line feed."""
    text = "The owl\r\nwaited\r\nin the rain."
    assert text.index("rain") == 24
    stored = stored_after_reload(live_server, new_page, text, ["rain"])
    assert stored == '[{"start":24,"end":28,"severity":"minor"}]'


def test_given_marks_are_confirmed_changed_and_removed(live_server: LiveServer, new_page: NewPage) -> None:
    """Of three given marks, one stays, one becomes major, by keyboard, and one goes."""
    given = [{"start": at, "end": at + 3, "severity": "minor"} for at in (0, 4, 22)]
    config = {"texts": ["text"], "questions": [{**QUESTION, "given": "marks"}]}
    item = {"sample_id": "s1", "text": "The owl waited in the old barn.", "marks": json.dumps(given)}
    study = make_form_study([item], config, feedback_box=False)
    page = new_page()
    open_start(page, live_server, study)
    start_work(page)
    expect(page.locator(".marks li q")).to_have_text(["The", "owl", "old"])
    expect(page.get_by_text("Some places are already marked.")).to_be_visible()
    page.get_by_role("button", name="Change: owl").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Remove: old").click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    stored = Rating.objects.get(submission__assignment__hit__study=study, question="errors").text
    assert stored == (
        '[{"start":0,"end":3,"severity":"minor","given":1},'
        '{"start":4,"end":7,"severity":"major","given":2,"changed":true}]'
    )
