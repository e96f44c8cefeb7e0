"""A study is published on this server's own marketplace from the console, in a real browser, and ended again."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Membership, Study
from annotation.recruiting import tasks
from marketplace.models import Hit as MarketHit
from marketplace.services.accounts import requester_accounts
from marketplace.services.money import payments
from tests.annotation.console_helpers import make_user
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.browser.test_console import sign_in
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
#: A folder for screenshots.
PICTURES = os.environ.get("HITSERVER_TEST_PICTURES", "")
assert tasks.run_job  # registers the tasks: they run where they are sent


@pytest.fixture
def study(live_server: LiveServer, settings: Any) -> Study:
    """A draft whose owner is ada, on a server that has a key for its own marketplace."""
    requester = requester_accounts.create_requester(name="Lab", email="lab@example.org", actor="test")
    payments.deposit(requester=requester, amount=Decimal("100.00"), actor="test")
    made = requester_accounts.create_access_key(requester=requester, actor="test")
    settings.BASE_URL = live_server.url
    settings.MTURK_ENDPOINT = f"{live_server.url}/marketplace/api/"
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = made.key.access_key_id, made.secret
    draft = make_study(
        items=2, ratings_per_item=2, hits_per_worker=None, live=False, reward=Decimal("0.18"), slug="weather"
    )
    Membership.objects.create(study=draft, user=make_user("ada"), role="owner")
    return draft


def clean(page: Page, axe: Path) -> None:
    assert axe_problems(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def take_picture(page: Page, name: str) -> None:
    if PICTURES:
        width = (page.viewport_size or WIDE)["width"]
        page.screenshot(path=Path(PICTURES) / f"platform-{name}-{width}.png", full_page=True)


@pytest.mark.parametrize(("options", "scheme"), [({}, "light"), ({"viewport": NARROW}, "dark")])
def test_publish_watch_and_end(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, study: Study, options: Any, scheme: str
) -> None:
    page = new_page(color_scheme=scheme, **options)
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/console/studies/weather/")
    page.get_by_role("link", name="Platforms").click()
    clean(page, axe_core)
    page.get_by_role("link", name="Settings, calls and cost").first.click()
    expect(page.get_by_text("$100.00")).to_be_visible()  # fetched by the page itself
    take_picture(page, "publish")
    clean(page, axe_core)
    page.get_by_role("link", name="Every call that publishing would make").click()
    expect(page.get_by_text("3 calls")).to_be_visible()
    clean(page, axe_core)
    page.go_back()
    page.get_by_role("button", name="Publish for $0.88").click()  # by hand: 4 × ($0.18 + a fee of $0.04)
    expect(page.get_by_text("MTurk has 2 of 2 HITs.")).to_be_visible()
    assert MarketHit.objects.filter(max_assignments=2).count() == 2
    budget = page.get_by_role("region", name="Budget")
    expect(budget).to_contain_text("$10.88")  # the cost and at least $10
    budget.get_by_text("Change the budget").first.click()
    clean(page, axe_core)
    take_picture(page, "budget")
    budget.get_by_label("Budget in $").fill("0.50")
    budget.get_by_role("button", name="Change the budget").click()
    expect(page.get_by_text("Enter at least 0.88.")).to_be_visible()
    budget.get_by_text("Change the budget").first.click()
    budget.get_by_label("Budget in $").fill("20.00")
    budget.get_by_role("button", name="Change the budget").click()
    expect(page.get_by_text("The budget is $20.00 now.")).to_be_visible()
    clean(page, axe_core)
    page.get_by_role("link", name="Differences, and what to do about them").click()
    expect(page.get_by_text("Not synced yet.")).to_be_visible()
    clean(page, axe_core)
    page.goto(f"{live_server.url}/console/studies/weather/platforms/")
    page.get_by_text("End the offer", exact=True).first.click()
    page.get_by_role("button", name="End the offer").click()
    expect(page.get_by_text("2 HITs ended.")).to_be_visible()
    assert set(MarketHit.objects.values_list("state", flat=True)) == {"Reviewable"}
