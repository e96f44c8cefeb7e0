"""Where the focus is at the end of a task, what stays closed, and what the end of the time means."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Assignment, Study
from tests.annotation.task_types.test_mil_story import story_study
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.test_touch_targets import FILL
from tests.browser.work_helpers import open_start, start_work
from tests.factories import make_study, simulated_form

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_next_task_has_the_focus_at_the_end(live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type="production", items=2, ratings_per_item=4, feedback_box=False, hits_per_worker=None)
    page = new_page(viewport=WIDE)
    open_start(page, live_server, study)
    start_work(page)
    page.locator("textarea").first.focus()
    page.keyboard.type("This is an answer of several words to the context.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("link", name="Next task")).to_be_focused()


def writing_study(task_type: str, **values: Any) -> Study:
    return make_study(task_type=task_type, items=2, ratings_per_item=9, hits_per_worker=None, **values)


def begin(page: Page, live_server: Any, study: Study) -> None:
    open_start(page, live_server, study)
    start_work(page)
    expect(page.locator("#task")).to_be_visible()


def nothing_has_the_focus(page: Page) -> bool:
    return bool(page.evaluate("document.activeElement === document.body"))


def test_the_first_box_has_the_focus_on_the_next_page(live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=WIDE)
    begin(page, live_server, writing_study("production", items_per_hit=2, feedback_box=False))
    assert nothing_has_the_focus(page)  # first, there are instructions to read
    for text in ("This is an answer of several words to the context.", "And this is another answer."):
        page.locator("#task textarea").first.focus()
        page.keyboard.type(text)
        page.keyboard.press("Control+Enter")
        if "another" not in text:
            expect(page.locator(".kicker")).to_have_text("2 of 2")
            expect(page.locator("#task textarea").first).to_be_focused()
            assert page.evaluate("scrollY") == 0
            page.reload()
            expect(page.locator("#task textarea").first).to_be_visible()
            assert nothing_has_the_focus(page)
    expect(page.locator("h1")).to_have_text("Thank you")


def test_the_first_box_has_the_focus_in_the_next_task(live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=WIDE)
    begin(page, live_server, writing_study("production", feedback_box=False))
    page.locator("#task textarea").first.fill("This is an answer of several words to the context.")
    expect(page.get_by_text("Ctrl+Enter sends")).to_be_visible()  # the script that sends is there
    page.locator("#task textarea").first.press("Control+Enter")
    expect(page.get_by_role("link", name="Next task")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Task 2")).to_be_visible()
    expect(page.locator("#task textarea").first).to_be_focused()


def test_the_focus_is_behind_a_text_that_was_begun_before(live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=WIDE)
    begin(page, live_server, story_study(config={"sentences": 2}))
    page.fill("#f-sentence", "It rained for the whole of the first week.")
    page.locator(".send button").click()
    box = page.locator("#f-sentence")
    expect(box).not_to_have_value("", timeout=20_000)  # the page waited for the suggestion and loaded again
    expect(box).to_be_focused()
    assert box.evaluate("box => box.selectionStart === box.value.length")


@pytest.mark.parametrize("task_type", ["likert", "abs_hds"])
def test_questions_with_keys_do_not_get_the_focus(task_type: str, live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=WIDE)
    begin(page, live_server, writing_study(task_type, items_per_hit=2))
    for number in range(2):
        page.evaluate(FILL, simulated_form(assignment=Assignment.objects.get(), number=number))
        if number == 0:
            with page.expect_navigation():
                page.locator(".send button").click()
    expect(page.locator("#task")).to_be_visible()
    assert page.locator("#task [data-question]").first.locator("input[type=radio]").count()
    assert nothing_has_the_focus(page)


@pytest.mark.parametrize(
    "device",
    [{"viewport": NARROW, "has_touch": True, "is_mobile": True}, {"viewport": {"width": 1280, "height": 330}}],
    ids=["a touch screen", "a box below the first screen"],
)
def test_a_box_that_would_hide_the_text_above_it_does_not_get_the_focus(
    device: dict[str, Any], live_server: Any, new_page: NewPage
) -> None:
    """On a touch screen, the keyboard would open; below the first screen, there is something to read first."""
    page = new_page(**device)
    begin(page, live_server, writing_study("production", items_per_hit=2))
    page.locator("#task textarea").first.fill("This is an answer of several words to the context.")
    with page.expect_navigation():
        page.locator(".send button").click()
    expect(page.locator(".kicker")).to_have_text("2 of 2")
    page.wait_for_load_state()
    assert nothing_has_the_focus(page)
    assert page.evaluate("scrollY") == 0


def test_the_reference_examples_stay_closed(live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type="quality", items=2, items_per_hit=1, ratings_per_item=3, hits_per_worker=None)
    page = new_page(viewport=WIDE)
    open_start(page, live_server, study)
    start_work(page)
    examples = page.locator("details[data-remember]")
    expect(examples).to_have_attribute("open", "")
    examples.locator("summary").click()
    page.locator("input[type=radio]").first.check(force=True)
    page.locator(".send button").click()
    with page.expect_navigation():
        page.get_by_role("link", name="Next task").click()
    expect(page.locator("details[data-remember]")).not_to_have_attribute("open", "")
    page.locator("details[data-remember] summary").click()
    page.reload()
    expect(page.locator("details[data-remember]")).to_have_attribute("open", "")


def test_the_end_of_the_time_is_in_sight_and_says_what_it_means(live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type="production", items=1)
    page = new_page(viewport=WIDE)
    open_start(page, live_server, study)
    start_work(page)
    page.locator("textarea").first.wait_for()
    page.clock.install()
    page.reload()
    page.clock.fast_forward(Assignment.objects.get().hit.study.time_limit_minutes * 60_000 + 5_000)
    over = page.locator("#notice")
    expect(over).to_contain_text("You can still finish it, and your pay stays the same.")
    expect(over).to_be_in_viewport()
