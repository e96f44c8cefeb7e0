"""Invitations: the only way to an account of the console that somebody makes themselves."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts import invitations
from accounts.models import AccessLink, LogEntry, TeamMember
from accounts.roles import is_researcher
from tests.accounts.support.people import is_in
from tests.annotation.console_helpers import make_user, signed_in
from tests.factories import make_team

pytestmark = pytest.mark.django_db
FORM = {"username": "newcomer", "password": "a long walk home"}


@pytest.fixture
def root() -> Client:
    cache.clear()
    return signed_in(make_user("root", is_superuser=True))


def invite(root: Client, **form: str) -> str:
    """The link on the page."""
    page = root.post(reverse("console_invite"), form).content.decode()
    return page.partition('readonly value="')[2].partition('"')[0]


def path_of(link: str) -> str:
    return "/" + link.split("/", 3)[3]


def test_an_invited_person_makes_their_account_once(root: Client) -> None:
    team = make_team(owner=make_user("owner"))
    link = path_of(invite(root, email="new@uni.example", team=str(team.pk), team_role="editor"))
    client = Client()
    assert client.get(link).status_code == 200 and client.get(link).status_code == 200
    assert client.post(link, FORM)["Location"] == reverse("console_studies")
    user = User.objects.get(username="newcomer")
    assert is_in(client) and is_researcher(user) and not user.is_superuser and user.email == "new@uni.example"
    assert TeamMember.objects.get(user=user).role == "editor"
    assert Client().post(link, FORM | {"username": "second"}).status_code == 410
    assert Client().get(link).status_code == 410
    entry = LogEntry.objects.get(action="researcher created", about="newcomer")
    assert entry.detail == {"invited_by": "root"}


def test_it_can_make_an_administrator(root: Client) -> None:
    Client().post(path_of(invite(root, administrator="on")), FORM)
    assert User.objects.get(username="newcomer").is_superuser


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"username": "ROOT"}, "This user name is taken"),
        ({"username": "two words"}, "Enter a valid username"),
        ({"password": "short"}, "too short"),
        ({"password": "newcomer-newcomer", "username": "newcomer-newcomer"}, "too similar"),
        ({"username": ""}, "This field is required"),
    ],
)
def test_a_bad_name_or_password_uses_nothing_up(form: dict[str, str], message: str, root: Client) -> None:
    link = path_of(invite(root))
    response = Client().post(link, FORM | form)
    assert response.status_code == 422 and message in response.content.decode()
    assert Client().post(link, FORM).status_code == 302


def test_it_ends_after_a_week_and_when_it_is_revoked(root: Client) -> None:
    old, revoked = path_of(invite(root)), path_of(invite(root))
    newest = AccessLink.objects.latest("pk")
    root.post(reverse("console_revoke_invitation", args=[newest.pk]))
    assert Client().post(revoked, FORM).status_code == 410
    link = AccessLink.objects.exclude(pk=newest.pk).get()
    assert link.expires_at - link.created_at == timedelta(days=7)
    AccessLink.objects.update(expires_at=link.created_at)
    assert Client().post(old, FORM).status_code == 410
    assert not User.objects.filter(username="newcomer").exists()


def test_its_secret_is_not_stored_and_it_is_sent(root: Client) -> None:
    link = invite(root, email="new@uni.example")
    token = link.rstrip("/").rpartition("/")[2]
    assert len(token) >= 40 and token not in str(list(AccessLink.objects.values()))
    assert mail.outbox[0].to == ["new@uni.example"] and link in mail.outbox[0].body
    assert token not in str(list(LogEntry.objects.values()))


def test_a_server_without_mail_shows_the_link_alone(root: Client, settings: Any) -> None:
    settings.SENDS_MAIL = False
    assert invite(root, email="new@uni.example").startswith("http")
    assert mail.outbox == []


def test_only_administrators_invite(root: Client) -> None:
    assert signed_in(make_user("ann")).post(reverse("console_invite")).status_code == 404
    assert not AccessLink.objects.exists()


def test_somebody_signed_in_does_not_use_it_up(root: Client) -> None:
    link = path_of(invite(root))
    assert root.get(link).status_code == 409 and root.post(link, FORM).status_code == 409
    assert Client().post(link, FORM).status_code == 302


def test_it_cannot_be_used_as_a_way_in_nor_the_other_way_round(root: Client) -> None:
    token = path_of(invite(root)).rstrip("/").rpartition("/")[2]
    assert Client().post(reverse("console_way_in", args=[token])).status_code == 410
    way_in = invitations.make_way_in(user=User.objects.get(username="root"), actor="test")
    assert Client().post(reverse("console_join", args=[way_in]), FORM).status_code == 410


def test_the_command_makes_the_first_administrator_and_a_way_in() -> None:
    cache.clear()
    out, err = StringIO(), StringIO()
    call_command("user", "invite", "--administrator", stdout=out, stderr=err)
    assert "once, until" in err.getvalue()
    assert Client().post(path_of(out.getvalue().strip()), FORM).status_code == 302
    out = StringIO()
    call_command("user", "sign-in-link", "newcomer", stdout=out, stderr=err)
    client = Client()
    assert client.post(path_of(out.getvalue().strip())).status_code == 302 and is_in(client)


def test_a_way_in_is_for_researchers_alone() -> None:
    token = invitations.make_way_in(user=make_user("worker", researcher=False), actor="test")
    assert Client().post(reverse("console_way_in", args=[token])).status_code == 410
