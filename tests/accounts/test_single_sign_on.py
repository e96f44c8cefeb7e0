"""Single sign-on: who is signed in as whom, and every answer of a provider that is refused."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts import identities, invitations
from accounts.models import Identity, LogEntry, TeamMember
from accounts.users import deactivate
from tests.accounts.support.people import add_app, give_password, is_in, make_sign_in_older, stopped_clock
from tests.accounts.support.provider import (
    EC,
    RSA,
    FakeProvider,
    settings_for,
    sign_on,
    why,
)
from tests.annotation.console_helpers import PASSWORD, make_user, signed_in
from tests.factories import make_team

pytestmark = pytest.mark.django_db


# --- who is signed in ------------------------------------------------------------------------------------------------


def test_whom_the_provider_knows_is_signed_in_and_comes_to_the_page_they_wanted(
    provider: FakeProvider, ann: User
) -> None:
    client = Client()
    response = sign_on(provider, client, "?next=/console/runs/")
    assert (response.status_code, response["Location"]) == (302, "/console/runs/")
    assert is_in(client)
    assert LogEntry.objects.filter(action="signed in").latest("pk").detail["by"] == "University X"


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256"])
def test_signatures_by_each_kind_of_key_are_checked(algorithm: str, provider: FakeProvider, ann: User) -> None:
    provider.algorithm, provider.key = algorithm, EC if algorithm == "ES256" else RSA
    assert sign_on(provider, Client()).status_code == 302


def test_the_secret_is_sent_as_the_provider_wants_it(provider: FakeProvider, ann: User) -> None:
    provider.described = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert sign_on(provider, Client()).status_code == 302


def test_a_stranger_gets_no_account_without_an_invitation(provider: FakeProvider) -> None:
    response = sign_on(provider, Client())
    assert response.status_code == 403 and why(response) == "no invitation"
    assert not User.objects.exists()


def test_an_invited_person_joins_with_the_provider(provider: FakeProvider) -> None:
    team = make_team(owner=make_user("owner"))
    _, token = invitations.invite(team=team, team_role="editor", actor="owner")
    client = Client()
    assert "Join with University X" in client.get(reverse("console_join", args=[token])).content.decode()
    assert sign_on(provider, client).status_code == 302
    user = User.objects.get(email="ann@uni.example")
    assert user.username == "ann" and not user.has_usable_password() and not user.is_superuser
    assert TeamMember.objects.get(user=user).role == "editor"
    assert is_in(client)
    assert sign_on(provider, Client()).status_code == 302  # and again without the invitation
    assert sign_on_as(provider, "another", "eve@uni.example") == 403  # which was used up


def sign_on_as(provider: FakeProvider, subject: str, email: str) -> int:
    provider.person = {"sub": subject, "email": email, "email_verified": True}
    return sign_on(provider, Client()).status_code


def test_an_invitation_by_e_mail_is_for_whoever_has_the_verified_address(provider: FakeProvider) -> None:
    invitations.invite(email="Ann@Uni.example", administrator=True, actor="root")
    provider.person["email_verified"] = False
    response = sign_on(provider, Client())
    assert response.status_code == 403 and why(response) == "e-mail is not verified"
    provider.person["email_verified"] = True
    assert sign_on(provider, Client()).status_code == 302
    assert User.objects.get(email="ann@uni.example").is_superuser


def test_a_user_name_that_is_taken_gets_a_number(provider: FakeProvider) -> None:
    make_user("Ann")
    invitations.invite(email="ann@uni.example", actor="root")
    sign_on(provider, Client())
    assert User.objects.get(email="ann@uni.example").username == "ann2"


def test_an_account_with_the_address_is_connected_once_its_password_is_given(provider: FakeProvider) -> None:
    make_user("ann", email="ANN@uni.example")
    client = Client()
    assert sign_on(provider, client)["Location"] == reverse("console_login")
    assert not Identity.objects.exists()
    assert "Sign in with its password this once" in client.get(reverse("console_login")).content.decode()
    client.post(reverse("console_login"), {"username": "ann", "password": PASSWORD})
    assert Identity.objects.get().user.username == "ann"
    assert sign_on(provider, Client()).status_code == 302


def test_somebody_elses_password_connects_nothing(provider: FakeProvider) -> None:
    make_user("ann", email="ann@uni.example")
    make_user("eve", email="eve@uni.example")
    client = Client()
    sign_on(provider, client)
    client.post(reverse("console_login"), {"username": "eve", "password": PASSWORD})
    assert is_in(client) and not Identity.objects.exists()


def test_somebody_signed_in_connects_their_account_and_disconnects_it(provider: FakeProvider) -> None:
    make_user("ann")
    client = give_password("console_login", "ann")
    assert sign_on(provider, client, "?connect=1")["Location"] == reverse("console_account")
    assert "Connected as ann@uni.example" in client.get(reverse("console_account")).content.decode()
    assert sign_on(provider, Client()).status_code == 302
    other = give_password_of(make_user("bob"))
    assert why(sign_on(provider, other, "?connect=1")) == "identity of another user"
    client.post(reverse("console_disconnect", args=[Identity.objects.get().pk]))
    assert not Identity.objects.exists()


def give_password_of(user: User) -> Client:
    return give_password("console_login", user.username)


def test_whoever_has_no_password_cannot_disconnect(provider: FakeProvider, ann: User) -> None:
    ann.set_unusable_password()
    ann.save()
    client = Client()
    sign_on(provider, client)
    client.post(reverse("console_disconnect", args=[Identity.objects.get().pk]))
    assert Identity.objects.exists()


def test_a_domain_gets_accounts_if_the_server_says_so(provider: FakeProvider, settings: Any) -> None:
    settings.OIDC = settings_for(provider, domains=("uni.example",), creates=True)
    assert sign_on_as(provider, "1", "new@uni.example") == 302
    assert sign_on_as(provider, "2", "new@other.example") == 403
    assert [user.username for user in User.objects.all()] == ["new"]


def test_a_deactivated_user_is_refused(provider: FakeProvider, ann: User) -> None:
    make_user("root", is_superuser=True)
    deactivate(user=ann, actor="root")
    client = Client()
    response = sign_on(provider, client)
    assert response.status_code == 403 and not is_in(client)


def test_the_group_makes_administrators_and_only_unmakes_its_own(
    provider: FakeProvider, ann: User, settings: Any
) -> None:
    settings.OIDC = settings_for(provider, admin_claim="roles", admin_group="hits-admins")
    root = make_user("root", is_superuser=True)
    Identity.objects.create(user=root, issuer=provider.issuer, subject="root", created_at="2026-01-01T00:00Z")
    states = []
    for roles in (["staff"], ["staff", "hits-admins"], ["staff"]):
        provider.person["roles"] = roles
        sign_on(provider, Client())
        ann.refresh_from_db()
        states.append(ann.is_superuser)
    assert states == [False, True, False]
    sign_on_as(provider, "root", "root@uni.example")
    root.refresh_from_db()
    assert root.is_superuser
    logged = LogEntry.objects.filter(about="ann", action__contains="administrator").values_list("action", flat=True)
    assert list(logged) == ["made administrator", "administrator revoked"]


def test_the_address_may_come_from_userinfo_about_the_same_person(provider: FakeProvider) -> None:
    invitations.invite(email="ann@uni.example", actor="root")
    provider.only_userinfo = True
    provider.claims = {"sub": "somebody else"}
    assert why(sign_on(provider, Client())) == "userinfo is about somebody else"
    provider.claims = {}
    assert sign_on(provider, Client()).status_code == 302


# --- with a second factor --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("methods", "asked"), [(["pwd"], True), (["pwd", "mfa"], False), ("mfa", True)])
def test_the_second_factor_is_asked_unless_the_provider_asked_for_it(
    methods: Any, asked: bool, provider: FakeProvider, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_app(ann, stopped_clock(monkeypatch))
    provider.person["amr"] = methods
    client = Client()
    response = sign_on(provider, client)
    assert (response["Location"] == reverse("console_code")) is asked
    assert is_in(client) is not asked


def test_a_provider_that_asks_for_two_factors_is_enough_where_one_is_required(
    provider: FakeProvider, ann: User, settings: Any
) -> None:
    settings.SECOND_FACTOR = "required"
    client = Client()
    sign_on(provider, client)
    assert client.get(reverse("console_studies")).status_code == 302
    provider.person["amr"] = ["mfa"]
    sign_on(provider, client := Client())
    assert client.get(reverse("console_studies")).status_code == 200


def test_whoever_has_neither_password_nor_app_signs_in_again_for_what_spends_money(
    provider: FakeProvider, ann: User
) -> None:
    ann.set_unusable_password()
    ann.save()
    client = Client()
    sign_on(provider, client)
    make_sign_in_older(timedelta(hours=2))
    page = reverse("console_new_platform_account", args=["mturk"])
    asking = client.get(client.get(page)["Location"]).content.decode()
    assert "Sign in with University X again" in asking
    provider.claims = {"auth_time": int(time.time()) - 3600}
    assert why(sign_on(provider, client, f"?again=1&next={page}")) == "auth_time is too old"
    provider.claims = {}
    assert sign_on(provider, client, f"?again=1&next={page}")["Location"] == page
    assert provider.asked[-1]["prompt"] == "login" and provider.asked[-1]["max_age"] == "0"
    assert client.get(page).status_code == 200


# --- without passwords -----------------------------------------------------------------------------------------------


def test_with_the_provider_only_no_password_of_a_researcher_opens_any_page(
    provider: FakeProvider, ann: User, settings: Any
) -> None:
    settings.OIDC_ONLY = True
    root = make_user("root", is_superuser=True)
    page = Client().get(reverse("console_login")).content.decode()
    assert "Sign in with University X" in page and "password" not in page
    for where in ("console_login", "operate_login"):
        client = Client()
        response = client.post(reverse(where), {"username": "root", "password": PASSWORD})
        assert response.status_code == 422 and not is_in(client)
    assert sign_on(provider, Client()).status_code == 302
    token = invitations.make_way_in(user=root, actor="command line")
    client = Client()
    address = reverse("console_way_in", args=[token])
    assert client.get(address).status_code == 200 and not is_in(client)
    assert client.post(address).status_code == 302 and is_in(client)
    assert Client().post(address).status_code == 410


def test_without_a_provider_there_are_no_such_pages() -> None:
    assert Client().get(reverse("console_sso")).status_code == 404
    assert Client().get(reverse("console_sso_done")).status_code == 404


# --- signing out -----------------------------------------------------------------------------------------------------


def test_after_signing_out_here_one_can_sign_out_there(provider: FakeProvider, ann: User) -> None:
    client = Client()
    sign_on(provider, client)
    page = client.post(reverse("console_logout")).content.decode()
    assert f'href="{provider.issuer}/logout?id_token_hint=' in page and "post_logout_redirect_uri=http" in page
    assert not is_in(client)
    with_password = signed_in(ann)
    assert with_password.post(reverse("console_logout")).status_code == 302


def test_what_was_noted_for_later_ends_after_ten_minutes(provider: FakeProvider, monkeypatch: Any) -> None:
    make_user("ann", email="ann@uni.example")
    monkeypatch.setattr(identities, "TIME_TO_CONNECT", timedelta(seconds=-1))
    client = Client()
    sign_on(provider, client)
    client.post(reverse("console_login"), {"username": "ann", "password": PASSWORD})
    assert is_in(client) and not Identity.objects.exists()
