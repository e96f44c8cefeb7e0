"""What makes work quick and safe in a real Chromium: number keys, the code to copy, formatted texts; at 390 px, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Participant, Rating, Study
from annotation.tokens import participant_token
from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import check_looks, open_start, send, tab_to
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SHORT = {"write_first": False, "rate_first": False}
TEXT = "# Read this\n\nPlain first line\nand second.\n\n- one\n- **two**\n\nMore at [the lab](https://example.org/)."


def open_task(page: Page, live_server: Any, study: Study) -> None:
    page.goto(f"{live_server.url}/w/{participant_token(make_participant(study=study).pk)}/")


def test_a_phone_without_javascript_from_the_start_to_the_code_and_the_next_task(
    live_server: Any, new_page: NewPage
) -> None:
    study = make_study(items=2, ratings_per_item=1, hits_per_worker=None, config=SHORT, consent="**Stop** any time.")
    page = new_page(viewport=NARROW, java_script_enabled=False)
    open_start(page, live_server, study)
    expect(page.locator("strong", has_text="Stop")).to_be_visible()
    page.get_by_label("I have read this and agree").check()
    page.get_by_role("button", name="Start").click()
    for number, offer in ((1, "Next task"), (2, "Look again for a task")):
        page.get_by_role("radio").first.check()
        page.get_by_role("button", name="Send and finish").click()
        expect(page.locator("h1")).to_have_text("Thank you")
        expect(page.get_by_text("Your answers are saved.")).to_be_visible()
        expect(page.locator("#code")).to_have_text(Participant.objects.get().completion_code)
        expect(page.get_by_role("button", name="Copy the code")).to_be_hidden()
        assert page.locator("#code").evaluate("node => getComputedStyle(node).userSelect") == "all"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert Rating.objects.count() == number
        page.get_by_role("link", name=offer).click()


def test_the_code_is_copied_by_a_button_that_the_keyboard_reaches(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    study = make_study(items=2, config=SHORT, hits_per_worker=2)
    page = new_page(viewport=NARROW, permissions=["clipboard-read", "clipboard-write"])
    open_task(page, live_server, study)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you")
    check_looks(page, axe_core, "done")
    tab_to(page, "#copy")
    page.keyboard.press("Enter")
    expect(page.locator("#copied")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == Participant.objects.get().completion_code
    tab_to(page, ".send .primary")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Task 2")).to_be_visible()


def test_number_keys_choose_the_points_of_a_half_step_scale_in_the_order_shown(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    page = new_page()
    open_task(page, live_server, make_study(items=1, config=SHORT))
    expect(page.locator(".point .key")).to_have_text([str(number) for number in range(1, 10)])
    expect(page.locator(".keys")).to_contain_text("Press 1 to 9 to answer, then Enter to send.")
    check_looks(page, axe_core, "number keys")
    page.keyboard.press("9")
    expect(page.get_by_role("radio").last).to_be_checked()
    page.keyboard.press("4")
    expect(page.get_by_role("radio").nth(3)).to_be_checked()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.locator("#f-feedback").focus()
    page.keyboard.type("7 of 9")
    expect(page.get_by_role("radio").nth(3)).to_be_checked()
    page.get_by_role("radio").nth(3).focus()
    page.keyboard.press("Control+2")
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert Rating.objects.get().value == 3.5
    assert Rating.objects.get().seconds


def test_a_digit_on_the_page_is_the_key_of_its_point(live_server: Any, new_page: NewPage) -> None:
    """On a scale that runs from 7 down to 1, the key 7 is the point 7."""
    statements = [{"topic": "creative", "question": "The text is creative."}]
    config = {"statements": statements, "direction": "descending"}
    page = new_page()
    open_task(page, live_server, make_study(task_type="likert", items=1, config=config))
    expect(page.locator(".keys")).to_contain_text("Press 1 to 7 to answer")
    expect(page.locator(".key")).to_have_count(0)
    page.keyboard.press("6")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert Rating.objects.get().value == 6


def test_number_keys_do_nothing_where_several_questions_are_open_or_somebody_turned_them_off(
    live_server: Any, new_page: NewPage
) -> None:
    page = new_page()
    open_task(page, live_server, make_study(task_type="likert", items=1))
    expect(page.locator(".keys")).to_have_count(0)
    page.keyboard.press("3")
    expect(page.locator("input:checked")).to_have_count(0)
    open_task(page, live_server, make_study(items=1, config=SHORT))
    page.get_by_role("button", name="Turn off number keys").click()
    expect(page.get_by_role("button", name="Turn on number keys")).to_be_focused()
    page.reload()
    page.keyboard.press("3")
    expect(page.locator("input:checked")).to_have_count(0)
    page.get_by_role("button", name="Turn on number keys").click()
    page.keyboard.press("3")
    expect(page.get_by_role("radio").nth(2)).to_be_checked()


def test_hints_about_keys_are_not_shown_on_a_phone(live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=NARROW, has_touch=True, is_mobile=True)
    open_task(page, live_server, make_study(items=1, config=SHORT))
    expect(page.locator(".keys")).to_have_count(1)
    expect(page.locator(".keys")).to_be_hidden()
    expect(page.locator(".key").first).to_be_hidden()


def test_instructions_and_definition_show_their_formatting(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    study = make_study(
        task_type="pairwise",
        items=1,
        consent=TEXT,
        texts={"instructions": TEXT, "definition": "Judge **fluency** alone."},
    )
    page = new_page()
    open_start(page, live_server, study)
    expect(page.get_by_role("heading", name="Read this")).to_have_count(2)
    check_looks(page, axe_core, "formatted start page")
    page.get_by_label("I have read this and agree").check()
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".notice strong")).to_have_text("fluency")
    page.get_by_text("Instructions", exact=True).click()
    expect(page.get_by_role("listitem")).to_have_text(["one", "two"])
    link = page.get_by_role("link", name="the lab")
    assert (link.get_attribute("rel"), link.get_attribute("target")) == ("noopener", "_blank")
    check_looks(page, axe_core, "formatted instructions")


def test_a_browser_that_started_here_finds_its_page_when_the_study_is_full(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    study = make_study(items=1, ratings_per_item=1, identity="browser", config=SHORT)
    page, other = new_page(viewport=NARROW), new_page(viewport=NARROW)
    open_start(page, live_server, study)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("h1")).to_have_text("Judge the set")
    open_start(other, live_server, study)
    expect(other.locator("h1")).to_have_text("All tasks are taken right now")
    expect(other.get_by_role("button")).to_have_count(0)
    check_looks(other, axe_core, "full study")
    open_start(page, live_server, study)
    page.get_by_role("button", name="Open my page").click()
    page.get_by_role("radio").first.check()
    send(page, "Thank you")


def test_keys_work_on_a_page_with_one_choice(live_server: Any, new_page: NewPage) -> None:
    """con_test: text boxes on the first page, one choice on the second."""
    page = new_page()
    open_task(page, live_server, make_study(task_type="con_test", items=1))
    expect(page.locator(".keys")).to_have_count(0)
    for number, box in enumerate(page.locator(".question textarea").all()):
        box.fill(f"Reply number {number} 5")
    page.locator(".send button").click()
    expect(page.get_by_role("radiogroup")).to_have_count(1)
    page.keyboard.press("2")
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
