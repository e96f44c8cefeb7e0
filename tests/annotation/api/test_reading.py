"""The JSON API: who gets what, what is in it, and that it only reads."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.api.ratings import RatingPages
from annotation.models import Item, Rating, Study, Submission
from annotation.work.excluding import review_submission
from tests.annotation.console_helpers import as_role, make_user
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db

OF_A_STUDY = ["api_study", "api_progress", "api_items", "api_ratings"]


@pytest.fixture
def study() -> Study:
    study = make_study(items=3, ratings_per_item=5, hits_per_worker=None, title="Replies", reward="0.125")
    make_submission(study=study)
    return study


def get(client: Client, name: str, study: Study, **query: Any) -> Any:
    response = client.get(reverse(name, args=[study.slug]), query)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


@pytest.mark.parametrize("name", OF_A_STUDY)
@pytest.mark.parametrize("role", ["viewer", "editor", "owner", "superuser"])
def test_members_read_everything(name: str, role: str, study: Study) -> None:
    get(as_role(role, study), name, study)


@pytest.mark.parametrize("name", OF_A_STUDY)
def test_an_outsider_reads_that_there_is_no_such_study(name: str, study: Study) -> None:
    response = as_role("outsider", study).get(reverse(name, args=[study.slug]))
    assert response.status_code == 404
    assert response.json()["detail"].startswith(f"There is no study “{study.slug}”, or your role")


@pytest.mark.parametrize("name", OF_A_STUDY)
def test_visitors_who_are_not_signed_in_see_where_to_sign_in(name: str, study: Study) -> None:
    response = Client().get(reverse(name, args=[study.slug]))
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "sign in to the console" in response.json()["detail"]
    assert Client().get(reverse("api_studies")).status_code == 401


def test_answers_are_kept_by_no_cache(study: Study) -> None:
    response = as_role("viewer", study).get(reverse("api_ratings", args=[study.slug]))
    assert "no-store" in response.headers["Cache-Control"]


def test_the_list_holds_the_users_own_studies(study: Study) -> None:
    make_study(title="Of others")
    listed = as_role("viewer", study).get(reverse("api_studies")).json()
    assert [(found["slug"], found["items"], found["wanted"], found["submitted"]) for found in listed["results"]] == [
        (study.slug, 3, 15, 1)
    ]
    assert (listed["count"], listed["next"]) == (1, None)
    assert len(as_role("superuser", study).get(reverse("api_studies")).json()["results"]) == 2


def test_a_study_in_full(study: Study) -> None:
    found = get(as_role("viewer", study), "api_study", study)
    told = {name: found[name] for name in ("title", "status", "task_type", "reward", "ratings_per_item", "seed")}
    assert told == {
        "title": "Replies",
        "status": "live",
        "task_type": "abs_hds",
        "reward": "0.125",
        "ratings_per_item": 5,
        "seed": 1,
    }
    assert found["config"]["generation_task"] == "response"
    assert (found["arms"], found["exclude_studies"]) == ([], [])


def test_progress(study: Study) -> None:
    make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    found = get(as_role("viewer", study), "api_progress", study)
    assert (found["submitted"], found["submitted_synthetic"], found["wanted"]) == (2, 1, 15)


def test_items_in_the_order_of_the_file(study: Study) -> None:
    found = get(as_role("viewer", study), "api_items", study)["results"]
    assert [item["item"] for item in found] == ["s0", "s1", "s2"]
    assert found[0]["columns"]["resp_0"] == Item.objects.get(external_id="s0").payload["responses"][0]
    rated = Rating.objects.get(question="diversity")
    assert rated.item
    scores = {item["item"]: item["scores"][0] for item in found}
    assert scores[rated.item.external_id] == {
        "topic": "diversity",
        "title": "absHDS",
        "score": rated.value,
        "sd": 0.0,
        "n": 1,
        "workers": 1,
        "low": None,
        "high": None,
        "part": "",
    }
    assert sum(item["submissions"] for item in found) == 1


def test_a_study_with_arms_has_them_everywhere() -> None:
    arms: list[dict[str, Any]] = [
        {"name": "low", "reward": "0.100"},
        {"name": "high", "config": {"write_first": False}},
    ]
    study = make_study(items=1, ratings_per_item=2, arms=arms)
    made = {each.participant.arm.name: each for each in (make_submission(study=study) for _ in range(2))}
    client = as_role("viewer", study)
    told = get(client, "api_study", study)["arms"]
    assert [(arm["name"], arm["reward"], arm["config"], arm["n_enrolled"]) for arm in told] == [
        ("low", "0.100", {}, 1),
        ("high", None, {"write_first": False}, 1),
    ]
    assert [arm["submitted"] for arm in get(client, "api_progress", study)["arms"]] == [1, 1]
    [item] = get(client, "api_items", study)["results"]
    given = {name: each.ratings.get(question="diversity").value or 0.0 for name, each in made.items()}
    assert {arm["name"]: arm["scores"][0]["score"] for arm in item["arms"]} == given
    assert item["scores"][0]["score"] == sum(given.values()) / 2
    arms_of = {rating["submission"]: rating["arm"] for rating in get(client, "api_ratings", study)["results"]}
    assert arms_of == {each.pk: name for name, each in made.items()}


def test_an_answer_about_no_item_names_none(study: Study) -> None:
    own = Rating.objects.first()
    assert own is not None
    Rating.objects.create(
        study=study,
        submission=own.submission,
        participant=own.participant,
        question="age",
        scale="years",
        value=31.0,
        created_at=own.created_at,
    )
    found = get(as_role("viewer", study), "api_ratings", study)["results"]
    assert [(rating["question"], rating["item"]) for rating in found][-1] == ("age", "")


def test_ratings_name_the_worker_by_pseudonym_alone(study: Study) -> None:
    worker = make_participant(study=study, name="A1B2C3@example.org")
    made = make_submission(study=study, participant=worker)
    response = as_role("owner", study).get(reverse("api_ratings", args=[study.slug]))
    assert "A1B2C3" not in response.content.decode()
    ratings = [rating for rating in response.json()["results"] if rating["submission"] == made.pk]
    assert {rating["question"] for rating in ratings} == {"own_response", "quality", "diversity"}
    assert {rating["worker"] for rating in ratings} == {worker.pseudonym}
    assert {(rating["synthetic"], rating["included"]) for rating in ratings} == {(False, True)}


def test_ratings_of_an_excluded_submission_say_so(study: Study) -> None:
    user = make_user("reviewer", is_superuser=True)
    review_submission(submission=Submission.objects.get(), decision="exclude", note="", user=user)
    found = get(as_role("viewer", study), "api_ratings", study)["results"]
    assert [rating["included"] for rating in found] == [False] * 3


def test_pages_of_ratings_hold_each_once_while_more_come_in(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RatingPages, "page_size", 2)
    client = as_role("viewer", study)
    make_submission(study=study)
    first = get(client, "api_ratings", study)
    make_submission(study=study)
    found, page = first["results"], first
    while page["next"]:
        page = client.get(page["next"]).json()
        found += page["results"]
    assert [(rating["submission"], rating["question"]) for rating in found] == list(
        Rating.objects.order_by("pk").values_list("submission", "question")
    )
    assert len(found) == 9


@pytest.mark.parametrize(
    ("query", "field", "reason"),
    [
        ({"cursor": "x"}, "cursor", "This cursor cannot be read."),
        ({"limit": "0"}, "limit", "“0” cannot be used."),
        ({"limit": "ten"}, "limit", "“ten” cannot be used."),
        ({"page": "2"}, "page", "This list has no page numbers."),
    ],
)
@pytest.mark.parametrize("name", ["api_items", "api_ratings"])
def test_a_wrong_page_is_refused_with_the_reason(
    name: str, query: dict[str, str], field: str, reason: str, study: Study
) -> None:
    response = as_role("viewer", study).get(reverse(name, args=[study.slug]), query)
    assert (response.status_code, response.headers["Content-Type"]) == (400, "application/problem+json")
    [error] = response.json()["errors"]
    assert (error["field"], error["reason"]) == (field, reason)


@pytest.mark.parametrize("name", OF_A_STUDY)
def test_the_number_of_queries_does_not_grow_with_rows(name: str, study: Study) -> None:
    client = as_role("viewer", study)

    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            get(client, name, study)
        return len(queries)

    before = count()
    for _ in range(4):
        make_submission(study=study)
    assert count() == before
