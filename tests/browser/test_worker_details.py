"""Where the focus is at the end of a task, what stays closed, and what the end of the time means."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.models import Assignment
from tests.browser.conftest import WIDE, NewPage
from tests.browser.work_helpers import open_start
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_next_task_has_the_focus_at_the_end(live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type="production", items=2, ratings_per_item=4, feedback_box=False, hits_per_worker=None)
    page = new_page(viewport=WIDE)
    open_start(page, live_server, study)
    page.get_by_role("button", name="Start").click()
    page.locator("textarea").first.focus()
    page.keyboard.type("This is an answer of several words to the context.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("link", name="Next task")).to_be_focused()


def test_the_reference_examples_stay_closed(live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type="quality", items=2, items_per_hit=1, ratings_per_item=3, hits_per_worker=None)
    page = new_page(viewport=WIDE)
    open_start(page, live_server, study)
    page.get_by_role("button", name="Start").click()
    examples = page.locator("details[data-remember]")
    expect(examples).to_have_attribute("open", "")
    examples.locator("summary").click()
    page.locator("input[type=radio]").first.check(force=True)
    page.locator(".send button").click()
    page.get_by_role("link", name="Next task").click()
    expect(page.locator("details[data-remember]")).not_to_have_attribute("open", "")
    page.locator("details[data-remember] summary").click()
    page.reload()
    expect(page.locator("details[data-remember]")).to_have_attribute("open", "")


def test_the_end_of_the_time_is_in_sight_and_says_what_it_means(live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type="production", items=1)
    page = new_page(viewport=WIDE)
    open_start(page, live_server, study)
    page.get_by_role("button", name="Start").click()
    page.locator("textarea").first.wait_for()
    page.clock.install()
    page.reload()
    page.clock.fast_forward(Assignment.objects.get().hit.study.time_limit_minutes * 60_000 + 5_000)
    over = page.locator("#notice")
    expect(over).to_contain_text("You can still finish it, and your pay stays the same.")
    expect(over).to_be_in_viewport()
