"""Signing in: one brake for all pages, each page for its own people, and every attempt in the log."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts import roles
from accounts.models import LogEntry
from common import brake
from common.brake import MOST_FOR_A_NAME
from marketplace.access import add_operator
from marketplace.services.accounts.requester_accounts import create_requester
from marketplace.services.accounts.worker_accounts import create_worker, set_worker_active

pytestmark = pytest.mark.django_db
PAGES = ("console_login", "operate_login", "market_sign_in")
PASSWORD = "correct-horse-battery"
WAIT = "Wait 15 minutes"


@pytest.fixture(autouse=True)
def nobody_has_guessed() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def make_user(name: str) -> User:
    return User.objects.create_user(name, password=PASSWORD)


@pytest.fixture
def everywhere() -> None:
    """Two users with every role, so that all pages admit them. No service makes such a user."""
    for name in ("ada", "eve"):
        user = make_user(name)
        create_worker(user=user, actor="test")
        add_operator(user)
        roles.join_group(user, roles.RESEARCHERS)


def sign_in(page: str, name: str = "ada", password: str = PASSWORD, address: str = "192.0.2.7") -> str:
    """How it went: in, wrong, wait, or refused (the right password on the wrong page)."""
    client = Client(REMOTE_ADDR=address)
    response = client.post(reverse(page), {"username": name, "password": password})
    if response.status_code == 302:
        return "in"
    text = response.content.decode()
    return "wait" if WAIT in text else "refused" if "This account is n" in text else "wrong"


# --- the brake ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("other", PAGES)
@pytest.mark.usefixtures("everywhere")
def test_wrong_passwords_on_one_page_slow_all_pages(page: str, other: str) -> None:
    assert [sign_in(page, password="guess") for _ in range(MOST_FOR_A_NAME)] == ["wrong"] * MOST_FOR_A_NAME
    assert sign_in(other) == "wait"
    assert sign_in(other, "ADA") == "wait"
    assert sign_in(other, "eve") == "in"
    assert sign_in(other, address="198.51.100.4") == "in"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("everywhere")
def test_the_right_password_in_time_forgets_the_wrong_ones(page: str) -> None:
    for _ in range(3):
        assert {sign_in(page, password="guess") for _ in range(MOST_FOR_A_NAME - 1)} == {"wrong"}
        assert sign_in(page) == "in"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("everywhere")
def test_a_form_without_a_password_does_not_count_as_a_guess(page: str) -> None:
    assert {sign_in(page, password="") for _ in range(2 * MOST_FOR_A_NAME)} == {"wrong"}
    assert sign_in(page) == "in"


@pytest.mark.parametrize("page", PAGES)
def test_a_program_can_tell_that_it_has_to_wait(page: str) -> None:
    form = {"username": "ada", "password": "guess"}
    statuses = [Client().post(reverse(page), form).status_code for _ in range(MOST_FOR_A_NAME + 1)]
    assert statuses == [422] * MOST_FOR_A_NAME + [429]


NEW = "another-horse-battery"
OWN_PASSWORD = {
    "console_password": {"old_password": "", "new_password1": NEW, "new_password2": NEW},
    "operate_password": {"old_password": "", "new_password1": NEW, "new_password2": NEW},
    "market_account": {"present_password": "", "new_password": NEW, "name": "Ada", "email": "ada@example.org"},
}


@pytest.mark.parametrize("page", OWN_PASSWORD)
@pytest.mark.usefixtures("everywhere")
def test_the_current_password_cannot_be_guessed_in_an_open_session(page: str) -> None:
    """Whoever finds a browser signed in could otherwise try passwords until one is right."""
    client = Client(REMOTE_ADDR="192.0.2.7")
    client.force_login(User.objects.get(username="ada"))

    def change(typed: str) -> int:
        form = {name: value or typed for name, value in OWN_PASSWORD[page].items()}
        return client.post(reverse(page), form).status_code

    assert {change("guess") for _ in range(MOST_FOR_A_NAME)} <= {200, 422}
    assert change(PASSWORD) in (422, 429)
    assert sign_in("market_sign_in") == "wait"
    assert User.objects.get(username="ada").check_password(PASSWORD)
    cache.clear()
    assert change(PASSWORD) == 302
    assert User.objects.get(username="ada").check_password(NEW)
    assert LogEntry.objects.filter(action="current password wrong", about="ada").count() == MOST_FOR_A_NAME


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("wanted", ["foo", "foo:bar", "%2Ffoo", "a b", "javascript:alert(1)", "//other.example"])
@pytest.mark.usefixtures("everywhere")
def test_a_strange_way_back_is_no_error(page: str, wanted: str) -> None:
    for where in (f"{reverse(page)}?next={wanted}", reverse(page)):
        client = Client()
        response = client.post(where, {"username": "ada", "password": PASSWORD, "next": wanted})
        assert response.status_code == 302
        assert "other.example" not in response["Location"]


@pytest.mark.usefixtures("everywhere")
def test_guesses_from_many_addresses_slow_the_account_but_not_where_its_user_has_signed_in() -> None:
    assert sign_in("console_login", address="203.0.113.1") == "in"
    for number in range(brake.MOST_FOR_AN_ACCOUNT + 1):
        sign_in("console_login", password="guess", address=f"192.0.2.{number}")
    assert sign_in("market_sign_in", address="198.51.100.4") == "wait"
    assert sign_in("market_sign_in", "eve", address="198.51.100.4") == "in"
    assert sign_in("market_sign_in", address="203.0.113.1") == "in"


# --- each page for its own people -----------------------------------------------------------------------------


@pytest.fixture
def people() -> None:
    make_user("nobody-special")
    create_worker(user=make_user("worker"), actor="test")
    create_requester(name="Lab", user=make_user("requester"), actor="test")
    add_operator(make_user("operator"))
    roles.join_group(make_user("researcher"), roles.RESEARCHERS)
    User.objects.create_superuser("admin", password=PASSWORD)


@pytest.mark.parametrize(
    ("name", "console", "operators_site", "workers_site"),
    [
        ("worker", "refused", "refused", "in"),
        ("requester", "refused", "in", "refused"),
        ("operator", "refused", "in", "refused"),
        ("researcher", "in", "refused", "refused"),
        ("admin", "in", "in", "refused"),
        ("nobody-special", "refused", "refused", "refused"),
        ("not-there", "wrong", "wrong", "wrong"),
    ],
)
@pytest.mark.usefixtures("people")
def test_each_role_signs_in_at_its_own_page(name: str, console: str, operators_site: str, workers_site: str) -> None:
    assert [sign_in(page, name) for page in PAGES] == [console, operators_site, workers_site]
    assert {sign_in(page, name, "guess") for page in PAGES} == {"wrong"}


@pytest.mark.usefixtures("people")
def test_a_refused_sign_in_opens_no_session() -> None:
    client = Client()
    client.post(reverse("console_login"), {"username": "worker", "password": PASSWORD})
    assert "sessionid" not in client.cookies
    assert client.get(reverse("market_home")).status_code == 302


def test_a_deactivated_worker_is_refused_with_the_right_password_only() -> None:
    worker = create_worker(user=make_user("worker"), actor="test")
    set_worker_active(worker=worker, active=False, actor="test")
    assert sign_in("market_sign_in", "worker") == "refused"
    assert sign_in("market_sign_in", "worker", "guess") == "wrong"


@pytest.mark.parametrize("page", ["console_login", "operate_login", "market_sign_in"])
@pytest.mark.usefixtures("people")
def test_somebody_signed_in_elsewhere_sees_the_form_and_no_loop(page: str) -> None:
    client = Client()
    client.force_login(User.objects.get(username="nobody-special"))
    assert client.get(reverse(page)).status_code == 200


# --- the log --------------------------------------------------------------------------------------------------


def logged() -> list[tuple[str, str, str, str, str]]:
    found = LogEntry.objects.filter(kind="sign-ins").order_by("pk")
    return [(entry.action, entry.actor, entry.about, entry.address, entry.detail["page"]) for entry in found]


@pytest.mark.usefixtures("people")
def test_every_attempt_is_logged_with_its_address_and_page() -> None:
    sign_in("console_login", "researcher", "guess")
    sign_in("console_login", "researcher")
    sign_in("operate_login", "worker", address="2001:db8:1:2:3:4:5:6")
    assert logged() == [
        ("sign-in failed", "", "researcher", "192.0.2.7", "console"),
        ("signed in", "researcher", "researcher", "192.0.2.7", "console"),
        ("sign-in refused", "worker", "worker", "2001:db8:1:2::/64", "operators' site"),
    ]


def test_a_password_typed_as_user_name_is_not_logged() -> None:
    sign_in("console_login", PASSWORD, "guess")
    assert logged() == [("sign-in failed", "", "", "192.0.2.7", "console")]
