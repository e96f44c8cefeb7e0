"""Somebody enters an account of their own, chooses it for a study and publishes, in a real browser."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Team, TeamMember
from annotation.models import Membership, PlatformAccount, Study
from annotation.recruiting import tasks
from marketplace.models import Hit as MarketHit
from tests.annotation.console_helpers import make_user
from tests.annotation.recruiting.account_helpers import requester_keys
from tests.browser.conftest import NARROW, NewPage
from tests.browser.test_console import sign_in
from tests.browser.test_platforms import clean, take_picture
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
assert tasks.run_job  # registers the tasks: they run where they are sent


@pytest.fixture
def study(live_server: LiveServer, settings: Any) -> Study:
    """A draft of ada's. She is the payer of a team, and the server itself has no keys."""
    settings.BASE_URL = live_server.url
    settings.MTURK_ENDPOINT = f"{live_server.url}/marketplace/api/"
    settings.MTURK_ACCESS_KEY_ID = settings.MTURK_SECRET_ACCESS_KEY = ""
    draft = make_study(
        items=2, ratings_per_item=2, hits_per_worker=None, live=False, reward=Decimal("0.18"), slug="weather"
    )
    ada = make_user("ada")
    Membership.objects.create(study=draft, user=ada, role="owner")
    team = Team.objects.create(name="Writing lab", slug="writing-lab")
    TeamMember.objects.create(team=team, user=ada, role="payer")
    return draft


@pytest.mark.parametrize(
    ("options", "scheme"),
    [({}, "light"), ({"viewport": NARROW}, "dark"), ({}, "dark"), ({"viewport": NARROW}, "light")],
)
def test_an_account_is_entered_chosen_and_pays(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, study: Study, options: Any, scheme: str
) -> None:
    requester, keys = requester_keys("lab", dollars="25.00")
    page = new_page(color_scheme=scheme, **options)
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/console/platform-accounts/")
    clean(page, axe_core)
    take_picture(page, f"accounts-none-{scheme}")
    page.get_by_role("link", name="Add an account on MTurk").click()
    clean(page, axe_core)
    page.get_by_label("Title").fill("Writing lab’s account")
    page.get_by_label("Belongs to").select_option(label="Team Writing lab")
    page.get_by_label("Access key ID").fill(keys.access_key_id)
    page.get_by_label("Secret access key").fill("a-wrong-secret-key")
    take_picture(page, f"account-new-{scheme}")
    page.get_by_role("button", name="Check and save").click()
    expect(page.get_by_text("Nothing was saved.")).to_be_visible()
    assert page.get_by_label("Secret access key").input_value() == ""
    clean(page, axe_core)
    take_picture(page, f"account-refused-{scheme}")
    page.get_by_label("Access key ID").fill(keys.access_key_id)
    page.get_by_label("Secret access key").fill(keys.secret)
    page.keyboard.press("Enter")
    expect(page.get_by_text("The platform accepts the keys.")).to_be_visible()
    clean(page, axe_core)
    take_picture(page, f"account-{scheme}")
    page.get_by_text("Replace the keys").click()
    clean(page, axe_core)
    take_picture(page, f"account-open-{scheme}")

    page.goto(f"{live_server.url}/console/studies/weather/platforms/on/mturk/")
    take_picture(page, f"choose-{scheme}")
    choice = page.get_by_label("Platform account")
    choice.select_option(index=1)
    page.get_by_role("button", name="Save the settings").click()
    expect(page.get_by_text("Paid by “Writing lab’s account”")).to_be_visible()
    clean(page, axe_core)
    take_picture(page, f"chosen-{scheme}")
    page.get_by_role("button", name="Publish for").click()
    expect(page.get_by_text("MTurk has 2 of 2 HITs.")).to_be_visible()
    clean(page, axe_core)
    take_picture(page, f"paying-{scheme}")
    assert MarketHit.objects.filter(requester=requester).count() == 2
    page.goto(f"{live_server.url}/console/studies/weather/")
    expect(page.get_by_text("It is paid by the account “Writing lab’s account” of the team")).to_be_visible()
    page.goto(f"{live_server.url}/console/platform-accounts/")
    clean(page, axe_core)
    take_picture(page, f"accounts-{scheme}")
    assert keys.secret not in page.content()
    assert PlatformAccount.objects.get().team is not None
