"""Arms, factors, wording, members and previews through the API."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.models import Membership, Study
from tests.annotation.api_helpers import problem_of, reasons_of, send
from tests.annotation.console_helpers import as_role, signed_in
from tests.factories import make_researcher, make_study

NO_ARM = "This study has no arm “x”. Leave it out for the first one."
pytestmark = pytest.mark.django_db


@pytest.fixture
def draft() -> Study:
    return make_study(items=2, live=False, title="Replies")


@pytest.fixture
def client(draft: Study) -> Client:
    return as_role("editor", draft)


# --- arms ---


def test_arms_are_added_changed_and_deleted(client: Client, draft: Study) -> None:
    body = {"name": "low pay", "reward": "0.10", "config": {"write_first": False}}
    response = send(client, "post", "api_arms", draft, body=body)
    assert response.status_code == 201
    assert response.headers["Location"] == f"/api/v1/studies/{draft.slug}/arms/low%20pay/"
    send(client, "post", "api_arms", draft, body={"name": "high"})
    changed = send(client, "patch", "api_arm", draft, "low pay", body={"wanted": 5}).json()
    assert (changed["reward"], changed["wanted"], changed["config"]) == ("0.100", 5, {"write_first": False})
    assert send(client, "get", "api_arm", draft, "high").json()["wanted"] is None
    assert [arm["name"] for arm in send(client, "get", "api_arms", draft).json()["results"]] == ["low pay", "high"]
    assert send(client, "delete", "api_arm", draft, "high").status_code == 204
    assert [arm.name for arm in draft.arms.all()] == ["low pay"]


def test_arms_come_in_pages(client: Client, draft: Study) -> None:
    for name in ("one", "two", "three"):
        send(client, "post", "api_arms", draft, body={"name": name})
    first = send(client, "get", "api_arms", draft, limit="2").json()
    assert [arm["name"] for arm in first["results"]] == ["one", "two"]
    last = client.get(first["next"]).json()
    assert ([arm["name"] for arm in last["results"]], last["next"]) == (["three"], None)
    assert client.get(last["previous"]).json()["results"] == first["results"]


def test_wrong_arms_are_refused_with_the_reason(client: Client, draft: Study) -> None:
    send(client, "post", "api_arms", draft, body={"name": "low"})
    assert reasons_of(send(client, "post", "api_arms", draft, body={"name": "low"}), 422) == {
        "name": "There already is an arm “low”. Choose another name, or change that arm."
    }
    reasons = reasons_of(send(client, "post", "api_arms", draft, body={"name": "x", "reward": "much"}), 422)
    assert reasons["arms.x.reward"].startswith("This is text “much”. Write a number from 0 to 99,999")
    reasons = reasons_of(send(client, "post", "api_arms", draft, body={"name": "x", "colour": 1}), 422)
    assert reasons["arms.x.colour"].startswith("There is no “colour”.")
    assert reasons_of(send(client, "post", "api_arms", draft, body={}), 422)["arms.1.name"] == (
        "Arm 1 has no name. Add a line “name: …”."
    )
    detail = problem_of(send(client, "delete", "api_arm", draft, "none"), 404)["detail"]
    assert detail == "This study has no arm “none”. Its arms: low."


def test_after_the_launch_only_participants_and_levels_of_an_arm_change() -> None:
    study = make_study(items=1, arms=[{"name": "low"}, {"name": "high"}])
    client = as_role("editor", study)
    assert send(client, "patch", "api_arm", study, "low", body={"wanted": 9}).json()["wanted"] == 9
    reasons = reasons_of(send(client, "patch", "api_arm", study, "low", body={"reward": 9}), 409)
    assert reasons["arms.low.reward"].startswith("Locked at launch: it was promised to workers.")
    assert "arms" in reasons_of(send(client, "post", "api_arms", study, body={"name": "new"}), 409)


# --- factors and wording ---


def test_factors_are_declared_and_replaced(client: Client, draft: Study) -> None:
    send(client, "post", "api_arms", draft, body={"name": "low", "factors": {"pay": "low"}})
    send(client, "post", "api_arms", draft, body={"name": "high", "factors": {"pay": "high"}})
    answer = send(client, "put", "api_factors", draft, body={"pay": {"reference": "low"}}).json()
    assert answer["factors"]["pay"]["reference"] == "low"
    assert send(client, "get", "api_factors", draft).json() == answer
    reasons = reasons_of(send(client, "put", "api_factors", draft, body={"weather": {"of": "item"}}), 422)
    assert any("weather" in reason for reason in reasons.values())
    assert send(client, "get", "api_factors", draft).json() == answer
    assert send(client, "put", "api_factors", draft, body={}).json()["factors"] == {}


def test_texts_are_reworded_and_return_to_their_defaults(client: Client, draft: Study) -> None:
    texts = {text["name"]: text for text in send(client, "get", "api_wording", draft).json()["texts"]}
    assert texts["instructions"]["own"] == ""
    assert texts["instructions"]["default"]
    answer = send(client, "put", "api_wording", draft, body={"instructions": "Read both."}).json()
    assert {text["name"]: text["own"] for text in answer["texts"]}["instructions"] == "Read both."
    reasons = reasons_of(send(client, "put", "api_wording", draft, body={"instruction": "x"}), 422)
    assert reasons == {"texts.instruction": "There is no “instruction”. Did you mean “instructions”?"}
    reasons = reasons_of(send(client, "put", "api_wording", draft, body={"instructions": 5}), 422)
    assert reasons == {"texts.instructions": "This is a number “5”. Write text, in quotes."}
    send(client, "put", "api_wording", draft, body={})
    draft.refresh_from_db()
    assert draft.texts == {}


# --- members ---


def test_an_owner_adds_changes_and_removes_members() -> None:
    study = make_study(items=0, live=False)
    owner = as_role("owner", study)
    bob = make_researcher("bob")
    assert send(owner, "put", "api_member", study, "bob", body={"role": "viewer"}).json() == {
        "user": "bob",
        "role": "viewer",
    }
    send(owner, "put", "api_member", study, "bob", body={"role": "editor"})
    assert Membership.objects.get(user=bob).role == "editor"
    listed = send(signed_in(bob), "get", "api_members", study).json()["results"]
    assert [member["role"] for member in listed] == ["owner", "editor"]
    assert send(owner, "delete", "api_member", study, "bob").status_code == 204
    assert send(signed_in(bob), "get", "api_members", study).status_code == 404


def test_wrong_members_are_refused_with_the_reason() -> None:
    study = make_study(items=0, live=False)
    owner = as_role("owner", study)
    reasons = reasons_of(send(owner, "put", "api_member", study, "nobody", body={"role": "viewer"}), 422)
    assert reasons == {
        "user": "There is no researcher “nobody” on this server. "
        "Check the spelling, or ask an administrator to add them."
    }
    make_researcher("bob")
    reasons = reasons_of(send(owner, "put", "api_member", study, "bob", body={"role": "king"}), 422)
    assert reasons["role"].startswith("“king” cannot be used. Choose one of")
    name = f"owner-of-{study.slug}"
    reasons = reasons_of(send(owner, "delete", "api_member", study, name), 422)
    assert reasons["user"] == f"{name} is the only owner of this study. Make somebody else an owner first."


# --- preview ---


def test_a_preview_lists_the_pages_of_a_hit_and_shows_each(client: Client, draft: Study) -> None:
    answer = send(client, "get", "api_preview", draft, item="s1").json()
    assert (answer["items"], answer["hits"]) == (["s1"], 2)
    assert [page["number"] for page in answer["pages"]] == list(range(len(answer["pages"])))
    assert {page["item"] for page in answer["pages"]} == {None, "s1"}
    start, first = (client.get(page["address"]) for page in answer["pages"][:2])
    assert start.headers["Content-Type"] == first.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Replies" in start.content.decode()
    assert client.get(answer["pages"][-1]["address"], headers={"Accept": "text/html"}).status_code == 200


def test_a_preview_of_what_does_not_exist_says_so_in_json(client: Client, draft: Study) -> None:
    last = len(send(client, "get", "api_preview", draft).json()["pages"]) - 1
    response = send(client, "get", "api_preview_page", draft, 999)
    assert problem_of(response, 404)["detail"] == f"There is no page 999. The last one is page {last}."
    assert problem_of(send(client, "get", "api_preview", draft, arm="x"), 404)["detail"] == NO_ARM
    assert send(client, "get", "api_preview", draft, item="x").status_code == 404


def test_a_study_without_items_shows_its_start_page() -> None:
    study = make_study(items=0, live=False)
    client = as_role("viewer", study)
    assert [page["name"] for page in send(client, "get", "api_preview", study).json()["pages"]] == ["start"]
    assert send(client, "get", "api_preview_page", study, 0).status_code == 200


READS = ["api_spec", "api_members", "api_arms", "api_factors", "api_wording", "api_preview"]


@pytest.mark.parametrize("name", READS)
def test_members_alone_read(name: str, draft: Study) -> None:
    assert send(as_role("viewer", draft), "get", name, draft).status_code == 200
    for role, status in {"outsider": 404, "anonymous": 401}.items():
        response = send(as_role(role, draft), "get", name, draft)
        assert problem_of(response, status)
        assert "Replies" not in response.content.decode()
