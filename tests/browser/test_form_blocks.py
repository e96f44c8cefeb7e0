"""The questions of a form as blocks in the console, by mouse, by keyboard and without JavaScript."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Membership, Study
from tests.annotation.console_helpers import make_user
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.test_console import sign_in
from tests.browser.test_console_setup import check, open_page
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def make_form(**config: object) -> Study:
    return make_study(task_type="form", live=False, items=0, config=config)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")


def test_a_question_is_added_filled_and_moved(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_form()
    page = open_page(new_page, live_server, study, "console_settings")
    page.get_by_role("button", name="Add a question").focus()
    page.keyboard.press("Enter")
    new = page.locator("[data-block]").nth(1)
    new.get_by_label("Kind").select_option("choice")  # brings the settings of the kind
    new.get_by_label("Name in the data").fill("fits")
    new.get_by_label("Question", exact=True).fill("Does it fit?")
    options = new.get_by_role("group", name="Options")
    options.get_by_label("Number in the data").fill("1")
    options.get_by_label("Option", exact=True).fill("Yes")
    options.get_by_role("button", name="Add another").click()
    second = options.get_by_role("group", name="Entry 2")
    second.get_by_label("Number in the data").fill("0")
    second.get_by_label("Option", exact=True).fill("No")
    new.get_by_role("button", name="Move up").click()
    save(page)
    study.refresh_from_db()
    first, last = study.config["questions"]
    assert (first["topic"], first["kind"], [row["label"] for row in first["options"]]) == (
        "fits",
        "choice",
        ["Yes", "No"],
    )
    assert last["topic"] == "quality"

    page.locator("[data-block]").nth(0).get_by_role("button", name="Remove this question").click()
    save(page)
    study.refresh_from_db()
    assert [row["topic"] for row in study.config["questions"]] == ["quality"]


def test_a_wrong_question_is_named_and_what_was_typed_stays(live_server: LiveServer, new_page: NewPage) -> None:
    page = open_page(new_page, live_server, make_form(), "console_settings")
    first = page.locator("[data-block]").nth(0)
    first.get_by_label("Name in the data").fill("2 much")
    first.get_by_label("Points").fill("3")
    page.get_by_role("button", name="Save", exact=True).click()
    problem = "Question 1 (2 much): topic: “2 much” must begin with a letter and hold only a–z, 0–9 and _."
    expect(page.get_by_text(problem).first).to_be_visible()
    expect(page.locator("[data-block]").nth(0).get_by_label("Points")).to_have_value("3")


def test_blocks_work_without_javascript(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_form()
    Membership.objects.create(study=study, user=make_user("ada"), role="owner")
    page = new_page(java_script_enabled=False)
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_settings", args=[study.slug]))
    page.locator("[name=config-questions-1-kind]").select_option("text")
    page.locator("[name=config-questions-1-topic]").fill("why")
    page.locator("[name=config-questions-1-question]").fill("Why?")
    page.locator("[name=config-questions-1-place]").fill("1")
    page.locator("[name=config-questions-0-place]").fill("2")
    page.locator("[name=config-questions-1-required]").uncheck()
    save(page)
    page.locator("[name=config-questions-0-rows]").fill("5")  # the settings of the kind are there now
    save(page)
    study.refresh_from_db()
    first, last = study.config["questions"]
    assert (first["topic"], first["required"], first["rows"], last["topic"]) == ("why", False, 5, "quality")


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_the_blocks_are_accessible_and_fit(
    viewport: dict[str, int], scheme: str, live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    study = make_study(task_type="form", live=False, items=0, owner=make_user("ada"))
    page = new_page(viewport=viewport, color_scheme=scheme)
    sign_in(page, live_server)
    check(page, live_server.url + reverse("console_settings", args=[study.slug]), axe_core)
    if folder := os.environ.get("FORM_SHOTS"):
        page.screenshot(path=f"{folder}/blocks-{scheme}.png", full_page=True)


def test_a_matrix_is_built_in_the_console(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_form()
    page = open_page(new_page, live_server, study, "console_settings")
    page.get_by_role("button", name="Add a question").click()
    new = page.locator("[data-block]").nth(1)
    new.get_by_label("Kind").select_option("matrix")
    new.get_by_label("Name in the data").first.fill("usr")
    new.get_by_label("Question", exact=True).fill("Judge the text.")
    rows = new.get_by_role("group", name="Rows")
    first = rows.get_by_role("group", name="Entry 1")
    first.get_by_label("Name in the data").fill("natural")
    first.get_by_label("Criterion").fill("Is it natural?")
    first.get_by_label("A name for every point").fill("No | In part | Yes")
    rows.get_by_role("button", name="Add another").click()
    second = rows.get_by_role("group", name="Entry 2")
    second.get_by_label("Name in the data").fill("overall")
    second.get_by_label("Criterion").fill("How good is it overall?")
    second.get_by_label("Points").fill("one")
    page.get_by_role("button", name="Save", exact=True).click()
    problem = "Question 2 (usr): rows: Entry 2, points: “one” is not a whole number from 2 to 21."
    expect(page.get_by_text(problem).first).to_be_visible()
    page.get_by_role("group", name="Rows").get_by_label("Points").nth(1).fill("7")
    save(page)
    study.refresh_from_db()
    matrix = study.config["questions"][1]
    assert [(row["key"], row["points"], row["labels"]) for row in matrix["rows"]] == [
        ("natural", "3", "No | In part | Yes"),
        ("overall", "7", ""),
    ]
    if folder := os.environ.get("FORM_SHOTS"):
        page.screenshot(path=f"{folder}/matrix-block.png", full_page=True)
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        page.screenshot(path=f"{folder}/matrix-block-narrow.png", full_page=True)
