"""Granting and revoking researcher rights; deactivation ends every session at once. Services, pages and command."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts import roles, tokens, users
from accounts.models import ApiToken, LogEntry, Session
from annotation.models import Membership
from common.problems import Invalid
from marketplace.services.accounts import requester_accounts, worker_accounts
from tests.annotation.console_helpers import make_user, signed_in
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    return signed_in(make_user("root", is_superuser=True))


@pytest.fixture
def ann() -> User:
    return make_user("ann")


def change(admin: Client, user: User, do: str) -> str:
    response = admin.post(reverse("console_change_user", args=[user.pk]), {"do": do}, follow=True)
    return response.content.decode()


def console(client: Client) -> int:
    return client.get(reverse("console_studies")).status_code


def logged(kind: str = "users") -> list[tuple[str, str, str]]:
    return list(LogEntry.objects.filter(kind=kind).order_by("pk").values_list("actor", "action", "about"))


# --- sessions end ---------------------------------------------------------------------------------------------


def test_deactivation_ends_every_session_and_token_at_once(admin: Client, ann: User) -> None:
    here, there = signed_in(ann), signed_in(ann)
    token = tokens.create_token(user=ann, name="script")
    assert [console(here), console(there)] == [200, 200]
    assert "ann is deactivated" in change(admin, ann, "deactivate")
    assert not Session.objects.filter(user=ann).exists()
    assert [console(here), console(there)] == [302, 302]
    assert tokens.find_token(token.text) is None
    change(admin, ann, "activate")
    assert [console(here), console(there)] == [302, 302]
    assert tokens.find_token(token.text) is None
    assert console(signed_in(ann)) == 200


def test_a_user_deactivated_without_the_service_is_signed_out_too(ann: User) -> None:
    client = signed_in(ann)
    token = tokens.create_token(user=ann, name="script")
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert console(client) == 302
    assert tokens.find_token(token.text) is None


def test_a_deactivated_marketplace_worker_is_signed_out() -> None:
    user = User.objects.create_user("worker")
    worker = worker_accounts.create_worker(user=user, actor="test")
    client = signed_in(user)
    assert client.get(reverse("market_home")).status_code == 200
    worker_accounts.set_worker_active(worker=worker, active=False, actor="olga")
    assert not Session.objects.exists()
    assert client.get(reverse("market_home")).status_code == 302


def test_a_deactivated_requester_is_signed_out() -> None:
    user = User.objects.create_user("sue")
    requester = requester_accounts.create_requester(name="Lab", user=user, actor="test")
    client = signed_in(user)
    requester_accounts.set_requester_active(requester=requester, active=False, actor="olga")
    assert client.get(reverse("operate_my_hits")).status_code == 302


def test_an_administrator_ends_the_sessions_of_a_user(admin: Client, ann: User) -> None:
    client = signed_in(ann)
    assert "1 session of ann ended" in change(admin, ann, "end-sessions")
    assert console(client) == 302
    assert console(admin) == 200


# --- researcher, granted and revoked --------------------------------------------------------------------------


def test_researcher_is_granted_and_revoked(admin: Client) -> None:
    user = make_user("new", researcher=False)
    client = signed_in(user)
    assert console(client) == 403
    assert "new is a researcher now" in change(admin, user, "grant")
    assert console(client) == 200
    assert "no longer a researcher" in change(admin, user, "revoke")
    assert console(client) == 302
    assert console(signed_in(user)) == 403
    assert logged() == [("root", "made researcher", "new"), ("root", "researcher revoked", "new")]


def test_a_workers_account_cannot_become_a_researchers(admin: Client) -> None:
    user = User.objects.create_user("worker")
    worker_accounts.create_worker(user=user, actor="test")
    assert "worker is the account of a marketplace worker." in change(admin, user, "grant")
    assert console(signed_in(user)) == 403


def test_a_membership_gives_nothing_to_somebody_who_is_not_a_researcher(admin: Client, ann: User) -> None:
    study = make_study(items=1)
    Membership.objects.create(study=study, user=ann, role="owner")
    change(admin, ann, "revoke")
    client = signed_in(ann)
    assert client.get(reverse("console_study", args=[study.slug])).status_code == 403
    assert client.get(reverse("api_study", args=[study.slug])).status_code == 403


def test_the_only_administrator_stays(admin: Client) -> None:
    root = User.objects.get(username="root")
    assert "root is the only administrator." in change(admin, root, "deactivate")
    assert "administrators are researchers" in change(admin, root, "revoke")
    assert console(admin) == 200
    make_user("second", is_superuser=True)
    change(admin, root, "deactivate")
    assert console(admin) == 302


def test_an_unknown_change_changes_nothing(admin: Client, ann: User) -> None:
    change(admin, ann, "promote")
    assert logged() == []


def test_a_member_must_be_a_researcher(ann: User) -> None:
    study = make_study(items=1)
    Membership.objects.create(study=study, user=ann, role="owner")
    make_user("outside", researcher=False)
    url = reverse("console_members", args=[study.slug])
    refused = signed_in(ann).post(url, {"username": "outside", "role": "editor"})
    assert refused.status_code == 422
    assert "There is no researcher “outside”" in refused.content.decode()
    assert not Membership.objects.filter(user__username="outside").exists()


# --- the pages ------------------------------------------------------------------------------------------------


def test_users_are_listed_by_what_they_may_do(admin: Client, ann: User) -> None:
    make_user("plain", researcher=False)
    users.deactivate(user=make_user("gone"), actor="root")
    listed = {
        show: {found.username for found in admin.get(reverse("console_users"), {"show": show}).context["page"]}
        for show in ("researchers", "others", "inactive", "nonsense")
    }
    assert listed == {
        "researchers": {"ann", "root"},
        "others": {"plain"},
        "inactive": {"gone"},
        "nonsense": {"ann", "root"},
    }
    found = admin.get(reverse("console_users"), {"q": "AN"}).context["page"]
    assert [each.username for each in found] == ["ann"]


def test_a_users_page_shows_sessions_studies_and_log(admin: Client, ann: User) -> None:
    study = make_study(title="Replies, round 1")
    Membership.objects.create(study=study, user=ann, role="editor")
    signed_in(ann)
    users.end_sessions(user=ann, actor="root")
    signed_in(ann)
    page = admin.get(reverse("console_user", args=[ann.pk])).content.decode()
    for text in ("Replies, round 1", "Editor", "sessions ended", "End this session"):
        assert text in page


def test_the_log_is_filtered_by_kind(admin: Client, ann: User) -> None:
    change(admin, ann, "deactivate")
    assert "deactivated" in admin.get(reverse("console_log")).content.decode()
    assert "deactivated" not in admin.get(reverse("console_log"), {"kind": "models"}).content.decode()
    assert "deactivated" in admin.get(reverse("console_log"), {"kind": "users"}).content.decode()


def test_a_new_user_is_a_researcher_and_in_the_log(admin: Client) -> None:
    form = {"username": "eve", "password1": "a very long phrase", "password2": "a very long phrase"}
    admin.post(reverse("console_users"), form)
    assert roles.is_researcher(User.objects.get(username="eve"))
    admin.post(reverse("console_users"), form | {"username": "adam", "is_superuser": "on"})
    assert User.objects.get(username="adam").is_superuser
    assert logged() == [("root", "researcher created", "eve"), ("root", "administrator created", "adam")]


# --- the command ----------------------------------------------------------------------------------------------


def manage(*arguments: str) -> str:
    out = StringIO()
    call_command("user", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_the_command_makes_a_researcher_with_a_password() -> None:
    said = manage("add", "eve")
    password = said.split("Password: ")[1].strip()
    response = Client().post(reverse("console_login"), {"username": "eve", "password": password})
    assert response.status_code == 302
    assert "eve  researcher  last sign-in 2" in manage("list")
    with pytest.raises(CommandError, match="already exists"):
        manage("add", "eve")
    with pytest.raises(CommandError, match="valid username"):
        manage("add", "e v e")
    manage("add", "adam", "--administrator")
    assert "adam  administrator  has never signed in" in manage("list")


def test_the_command_does_what_the_page_does(ann: User) -> None:
    client = signed_in(ann)
    expected = {"end-sessions": 302, "revoke": 403, "grant": 200, "deactivate": 302, "activate": 200}
    for action, status in expected.items():
        manage(action, "ann")
        if action != "end-sessions":
            client.force_login(ann)
        assert console(client) == status, action
    assert {actor for actor, _, _ in logged()} == {"command line"}
    with pytest.raises(CommandError, match="There is no user “nobody”"):
        manage("grant", "nobody")


# --- API tokens -----------------------------------------------------------------------------------------------


def api(token: str, **headers: str) -> Any:
    return Client().get(reverse("api_studies"), headers={"Authorization": f"Bearer {token}"} | headers)


def test_a_token_is_shown_once_and_reads_the_api_as_its_user(ann: User) -> None:
    study = make_study(items=1)
    Membership.objects.create(study=study, user=ann, role="viewer")
    make_study(items=1)
    client = signed_in(ann)
    shown = client.post(reverse("console_new_token"), {"name": "laptop"}).content.decode()
    text = shown.split('id="new-token" readonly value="')[1].split('"')[0]
    assert text not in client.get(reverse("console_account")).content.decode()
    assert text not in str(list(ApiToken.objects.values())) + str(list(LogEntry.objects.values()))
    assert [found["slug"] for found in api(text).json()["results"]] == [study.slug]
    assert ApiToken.objects.get().last_used_at is not None
    assert "laptop" in client.get(reverse("console_account")).content.decode()
    client.post(reverse("console_revoke_token", args=[ApiToken.objects.get().pk]))
    assert api(text).status_code == 401
    assert logged() == [("ann", "token created", "ann"), ("ann", "token revoked", "ann")]


@pytest.mark.parametrize("token", ["", "hits_guess", "a b", "hits_" + "x" * 43])
def test_a_wrong_token_is_refused_with_the_reason(token: str) -> None:
    response = api(token)
    assert response.status_code == 401
    assert "unknown or revoked" in response.json()["detail"]


def test_a_token_opens_no_page_of_the_console(ann: User) -> None:
    text = tokens.create_token(user=ann, name="script").text
    headers = {"Authorization": f"Bearer {text}"}
    assert Client().get(reverse("console_studies"), headers=headers).status_code == 302


def test_a_token_ends_with_the_researcher(ann: User) -> None:
    text = tokens.create_token(user=ann, name="script").text
    roles.leave_group(ann, roles.RESEARCHERS)
    assert api(text).status_code == 403
    users.grant_researcher(user=ann, actor="root")
    assert api(text).status_code == 200
    users.revoke_researcher(user=ann, actor="root")
    users.grant_researcher(user=ann, actor="root")
    assert api(text).status_code == 401


def test_nobody_revokes_the_token_of_another(ann: User) -> None:
    made = tokens.create_token(user=ann, name="script")
    other = signed_in(make_user("bob"))
    assert other.post(reverse("console_revoke_token", args=[made.token.pk])).status_code == 404
    assert tokens.find_token(made.text) == made.token


def test_a_token_needs_a_name_and_their_number_is_limited(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    assert signed_in(ann).post(reverse("console_new_token"), {"name": " "}).status_code == 422
    monkeypatch.setattr(tokens, "MOST_TOKENS", 1)
    tokens.create_token(user=ann, name="one")
    with pytest.raises(Invalid, match="You have 1 token"):
        tokens.create_token(user=ann, name="two")
    page = signed_in(ann).post(reverse("console_new_token"), {"name": "two"}, follow=True).content.decode()
    assert "Revoke one that you no longer use." in page
