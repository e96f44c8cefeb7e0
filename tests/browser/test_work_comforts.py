"""What makes work quick and safe in a real Chromium: the code to copy, formatted texts, no script; at 390 px, too."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Participant, Rating, Study
from annotation.task_types.questions import clean_text
from annotation.tokens import participant_token
from common.text_length import count_characters, count_words, is_blank
from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import check_looks, open_start, send, start_work, tab_to
from tests.common.text_lengths import BLANK, LENGTHS, NOT_BLANK
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
    start_work(page)
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
    start_work(page)
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
    start_work(page)
    expect(page.locator("h1")).to_have_text("Judge the set")
    open_start(other, live_server, study)
    expect(other.locator("h1")).to_have_text("All tasks are taken right now")
    expect(other.get_by_role("button")).to_have_count(0)
    check_looks(other, axe_core, "full study")
    open_start(page, live_server, study)
    page.get_by_role("button", name="Open my page").click()
    page.get_by_role("radio").first.check()
    send(page, "Thank you")


def test_lengths_are_counted_on_the_page_as_on_the_server(live_server: Any, new_page: NewPage) -> None:
    page = new_page()
    open_task(page, live_server, make_study(task_type="con_test", items=1, config={"max_words": 5}))
    rng, letters = (
        random.Random(7),
        "a é9_.-’ \n\u00a0\u200b\u200d\u00ad\u0301字かカー々。ไท่ย๒ខមែរမြန်မာ🦉👍🏽हि나י\ufeff\u3164",
    )
    made = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(500)]
    texts = [*made, *BLANK, *NOT_BLANK, *(text for text, _, _ in LENGTHS)]
    js = "texts => texts.map(text => [...hitserverQuestions.lengths(text), hitserverQuestions.blank(text)])"
    there = page.evaluate(js, texts)
    here = [[count_words(text), count_characters(clean_text(text)), is_blank(text)] for text in texts]
    assert [row for row in zip(texts, there, here, strict=True) if row[1] != row[2]] == []
    boxes = page.locator(".question textarea")
    for box, text in zip(boxes.all(), ("我昨天看见狗", "\u200b" * 200, "她走了", "他说话", "狗在叫"), strict=True):
        box.fill(text)
    expect(page.locator(".counter").first).to_have_text("6 words; at most 5")
    page.locator(".send button").click()
    errors = ["Please use at most 5 words; you wrote 6.", "Please write something here."]
    for problem, error in zip(page.locator("#summary li").all(), errors, strict=True):
        expect(problem).to_contain_text(error)
    boxes.first.fill("我看见了狗")
    boxes.nth(1).fill("好")
    send(page, "Choose one of your")
