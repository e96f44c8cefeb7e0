"""A study of conversations whose assistants answer when the test says so."""

from __future__ import annotations

from typing import Any

from annotation.models import Study
from annotation.task_types.items import Row
from annotation.task_types.registry import get_type
from generation.models import Suggestion
from generation.suggestions import serving
from tests.annotation.offers_helpers import answer
from tests.annotation.pages import WorkerBrowser
from tests.factories import default_config, make_participant, make_study
from tests.generation.support.toy_suggestions import make_suggester

SECRET = "Never say badger."
ROW = {"id": "s1", "scenario": "Ask for a word.", "system_prompt": SECRET, "first_message": "Good day."}


def chat_study(*, wait: float = 30.0, rows: list[dict[str, str]] | None = None, **config: Any) -> Study:
    """With the suggesters model-a and, for two sides, model-b."""
    names = ["model-a", "model-b"] if config.get("sides") == "two" else ["model-a"]
    for name in names:
        make_suggester(name, wait_seconds=wait)
    settings = {"suggesters": names, "min_turns": 1, "max_turns": 3} | config
    task = get_type("chat")
    cells = [Row(number, row) for number, row in enumerate(rows or [ROW], start=1)]
    items, problems = task.read_items(cells, default_config(task) | settings)
    assert not problems
    return make_study(task_type="chat", payloads=items, ratings_per_item=20, config=settings)


def person(study: Study) -> WorkerBrowser:
    return WorkerBrowser(make_participant(study=study))


def say(browser: WorkerBrowser, message: str, answers: dict[str, str] | None = None) -> str:
    """Send a message, have it answered by side, and return the page."""
    assert browser.send(message=message).status_code == 303
    browser.get()
    for side, text in (answers if answers is not None else {"A": f"You said: {message}"}).items():
        answer(newest(side), text)
    return browser.get().content.decode()


def newest(side: str) -> Suggestion:
    return Suggestion.objects.filter(key__endswith=f"/{side}").latest("pk")


def begin_answer(side: str, text: str) -> None:
    """As a process that has written this much of an answer."""
    Suggestion.objects.filter(pk=newest(side).pk).update(leased_by="p")
    serving.store_growing(name="p", texts={newest(side).pk: text})
