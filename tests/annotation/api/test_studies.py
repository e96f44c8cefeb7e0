"""Studies through the API: created, read, changed, copied and deleted, by whom that is allowed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from annotation.models import AuditEntry, Item, Membership, Study
from annotation.platforms.calls import PlatformTrouble
from annotation.task_types.registry import all_types
from generation.models import GenerationRun
from tests.annotation.api_helpers import problem_of, reasons_of, send
from tests.annotation.console_helpers import as_role, signed_in
from tests.factories import make_researcher, make_study, make_submission
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db

STUDY = {
    "slug": "replies",
    "task_type": "likert",
    "title": "Replies",
    "reward": "0.15",
    "ratings_per_item": 3,
    "config": {"statements": [{"topic": "liked", "question": "I like the story."}]},
    "arms": [{"name": "low", "reward": 0.1}, {"name": "high", "factors": {"pay": "high"}}],
    "items": [{"sample_id": "a", "text": "One day."}, {"sample_id": "b", "text": "Two days."}],
}


@pytest.fixture
def ann() -> User:
    return make_researcher("ann")


@pytest.fixture
def client(ann: User) -> Client:
    return signed_in(ann)


# --- create ---


def test_a_study_is_created_with_its_items_and_arms_and_belongs_to_who_sent_it(client: Client, ann: User) -> None:
    response = send(client, "post", "api_studies", None, body=STUDY)
    assert (response.status_code, response.headers["Location"]) == (201, "/api/v1/studies/replies/")
    answer = response.json()
    assert (answer["created"], answer["dry_run"]) == (True, False)
    study = Study.objects.get(slug="replies")
    assert (study.title, str(study.reward), study.ratings_per_item) == ("Replies", "0.150", 3)
    assert list(study.items.order_by("position").values_list("external_id", flat=True)) == ["a", "b"]
    assert [(arm.name, arm.reward and str(arm.reward)) for arm in study.arms.order_by("position")] == [
        ("low", "0.100"),
        ("high", None),
    ]
    assert Membership.objects.get(study=study).user == ann
    assert list(AuditEntry.objects.filter(study=study).order_by("pk").values_list("action", "actor")) == [
        ("create", "ann"),
        ("import items", "ann"),
    ]
    assert answer["study"]["slug"] == "replies"
    assert answer["study"]["items"] == 2


def test_a_dry_run_reports_everything_and_stores_nothing(client: Client) -> None:
    response = send(client, "post", "api_studies", None, body=STUDY, dry_run="true")
    assert response.status_code == 200
    answer = response.json()
    assert (answer["study"], answer["created"], answer["dry_run"]) == (None, True, True)
    assert {"field": "title", "old": None, "new": "Replies"} in answer["differences"]
    assert not Study.objects.exists()
    assert not AuditEntry.objects.exists()


def test_every_problem_of_a_study_is_reported_at_once_with_its_key(client: Client) -> None:
    wrong = STUDY | {"ratings_per_item": "many", "colour": "red", "config": {"statement": []}, "arms": [{"reward": 1}]}
    reasons = reasons_of(send(client, "post", "api_studies", None, body=wrong), 422)
    assert reasons["ratings_per_item"] == "This is text “many”. Write a whole number from 1 to 1,000."
    assert reasons["config.statement"] == "There is no “statement”. Did you mean “statements”?"
    assert reasons["colour"].startswith("There is no “colour”.")
    assert reasons["arms.1.name"] == "Arm 1 has no name. Add a line “name: …”."
    assert not Study.objects.exists()


def test_a_problem_in_a_row_names_row_and_column(client: Client) -> None:
    rows = [{"sample_id": "a", "text": "One day."}, {"sample_id": "a", "text": ""}]
    body = problem_of(send(client, "post", "api_studies", None, body=STUDY | {"items": rows}), 422)
    assert {(error["row"], error["column"]) for error in body["errors"]} >= {(2, "text")}
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ("{", 400, "The body is not valid JSON: Expecting property name enclosed in double quotes"),
        ("[" * 100_000, 400, "The JSON is nested too deeply."),
        ("[1]", 400, "The body must be a JSON object"),
        ('{"slug": NaN}', 400, "NaN is not a number in JSON"),
        (b"\xff", 400, "The body is not UTF-8: byte 1 is wrong."),
        ("9" * 5_000, 400, "The body is not valid JSON: Exceeds the limit"),
        ('"text"', 400, "The body must be a JSON object"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: str | bytes, status: int, detail: str, client: Client) -> None:
    response = client.post("/api/v1/studies/", body, content_type="application/json")
    assert detail in problem_of(response, status)["detail"]


def test_another_content_type_is_refused(client: Client) -> None:
    response = client.post("/api/v1/studies/", "slug: x", content_type="application/yaml")
    assert "application/yaml" in problem_of(response, 415)["detail"]


def test_a_short_name_that_another_study_has_is_refused_and_that_study_stays(client: Client) -> None:
    other = make_study(slug="replies", title="Of somebody else", items=0, live=False)
    reasons = reasons_of(send(client, "post", "api_studies", None, body=STUDY), 422)
    assert "slug" in reasons
    other.refresh_from_db()
    assert other.title == "Of somebody else"


def test_items_may_come_from_no_file_and_from_no_study_or_run_of_somebody_else(client: Client) -> None:
    hidden = make_study(task_type="mil_story", items=1, slug="hidden")
    reasons = reasons_of(send(client, "post", "api_studies", None, body=STUDY | {"items": "items.csv"}), 422)
    assert reasons["items"] == (
        "There is no file beside this study. "
        "Send the rows themselves as a list of objects, or upload the file afterwards."
    )
    from_study = STUDY | {"items": {"from_study": hidden.slug}}
    reasons = reasons_of(send(client, "post", "api_studies", None, body=from_study), 422)
    assert reasons["items.from_study"].startswith("There is no study “hidden”, or")
    make_run({"greedy": [["one"]]}, name="secret")
    GenerationRun.objects.update(created_by="bob")
    sets = STUDY | {"task_type": "abs_hds", "config": {}, "items": {"from_run": "secret"}}
    reasons = reasons_of(send(client, "post", "api_studies", None, body=sets), 422)
    assert reasons["items.from_run"] == "There is no “secret”. There are none."


def test_a_study_excludes_no_study_that_its_creator_may_not_see(client: Client) -> None:
    make_study(items=0, slug="hidden")
    reasons = reasons_of(send(client, "post", "api_studies", None, body=STUDY | {"exclude_studies": ["hidden"]}), 422)
    assert reasons["exclude_studies"].startswith("There is no study “hidden”, or you may not see it.")


@pytest.mark.parametrize("task_type", sorted(all_types()))
def test_the_example_of_every_task_type_is_accepted(task_type: str, client: Client) -> None:
    example = send(client, "get", "api_task_type", None, task_type).json()["example"]
    response = send(client, "post", "api_studies", None, body=example, dry_run="true")
    assert response.status_code == 200, response.json()


def test_a_task_type_that_does_not_exist_is_not_found(client: Client) -> None:
    detail = problem_of(send(client, "get", "api_task_type", None, "likart"), 404)["detail"]
    assert detail.startswith("There is no task type “likart”.")


# --- change ---


@pytest.mark.parametrize("task_type", sorted(all_types()))
def test_a_study_that_is_sent_back_as_it_came_differs_in_nothing(task_type: str, client: Client) -> None:
    example = send(client, "get", "api_task_type", None, task_type).json()["example"]
    send(client, "post", "api_studies", None, body=example)
    study = Study.objects.get()
    document = send(client, "get", "api_spec", study).json()
    answer = send(client, "put", "api_study", study, body=document).json()
    assert answer["differences"] == []
    as_yaml = send(client, "get", "api_spec", study, format="yaml")
    assert as_yaml.headers["Content-Type"] == "application/yaml; charset=utf-8"
    assert yaml.safe_load(as_yaml.content) == document


def test_a_change_names_every_key_that_differs_and_keeps_all_others(client: Client) -> None:
    send(client, "post", "api_studies", None, body=STUDY)
    study = Study.objects.get()
    change = {"title": "Stories", "config": {"points": 5}, "reward": "0.25"}
    answer = send(client, "patch", "api_study", study, body=change).json()
    assert {(d["field"], d["old"], d["new"]) for d in answer["differences"]} == {
        ("title", "Replies", "Stories"),
        ("config.points", 7, 5),
        ("reward", "0.150", "0.25"),
    }
    study.refresh_from_db()
    assert study.config["statements"] == STUDY["config"]["statements"]  # type: ignore[index]
    assert study.arms.count() == 2
    assert answer["study"]["title"] == "Stories"


def test_a_change_keeps_the_rules_and_settings_that_it_does_not_name(client: Client) -> None:
    rules = {
        "quality_control": {"gold_per_hit": 2},
        "exclude": {"flags": []},
        "platforms": {"mturk": {"locales": ["US"]}},
    }
    send(client, "post", "api_studies", None, body=STUDY | rules)
    study = Study.objects.get()
    change = {"quality_control": {"attention_per_hit": 3}, "platforms": {"mturk": {"least_approved": 100}}}
    answer = send(client, "patch", "api_study", study, body=change).json()
    assert {difference["field"] for difference in answer["differences"]} == {
        "quality_control.attention_per_hit",
        "platforms.mturk.least_approved",
    }
    now = answer["study"]
    assert (now["quality_control"]["gold_per_hit"], now["quality_control"]["attention_per_hit"]) == (2, 3)
    assert (now["platforms"]["mturk"]["locales"], now["platforms"]["mturk"]["least_approved"]) == (["US"], 100)


def test_a_dry_run_of_a_change_changes_nothing(client: Client) -> None:
    send(client, "post", "api_studies", None, body=STUDY)
    study = Study.objects.get()
    answer = send(client, "patch", "api_study", study, body={"title": "Stories"}, dry_run="true").json()
    assert [difference["field"] for difference in answer["differences"]] == ["title"]
    study.refresh_from_db()
    assert study.title == "Replies"
    assert AuditEntry.objects.filter(action="change").count() == 0


def test_another_task_type_starts_with_its_own_settings(client: Client) -> None:
    send(client, "post", "api_studies", None, body=STUDY)
    study = Study.objects.get()
    assert send(client, "patch", "api_study", study, body={"task_type": "abs_hds"}).status_code == 200
    study.refresh_from_db()
    assert (study.task_type, "statements" in study.config, study.arms.count()) == ("abs_hds", False, 0)
    assert not study.items.exists()


def test_what_is_locked_after_the_launch_is_a_conflict_with_the_reason() -> None:
    study = make_study(items=1)
    client = as_role("editor", study)
    reasons = reasons_of(send(client, "patch", "api_study", study, body={"reward": 1}), 409)
    assert reasons == {
        "reward": "Locked at launch: it was promised to workers. "
        "Change it back, or duplicate the study and change it there."
    }


def test_a_change_of_settings_has_no_items(client: Client) -> None:
    send(client, "post", "api_studies", None, body=STUDY)
    reasons = reasons_of(send(client, "patch", "api_study", Study.objects.get(), body={"items": []}), 422)
    assert "items" in reasons


def test_a_flag_that_is_neither_true_nor_false_is_refused(client: Client) -> None:
    reasons = reasons_of(send(client, "post", "api_studies", None, body=STUDY, dry_run="maybe"), 400)
    assert reasons == {"dry_run": "“maybe” is neither true nor false. Write dry_run=true, or leave it out."}


# --- duplicate and delete ---


def test_a_viewer_duplicates_a_study_and_owns_the_copy() -> None:
    study = make_study(items=2)
    client = as_role("viewer", study)
    response = send(client, "post", "api_duplicate", study, body={"slug": "copy", "items": False})
    assert (response.status_code, response.headers["Location"]) == (201, "/api/v1/studies/copy/")
    copy = Study.objects.get(slug="copy")
    assert (copy.title, copy.items.count(), copy.memberships.get().role) == (study.title, 0, "owner")
    reasons = reasons_of(send(client, "post", "api_duplicate", study, body={"slug": "copy"}), 422)
    assert "slug" in reasons
    reasons = reasons_of(send(client, "post", "api_duplicate", study, body={}), 422)
    assert reasons == {"slug": "It is missing. Add this key."}


def test_an_owner_deletes_a_draft_and_no_other_study() -> None:
    draft = make_study(items=2, live=False)
    assert send(as_role("editor", draft), "delete", "api_study", draft).status_code == 404
    assert send(as_role("owner", draft), "delete", "api_study", draft).status_code == 204
    assert not Item.objects.exists()
    live = make_study(items=1)
    reasons = reasons_of(send(as_role("owner", live), "delete", "api_study", live), 409)
    assert reasons == {"status": "This study is live; only a draft can be deleted. Close it instead. Its data stay."}


# --- states ---


def test_a_draft_is_planned_launched_paused_resumed_and_closed() -> None:
    study = make_study(items=4, ratings_per_item=2, live=False, reward="0.10", estimated_minutes="3", contact="ann")
    client = as_role("editor", study)
    plan = send(client, "get", "api_launch_plan", study).json()
    assert (plan["items"], plan["hits"], plan["submissions"], plan["cost"]) == (4, 4, 8, "0.80")
    assert plan["hours"] == pytest.approx(8 * 3 / 60)
    assert plan["blocked"] is False
    launched = send(client, "post", "api_launch", study, body={"version": plan["version"]}).json()
    assert (launched["study"]["status"], launched["study"]["wanted"]) == ("live", 8)
    for name, status in {"api_pause": "paused", "api_resume": "live", "api_close": "closed"}.items():
        for _ in range(2):  # the second time changes nothing
            assert send(client, "post", name, study).json()["study"]["status"] == status
    reasons = reasons_of(send(client, "post", "api_resume", study), 409)
    assert reasons["status"].endswith("A closed study cannot be opened again. Duplicate it instead.")


def test_a_platform_that_does_not_answer_is_a_warning_because_the_study_is_paused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = make_study(items=1)

    def pause(*, study: Study, actor: str) -> None:
        Study.objects.filter(pk=study.pk).update(status="paused")
        raise PlatformTrouble("There is no key for MTurk.")

    monkeypatch.setattr("annotation.api.lifecycle.pause_everywhere", pause)
    answer = send(as_role("editor", study), "post", "api_pause", study).json()
    assert answer["study"]["status"] == "paused"
    assert answer["warnings"] == ["Nothing changed on the platform. There is no key for MTurk."]


def test_a_plan_that_is_no_longer_true_is_not_launched() -> None:
    study = make_study(items=2, live=False)
    client = as_role("editor", study)
    version = send(client, "get", "api_launch_plan", study).json()["version"]
    send(client, "patch", "api_study", study, body={"ratings_per_item": 7})
    reasons = reasons_of(send(client, "post", "api_launch", study, body={"version": version}), 409)
    assert reasons == {"version": "The study has changed since this plan was made. Get the plan again and check it."}


def test_a_study_without_items_is_not_launched() -> None:
    study = make_study(items=0, live=False)
    reasons = reasons_of(send(as_role("editor", study), "post", "api_launch", study), 422)
    assert reasons == {"items": "The study has no items. Import items first."}


# --- who may ---

WRITES: list[tuple[str, str, tuple[Any, ...], Any, str]] = [
    ("put", "api_study", (), STUDY, "editor"),
    ("patch", "api_study", (), {"title": "X"}, "editor"),
    ("delete", "api_study", (), None, "owner"),
    ("post", "api_launch", (), {}, "editor"),
    ("post", "api_pause", (), {}, "editor"),
    ("post", "api_resume", (), {}, "editor"),
    ("post", "api_close", (), {}, "editor"),
    ("get", "api_launch_plan", (), None, "editor"),
    ("post", "api_items", (), {"rows": []}, "editor"),
    ("post", "api_items_from_run", (), {"run": "x"}, "editor"),
    ("post", "api_items_from_study", (), {"study": "x"}, "editor"),
    ("post", "api_feed", (), {}, "editor"),
    ("put", "api_feed", (), {"follow": True}, "editor"),
    ("post", "api_arms", (), {"name": "x"}, "editor"),
    ("patch", "api_arm", ("x",), {"wanted": 1}, "editor"),
    ("delete", "api_arm", ("x",), None, "editor"),
    ("put", "api_factors", (), {}, "editor"),
    ("put", "api_wording", (), {}, "editor"),
    ("put", "api_member", ("x",), {"role": "viewer"}, "owner"),
    ("delete", "api_member", ("x",), None, "owner"),
]


@pytest.mark.parametrize(("method", "name", "args", "body", "least"), WRITES)
def test_who_may_write(method: str, name: str, args: tuple[Any, ...], body: Any, least: str) -> None:
    study = make_study(items=1, live=False, title="A secret title")
    refused = {"anonymous": 401, "outsider": 404, "viewer": 404} | ({"editor": 404} if least == "owner" else {})
    for role, status in refused.items():
        response = send(as_role(role, study), method, name, study, *args, body=body)
        assert "A secret title" not in response.content.decode()
        detail = problem_of(response, status)["detail"]
        assert detail.startswith(f"There is no study “{study.slug}”, or") or status == 401
    allowed = as_role("owner" if least == "owner" else "editor", study)
    response = send(allowed, method, name, study, *args, body=body)
    assert response.status_code in (200, 201, 204, 409, 422) or "arm" in response.json()["detail"]


def test_progress_is_for_members_alone() -> None:
    study = make_study(items=1)
    make_submission(study=study)
    assert send(as_role("viewer", study), "get", "api_progress", study).json()["submitted"] == 1
    assert send(as_role("outsider", study), "get", "api_progress", study).status_code == 404
