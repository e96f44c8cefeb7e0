"""In production, sign-in links are never written to the log: without a mail server, there is no message at all."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hitserver.mail import MailNotSetUp
from marketplace.access import add_operator
from marketplace.services.accounts import sign_in_links, worker_accounts
from tests.hitserver.test_settings import PRODUCTION, load_named

pytestmark = pytest.mark.django_db
ADDRESS = "here@mail.example"


@pytest.fixture
def no_mail(settings: Any) -> None:
    settings.EMAIL_BACKEND = "hitserver.mail.NoMail"
    settings.SENDS_MAIL = False


@pytest.fixture
def worker() -> User:
    user = User.objects.create_user("robin", ADDRESS)
    worker_accounts.create_worker(user=user, actor="test")
    return user


def ask(email: str) -> str:
    response = Client().post(reverse("market_ask_link"), {"email": email})
    assert response.status_code == 200
    return re.sub(r'value="\w{64}"', "", response.content.decode())


@pytest.mark.parametrize(
    ("environment", "backend", "sends"),
    [
        ({}, "django.core.mail.backends.console.EmailBackend", True),
        (PRODUCTION, "hitserver.mail.NoMail", False),
        (PRODUCTION | {"HITSERVER_EMAIL_HOST": "mail.example"}, "django.core.mail.backends.smtp.EmailBackend", True),
    ],
)
def test_where_mail_goes(environment: dict[str, str], backend: str, sends: bool, tmp_path: Any) -> None:
    found = load_named(tmp_path / "var", ["EMAIL_BACKEND", "SENDS_MAIL"], **environment)
    assert found == {"EMAIL_BACKEND": backend, "SENDS_MAIL": sends}


@pytest.mark.usefixtures("no_mail")
def test_an_email_that_cannot_be_sent_is_an_error_without_its_content(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(MailNotSetUp, match="HITSERVER_EMAIL_HOST is not set"):
        mail.send_mail("Your link", "https://hits.example/secret", None, [ADDRESS])


@pytest.mark.usefixtures("no_mail", "worker")
def test_a_link_that_cannot_be_sent_is_not_in_the_log(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    assert sign_in_links.send_links(ADDRESS, "https://hits.example") == 0
    assert "A sign-in link could not be sent" in caplog.text
    assert "/marketplace/sign-in/link/" not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.usefixtures("no_mail")
def test_without_mail_the_operator_passes_the_invitation_on() -> None:
    cache.clear()
    operator = User.objects.create_user("olga")
    add_operator(operator)
    client = Client()
    client.force_login(operator)
    page = client.post(reverse("operate_invitations"), {"email": ADDRESS, "count": 1, "days": 14}).content.decode()
    assert "The e-mail to here@mail.example could not be sent." in page
    assert "/marketplace/join/" in page


@pytest.mark.usefixtures("no_mail", "worker")
def test_without_mail_nobody_is_offered_a_link() -> None:
    assert "This server sends no e-mail." in ask(ADDRESS)
    page = Client().get(reverse("market_sign_in")).content.decode()
    assert reverse("market_ask_link") not in page


# --- who is here --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_asking_for_a_link_does_the_same_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """So neither the page nor its speed shows whether an address is known: a task does the work."""
    queued: list[Any] = []
    monkeypatch.setattr(sign_in_links.send_links, "apply_async", lambda **options: queued.append(options))
    seen = []
    for email in (ADDRESS, "nobody@mail.example"):
        with CaptureQueriesContext(connection) as queries:
            page = ask(email)
        seen.append((page, [query["sql"] for query in queries]))
    assert seen[0] == seen[1]
    assert [options["args"] for options in queued] == [
        [ADDRESS, "http://testserver", "en"],
        ["nobody@mail.example", "http://testserver", "en"],
    ]


@pytest.mark.usefixtures("worker")
def test_a_queue_that_does_not_answer_tells_nothing_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(sign_in_links.send_links, "apply_async", fail)
    assert ask(ADDRESS) == ask("nobody@mail.example")
