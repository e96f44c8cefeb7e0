"""The second factor: codes of an app, recovery codes, who is asked, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import second_factor
from accounts.models import LogEntry, RecoveryCode, SecondFactor, Session
from accounts.tokens import create_token
from common.problems import Refused
from marketplace.access import add_operator
from marketplace.services.accounts.worker_accounts import create_worker
from tests.accounts.support.people import (
    SECRET,
    Clock,
    add_app,
    code_at,
    give_password,
    is_in,
    make_sign_in_older,
    stopped_clock,
)
from tests.annotation.console_helpers import PASSWORD, make_user, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return stopped_clock(monkeypatch)


@pytest.fixture
def ann() -> User:
    cache.clear()
    return make_user("ann")


def send(client: Client, code: str, page: str = "console_code") -> int:
    return client.post(reverse(page), {"code": code}).status_code


# --- the algorithm --------------------------------------------------------------------------------------------------

#: RFC 6238, appendix B, SHA-1: seconds and the last six of its eight digits.
RFC_6238 = {
    59: "94287082",
    1111111109: "07081804",
    1111111111: "14050471",
    1234567890: "89005924",
    2000000000: "69279037",
    20000000000: "65353130",
}


@pytest.mark.parametrize("moment", RFC_6238)
def test_codes_are_those_of_rfc_6238(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.second_factor.time.time", lambda: moment)
    assert second_factor.step_of(SECRET, RFC_6238[moment][2:], after=0) == moment // 30
    assert code_at(moment, digits=8) == RFC_6238[moment]


@pytest.mark.parametrize(("steps", "is_right"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_the_phones_clock_may_be_half_a_minute_off(steps: int, is_right: bool, ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    clock.later(5)
    assert send(give_password("console_login", "ann"), clock.code(steps)) == (302 if is_right else 422)


# --- adding one -----------------------------------------------------------------------------------------------------


def test_a_user_adds_an_app_and_is_then_asked_for_its_code(ann: User, clock: Clock) -> None:
    here, elsewhere = give_password("console_login", "ann"), give_password("console_login", "ann")
    page = here.get(reverse("console_add_app")).content.decode()
    secret = page.partition('class="secret-key">')[2].partition("<")[0].replace(" ", "")
    assert "<svg" in page and len(secret) == 32
    assert secret not in str(dict(here.session))  # it is sealed there, too
    assert here.get(reverse("console_add_app")).content.decode().count(secret)  # the same after a reload
    assert here.post(reverse("console_add_app"), {"code": "000000"}).status_code == 422
    assert not SecondFactor.objects.exists()
    added = here.post(reverse("console_add_app"), {"code": code_at(clock.now, secret), "name": "my phone"})
    assert "Save your recovery codes" in added.content.decode()
    assert [is_in(here), is_in(elsewhere)] == [True, False]
    clock.later()
    again = give_password("console_login", "ann")
    assert not is_in(again)
    assert send(again, code_at(clock.now, secret)) == 302
    assert is_in(again)


def test_its_secret_is_not_in_the_database(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    factor = SecondFactor.objects.get()
    assert SECRET not in factor.sealed
    bob = make_user("bob")
    SecondFactor.objects.filter(pk=factor.pk).update(user=bob)  # who can write to the database cannot move it
    assert send(give_password("console_login", "bob"), clock.code()) == 422


def test_a_new_secret_key_reads_the_old_seals_and_replaces_them(ann: User, clock: Clock, settings: Any) -> None:
    add_app(ann, clock)
    before = SecondFactor.objects.get().sealed
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 60, [settings.SECRET_KEY]
    assert send(give_password("console_login", "ann"), clock.code()) == 302
    assert SecondFactor.objects.get().sealed != before
    settings.SECRET_KEY_FALLBACKS = []
    assert send(give_password("console_login", "ann"), clock.later().code()) == 302


# --- the page after the password ------------------------------------------------------------------------------------


def test_the_password_alone_opens_nothing(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    client = give_password("console_login", "ann")
    assert not is_in(client)
    assert client.get("/api/v1/studies/").status_code == 401
    assert not Session.objects.filter(user=ann).exists()


@pytest.mark.parametrize("to", ["/console/runs/?page=2", "//evil.example/", "https://evil.example/"])
def test_after_the_code_it_goes_where_the_user_wanted(to: str, ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    client = give_password("console_login", "ann", to=to)
    response = client.post(reverse("console_code"), {"code": clock.code()})
    assert response["Location"] == (to if to.startswith("/console/") else reverse("console_studies"))


def test_a_code_works_once(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    code = clock.code()
    assert send(give_password("console_login", "ann"), code) == 302
    second = give_password("console_login", "ann")
    assert send(second, code) == 422
    assert send(second, clock.code(-1)) == 422  # nor does one before it
    assert send(second, clock.later().code()) == 302


def test_wrong_codes_are_counted_over_all_addresses_and_sign_ins(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    codes = [f"{number:06}" for number in range(second_factor.MOST_WRONG)]
    assert clock.code() not in codes
    for number, code in enumerate(codes):
        assert send(give_password("console_login", "ann", address=f"192.0.2.{number}"), code) == 422
    late = give_password("console_login", "ann")
    assert send(late, clock.code()) == 429
    assert not is_in(late)
    assert send(give_password("console_login", "ann"), "recovery") == 429
    assert LogEntry.objects.filter(action="second factor wrong", about="ann").count() == second_factor.MOST_WRONG


def test_a_right_code_forgets_the_wrong_ones_before_it(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    for _ in range(2):
        client = give_password("console_login", "ann")
        assert {send(client, "000000") for _ in range(second_factor.MOST_WRONG - 1)} == {422}
        assert send(client, clock.later().code()) == 302


def test_the_page_waits_ten_minutes_and_not_for_an_old_password(
    ann: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_app(ann, clock)
    slow, changed = give_password("console_login", "ann"), give_password("console_login", "ann")
    ann.set_password("another-long-walk")
    ann.save()
    assert changed.post(reverse("console_code"), {"code": clock.code()})["Location"] == reverse("console_login")
    ann.set_password(PASSWORD)
    ann.save()
    slow = give_password("console_login", "ann")
    later = timezone.now() + timedelta(minutes=11)
    monkeypatch.setattr("accounts.signing_in.timezone.now", lambda: later)
    assert slow.post(reverse("console_code"), {"code": clock.code()})["Location"] == reverse("console_login")
    assert not is_in(slow)


def test_a_recovery_code_works_once_and_only_for_its_user(ann: User, clock: Clock) -> None:
    codes = add_app(ann, clock)
    add_app(make_user("bob"), Clock())
    assert len(set(codes)) == 10
    assert not RecoveryCode.objects.filter(code_hash__in=codes).exists()
    assert send(give_password("console_login", "bob"), codes[0]) == 422
    client = give_password("console_login", "ann")
    assert send(client, codes[0].lower().replace("-", " ")) == 302
    assert "9 codes left" in client.get(reverse("console_account")).content.decode()
    assert send(give_password("console_login", "ann"), codes[0]) == 422
    entry = LogEntry.objects.filter(action="signed in", about="ann").latest("pk")
    assert entry.detail["by"] == "password and recovery code"


# --- other ways in --------------------------------------------------------------------------------------------------


def test_the_workers_site_is_no_way_around_it(clock: Clock) -> None:
    """A session opened there is a session everywhere."""
    both = make_user("both", researcher=False)
    create_worker(user=both, actor="test")
    add_operator(both)
    add_app(both, clock)
    for page in ("market_sign_in", "operate_login"):
        client = give_password(page, "both")
        assert client.get(reverse("operate_workers")).status_code == 302
        assert send(client, clock.later().code(), "operate_code") == 302
        assert client.get(reverse("operate_workers")).status_code == 200


def test_a_token_needs_no_second_factor(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    token = create_token(user=ann, name="nightly")
    headers = {"Authorization": f"Bearer {token.text}"}
    assert Client(headers=headers).get("/api/v1/studies/").status_code == 200


# --- who must have one ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "researcher", "administrator", "operator"),
    [
        ("off", 200, 200, 200),
        ("optional", 200, 200, 200),
        ("required-for-admins", 200, 302, 302),
        ("required", 302, 302, 302),
    ],
)
def test_whoever_must_have_one_adds_it_before_anything_else(
    policy: str, researcher: int, administrator: int, operator: int, settings: Any
) -> None:
    settings.SECOND_FACTOR = policy
    cache.clear()
    make_user("ann"), make_user("root", is_superuser=True)
    add_operator(make_user("op", researcher=False))
    pages = {"ann": ("console_login", "console_studies"), "root": ("console_login", "console_studies")}
    pages["op"] = ("operate_login", "operate_workers")
    statuses = []
    for name, (login, page) in pages.items():
        client = give_password(login, name)
        response = client.get(reverse(page))
        statuses.append(response.status_code)
        if response.status_code == 302:
            assert response["Location"] == reverse(login.replace("login", "factors"))
            assert client.get(response["Location"]).status_code == 200
    assert statuses == [researcher, administrator, operator]


def test_the_api_answers_no_session_without_a_required_factor(ann: User, clock: Clock, settings: Any) -> None:
    settings.SECOND_FACTOR = "required"
    client = give_password("console_login", "ann")
    refused = client.get("/api/v1/studies/")
    assert refused.status_code == 403 and "second step" in refused.content.decode()
    add_app(ann, clock)
    client = give_password("console_login", "ann")
    send(client, clock.code())
    assert client.get("/api/v1/studies/").status_code == 200


def test_the_last_one_cannot_be_removed_where_one_is_required(ann: User, clock: Clock, settings: Any) -> None:
    settings.SECOND_FACTOR = "required"
    add_app(ann, clock)
    client = give_password("console_login", "ann")
    send(client, clock.code())
    address = reverse("console_remove_factor", args=[SecondFactor.objects.get().pk])
    client.post(address, {"confirm_password": PASSWORD})
    assert SecondFactor.objects.exists()


def test_switched_off_nobody_is_asked(ann: User, clock: Clock, settings: Any) -> None:
    add_app(ann, clock)
    settings.SECOND_FACTOR = "off"
    client = give_password("console_login", "ann")
    assert is_in(client)
    assert client.get(reverse("console_factors")).status_code == 404


# --- removing one ---------------------------------------------------------------------------------------------------


def test_removing_one_asks_for_the_password_again(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    client = give_password("console_login", "ann")
    send(client, clock.code())
    address = reverse("console_remove_factor", args=[SecondFactor.objects.get().pk])
    assert [client.post(address, form).status_code for form in ({}, {"confirm_password": "guess"})] == [422, 422]
    assert SecondFactor.objects.exists()
    assert client.post(address, {"confirm_password": PASSWORD}).status_code == 302
    assert not SecondFactor.objects.exists() and not RecoveryCode.objects.exists()
    assert is_in(give_password("console_login", "ann"))


def test_nobody_removes_the_factor_of_another(ann: User, clock: Clock) -> None:
    add_app(ann, clock)
    make_user("bob")
    address = reverse("console_remove_factor", args=[SecondFactor.objects.get().pk])
    assert give_password("console_login", "bob").post(address, {"confirm_password": PASSWORD}).status_code == 404


def test_an_administrator_and_the_command_remove_a_lost_one_which_is_logged(ann: User, clock: Clock) -> None:
    root = signed_in(make_user("root", is_superuser=True))
    for actor in ("root", "command line"):
        add_app(ann, Clock())
        if actor == "root":
            root.post(reverse("console_change_user", args=[ann.pk]), {"do": "remove-factors"})
        else:
            out = StringIO()
            call_command("user", "remove-second-factor", "ann", stdout=out)
            assert "1 second step of ann removed" in out.getvalue()
        assert not SecondFactor.objects.exists() and not RecoveryCode.objects.exists()
        entry = LogEntry.objects.filter(action="second factor removed").latest("pk")
        assert (entry.actor, entry.about) == (actor, "ann")


def test_new_recovery_codes_replace_the_old_ones(ann: User, clock: Clock) -> None:
    old = add_app(ann, clock)
    client = give_password("console_login", "ann")
    send(client, clock.code())
    page = client.post(reverse("console_recovery_codes")).content.decode()
    assert page.count("<li><code>") == 10 and old[0] not in page
    assert send(give_password("console_login", "ann"), old[0]) == 422


def test_there_is_a_limit_to_how_many(ann: User, clock: Clock) -> None:
    for _ in range(second_factor.MOST_FACTORS):
        add_app(ann, clock)
    with pytest.raises(Refused, match="Remove one"):
        add_app(ann, clock)


# --- asking again ---------------------------------------------------------------------------------------------------

TOKEN = {"name": "payer", "scopes": ["pay"], "expires": "30"}


def test_a_token_that_spends_money_asks_again_after_an_hour_and_keeps_the_form(ann: User) -> None:
    client = give_password("console_login", "ann")
    make_sign_in_older(timedelta(minutes=61))
    assert client.post(reverse("console_new_token"), TOKEN | {"scopes": ["read"]}).status_code == 200
    asked = client.post(reverse("console_new_token"), TOKEN)
    assert asked.status_code == 403
    assert '<input type="hidden" name="scopes" value="pay">' in asked.content.decode()
    assert client.post(reverse("console_new_token"), TOKEN | {"confirm_password": "guess"}).status_code == 422
    assert ann.api_tokens.count() == 1
    done = client.post(reverse("console_new_token"), TOKEN | {"confirm_password": PASSWORD})
    assert "Your new token “payer”" in done.content.decode()
    assert client.post(reverse("console_new_token"), TOKEN).status_code == 200


@pytest.mark.parametrize(("minutes", "status"), [(59, 200), (61, 302)])
def test_pages_with_keys_ask_again_and_come_back(minutes: int, status: int, ann: User) -> None:
    client = give_password("console_login", "ann")
    make_sign_in_older(timedelta(minutes=minutes))
    page = reverse("console_new_platform_account", args=["mturk"])
    response = client.get(page)
    assert response.status_code == status
    if status == 302:
        done = client.post(response["Location"], {"confirm_password": PASSWORD, "next": page})
        assert done["Location"] == page
        assert client.get(page).status_code == 200


def test_the_api_asks_an_old_session_to_sign_in_again_and_no_token(ann: User) -> None:
    client = give_password("console_login", "ann")
    body = {"name": "payer", "scopes": ["read"]}
    assert client.post("/api/v1/tokens/", body, content_type="application/json").status_code == 201
    make_sign_in_older(timedelta(minutes=61))
    assert client.post("/api/v1/tokens/", body, content_type="application/json").status_code == 403
    headers = {"Authorization": f"Bearer {create_token(user=ann, name='all', scopes=['read', 'collect']).text}"}
    assert Client(headers=headers).post("/api/v1/tokens/", body, content_type="application/json").status_code == 201


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "javascript:alert(1)"])
def test_asking_again_leads_only_to_pages_of_this_server(wanted: str, ann: User) -> None:
    client = give_password("console_login", "ann")
    done = client.post(reverse("console_confirm"), {"confirm_password": PASSWORD, "next": wanted})
    assert done["Location"] == reverse("console_account")
