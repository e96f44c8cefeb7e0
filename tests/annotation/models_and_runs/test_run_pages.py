"""Generation runs and language models in the console."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from generation.models import Chunk, GenerationRun, LanguageModel
from tests.factories import make_researcher
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db

RUN_FILE = """
name: first
models: [tiny]
decoders: [greedy, top_p=0.9]
contexts:
  - {id: boat, context: "The boat came back."}
samples: 2
template: story
"""
PATHS = ("", "progress/", "report/", "report/report.html", "samples.csv")


@pytest.fixture
def queue() -> Any:
    """Messages that would wake workers."""
    with patch("generation.queueing.send_work", return_value=True) as sent:
        yield sent


@pytest.fixture
def tiny() -> LanguageModel:
    return LanguageModel.objects.create(name="tiny", backend="transformers", source="x")


def signed_in(name: str = "ana", **kwargs: Any) -> Client:
    user = User.objects.filter(username=name).first() or make_researcher(name, password="x", **kwargs)
    client = Client()
    client.force_login(user)
    return client


def administrator() -> Client:
    return signed_in("root", is_superuser=True)


def owned(name: str = "sweep", owner: str = "ana", **kwargs: Any) -> GenerationRun:
    run = make_run({"temperature=0.7": [["a b", "=1+1"]], "greedy": [["a b"]]}, name=name, **kwargs)
    run.created_by = owner
    run.save()
    return run


# --- Who sees what ---


@pytest.mark.parametrize("path", PATHS)
def test_only_its_owner_and_administrators_see_a_run(path: str) -> None:
    owned()
    address = f"/console/runs/sweep/{path}"
    assert signed_in().get(address).status_code == 200
    assert administrator().get(address).status_code == 200
    assert signed_in("bo").get(address).status_code == 404
    assert Client().get(address).status_code in (302, 404)


@pytest.mark.parametrize("action", ["cancel", "resume"])
def test_nobody_else_changes_a_run(action: str, queue: Any) -> None:
    run = owned()
    GenerationRun.objects.filter(pk=run.pk).update(state="running")
    assert signed_in("bo").post(f"/console/runs/sweep/{action}/").status_code == 404
    assert Client().post(f"/console/runs/sweep/{action}/").status_code == 302
    assert signed_in().get(f"/console/runs/sweep/{action}/").status_code == 405
    run.refresh_from_db()
    assert run.state == "running"


def test_the_list_shows_only_the_users_own_rows() -> None:
    owned()
    owned("other", owner="bo")
    page = signed_in().get("/console/runs/").content.decode()
    assert "sweep" in page
    assert "/console/runs/other/" not in page
    assert "/console/runs/other/" in administrator().get("/console/runs/").content.decode()


def test_the_list_needs_as_many_queries_for_many_runs() -> None:
    client = signed_in()
    counts = []
    for number in range(12):
        owned(f"run-{number}")
        if number in (1, 11):
            with CaptureQueriesContext(connection) as queries:
                client.get("/console/runs/")
            counts.append(len(queries))
    assert counts[0] == counts[1]


# --- A new run ---


def test_a_run_starts_from_a_typed_file(
    tiny: LanguageModel, queue: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = signed_in().post("/console/runs/new/", {"run_file": RUN_FILE})
    assert response["Location"] == "/console/runs/first/"
    run = GenerationRun.objects.get()
    assert (run.created_by, run.n_wanted, run.contexts.count()) == ("ana", 3, 1)  # one greedy text and two samples
    queue.assert_called_once_with(run.pk)


def test_contexts_come_from_the_file_that_is_sent(tiny: LanguageModel, queue: Any) -> None:
    text = RUN_FILE.replace('\n  - {id: boat, context: "The boat came back."}', " here.csv")
    upload = SimpleUploadedFile("mine.csv", b"id,context\n1,One came.\n2,Two left.\n")
    response = signed_in().post("/console/runs/new/", {"run_file": text, "contexts": upload})
    assert response.status_code == 302, response.content.decode()
    assert list(GenerationRun.objects.get().contexts.values_list("external_id", flat=True)) == ["1", "2"]


@pytest.mark.parametrize("contexts", ["/etc/hostname", "../../db.csv", "{file: /etc/passwd.csv, id: id}"])
def test_a_run_file_reads_no_path_of_the_server(contexts: str, tiny: LanguageModel) -> None:
    text = RUN_FILE.replace('\n  - {id: boat, context: "The boat came back."}', f" {contexts}")
    response = signed_in().post("/console/runs/new/", {"run_file": text})
    assert response.status_code == 422
    assert "no file was uploaded" in response.content.decode()
    assert not GenerationRun.objects.exists()


def test_every_problem_is_shown_and_what_was_typed_stays(tiny: LanguageModel) -> None:
    text = RUN_FILE.replace("tiny", "tony").replace("samples: 2", "sample: 2")
    page = signed_in().post("/console/runs/new/", {"run_file": text}).content.decode()
    assert "Did you mean “samples”?" in page
    assert "sample: 2" in page
    assert not GenerationRun.objects.exists()


def test_the_name_of_somebody_elses_run_reveals_nothing(tiny: LanguageModel, queue: Any) -> None:
    signed_in().post("/console/runs/new/", {"run_file": RUN_FILE})
    response = signed_in("bo").post("/console/runs/new/", {"run_file": RUN_FILE})
    assert response.status_code in (404, 422)
    assert GenerationRun.objects.get().created_by == "ana"


# --- One run ---


def test_a_run_is_cancelled_and_resumed(queue: Any, django_capture_on_commit_callbacks: Any) -> None:
    run = owned(n_wanted=10)
    GenerationRun.objects.filter(pk=run.pk).update(state="running")
    Chunk.objects.create(run=run, number=9, model=LanguageModel.objects.get(), places=[], n_samples=7)
    client = signed_in()
    assert b"Cancel the run" in client.get("/console/runs/sweep/").content
    client.post("/console/runs/sweep/cancel/")
    run.refresh_from_db()
    assert run.state == "cancelled"
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/console/runs/sweep/resume/")
    run.refresh_from_db()
    assert run.state == "running"
    queue.assert_called_once_with(run.pk)


def test_a_run_that_is_done_says_that_there_is_nothing_to_cancel() -> None:
    owned()
    page = signed_in().post("/console/runs/sweep/cancel/", follow=True).content.decode()
    assert "There is nothing to cancel." in page


def test_texts_are_shown_as_text() -> None:
    make_run({"greedy": [["<script>alert(1)</script>"]]}, name="evil")
    page = administrator().get("/console/runs/evil/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_samples_leave_as_csv_that_no_spreadsheet_runs() -> None:
    owned()
    response = signed_in().get("/console/runs/sweep/samples.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))  # type: ignore[attr-defined]
    assert sorted(row["text"] for row in rows) == ["'=1+1", "a b", "a b"]
    assert signed_in().get("/console/runs/sweep/samples.nonsense").status_code == 404


def test_the_report_is_kept_and_built_again_when_samples_arrive(tmp_path: Any, settings: Any) -> None:
    settings.VAR = tmp_path
    owned()
    client = signed_in()
    page = client.get("/console/runs/sweep/report/").content.decode()
    assert "Figures by decoder" in page
    assert 'href="/console/runs/sweep/"' in page
    with patch("analysis.report.sweep.write_sweep_report", side_effect=AssertionError("made again")):
        assert client.get("/console/runs/sweep/report/").status_code == 200
    make_run({"top_p=0.5": [["new text"]]})
    assert "top_p=0.5" in client.get("/console/runs/sweep/report/").content.decode()


# --- The page of a run while it runs, and when it ends ---


def running(preview: dict[str, Any] | None = None) -> GenerationRun:
    """A run with three samples, and a chunk of seven that a worker holds."""
    run = owned(n_wanted=10)
    GenerationRun.objects.filter(pk=run.pk).update(state="running")
    Chunk.objects.create(
        run=run,
        number=9,
        model=LanguageModel.objects.get(),
        places=[],
        n_samples=7,
        leased_by="w#1",
        leased_until=timezone.now() + timedelta(minutes=1),
        preview=preview or {},
    )
    return run


def test_texts_that_are_not_stored_yet_show_first_and_are_marked() -> None:
    text = {"context": "c0", "model": "tiny", "decoder": "greedy", "text": "<b>fresh</b>"}
    running({"n": 4, "tokens": 8, "seconds": 2.0, "texts": [text]})
    page = signed_in().get("/console/runs/sweep/progress/").content.decode()
    assert "3 of 10 stored" in page
    assert "4 more texts are written and will be stored with the rest of their chunk." in page
    assert page.index("&lt;b&gt;fresh&lt;/b&gt;") < page.index("=1+1")
    assert page.count("Not stored yet") == 1
    assert 'value="7"' in page  # the bar counts both


def test_an_unfinished_run_is_fetched_again_and_without_javascript_too() -> None:
    running()
    page = signed_in().get("/console/runs/sweep/").content.decode()
    assert 'hx-get="/console/runs/sweep/progress/"' in page
    assert '<noscript><meta http-equiv="refresh" content="10"></noscript>' in page
    assert "HX-Refresh" not in signed_in().get("/console/runs/sweep/progress/")


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
def test_when_a_run_ends_the_page_reloads_once_and_then_stops(state: str) -> None:
    run = running()
    GenerationRun.objects.filter(pk=run.pk).update(state=state)
    client = signed_in()
    assert client.get("/console/runs/sweep/progress/")["HX-Refresh"] == "true"
    page = client.get("/console/runs/sweep/").content.decode()
    assert "hx-get" not in page
    assert "http-equiv" not in page


def test_the_latest_samples_cost_as_many_queries_for_many_chunks() -> None:
    run = running()
    client = signed_in()
    counts = []
    for number in range(10, 40):
        Chunk.objects.create(
            run=run, number=number, model=LanguageModel.objects.get(), places=[], n_samples=1, state="done",
            ended_at=timezone.now(),
        )  # fmt: skip
        if number in (10, 39):
            with CaptureQueriesContext(connection) as queries:
                client.get("/console/runs/sweep/progress/")
            counts.append(len(queries))
    assert counts[0] == counts[1]


# --- Models ---


def test_only_administrators_register_models() -> None:
    data = {"name": "big", "backend": "transformers", "source": "gpt2", "dtype": "auto", "device": "auto"}
    assert signed_in().post("/console/models/", data).status_code == 404
    assert b"Register a model" not in signed_in().get("/console/models/").content
    with patch("annotation.models_and_runs.pages.language_models.send_check", return_value=True) as sent:
        assert administrator().post("/console/models/", data).status_code == 302
    sent.assert_called_once_with(LanguageModel.objects.get(name="big").pk)


def test_the_page_of_models_refreshes_by_itself_after_a_check_was_asked_for(tiny: LanguageModel) -> None:
    client = administrator()
    assert b"hx-get" not in client.get("/console/models/").content
    with patch("annotation.models_and_runs.pages.language_models.send_check", return_value=True):
        response = client.post("/console/models/tiny/check/", follow=True)
    page = response.content.decode()
    assert "tiny is being checked; this takes up to a minute." in page
    assert 'hx-select="#models"' in page and '<meta http-equiv="refresh"' in page
    assert b"hx-get" not in client.get("/console/models/?until=1").content, "long ago"


def test_an_invalid_model_is_refused_beside_the_field() -> None:
    data = {"name": "big one", "backend": "transformers", "source": "gpt2", "dtype": "auto", "device": "gpu7"}
    response = administrator().post("/console/models/", data)
    assert response.status_code == 422
    page = response.content.decode()
    assert "is not a valid name" in page
    assert "“gpu7” is not a device." in page


def test_a_model_is_retired_and_used_again(tiny: LanguageModel) -> None:
    client = administrator()
    for retired in (True, False):
        client.post("/console/models/tiny/retire/")
        tiny.refresh_from_db()
        assert tiny.retired is retired
    assert signed_in().post("/console/models/tiny/retire/").status_code == 404
    assert signed_in().post("/console/models/tiny/check/").status_code == 404
