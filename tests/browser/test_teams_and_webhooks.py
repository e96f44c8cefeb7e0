"""Teams, webhooks and tokens in a real browser."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts import tokens
from annotation.models import Membership, Webhook, WebhookDelivery
from annotation.webhooks.managing import send_test
from tests.annotation.console_helpers import make_user, signed_in
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.factories import make_study, make_team

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def cast() -> tuple[Client, list[str]]:
    """The owner of a team, and all pages that she sees of it, its study and the study's webhook."""
    ann = make_user("ann")
    study = make_study(title="Replies to comments", items=1, slug="replies")
    team = make_team(study, "writing-lab", owner=ann, payer=make_user("bartholomew.featherstonehaugh@lab.example.org"))
    Membership.objects.create(study=study, user=make_user("ben"), role="editor")
    hook = Webhook.objects.create(
        study=study, address="https://notebooks.example.org/hooks/replies?key=1", events=Webhook.Event.values, nonce="n"
    )
    now = timezone.now()
    answers = {"delivered": (204, ""), "failed": (503, "Service temporarily unavailable"), "waiting": (None, "")}
    for state, (status, answer) in answers.items():
        message = send_test(webhook=hook)
        WebhookDelivery.objects.filter(pk=message.pk).update(
            state=state, status=status, answer=answer, attempts=2, tried_at=now, seconds=0.4, next_at=now
        )
    Webhook.objects.update(failing_since=now)
    tokens.create_token(user=ann, name="Nightly backup on my laptop", expires_at=now + timedelta(days=90))
    tokens.create_token(user=ann, name="Pays bonuses from the notebook", scopes=["read", "collect", "pay"])
    pages = [
        *(reverse("console_teams"), reverse("console_team", args=[team.slug]), reverse("console_account")),
        *(reverse(f"console_{name}", args=["replies"]) for name in ("members", "webhooks")),
        reverse("console_webhook", args=["replies", hook.pk]),
        reverse("console_new_settings", args=["abs_hds"]),
    ]
    return signed_in(ann), pages


def open_as(client: Client, page: Page, live_server: LiveServer) -> None:
    page.context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}]
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_axe_finds_nothing_and_no_page_is_wider_than_the_screen(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, viewport: dict[str, int], scheme: str
) -> None:
    client, addresses = cast()
    page = new_page(viewport=viewport, color_scheme=scheme)
    open_as(client, page, live_server)
    for address in addresses:
        page.goto(live_server.url + address)
        assert axe_problems(page, axe_core) == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], address


def test_a_team_is_made_by_keyboard(live_server: LiveServer, new_page: NewPage) -> None:
    client, _ = cast()
    page = new_page()
    open_as(client, page, live_server)
    page.goto(live_server.url + reverse("console_teams"))
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("Judges of stories")
    page.keyboard.press("Tab")
    page.keyboard.type("story-judges")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Judges of stories")
