"""Trying a study in its preview: another width keeps what is typed, and the address follows the step."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.conftest import NewPage
from tests.browser.test_console_setup import open_page
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_another_width_keeps_what_is_typed(live_server: LiveServer, new_page: NewPage) -> None:
    statements = [{"topic": "liked", "question": "I like it."}, {"topic": "new", "question": "It is new."}]
    study = make_study(task_type="likert", items=2, items_per_hit=2, config={"statements": statements})
    page = open_page(new_page, live_server, study, "console_preview")
    frame = page.frame_locator("iframe.preview")
    frame.get_by_role("button", name="Start").click()
    frame.locator("[name=liked]").first.check(force=True)
    page.get_by_role("link", name="Wide").click()
    expect(page.locator("iframe.preview")).to_have_class("preview wide")
    expect(frame.locator("[name=liked]").first).to_be_checked()
    frame.locator("[name=new]").first.check(force=True)
    frame.get_by_role("button", name="Send and continue").click()
    expect(frame.get_by_text("Step 2 of 2")).to_be_visible()
    expect(page).to_have_url(re.compile(r"width=wide&step=2$"))
    page.reload()
    expect(frame.get_by_text("Step 2 of 2")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
