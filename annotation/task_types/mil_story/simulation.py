"""What simulated writers do with a box that is empty or has a suggestion in it."""

from __future__ import annotations

from annotation.task_types.base import Page
from annotation.task_types.questions import TextQuestion
from annotation.task_types.simulation import SimulatedWorker
from common.text_length import count_characters

#: How many times a writer looks for a sentence that the story does not have. There may be none.
TRIES = 100
ADDITIONS = ("Nobody knew why.", "It was late.", "And then it rained.", "That was all.")


def written_sentence(worker: SimulatedWorker, page: Page, question: TextQuestion) -> dict[str, str]:
    """The form of one page. Careless writers keep every suggestion; others keep, edit or delete it, and what they write
    themselves is not in the story yet."""
    rng = worker.rng(page.name)
    text = page.initial.get("sentence", "")
    if text and worker.profile != "careless":
        chance = rng.random()
        text = "" if chance < 0.25 else f"{text} {rng.choice(ADDITIONS)}" if chance < 0.6 else text
    if not question.min_chars <= count_characters(text) <= question.max_chars:
        text = worker.text(question, rng)
        for _ in range(TRIES if worker.profile != "careless" else 0):
            if text not in str(page.context["story"]):
                break
            text = worker.text(question, rng)
    return {question.key: text}
