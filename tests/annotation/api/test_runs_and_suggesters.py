"""Generation runs, models, suggesters with their pools, and the log of edits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.api.suggesters import EMBEDDED
from annotation.models import EventBatch, Study
from generation.models import GenerationRun, LanguageModel, PoolText, Suggester
from tests.annotation.api.running_helpers import get, post, reasons, send
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_study, make_submission
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db
RUN: dict[str, Any] = {
    "name": "sweep-2",
    "models": ["tiny"],
    "decoders": ["top_p=0.9"],
    "contexts": ["Once", "Twice"],
    "samples": 2,
}


@pytest.fixture(autouse=True)
def nothing_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.queueing.send_work", lambda run_id: True)


@pytest.fixture
def client() -> Any:
    """Of a researcher who has a finished run, on a server with the model `tiny`."""
    make_run({"greedy": [["one"], ["two"]], "top_p=0.9": [["three"], ["four"]]}, name="sweep-1")
    GenerationRun.objects.update(created_by="its-owner")
    return signed_in(make_user("its-owner"))


def test_a_run_is_created_once(client: Any) -> None:
    created = post(client, "api_runs", **RUN)
    assert (created.status_code, created.json()["wanted"], created.json()["state"]) == (201, 4, "waiting")
    assert GenerationRun.objects.get(name="sweep-2").created_by == "its-owner"
    assert post(client, "api_runs", **RUN).status_code == 200
    assert [run["name"] for run in get(client, "api_runs")["results"]] == ["sweep-2", "sweep-1"]
    other = post(client, "api_runs", **{**RUN, "samples": 3})
    assert reasons(other) == [("name", "There is already a run “sweep-2” with other contents.")]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"contexts": "/etc/passwd"}, "contexts"),
        ({"contexts": {"file": "contexts.csv"}}, "contexts"),
        ({"contexts": []}, "contexts"),
        ({"decoders": ["top_q=0.9"]}, "decoders, entry 1"),
        ({"models": ["unknown"]}, "models"),
        ({"sample": 2}, "sample"),
        ({"name": "a b"}, "name"),
    ],
)
def test_a_run_that_cannot_be_is_refused(change: dict[str, Any], where: str, client: Any) -> None:
    response = post(client, "api_runs", **{**RUN, **change})
    assert response.status_code == 422
    assert where in [field for field, _ in reasons(response)]
    assert GenerationRun.objects.count() == 1


def test_somebody_elses_run_of_the_same_content_stays_theirs(client: Any) -> None:
    post(client, "api_runs", **RUN)
    assert post(signed_in(make_user("other")), "api_runs", **RUN).status_code == 404


def test_a_run_with_its_progress_and_samples(client: Any) -> None:
    run = get(client, "api_run", "sweep-1")
    assert (run["done"], run["seed"], run["progress"]["chunks_done"]) == (4, 7, 1)
    first = get(client, "api_samples", "sweep-1", limit=3)
    rest = client.get(first["next"]).json()
    assert [sample["text"] for sample in first["results"] + rest["results"]] == ["one", "two", "three", "four"]
    assert first["results"][0]["context"] == "c0"
    file: Any = client.get(reverse("api_samples_file", args=["sweep-1", "jsonl"]))
    assert len(b"".join(file.streaming_content).splitlines()) == 4
    assert client.get(reverse("api_samples_file", args=["sweep-1", "pdf"])).status_code == 404


def test_a_run_is_cancelled_and_resumed(client: Any) -> None:
    post(client, "api_runs", **RUN)
    assert post(client, "api_cancel_run", "sweep-2").json()["state"] == "cancelled"
    assert post(client, "api_resume_run", "sweep-2").json()["state"] in ("waiting", "running")
    done = post(client, "api_cancel_run", "sweep-1")
    assert (done.status_code, reasons(done)) == (422, [("sweep-1", "The run has ended (done).")])


def test_the_report_of_a_run(client: Any) -> None:
    assert get(client, "api_run_report", "sweep-1")
    page: Any = client.get(reverse("api_run_report_page", args=["sweep-1"]))
    assert b"".join(page.streaming_content).startswith(b"<!doctype html>")


def test_models_are_listed(client: Any) -> None:
    assert [model["name"] for model in get(client, "api_models")["results"]] == ["tiny"]


# --- suggesters ---


def made(client: Any, **values: Any) -> Any:
    return post(client, "api_suggesters", **{"name": "model-a", "model": "tiny", "decoder": "top_p=0.9", **values})


def test_a_suggester_is_created_changed_and_stopped(client: Any) -> None:
    created = made(client)
    assert (created.status_code, created.json()["by"], created.json()["pool"]) == (201, "its-owner", 0)
    assert reasons(made(client)) == [("name", "There is already a suggester model-a.")]
    changed = send(client, "PATCH", "api_suggester", "model-a", tries=5, active=False)
    assert (changed.status_code, changed.json()["tries"], changed.json()["active"]) == (200, 5, False)
    assert [suggester["name"] for suggester in get(client, "api_suggesters")["results"]] == ["model-a"]
    assert get(signed_in(make_user("reader")), "api_suggester", "model-a")["model"] == "tiny"


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"model": "unknown"}, "model"),
        ({"decoder": "top_q=0.9"}, "decoder"),
        ({"template": "Write on."}, "template"),
        ({"least_characters": 300, "most_characters": 20}, "least_characters, most_characters"),
        ({"tries": 0}, "tries"),
        ({"name": "a b"}, "name"),
        ({"colour": "red"}, "colour"),
        ({"limits": {"max_words": 3}}, "limits"),
    ],
)
def test_a_suggester_that_cannot_be_is_refused(change: dict[str, Any], where: str, client: Any) -> None:
    response = made(client, **change)
    assert response.status_code == 422
    assert [field for field, _ in reasons(response)] == [where]
    assert not Suggester.objects.exists()


def test_a_pool_is_filled_with_texts(client: Any) -> None:
    made(client, template="{story}")
    texts = [{"text": "The rain had stopped at last."}, {"text": "No.", "round": 2}]
    filled = post(client, "api_fill_pool", "model-a", texts=texts)
    assert (filled.status_code, filled.json()["added"]) == (200, 1)
    assert sum(filled.json()["unusable"].values()) == 1
    assert post(client, "api_fill_pool", "model-a", texts=texts).json()["duplicates"] == 1
    assert list(PoolText.objects.values_list("round", "text")) == [(0, "The rain had stopped at last.")]


def test_a_pool_is_filled_from_a_run_of_the_user(client: Any) -> None:
    made(client)
    filled = post(client, "api_fill_pool", "model-a", run="sweep-1")
    assert (filled.status_code, sum(filled.json()["unusable"].values())) == (200, 2)  # words, no sentences
    GenerationRun.objects.update(created_by="other")
    assert post(client, "api_fill_pool", "model-a", run="sweep-1").status_code == 404


@pytest.mark.parametrize("body", [{}, {"run": "sweep-1", "texts": []}, {"texts": [{"round": 1}]}])
def test_a_pool_needs_texts_or_a_run(body: dict[str, Any], client: Any) -> None:
    made(client)
    assert post(client, "api_fill_pool", "model-a", **body).status_code == 422


def test_the_model_that_comes_with_the_server_needs_no_registration(client: Any) -> None:
    LanguageModel.objects.filter(name="distilgpt2").delete()
    assert made(client, model=EMBEDDED).json()["model"] == EMBEDDED


# --- edits ---


def test_edits_are_listed_in_the_order_in_which_they_arrived() -> None:
    study: Study = make_study()
    submission = make_submission(study=study)
    now = timezone.now()
    for number in range(3):
        EventBatch.objects.create(
            assignment=submission.assignment,
            step=0,
            view="1700000000000-abc",
            number=number,
            edits=[["own_response", 10, 0, 0, "Hi", "type"]],
            size=60,
            received_at=now + timedelta(seconds=number),
        )
    client = as_role("viewer", study)
    batches = get(client, "api_edits", study.slug, limit=2)
    assert [(batch["number"], batch["page"], batch["submission"]) for batch in batches["results"]] == [
        (0, 1, submission.pk),
        (1, 1, submission.pk),
    ]
    assert batches["results"][0]["edits"] == [["own_response", 10, 0, 0, "Hi", "type"]]
    assert len(client.get(batches["next"]).json()["results"]) == 1
    assert get(client, "api_edits", study.slug, submission=submission.pk + 1)["results"] == []
