"""Single sign-on: every answer of a provider that is refused, each with a page that helps and a reason in the log."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from common import brake
from tests.accounts.support.people import give_password, is_in
from tests.accounts.support.provider import (
    CLIENT_ID,
    STRANGER,
    FakeProvider,
    come_back,
    running_provider,
    settings_for,
    sign_on,
    why,
)

pytestmark = pytest.mark.django_db

NOW = time.time()
BAD_CLAIMS: dict[str, dict[str, Any]] = {
    "the nonce does not match": {"nonce": "another"},
    "the ID token is of another issuer": {"iss": "https://evil.example"},
    "the ID token is for somebody else": {"aud": "another client"},
    "the ID token has expired": {"exp": int(NOW) - 3600},
    "the ID token is from the future": {"iat": int(NOW) + 36_000},
    "the ID token is about nobody": {"sub": ""},
}


@pytest.mark.parametrize("reason", BAD_CLAIMS)
def test_a_bad_claim_is_refused(reason: str, provider: FakeProvider, ann: User) -> None:
    provider.claims = BAD_CLAIMS[reason]
    client = Client()
    assert why(sign_on(provider, client)) == reason
    assert not is_in(client)


@pytest.mark.parametrize("name", ["nonce", "iss", "aud", "exp", "iat", "sub"])
def test_a_missing_claim_is_refused(name: str, provider: FakeProvider, ann: User) -> None:
    provider.claims = {name: None}
    client = Client()
    assert sign_on(provider, client).status_code == 400
    assert not is_in(client)


@pytest.mark.parametrize(
    ("audience", "party", "status"),
    [
        ([CLIENT_ID], None, 302),
        ([CLIENT_ID, "b"], CLIENT_ID, 302),
        ([CLIENT_ID, "b"], None, 400),
        (CLIENT_ID, "b", 400),
    ],
)
def test_a_token_for_several_is_ours_if_it_was_made_for_us(
    audience: Any, party: str | None, status: int, provider: FakeProvider, ann: User
) -> None:
    provider.claims = {"aud": audience, "azp": party}
    assert sign_on(provider, Client()).status_code == status


@pytest.mark.parametrize("attack", ["none", "HS256", "another key"])
def test_a_token_that_the_provider_did_not_sign_is_refused(attack: str, provider: FakeProvider, ann: User) -> None:
    if attack == "another key":
        provider.key = STRANGER
    else:
        provider.algorithm = attack
    client = Client()
    assert "signature" in why(sign_on(provider, client))
    assert not is_in(client)


def test_another_state_is_refused_and_so_is_an_answer_that_nobody_waits_for(provider: FakeProvider, ann: User) -> None:
    client = Client()
    assert why(sign_on(provider, client, state="another")) == "state does not match"
    answer = provider.authorize(client.get(reverse("console_sso"))["Location"])
    assert why(come_back(Client(), answer)) == "state does not match"  # in another browser
    assert not is_in(client)


def test_an_answer_works_once(provider: FakeProvider, ann: User) -> None:
    client = Client()
    answer = provider.authorize(client.get(reverse("console_sso"))["Location"])
    assert come_back(client, answer).status_code == 302
    assert why(come_back(client, answer)) == "state does not match"
    client.post(reverse("console_logout"))
    assert why(come_back(client, answer)) == "state does not match"
    again = provider.authorize(client.get(reverse("console_sso"))["Location"])
    replayed = come_back(client, {"code": answer["code"], "state": again["state"]})
    assert "invalid_grant" in why(replayed) and not is_in(client)


def test_an_answer_of_another_issuer_is_refused(provider: FakeProvider, ann: User) -> None:
    assert why(sign_on(provider, Client(), iss="https://evil.example")) == "the answer is of another issuer"
    provider.described = {"issuer": "https://evil.example"}
    assert "description is of another issuer" in why(Client().get(reverse("console_sso")))  # type: ignore[arg-type]


def test_whoever_cancels_reads_that_nobody_was_signed_in(provider: FakeProvider, ann: User) -> None:
    response = sign_on(provider, Client(), error="access_denied")
    assert response.status_code == 403 and "access_denied" in why(response)


def test_it_waits_ten_minutes(provider: FakeProvider, ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    answer = provider.authorize(client.get(reverse("console_sso"))["Location"])
    later = time.time() + 601
    monkeypatch.setattr("accounts.oidc.time.time", lambda: later)
    assert why(come_back(client, answer)) == "too late"


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        ({"email_verified": False}, "e-mail is not verified"),
        ({"email_verified": "true"}, "e-mail is not verified"),
        ({"email": "ann@other.example"}, "another domain"),
        ({"email": "ann@uni.example.evil.example"}, "another domain"),
        ({"email": "ann@other-uni.example"}, "another domain"),
    ],
)
def test_only_verified_addresses_of_the_domains_are_admitted(
    person: dict[str, Any], reason: str, provider: FakeProvider, ann: User, settings: Any
) -> None:
    settings.OIDC = settings_for(provider, domains=("uni.example",))
    assert sign_on(provider, Client()).status_code == 302
    provider.person |= person
    client = Client()
    assert why(sign_on(provider, client)) == reason
    assert not is_in(client)


def test_a_provider_that_is_down_says_so_and_passwords_still_work(provider: FakeProvider, ann: User) -> None:
    provider.status = 503
    down = Client().get(reverse("console_sso"))
    assert down.status_code == 502 and "University X cannot be reached" in down.content.decode()
    assert is_in(give_password("console_login", "ann"))


def test_nothing_listens_at_the_provider(settings: Any) -> None:
    cache.clear()
    with running_provider() as gone:
        settings.OIDC = settings_for(gone)
    response = Client().get(reverse("console_sso"))
    assert response.status_code == 502 and "cannot be reached" in response.content.decode()


@pytest.mark.parametrize(
    "wanted", ["//evil.example/", "https://evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_it_never_leads_to_another_site(wanted: str, provider: FakeProvider, ann: User) -> None:
    assert sign_on(provider, Client(), f"?next={wanted}")["Location"] == reverse("console_studies")


def test_an_https_provider_has_https_addresses(provider: FakeProvider, settings: Any, monkeypatch: Any) -> None:
    settings.OIDC = settings_for(provider, issuer="https://login.uni.example")
    described = provider.description() | {"issuer": "https://login.uni.example"}
    monkeypatch.setattr("accounts.oidc._get", lambda *_, **__: described)
    assert "authorization_endpoint" in why(Client().get(reverse("console_sso")))  # type: ignore[arg-type]


def test_one_address_starts_only_so_often(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.console.pages.single_sign_on.MOST_TRIES", 2)
    statuses = [Client().get(reverse("console_sso")).status_code for _ in range(3)]
    assert statuses == [302, 302, 429]
    assert brake.WINDOW_SECONDS  # the count ends with it
