"""The training and items that explain in a real Chromium: by mouse on a phone, by keyboard, without JavaScript."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Study, TriedPage
from annotation.studies.launching import publish
from annotation.tokens import participant_token
from tests.annotation.study_file_helpers import run
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.test_console import sign_in
from tests.browser.test_quality_control import owned
from tests.browser.work_helpers import check_looks
from tests.factories import make_participant, pass_training
from tests.services import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def picture(page: Page, name: str) -> None:
    """Saves pictures for a person to look at, if HITSERVER_TEST_PICTURES names a folder."""
    folder = os.environ.get("HITSERVER_TEST_PICTURES")
    for viewport in (WIDE, NARROW) if folder else ():
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.screenshot(path=f"{folder}/{name}-{viewport['width']}.png", full_page=True)


@pytest.fixture
def study() -> Study:
    study = run(ROOT / "examples" / "presets" / "training.yaml").study
    assert study is not None
    publish(study=study, actor="test")
    return Study.objects.get()


def at_work(page: Page, live_server: Any, study: Study, *, trained: bool = False) -> Page:
    participant = make_participant(study=study)
    if trained:
        pass_training(participant)
    page.goto(live_server.url + reverse("work", args=[participant_token(participant.pk)]))
    return page


def choose(page: Page, label: str, sure: str = "4") -> None:
    page.get_by_text(label, exact=True).click()
    page.locator(".points label").filter(has_text=sure).first.click()


def test_a_training_from_its_first_page_to_the_first_task(
    live_server: Any, new_page: NewPage, axe_core: Path, study: Study
) -> None:
    page = at_work(new_page(viewport=NARROW), live_server, study)
    expect(page.locator(".notice.practice")).to_contain_text("You need 3 of 4 right to start the task.")
    picture(page, "practice")
    check_looks(page, axe_core, "practice")
    choose(page, "Only a part")
    page.locator(".send button").click()
    box = page.locator("#explained")
    expect(box).to_contain_text("That is not right. The right answer: “1 Yes, all of it”.")
    expect(box).to_contain_text("The source says it in the same words.")
    expect(page.get_by_text("The museum is closed on Mondays.", exact=True)).to_be_visible()
    picture(page, "practice-wrong")
    check_looks(page, axe_core, "practice, answered")
    for label in ("Only a part", "No", "No"):
        page.get_by_role("link", name="Continue").first.click()
        choose(page, label)
        page.locator(".send button").click()
    expect(box).to_contain_text("Right: 3 of 4. Needed: 3. You have passed the practice.")
    picture(page, "practice-passed")
    page.get_by_role("link", name="Continue").first.click()
    expect(page.locator("body")).not_to_contain_text("Practice ·")
    assert TriedPage.objects.filter(passed=True).count() == 1


def test_by_keyboard_the_explanation_has_the_focus_and_leads_on(
    live_server: Any, new_page: NewPage, study: Study
) -> None:
    page = at_work(new_page(viewport=WIDE), live_server, study)
    page.get_by_label("Only a part").focus()
    page.keyboard.press("Space")
    page.locator("input[name=sure]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator("#explained")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Continue").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".where")).to_contain_text("Step 2 of 4")


def reach_gold(page: Page) -> None:
    """Go on to the page of the gold item, which may be any of the three."""
    for _ in range(2):
        if page.get_by_text("The bridge was", exact=False).count():
            return
        choose(page, "Yes, all of it")
        page.locator(".send button").click()
        page.wait_for_load_state()


def test_a_gold_item_explains_and_asks_again(live_server: Any, new_page: NewPage, axe_core: Path, study: Study) -> None:
    page = at_work(new_page(viewport=NARROW), live_server, study, trained=True)
    reach_gold(page)
    choose(page, "Only a part")
    page.locator(".send button").click()
    box = page.locator("#explained")
    expect(box).to_contain_text("Please read this, then answer once more")
    expect(box).to_be_focused()
    expect(box).to_have_attribute("role", "alert")
    expect(page.get_by_label("Only a part")).to_be_checked()
    picture(page, "asked-again")
    check_looks(page, axe_core, "asked again")
    page.locator(".send button").click()
    expect(box).to_have_count(0)
    assert list(TriedPage.objects.filter(training=False).values_list("attempt", flat=True)) == [1, 2]


def test_without_javascript_both_work(live_server: Any, new_page: NewPage, study: Study) -> None:
    page = at_work(new_page(viewport=WIDE, java_script_enabled=False), live_server, study)
    choose(page, "Only a part")
    page.locator(".send button").click()
    expect(page.locator("#explained")).to_contain_text("That is not right.")
    page.get_by_role("link", name="Continue").first.click()
    expect(page.locator(".where")).to_contain_text("Step 2 of 4")
    page = at_work(page, live_server, study, trained=True)
    reach_gold(page)
    choose(page, "Only a part")
    page.locator(".send button").click()
    expect(page.locator("#explained")).to_contain_text("Please read this, then answer once more")
    page.locator(".send button").click()
    expect(page.locator("#explained")).to_have_count(0)


def test_the_console_has_the_settings_of_the_training(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    draft = run(ROOT / "examples" / "presets" / "training.yaml").study
    assert draft is not None
    page = new_page(viewport=NARROW)
    owned(draft)
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_questionnaires", args=[draft.slug]))
    expect(page.get_by_label("Training items that must be right")).to_have_value("3")
    page.get_by_label("Training items that must be right").fill("4")
    picture(page, "training-settings")
    check_looks(page, axe_core, "settings of the training")
    page.get_by_role("button", name="Save").click()
    draft.refresh_from_db()
    assert draft.questionnaires["training_needed"] == 4
