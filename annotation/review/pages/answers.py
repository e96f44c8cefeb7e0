"""A submission in readable form: what was shown in which order, what the worker answered, and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.instrument import Instrument, hit_items, shown_to
from annotation.models import Submission


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item of the hit, with its texts by column."""

    pk: int
    external_id: str
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Answered:
    """One question and its answer, in the words of the scale."""

    label: str
    about: str
    answer: str
    is_text: bool
    seconds: float | None
    pastes: int


@dataclass(frozen=True, slots=True)
class AnsweredPage:
    """One page as it was sent. ``item`` counts the hit's items from 1; None for a page without an item."""

    number: int
    title: str
    item: int | None
    answers: list[Answered]


def shown_items(submission: Submission, instrument: Instrument) -> list[ShownItem]:
    of_hit = hit_items(submission.assignment.hit_id)
    return [
        ShownItem(pk, item.external_id, instrument.task.export_columns(item.payload))
        for pk, item in zip(of_hit.ids, of_hit.items, strict=True)
    ]


def answered_pages(submission: Submission, instrument: Instrument) -> list[AnsweredPage]:
    """The type's pages for this assignment, each with what was stored for it."""
    assignment = submission.assignment
    steps = list(assignment.steps.all())
    pages = instrument.pages(shown_to(assignment, instrument), [step.answers for step in steps])
    answered = []
    for page, step in zip(pages, steps, strict=False):
        answers = []
        for question in page.questions:
            if question.shown_if is not None and not question.shown_if.holds(step.answers):
                continue
            timing: Mapping[str, Any] = step.timing.get(question.key) or {}
            answer = step.answers.get(question.key)
            seconds = timing.get("seconds")
            answers.append(
                Answered(
                    label=question.label,
                    about=question.target,
                    answer=question.in_words(answer),
                    is_text=question.writes,
                    seconds=float(seconds) if isinstance(seconds, (int, float)) else None,
                    pastes=int(timing.get("pastes") or 0),
                )
            )
        item = None if page.item is None else page.item + 1
        answered.append(AnsweredPage(number=step.number + 1, title=page.title, item=item, answers=answers))
    return answered
