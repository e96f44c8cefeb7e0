"""The second factor and an invitation in a real browser, by keyboard, on a phone and on a wide screen."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts import invitations
from tests.accounts.support.people import code_at
from tests.annotation.console_helpers import PASSWORD, make_user
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def look(page: Page, axe_core: Path) -> None:
    assert axe_problems(page, axe_core) == []
    assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_somebody_adds_an_app_and_signs_in_with_it_by_keyboard(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, viewport: dict[str, int]
) -> None:
    cache.clear()
    make_user("ann")
    page = new_page(viewport=viewport)
    page.goto(live_server.url + reverse("console_login"))
    page.keyboard.type("ann")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/")
    page.goto(live_server.url + reverse("console_add_app"))
    page.get_by_text("I cannot scan it").click()
    look(page, axe_core)
    secret = page.locator(".secret-key").inner_text().replace(" ", "")
    field = page.get_by_label("Code that the app shows now")
    expect(field).to_have_attribute("autocomplete", "one-time-code")
    field.fill(code_at(time.time(), secret))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Save your recovery codes")
    look(page, axe_core)
    recovery_code = page.locator(".codes code").first.inner_text()
    page.get_by_role("link", name="I have saved them").click()
    look(page, axe_core)
    page.context.clear_cookies()
    page.goto(live_server.url + reverse("console_login"))
    page.keyboard.type("ann")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Enter your code")
    look(page, axe_core)
    page.keyboard.type("000000")  # the field has the focus
    page.keyboard.press("Enter")
    expect(page.locator("#id_code_error")).to_contain_text("This code is wrong")
    look(page, axe_core)
    page.get_by_label("Code", exact=True).fill(recovery_code)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("You used a recovery code. 9 codes left.")


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_an_invited_person_joins(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, viewport: dict[str, int]
) -> None:
    cache.clear()
    _, token = invitations.invite(actor="root")
    page = new_page(viewport=viewport)
    page.goto(live_server.url + reverse("console_join", args=[token]))
    page.get_by_label("User name").fill("newcomer")
    page.get_by_label("Password").fill("short")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("too short"))).to_be_visible()
    look(page, axe_core)
    page.get_by_label("Password").fill("a long walk home")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/")
    assert User.objects.filter(username="newcomer").exists()
