"""What all addresses of the API share: problems in one form, slashes, media types, pages, and the description."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from drf_spectacular import drainage, validation

from accounts import tokens
from annotation.api.paging import MOST_ROWS
from annotation.api.schema import document
from annotation.models import AuditEntry, Membership, Study
from tests.annotation.api_helpers import PROBLEM, problem_of, reasons_of
from tests.annotation.console_helpers import as_role, signed_in
from tests.factories import make_researcher, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return make_researcher("ann")


@pytest.mark.parametrize("path", ["/api/", "/api/v1/", "/api/v1/nothing/", "/api/v2/studies/", "/api/v1/nothing"])
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_unknown_address_says_in_json_where_the_addresses_are(path: str, method: str) -> None:
    body = problem_of(getattr(Client(), method)(path), 404)
    assert body["detail"] == f"There is nothing at {path}. The addresses are listed at /api/v1/docs/."
    assert body["type"] == "/api/v1/docs/#problem-not-found"


def test_an_unknown_page_outside_the_api_is_a_page() -> None:
    assert Client().get("/nothing/").headers["Content-Type"].startswith("text/html")


def test_a_program_that_forgot_the_last_slash_is_sent_there_with_method_and_body() -> None:
    response = Client().post("/api/v1/studies?dry_run=true", "{}", content_type="application/json")
    assert (response.status_code, response.headers["Location"]) == (308, "/api/v1/studies/?dry_run=true")


def test_a_method_that_an_address_lacks_is_a_problem(ann: User) -> None:
    body = problem_of(signed_in(ann).delete(reverse("api_studies")), 405)
    assert body["detail"] == 'Method "DELETE" not allowed.'


def test_an_answer_in_another_format_is_refused(ann: User) -> None:
    response = signed_in(ann).get(reverse("api_studies"), headers={"Accept": "text/csv"})
    assert problem_of(response, 406)["type"] == "/api/v1/docs/#problem-not-acceptable"


def test_an_account_that_is_not_a_researchers_reads_whom_to_ask() -> None:
    response = signed_in(User.objects.create_user("worker")).get(reverse("api_studies"))
    assert "Ask an administrator for access" in problem_of(response, 403)["detail"]


def test_a_token_that_lacks_the_scope_is_told_which_one(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tokens.create_token(user=ann, name="script", scopes=["read", "collect"]).text
    monkeypatch.setattr("accounts.models.ApiToken.allows", lambda token, scope: scope != "read", raising=False)
    response = Client().get(reverse("api_studies"), headers={"Authorization": f"Bearer {text}"})
    assert "This token lacks the scope “read”." in problem_of(response, 403)["detail"]


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"title": "a\0b"}, "title", "Character 2, U+0000, cannot be stored. Remove it."),
        ({"factors": {"\0": {}}}, "factors", "Character 1, U+0000, cannot be stored. Remove it."),
        (
            {"items": [{"text": "a"}, {"text": "\ud800"}]},
            "items.2.text",
            "Character 1, U+D800, cannot be stored. Remove it.",
        ),
    ],
)
def test_a_text_that_no_database_stores_is_refused_with_its_place(
    body: dict[str, Any], field: str, reason: str, ann: User
) -> None:
    response = signed_in(ann).post(reverse("api_studies"), json.dumps(body), content_type="application/json")
    assert reasons_of(response, 422) == {field: reason}


def test_a_character_of_two_halves_is_stored(ann: User) -> None:
    body = {"slug": "x", "task_type": "likert", "title": "\U0001f600"}
    response = signed_in(ann).post(
        reverse("api_studies", query={"dry_run": "true"}), json.dumps(body), content_type="application/json"
    )
    assert b"\\ud83d" in json.dumps(body).encode()
    assert "title" not in {error["field"] for error in response.json().get("errors", ())}


def test_a_session_needs_the_proof_that_a_page_of_this_server_sent_the_request(ann: User) -> None:
    response = signed_in(ann, csrf=True).post(reverse("api_studies"), "{}", content_type="application/json")
    assert problem_of(response, 403)["detail"].startswith("CSRF Failed")


def test_a_token_acts_as_its_user_and_sees_nothing_of_others(ann: User) -> None:
    study = make_study(items=0, live=False, title="A secret title")
    Membership.objects.create(study=study, user=ann, role="editor")
    address, change = reverse("api_study", args=[study.slug]), json.dumps({"contact": "ann@example.org"})
    for user, status in ((ann, 200), (make_researcher("bob"), 404)):
        text = tokens.create_token(user=user, name="script", scopes=["read", "collect"]).text
        client = Client(headers={"Authorization": f"Bearer {text}"}, enforce_csrf_checks=True)
        for response in (client.get(address), client.patch(address, change, content_type="application/json")):
            assert response.status_code == status
            assert (b"A secret title" in response.content) == (status == 200)
    assert AuditEntry.objects.filter(study=study, action="change").get().actor == "ann"


def test_a_form_with_too_much_text_is_refused(ann: User, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    study = make_study(items=0, live=False)
    Membership.objects.create(study=study, user=ann, role="editor")
    response = signed_in(ann).post(reverse("api_items", args=[study.slug]), {"text": "x" * 2000})
    assert problem_of(response, 413)["detail"].endswith("Send large data as a file.")


def test_a_failure_of_the_server_is_a_problem_without_its_cause(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.api.studies.listed_studies", lambda user: 1 / 0)
    client = Client(raise_request_exception=False)
    client.force_login(ann)
    body = problem_of(client.get(reverse("api_studies")), 500)
    said = (
        r"Something went wrong on the server\. The error is in its log\. Tell the administrator this number: \w{16}\."
    )
    assert re.fullmatch(said, body["detail"]) and body["errors"] == []


def test_pages_lead_forth_and_back_and_a_new_study_moves_none(ann: User) -> None:
    admin = as_role("superuser", make_study(items=0, slug="s0"))
    for number in range(1, 5):
        make_study(items=0, slug=f"s{number}")

    def slugs(page: Any) -> list[str]:
        return [study["slug"] for study in page["results"]]

    first = admin.get(reverse("api_studies"), {"limit": 2}).json()
    assert (slugs(first), first["previous"], first["count"]) == (["s4", "s3"], None, 5)
    make_study(items=0, slug="s5")
    second = admin.get(first["next"]).json()
    assert slugs(second) == ["s2", "s1"]
    last = admin.get(second["next"]).json()
    assert (slugs(last), last["next"]) == (["s0"], None)
    assert slugs(admin.get(last["previous"]).json()) == ["s2", "s1"]
    before = admin.get(second["previous"]).json()
    assert slugs(before) == ["s4", "s3"]
    assert slugs(admin.get(before["previous"]).json()) == ["s5"]


@pytest.mark.parametrize("limit", ["0", str(MOST_ROWS + 1), "-1", "9" * 30, "１"])
def test_a_limit_out_of_range_is_refused_with_the_range(limit: str, ann: User) -> None:
    body = problem_of(signed_in(ann).get(reverse("api_studies"), {"limit": limit}), 400)
    assert body["errors"][0]["fix"] == "Write a whole number from 1 to 1,000."


def test_the_schema_is_the_same_as_json_and_as_yaml_and_open_to_all() -> None:
    address = reverse("api_schema")
    as_json = Client().get(address)
    as_yaml = Client().get(address, headers={"Accept": "application/yaml"})
    assert as_json.headers["Content-Type"] == "application/json"
    assert as_yaml.headers["Content-Type"] == "application/yaml; charset=utf-8"
    document = json.loads(as_json.content)
    assert document["openapi"].startswith("3.1")
    assert (
        yaml.safe_load(as_yaml.content) == yaml.safe_load(Client().get(address, {"format": "yaml"}).content) == document
    )


def test_every_operation_is_described_and_names_its_scope_and_its_problems() -> None:
    described = json.loads(Client().get(reverse("api_schema")).content)
    operations = [operation for methods in described["paths"].values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) >= 5
    for operation in operations:
        assert operation["summary"]
        [scope] = operation["security"][0]["token"]
        assert f"Needs the scope `{scope}`." in operation["description"]
        assert PROBLEM in operation["responses"]["404"]["content"]


def test_the_schema_is_valid_and_nothing_about_it_had_to_be_guessed() -> None:
    drainage.reset_generator_stats()
    made = document.__wrapped__()
    assert not drainage.GENERATOR_STATS
    validate: Any = validation.validate_schema  # its package declares no types for it
    validate(made)


def test_the_page_about_the_api_has_every_operation_and_shape() -> None:
    described = json.loads(Client().get(reverse("api_schema")).content)
    page = Client().get(reverse("api_docs")).content.decode()
    for methods in described["paths"].values():
        for operation in methods.values():
            assert f'<details id="{operation["operationId"]}">' in page
    for name in described["components"]["schemas"]:
        assert f'<details id="shape-{name}">' in page


def test_the_members_of_a_study_alone_find_it() -> None:
    study: Study = make_study(items=0)
    response = as_role("outsider", study).get(reverse("api_study", args=[study.slug]))
    assert problem_of(response, 404)["detail"].startswith(f"There is no study “{study.slug}”, or your role")
