"""Users, the server log and a user's own account in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts import tokens, users
from accounts.log import record
from annotation.models import Membership
from marketplace.services.accounts import worker_accounts as marketplace
from tests.annotation.console_helpers import PASSWORD, make_user
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def sign_in(page: Page, live_server: LiveServer, name: str) -> None:
    page.goto(live_server.url + reverse("console_login"))
    page.get_by_label("User name").or_(page.get_by_label("Username")).fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def cast() -> tuple[User, User]:
    """An administrator and a researcher who is signed in elsewhere, with a token, a study and some history."""
    root, ann = make_user("root", is_superuser=True), make_user("ann")
    make_user("bartholomew.featherstonehaugh@language-lab.example.org")
    Membership.objects.create(study=make_study(title="Replies to comments", items=1), user=ann, role="editor")
    marketplace.create_worker(user=User.objects.create_user("worker"), actor="test")
    elsewhere = Client(
        REMOTE_ADDR="2001:db8:1:2::7",
        headers={"User-Agent": "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36"},
    )
    elsewhere.post(reverse("console_login"), {"username": "ann", "password": PASSWORD})
    tokens.create_token(user=ann, name="Nightly backup on my laptop")
    users.deactivate(user=make_user("former"), actor="root")
    record(kind="models", actor="root", action="model registered", about="llama-3-70b", base_url="http://gpu-1:8000/v1")
    return root, ann


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_axe_finds_nothing_and_no_page_is_wider_than_the_screen(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, viewport: dict[str, int], scheme: str
) -> None:
    root, ann = cast()
    worker = User.objects.get(username="worker")
    of_admin = [
        *(reverse(f"console_{name}") for name in ("users", "log", "account")),
        *(reverse("console_user", args=[user.pk]) for user in (root, ann, worker)),
    ]
    page = new_page(viewport=viewport, color_scheme=scheme)
    found = {}
    for name, addresses in (("root", of_admin), ("ann", [reverse("console_account")])):
        page.context.clear_cookies()
        sign_in(page, live_server, name)
        for address in addresses:
            page.goto(live_server.url + address)
            problems = axe_problems(page, axe_core)
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                problems.append("wider than the screen")
            found[f"{name} {address}"] = problems
    assert {address: problems for address, problems in found.items() if problems} == {}


def test_an_administrator_deactivates_somebody_who_is_signed_in(live_server: LiveServer, new_page: NewPage) -> None:
    cast()
    hers, page = new_page(), new_page()
    sign_in(hers, live_server, "ann")
    sign_in(page, live_server, "root")
    page.get_by_role("link", name="Users").click()
    page.get_by_role("link", name="ann", exact=True).click()
    page.get_by_role("button", name="Deactivate").click()
    expect(page.get_by_role("status")).to_contain_text("ann is deactivated, and is signed out everywhere.")
    hers.reload()
    expect(hers.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(hers, live_server, "ann")
    expect(hers.get_by_role("alert")).to_contain_text("The user name or the password is wrong.")


def test_a_token_is_made_used_and_revoked(live_server: LiveServer, new_page: NewPage) -> None:
    cast()
    page = new_page()
    sign_in(page, live_server, "ann")
    page.get_by_role("link", name="ann").click()
    page.get_by_label("Name", exact=True).fill("script")
    page.get_by_role("button", name="Create token").click()
    token = page.get_by_label("The new token").input_value()
    studies = live_server.url + reverse("api_studies")
    program = page.context.request
    page.context.clear_cookies()
    assert program.get(studies).status == 401
    assert program.get(studies, headers={"Authorization": f"Bearer {token}"}).status == 200
    sign_in(page, live_server, "ann")
    page.goto(live_server.url + reverse("console_account"))
    page.get_by_role("button", name="Revoke script").click()
    expect(page.get_by_role("status")).to_contain_text("“script” no longer works")
    assert program.get(studies, headers={"Authorization": f"Bearer {token}"}).status == 401


def test_a_worker_who_opens_the_console_sees_why_they_cannot(live_server: LiveServer, new_page: NewPage) -> None:
    cast()
    worker = User.objects.get(username="worker")
    worker.set_password(PASSWORD)
    worker.save()
    page = new_page()
    sign_in(page, live_server, "worker")
    expect(page.get_by_role("alert")).to_contain_text("This account is not a researcher's")
    page.goto(live_server.url + reverse("market_sign_in"))
    page.get_by_label("User name").fill("worker")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.goto(live_server.url + reverse("console_studies"))
    expect(page.get_by_role("heading", name="You cannot open the console")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
