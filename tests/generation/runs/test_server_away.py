"""A model server that cannot answer now: the run waits for it, and nothing that was finished is made twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

pytest.importorskip("openai", reason="openai is not installed (script/setup --models)")

from generation.models import GenerationRun, LanguageModel
from generation.registry import open_models
from generation.runs import chunks, lifecycle
from generation.runs.progress import progress
from generation.runs.run_worker import work_on
from tests.generation.support.openai_server import Server, completion
from tests.generation.support.run_factories import make_file, make_model

pytestmark = pytest.mark.django_db
AWAY = [
    (503, '{"error": {"message": "restarting"}}'),
    (500, '{"error": {"message": "boom"}}'),
    (429, '{"error": {"message": "slow down"}}'),
]


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    open_models.close_all()
    server.close()


def run_on(server: Server, **values: Any) -> GenerationRun:
    make_model(
        name="served", backend="openai", source="m", base_url=server.url,
        options={"server": "vllm", "retries": 1, "timeout": 5, "concurrency": 1},
    )  # fmt: skip
    file_values: dict[str, Any] = {
        "contexts": ["One"],
        "decoders": ["ancestral"],
        "samples": 4,
        "limits": {"max_new_tokens": 3},
    }
    return lifecycle.create_run(file=make_file(models=["served"], **(file_values | values)))[0]


def work(run: GenerationRun) -> int:
    stored = work_on(run_id=run.pk, worker="w")
    run.refresh_from_db()
    return stored


def let_pass() -> None:
    """As if the pause were over."""
    LanguageModel.objects.filter(away_until__isnull=False).update(away_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("refusal", AWAY)
def test_a_server_that_is_away_for_a_while_ends_no_run(server: Server, refusal: tuple[int, str]) -> None:
    run = run_on(server)
    server.answering = lambda *_: refusal
    for _ in range(5):
        work(run)
        let_pass()
    chunk = run.chunks.get()
    assert (run.state, chunk.state, chunk.attempts, chunk.losses, chunk.leased_by) == ("running", "waiting", 0, 0, "")
    server.answering = completion
    work(run)
    assert (run.state, run.samples.count()) == ("done", 4)
    assert LanguageModel.objects.get().away_since is None


def test_a_server_that_nobody_reaches_ends_no_run(server: Server) -> None:
    run = run_on(server)
    LanguageModel.objects.update(base_url="http://127.0.0.1:9/v1")
    for _ in range(4):
        work(run)
        let_pass()
    assert (run.state, run.chunks.get().attempts) == ("running", 0)
    assert "cannot be reached" in progress(run).note


def test_nobody_asks_a_server_that_is_away_until_its_pause_is_over(server: Server) -> None:
    """Whatever the chunk and the run: one chunk finds out for all."""
    run, other = run_on(server, chunk_size=1), run_on(server, chunk_size=1)
    server.answering = lambda *_: AWAY[0]
    work(run)
    n_calls = len(server.asked)
    work(run)
    work(other)
    assert len(server.asked) == n_calls
    assert not chunks.claimable(chunks.database_now()).exists()
    let_pass()
    work(other)
    assert len(server.asked) > n_calls


def test_pauses_grow_with_the_time_that_the_server_is_away(server: Server) -> None:
    """At least five seconds, as long as it has been away, at most five minutes."""
    run = run_on(server)
    server.answering = lambda *_: AWAY[0]
    pauses = []
    for away in (0, 60, 3600):
        LanguageModel.objects.filter(away_since__isnull=False).update(
            away_since=timezone.now() - timedelta(seconds=away)
        )
        let_pass()
        before = timezone.now()
        work(run)
        until = LanguageModel.objects.get().away_until
        assert until is not None
        pauses.append((until - before).total_seconds())
    assert pauses[0] == pytest.approx(5, abs=3)
    assert pauses[1] == pytest.approx(60, abs=5)
    assert pauses[2] == pytest.approx(300, abs=5)


def test_the_server_says_when_to_come_back(server: Server) -> None:
    run = run_on(server)
    server.answering, server.headers = (lambda *_: AWAY[2]), {"Retry-After": "600"}
    before = timezone.now()
    work(run)
    until = LanguageModel.objects.get().away_until
    assert until is not None and (until - before).total_seconds() == pytest.approx(600, abs=4)
    assert "responded with 429 and asks for a pause of 600 s: slow down" in progress(run).note


def test_the_page_of_the_run_shows_what_it_waits_for(server: Server) -> None:
    run = run_on(server)
    server.answering = lambda *_: AWAY[0]
    work(run)
    note = progress(run).note
    assert note.startswith(f"served: The server at {server.url} responded with 503")
    assert "restarting" in note and "No attempt is counted" in note


def test_finished_answers_of_an_unfinished_chunk_are_not_asked_for_again(server: Server) -> None:
    """One call at a time: after the first question about the server itself, two of four texts arrive."""
    run = run_on(server)
    server.answering = lambda server, body: completion(server, body) if len(server.asked) < 4 else AWAY[0]
    work(run)
    answered = [body["seed"] for body in server.asked[1:3]]
    assert sorted(run.samples.values_list("number", flat=True)) == [0, 1]
    assert progress(run).n_done == 2
    server.asked.clear()
    server.answering = completion
    let_pass()
    work(run)
    assert run.state == "done"
    assert sorted(run.samples.values_list("number", flat=True)) == [0, 1, 2, 3]
    assert not set(answered) & {body["seed"] for body in server.asked}


def test_an_answer_that_the_server_will_always_give_still_fails_the_run(server: Server) -> None:
    run = run_on(server)
    server.answering = lambda *_: (401, json.dumps({"error": {"message": "no such key"}}))
    for _ in range(3):
        work(run)
        run.chunks.update(leased_until=None)
    assert run.state == "failed" and "does not accept the key" in run.message
