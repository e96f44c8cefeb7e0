"""Lists, arms and sources of items in a real browser, by mouse and keyboard, and axe-core on their pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Membership, Study
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from tests.annotation.console_helpers import make_user
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.browser.test_console import sign_in
from tests.factories import make_study, make_submission

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def open_page(new_page: NewPage, live_server: LiveServer, study: Study, name: str, *more: object) -> Page:
    owner = make_user("ada")
    Membership.objects.create(study=study, user=owner, role="owner")
    page = new_page()
    sign_in(page, live_server)
    page.goto(live_server.url + reverse(name, args=[study.slug, *more]))
    return page


def test_entries_are_added_and_removed_by_keyboard(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_study(task_type="likert", live=False)
    page = open_page(new_page, live_server, study, "console_settings")
    before = [row["topic"] for row in study.config["statements"]]
    statements = page.get_by_role("group", name="Statements")
    expect(statements.get_by_role("group")).to_have_count(len(before))
    statements.get_by_role("button", name="Add another").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("surprising")  # the new entry has the focus
    page.keyboard.press("Tab")
    page.keyboard.type("The text is surprising.")
    statements.get_by_role("button", name="Remove entry 2").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    study.refresh_from_db()
    assert [row["topic"] for row in study.config["statements"]] == [before[0], *before[2:], "surprising"]


def test_lists_can_be_filled_without_javascript(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_study(task_type="likert", live=False)
    Membership.objects.create(study=study, user=make_user("ada"), role="owner")
    page = new_page(java_script_enabled=False)
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_settings", args=[study.slug]))
    count = len(study.config["statements"])
    page.locator(f"[name=config-statements-{count}-topic]").fill("new")
    page.locator(f"[name=config-statements-{count}-question]").fill("It is new.")
    page.get_by_role("button", name="Save", exact=True).click()
    study.refresh_from_db()
    assert [row["topic"] for row in study.config["statements"]][-1] == "new"


def test_arms_from_the_list_to_what_differs(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_study(live=False)
    page = open_page(new_page, live_server, study, "console_settings")
    page.get_by_role("link", name="Add arms").click()
    page.get_by_label("Name").fill("solo")
    page.get_by_role("button", name="Add another").click()
    page.get_by_role("group", name="Entry 2").get_by_label("Name").fill("pair")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="pair").click()
    page.get_by_role("spinbutton", name="Maximum words").fill("20")
    expect(page.get_by_role("checkbox", name="Maximum words")).to_be_checked()  # changing it says that it differs
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Saved.")
    assert list(study.arms.values_list("name", "config")) == [("solo", {}), ("pair", {"max_words": 20})]


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_the_pages_are_accessible_and_fit(
    viewport: dict[str, int], scheme: str, live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    owner = make_user("ada")
    there = make_study(task_type="con_test", slug="writing", owner=owner, ratings_per_item=9)
    make_submission(study=there)
    likert = make_study(task_type="likert", live=False, owner=owner)
    study = make_study(live=False, owner=owner, items=0)
    set_feed(study=study, source=there, actor="ada")
    study.arms.create(position=0, name="solo", config={"max_words": 9})
    study.arms.create(position=1, name="pair", reward="0.5", wanted=7)
    page = new_page(viewport=viewport, color_scheme=scheme)
    sign_in(page, live_server)
    pages = [
        (likert, "console_settings"),
        *((study, name) for name in ("console_arms", "console_factors", "console_upload", "console_publish")),
    ]
    urls = [reverse(name, args=[each.slug]) for each, name in pages] + [reverse("console_arm", args=[study.slug, 1])]
    for url in urls:
        check(page, live_server.url + url, axe_core)
    publish(study=study, actor="ada")
    for name in ("console_items", "console_arms", "console_factors", "console_settings"):
        check(page, live_server.url + reverse(name, args=[study.slug]), axe_core)


def check(page: Page, url: str, axe_core: Path) -> None:
    page.goto(url)
    assert axe_problems(page, axe_core) == [], url
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{url} is too wide"
