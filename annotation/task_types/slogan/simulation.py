"""What simulated writers type, how often they ask for suggestions, and which ones they use."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.task_types.base import Page
from annotation.task_types.offers import Try
from annotation.task_types.questions import TextQuestion
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.slogan.used import offered
from common.text_length import count_characters

WORDS = ("fresh", "morning", "quiet", "together", "bright", "simple", "home", "long", "light", "new")
ENDINGS = ("Every day.", "For you.", "Try it.", "Since today.")
#: How many times each kind of writer asks for suggestions for one slogan.
ASKS = {"careful": 2, "noisy": 1, "careless": 0}


def keywords(worker: SimulatedWorker, page: Page, at: int) -> str:
    """The keywords that the worker types for request ``at``."""
    return ", ".join(worker.rng(page.name, "keywords", at).sample(WORDS, 2))


def first_slogan(worker: SimulatedWorker, page: Page) -> str:
    """What the worker has written before the first request."""
    return " ".join(worker.rng(page.name, "first slogan").sample(WORDS, 2)).capitalize()


def written_slogan(worker: SimulatedWorker, page: Page, box: TextQuestion, tries: Sequence[Try]) -> dict[str, str]:
    """The slogan, and the suggestion that it was made from, if any."""
    rng = worker.rng(page.name)
    there = offered(tries)
    if not there or rng.random() < 0.3:
        own = " ".join(rng.sample(WORDS, 3)).capitalize() + "."
        return {box.key: own[: box.max_chars]}
    used = rng.sample(sorted(there), 1)
    text = there[used[0]].text
    if rng.random() < 0.5:
        text = f"{text} {rng.choice(ENDINGS)}"
    if count_characters(text) > box.max_chars:
        text = "".join(list(text)[: box.max_chars // 2])
    return {box.key: text, "used": " ".join(used)}
