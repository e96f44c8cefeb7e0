"""Invitations, passwords, links by e-mail, and who may see what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from marketplace.models import Invitation, LoginLink, Worker
from marketplace.services.accounts import sign_in_links, worker_accounts
from tests.marketplace.support.work_site import PASSWORD, make_assignment, make_worker, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_guesses_left() -> Iterator[None]:
    """Wrong passwords are remembered beyond a test."""
    cache.clear()
    yield
    cache.clear()


PAGES = [
    "market_home",
    "market_history",
    "market_earnings",
    "market_qualifications",
    "market_messages",
    "market_account",
]
JOINING = {"username": "robin", "email": "", "password": PASSWORD, "country": "de"}


@pytest.mark.parametrize("name", PAGES)
def test_every_page_sends_strangers_to_sign_in_and_workers_see_it(name: str) -> None:
    url = reverse(name)
    assert Client().get(url).headers["Location"] == f"{reverse('market_sign_in')}?next={url}"
    assert signed_in(make_worker()).get(url).status_code == 200


@pytest.mark.parametrize("name", PAGES)
def test_people_who_are_not_workers_see_a_message(name: str) -> None:
    client = Client()
    client.force_login(User.objects.create_user("researcher"))
    response = client.get(reverse(name))
    assert response.status_code == 403
    assert b"Not a worker" in response.content


def test_a_closed_account_sees_nothing() -> None:
    worker = make_worker()
    assert worker.user is not None
    client = signed_in(worker)
    worker_accounts.set_worker_active(worker=worker, active=False, actor="test")
    assert client.get(reverse("market_home")).status_code == 302
    assert b"it has been closed" in sign_in(client, worker.user.username, PASSWORD).content
    client.force_login(worker.user)
    assert client.get(reverse("market_home")).status_code == 403


def test_another_workers_task_is_not_found() -> None:
    assignment = make_assignment(make_worker())
    stranger = signed_in(make_worker())
    for name in ("market_task", "market_done", "market_assignment"):
        assert stranger.get(reverse(name, args=[assignment.assignment_id])).status_code == 404
    assert stranger.post(reverse("market_return", args=[assignment.assignment_id])).status_code == 404
    assignment.refresh_from_db()
    assert assignment.state == "Accepted"


def test_an_invitation_makes_a_worker_once() -> None:
    url = reverse("market_join", args=[worker_accounts.invite(actor="test").token])
    client = Client()
    assert client.get(url).status_code == 200
    assert client.post(url, JOINING).headers["Location"] == reverse("market_home")
    worker = Worker.objects.get(user__username="robin")
    assert worker.country == "DE"
    assert re.fullmatch("A[A-Z0-9]{13}", worker.worker_id)
    assert client.get(reverse("market_home")).status_code == 200
    assert Client().get(url).status_code == 410
    assert Client().post(url, JOINING | {"username": "second"}).status_code == 410
    assert Worker.objects.count() == 1


def test_invitations_end_and_cannot_be_guessed() -> None:
    made = worker_accounts.invite(actor="test")
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    for token in (made.token, "guess"):
        assert Client().post(reverse("market_join", args=[token]), JOINING).status_code == 410
    assert not Worker.objects.exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"password": ""}, "Choose a password, or enter an e-mail address"),
        ({"password": "short"}, "too short"),
        ({"username": "TAKEN"}, "This user name is taken."),
        ({"username": "a b"}, "Enter a valid username"),
        ({"country": "Germany"}, "at most 2 characters"),
        ({"country": "1!"}, "“1!” is not a country code."),
        ({"country": "XX"}, "Use two letters of ISO 3166, such as DE or US."),
    ],
)
def test_errors_in_a_new_account_are_explained(changed: dict[str, str], message: str) -> None:
    make_worker("taken")
    url = reverse("market_join", args=[worker_accounts.invite(actor="test").token])
    response = Client().post(url, JOINING | changed)
    assert response.status_code == 422
    assert message in response.content.decode()
    assert Worker.objects.count() == 1


def test_users_without_a_password_sign_in_by_links() -> None:
    url = reverse("market_join", args=[worker_accounts.invite(email="r@mail.example", actor="test").token])
    assert b'value="r@mail.example"' in Client().get(url).content
    Client().post(url, JOINING | {"password": "", "email": "r@mail.example"})
    user = User.objects.get(username="robin")
    assert not user.has_usable_password()
    assert sign_in(Client(), "robin", "").status_code == 422
    assert ask_for_link("R@mail.example").status_code == 200
    (link,) = re.findall(r"http://testserver(\S+)", str(mail.outbox[0].body))
    client = Client()
    assert client.get(link).status_code == 200  # only looking at it uses nothing up
    assert client.post(link).headers["Location"] == reverse("market_home")
    assert client.get(reverse("market_home")).status_code == 200
    assert Client().post(link).status_code == 410


def sign_in(client: Client, username: str, password: str, **more: str):  # type: ignore[no-untyped-def]
    return client.post(reverse("market_sign_in"), {"username": username, "password": password, **more})


def ask_for_link(email: str):  # type: ignore[no-untyped-def]
    return Client().post(reverse("market_ask_link"), {"email": email})


def test_asking_for_a_link_does_not_reveal_who_has_an_account() -> None:
    make_worker(email="here@mail.example")
    known, unknown = ask_for_link("here@mail.example"), ask_for_link("nobody@mail.example")
    without_tokens = [re.sub(rb'value="\w{64}"', b"", response.content) for response in (known, unknown)]
    assert without_tokens[0] == without_tokens[1]
    assert len(mail.outbox) == 1


def test_an_address_gets_only_so_many_links() -> None:
    make_worker(email="here@mail.example")
    for _ in range(6):
        ask_for_link("here@mail.example")
    assert len(mail.outbox) == 3


def test_a_link_that_is_too_old_signs_nobody_in() -> None:
    token = sign_in_links.create_login_link(worker=make_worker())
    LoginLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    client = Client()
    assert client.post(reverse("market_use_link", args=[token])).status_code == 410
    assert client.get(reverse("market_home")).status_code == 302


def test_signing_in_leads_back_but_not_to_other_sites() -> None:
    make_worker("robin")
    history = reverse("market_history")
    assert sign_in(Client(), "robin", PASSWORD, next=history).headers["Location"] == history
    elsewhere = sign_in(Client(), "robin", PASSWORD, next="//evil.example/")
    assert elsewhere.headers["Location"] == reverse("market_home")
    assert sign_in(Client(), "robin", "not the password").status_code == 422


def test_signing_out() -> None:
    client = signed_in(make_worker())
    assert client.get(reverse("market_sign_out")).status_code == 405
    client.post(reverse("market_sign_out"))
    assert client.get(reverse("market_home")).status_code == 302


def test_our_own_forms_need_their_token() -> None:
    worker = make_worker()
    client = Client(enforce_csrf_checks=True)
    assert worker.user is not None
    client.force_login(worker.user)
    assignment = make_assignment(worker)
    for name in ("market_return", "market_task"):
        assert client.post(reverse(name, args=[assignment.assignment_id])).status_code == 403
    accept = reverse("market_accept", args=[assignment.hit.hit_type.type_id])
    assert client.post(accept).status_code == 403


def test_the_account_is_changed_against_the_present_password() -> None:
    worker = make_worker("robin")
    client, url = signed_in(worker), reverse("market_account")
    new = {"email": "new@mail.example", "new_password": "another-long-password"}
    assert client.post(url, new | {"present_password": "wrong"}).status_code == 422
    assert client.post(url, new | {"present_password": PASSWORD}).status_code == 302
    user = User.objects.get(username="robin")
    assert user.email == "new@mail.example" and user.check_password("another-long-password")
    assert client.get(url).status_code == 200  # still signed in
