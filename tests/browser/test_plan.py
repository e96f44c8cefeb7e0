"""The page that plans a study in a real browser: by keyboard, on a phone, in the dark, and axe-core on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Membership
from annotation.results import plan_form
from tests.annotation.console_helpers import make_user
from tests.annotation.results.test_plan_page import address, two_systems
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.browser.test_console import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_a_study_is_planned_by_keyboard(
    viewport: dict[str, int],
    scheme: str,
    live_server: LiveServer,
    new_page: NewPage,
    axe_core: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan_form, "SIMULATIONS", 60)
    study = two_systems()
    Membership.objects.create(study=study, user=make_user("ada"), role="owner")
    page = new_page(viewport=viewport, color_scheme=scheme)
    sign_in(page, live_server)
    page.goto(live_server.url + address(study).replace("/plan/", "/publish/"))
    page.get_by_role("link", name="Are these enough items and ratings?").click()
    page.get_by_label("Size that matters").fill("0.5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The draft has 20 items of each system and 3 raters per item")
    expect(page.get_by_role("img", name="Power by raters per item")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Power")).to_be_visible()
    assert page.get_by_label("Size that matters").input_value() == "0.5"
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert axe_problems(page, axe_core) == []
