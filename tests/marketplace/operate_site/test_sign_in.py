"""Who signs in for a requester, and by which links."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from marketplace.models import AuditRow, Requester, RequesterLink
from marketplace.services.accounts import requester_accounts, users, worker_accounts
from marketplace.services.refusals import Refusal
from tests.marketplace.support.operate_site import (
    PASSWORD,
    make_operator,
    make_requester,
    make_user,
    signed_in,
    sure,
)

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "a quite different horse"


# --- who signs in for a requester -------------------------------------------------------------------------------


@pytest.fixture
def operator() -> Client:
    return signed_in(make_operator("olga"))


@pytest.fixture
def lab() -> Requester:
    return requester_accounts.create_requester(name="Speech lab", email="lab@example.org", actor="test")


def link_on(answer: Any) -> str:
    return unescape(re.findall(r'<textarea id="link"[^>]*>([^<]+)</textarea>', answer.content.decode())[0])


def user_of(lab: Requester) -> User | None:
    return Requester.objects.select_related("user").get(pk=lab.pk).user


def test_an_existing_user_is_attached_and_detached(operator: Client, lab: Requester) -> None:
    sue = make_user("sue")
    attach, detach = (reverse(f"operate_{name}_user", args=[lab.pk]) for name in ("attach", "detach"))
    assert operator.post(attach, {"username": "sue"}).status_code == 302
    assert signed_in(sue).get(reverse("operate_my_hits")).status_code == 200
    taken = operator.post(attach, {"username": "olga"}, follow=True)
    assert "Detach that user first" in taken.content.decode()
    sure(operator, detach)
    assert user_of(lab) is None
    assert signed_in(sue).get(reverse("operate_my_hits")).status_code == 404
    assert {"user attached", "user detached"} <= set(AuditRow.objects.values_list("action", flat=True))


@pytest.mark.parametrize("name", ["nobody", "taken", ""])
def test_users_who_cannot_be_attached_are_refused_with_a_reason(name: str, operator: Client, lab: Requester) -> None:
    make_requester(user=make_user("taken"))
    answer = operator.post(reverse("operate_attach_user", args=[lab.pk]), {"username": name})
    assert answer.status_code == 422
    assert user_of(lab) is None


def test_an_invited_person_makes_their_user_once(operator: Client, lab: Requester) -> None:
    link = link_on(operator.post(reverse("operate_user_link", args=[lab.pk]), {"send": "1"}))
    (letter,) = mail.outbox
    assert letter.to == ["lab@example.org"]
    assert link in letter.body
    person = Client()
    assert person.get(link).status_code == 200
    assert user_of(lab) is None
    weak = person.post(link, {"username": "sue", "password": "12345"})
    assert weak.status_code == 422
    assert person.post(link, {"username": "OLGA", "password": PASSWORD}).status_code == 422
    assert person.post(link, {"username": "sue", "password": PASSWORD}).status_code == 302
    assert person.get(reverse("operate_my_hits")).status_code == 200
    made = user_of(lab)
    assert made is not None and (made.username, made.email) == ("sue", "lab@example.org")
    assert Client().get(link).status_code == 410
    assert Client().post(link, {"username": "eve", "password": PASSWORD}).status_code == 410
    row = AuditRow.objects.get(action="user made")
    assert (row.actor, row.requester, row.kind) == ("sue", lab, "access")
    token = link.rstrip("/").rpartition("/")[2]
    assert token not in str(list(RequesterLink.objects.values())) + str(list(AuditRow.objects.values()))


def test_a_link_sets_a_new_password_and_ends_other_sessions(operator: Client, lab: Requester) -> None:
    token = users.invite_user(requester=lab, actor="olga")
    sue = users.redeem_link(token=token, username="sue", password=PASSWORD)
    elsewhere = signed_in(sue)
    link = link_on(operator.post(reverse("operate_user_link", args=[lab.pk])))
    assert mail.outbox == []
    assert elsewhere.get(reverse("operate_my_hits")).status_code == 200
    assert Client().post(link, {"password": NEW_PASSWORD}).status_code == 302
    assert elsewhere.get(reverse("operate_my_hits")).status_code == 302
    assert not Client().login(username="sue", password=PASSWORD)
    assert Client().login(username="sue", password=NEW_PASSWORD)
    assert Client().get(link).status_code == 410
    assert AuditRow.objects.get(action="password set").requester == lab


def test_an_operator_cannot_come_in_as_somebody_who_was_only_attached(operator: Client, lab: Requester) -> None:
    """Otherwise an operator could attach the person who runs the server, make a password link, and sign in as them."""
    root = User.objects.create_superuser("root", password=PASSWORD)
    users.attach_user(requester=lab, username="root", actor="olga")
    answer = operator.post(reverse("operate_user_link", args=[lab.pk]), follow=True)
    assert "you cannot reset its password" in answer.content.decode()
    assert not RequesterLink.objects.exists()
    assert (
        "Make a link for a new password"
        not in operator.get(reverse("operate_requester", args=[lab.pk])).content.decode()
    )
    root.refresh_from_db()
    assert root.check_password(PASSWORD)


def test_a_link_is_void_when_it_is_old_or_replaced_or_the_user_was_detached(lab: Requester) -> None:
    old = users.invite_user(requester=lab, actor="olga")
    newer = users.invite_user(requester=lab, actor="olga")
    assert users.find_link(old) is None
    RequesterLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Refusal, match="expired"):
        users.redeem_link(token=newer, username="sue", password=PASSWORD)
    token = users.invite_user(requester=lab, actor="olga")
    users.redeem_link(token=token, username="sue", password=PASSWORD)
    renewing = users.make_password_link(requester=lab, actor="olga")
    users.detach_user(requester=lab, actor="olga")
    assert users.find_link(renewing) is None


def test_a_link_of_a_deactivated_requester_is_void(lab: Requester) -> None:
    token = users.invite_user(requester=lab, actor="olga")
    requester_accounts.set_requester_active(requester=lab, active=False, actor="olga")
    assert Client().get(reverse("operate_welcome", args=[token])).status_code == 410


def test_a_user_made_with_the_requester_can_get_a_new_password(operator: Client) -> None:
    form = {"name": "Lab B", "username": "bob", "password": PASSWORD}
    operator.post(reverse("operate_new_requester"), form)
    made = Requester.objects.get(name="Lab B")
    link = link_on(operator.post(reverse("operate_user_link", args=[made.pk])))
    assert Client().post(link, {"password": NEW_PASSWORD}).status_code == 302


# --- links begin with one address -------------------------------------------------------------------------------


@pytest.mark.parametrize(("chosen", "begins"), [(True, "https://hits.example.org/"), (False, "http://testserver/")])
def test_every_link_begins_with_the_address_that_was_chosen_else_with_the_one_asked_for(
    chosen: bool, begins: str, operator: Client, lab: Requester, settings: Any
) -> None:
    settings.BASE_URL, settings.BASE_URL_IS_SET = "https://hits.example.org", chosen
    found = [link_on(operator.post(reverse("operate_user_link", args=[lab.pk])))]
    page = operator.post(reverse("operate_invitations"), {"count": "1", "days": "7"}).content.decode()
    found += re.findall(r"http\S+/join/\S+", unescape(page))
    user = User.objects.create_user("ann", "ann@example.org", PASSWORD)
    worker = worker_accounts.create_worker(user=user, actor="test")
    assert worker.active
    Client().post(reverse("market_ask_link"), {"email": "ann@example.org"})
    found += re.findall(r"http\S+", str(mail.outbox[0].body))
    found += re.findall(r"<code>(http[^<]+)</code>", operator.get(reverse("operate_home")).content.decode())
    assert len(found) == 4
    assert all(link.startswith(begins) for link in found), found
