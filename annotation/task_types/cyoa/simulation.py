"""What simulated writers do: write their own lines, and use, change or switch between suggestions."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.task_types.base import Page
from annotation.task_types.offers import OfferData
from annotation.task_types.questions import TextQuestion
from annotation.task_types.simulation import SimulatedWorker
from common.text_length import count_characters

ADDITIONS = ("Nobody knew why.", "It was late.", "And then it rained.", "That was all.")


def written_turn(
    worker: SimulatedWorker, page: Page, question: TextQuestion, offers: Sequence[OfferData]
) -> dict[str, str]:
    """The form of one turn. Careless writers use the first suggestion unchanged."""
    rng = worker.rng(page.name)
    if not offers:
        return {question.key: worker.text(question, rng)}
    if worker.profile == "careless":
        return _form([offers[0].side], offers[0].text, worker, question)
    picked = [rng.choice(offers)]
    while len(picked) < 4 and len(offers) > 1 and rng.random() < 0.3:
        picked.append(rng.choice([each for each in offers if each.side != picked[-1].side]))
    text = picked[-1].text
    if rng.random() < 0.5:
        text = f"{text} {rng.choice(ADDITIONS)}"
    return _form([each.side for each in picked], text, worker, question)


def _form(sides: Sequence[str], text: str, worker: SimulatedWorker, question: TextQuestion) -> dict[str, str]:
    if not question.min_chars <= count_characters(text) <= question.max_chars:
        text = worker.text(question, worker.rng(text))
    return {"pick": sides[-1], "pick_history": " ".join(sides), question.key: text}
