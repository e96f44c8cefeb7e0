"""Tokens that a program makes are never stronger than its own; teams as on the console's pages."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import tokens
from accounts.models import ApiToken, LogEntry, Team
from annotation.models import ApiAnswer, Membership
from tests.annotation.api.running_helpers import get, post, program, reasons, send
from tests.annotation.console_helpers import make_user, signed_in
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def with_token(**terms: Any) -> tuple[Client, ApiToken]:
    """A client that sends a token of ann with these scopes or this end."""
    user = ApiToken.objects.first().user if ApiToken.objects.exists() else make_user("ann")  # type: ignore[union-attr]
    new = tokens.create_token(user=user, name="first", **terms)
    return Client(headers={"Authorization": f"Bearer {new.text}"}), new.token


def sends(text: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {text}"})


# --- tokens


def test_a_token_makes_one_that_works_and_shows_its_text_once() -> None:
    client, first = with_token(scopes=["read", "collect"])
    new = post(client, "api_tokens", name="nightly", scopes=["read"]).json()
    assert new["token"].startswith("hits_") and new["made_with"] == first.pk
    assert get(sends(new["token"]), "api_studies")["results"] == []
    rows = get(client, "api_tokens")["results"]
    assert [row["name"] for row in rows] == ["nightly", "first"]
    assert "token" not in rows[0] and new["token"] not in json.dumps(rows)


def test_a_token_without_a_scope_cannot_make_one_that_has_it() -> None:
    client, _ = with_token(scopes=["read", "collect"])
    refused = post(client, "api_tokens", name="rich", scopes=["read", "pay"])
    assert refused.status_code == 422
    assert reasons(refused) == [("scopes", "The token of this request lacks the scope “pay”.")]


def test_a_token_that_can_only_read_makes_none() -> None:
    client, _ = with_token(scopes=["read"])
    assert post(client, "api_tokens", name="another", scopes=["read"]).status_code == 403


@pytest.mark.parametrize("days", [None, 31])
def test_a_token_that_ends_makes_none_that_works_longer(days: int | None) -> None:
    client, first = with_token(scopes=["collect"], expires_at=timezone.now() + timedelta(days=30))
    end = None if days is None else (timezone.now() + timedelta(days=days)).isoformat()
    refused = post(client, "api_tokens", name="for ever", scopes=["collect"], expires_at=end)
    assert [field for field, _ in reasons(refused)] == ["expires_at"]
    assert first.expires_at is not None
    same = post(client, "api_tokens", name="as long", scopes=["collect"], expires_at=first.expires_at.isoformat())
    assert same.status_code == 201


def test_tokens_are_revoked_with_the_one_that_made_them() -> None:
    client, first = with_token(scopes=["collect"])
    child = post(client, "api_tokens", name="child", scopes=["collect"]).json()["token"]
    grandchild = post(sends(child), "api_tokens", name="grandchild", scopes=["collect"]).json()["token"]
    tokens.revoke_token(token=first, actor="ann")
    for text in (child, grandchild):
        assert sends(text).get(reverse("api_tokens")).status_code == 401
    assert LogEntry.objects.filter(action="token revoked").count() == 3


def test_in_a_session_every_scope_can_be_chosen() -> None:
    new = post(signed_in(make_user("ann")), "api_tokens", name="all", scopes=["pay", "read", "collect"]).json()
    assert (new["scopes"], new["made_with"], new["expires_at"]) == (["read", "collect", "pay"], None, None)


def test_a_token_revokes_itself_and_weaker_ones_but_no_stronger_one() -> None:
    client, first = with_token(scopes=["read", "collect"])
    _, rich = with_token(scopes=["pay"])
    refused = send(client, "DELETE", "api_token", rich.pk)
    assert (refused.status_code, "“pay”" in refused.json()["detail"]) == (403, True)
    assert send(client, "DELETE", "api_token", first.pk).status_code == 204
    assert client.get(reverse("api_tokens")).status_code == 401


def test_somebody_elses_token_does_not_exist() -> None:
    _, token = with_token(scopes=["read"])
    assert send(program(make_user("ben")), "DELETE", "api_token", token.pk).status_code == 404


def test_the_answer_to_a_key_has_the_secret_again_but_the_database_has_it_sealed() -> None:
    client, _ = with_token(scopes=["collect"])
    first = post(client, "api_tokens", key="once", name="nightly", scopes=["collect"])
    again = post(client, "api_tokens", key="once", name="nightly", scopes=["collect"])
    assert first.json() == again.json() and again.headers["Idempotency-Replayed"] == "true"
    assert ApiToken.objects.filter(name="nightly").count() == 1
    stored = ApiAnswer.objects.get().body
    assert stored.startswith("sealed:") and "hits_" not in stored


def test_a_secret_that_cannot_be_opened_any_more_is_no_server_error(settings: Any) -> None:
    client, _ = with_token(scopes=["collect"])
    post(client, "api_tokens", key="once", name="nightly", scopes=["collect"])
    ApiAnswer.objects.update(body="sealed:1.AAAA")
    again = post(client, "api_tokens", key="once", name="nightly", scopes=["collect"])
    assert (again.status_code, "Make a new one" in again.json()["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["all"]}, "scopes.1"),
        ({"name": "x", "expires_at": "yesterday"}, "expires_at"),
        ({"name": "x", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"name": "x", "scope": "read"}, "scope"),
    ],
    ids=str,
)
def test_a_wrong_token_is_refused_with_its_field(body: dict[str, Any], field: str) -> None:
    client, _ = with_token(scopes=["read", "collect"])
    refused = post(client, "api_tokens", **body)
    assert (refused.status_code, [name for name, _ in reasons(refused)]) == (422, [field])


# --- teams


def test_a_team_is_made_renamed_and_filled_and_gets_a_study() -> None:
    ann, ben = make_user("ann"), make_user("ben")
    client = program(ann)
    team = post(client, "api_teams", name="Lab", slug="lab").json()
    assert (team["role"], team["members"], team["studies"]) == ("owner", 1, 0)
    assert send(client, "PATCH", "api_team", "lab", name="Writing lab").json()["name"] == "Writing lab"
    assert send(client, "PUT", "api_team_member", "lab", "ben", role="editor").json() == {
        "user": "ben",
        "role": "editor",
    }
    study = make_study(slug="ours", items=1)
    Membership.objects.create(study=study, user=ann, role="owner")
    assert send(client, "PUT", "api_study_team", "ours", team="lab").json() == {"team": "lab"}
    assert get(program(ben), "api_studies")["results"][0]["slug"] == "ours"
    assert [row["user"] for row in get(client, "api_team_members", "lab")["results"]] == ["ann", "ben"]
    assert send(client, "DELETE", "api_team_member", "lab", "ben").status_code == 204
    refused = send(client, "DELETE", "api_team", "lab")
    assert (refused.status_code, "still owns studies" in refused.json()["detail"]) == (422, True)
    assert send(client, "PUT", "api_study_team", "ours", team=None).json() == {"team": None}
    assert send(client, "DELETE", "api_team", "lab").status_code == 204
    assert not Team.objects.exists()


def test_members_of_a_team_read_and_its_owners_change_it() -> None:
    post(program(make_user("ann")), "api_teams", name="Lab", slug="lab")
    ben, cem = program(make_user("ben")), program(make_user("cem"))
    send(program(make_user("ann2")), "GET", "api_team", "lab")
    send(signed_in(_user("ann")), "PUT", "api_team_member", "lab", "ben", role="viewer")
    assert get(ben, "api_team", "lab")["role"] == "viewer"
    assert send(ben, "PATCH", "api_team", "lab", name="Mine").status_code == 404
    assert send(ben, "PUT", "api_team_member", "lab", "cem", role="owner").status_code == 404
    assert send(cem, "GET", "api_team", "lab").status_code == 404
    assert send(ben, "DELETE", "api_team_member", "lab", "ben").status_code == 204  # everybody can leave


def test_a_study_goes_only_to_a_team_in_which_its_owner_sets_up_studies() -> None:
    ann, ben = make_user("ann"), make_user("ben")
    post(program(ben), "api_teams", name="Lab", slug="lab")
    study = make_study(slug="mine", items=1)
    Membership.objects.create(study=study, user=ann, role="owner")
    refused = send(program(ann), "PUT", "api_study_team", "mine", team="lab")
    assert (refused.status_code, reasons(refused)[0][0]) == (422, "team")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "Lab"}, "slug"),
        ({"name": "Lab", "slug": "My Lab"}, "slug"),
        ({"name": "Lab", "slug": "old"}, "slug"),
        ({"name": "", "slug": "lab"}, "name"),
    ],
    ids=str,
)
def test_a_wrong_team_is_refused_with_its_field(body: dict[str, Any], field: str) -> None:
    client = program(make_user("ann"))
    post(client, "api_teams", name="Old", slug="old")
    refused = post(client, "api_teams", **body)
    assert (refused.status_code, [name for name, _ in reasons(refused)]) == (422, [field])


def test_two_teams_cannot_have_the_same_name() -> None:
    client = program(make_user("ann"))
    post(client, "api_teams", name="Old", slug="old")
    post(client, "api_teams", name="New", slug="new")
    refused = send(client, "PATCH", "api_team", "new", name="Old")
    assert (refused.status_code, reasons(refused)[0][0]) == (422, "name")


def test_the_console_renames_a_team() -> None:
    client = signed_in(make_user("ann"))
    post(client, "api_teams", name="Old", slug="old")
    page = client.post(reverse("console_rename_team", args=["old"]), {"name": "Writing lab"}, follow=True)
    assert "The team is now called “Writing lab”." in page.content.decode()
    assert LogEntry.objects.get(action="team renamed").detail == {"old": "Old", "new": "Writing lab"}


def _user(name: str) -> Any:
    from django.contrib.auth.models import User

    return User.objects.get(username=name)
