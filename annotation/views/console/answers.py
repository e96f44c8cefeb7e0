"""A submission as a person reads it: what was shown in which order, what was answered and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.instrument import Instrument, hit_items, shown_to
from annotation.models import Step, Study, Submission
from annotation.task_types.questions import Question


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item of the hit, its texts as columns, and the order in which its parts were shown."""

    pk: int
    external_id: str
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with its answer as the scale names it."""

    label: str
    about: str
    answer: str
    is_text: bool
    seconds: float | None
    pastes: int


@dataclass(frozen=True, slots=True)
class AnsweredStep:
    """One page as it was sent."""

    number: int
    title: str
    item: int
    step: Step
    answers: list[Answered]


def shown_items(submission: Submission, study: Study) -> list[ShownItem]:
    task = Instrument.of(study).task
    return [
        ShownItem(pk, data.external_id, task.export_columns(data.payload))
        for pk, data in hit_items(submission.assignment.hit_id)
    ]


def answered_steps(submission: Submission, study: Study) -> list[AnsweredStep]:
    """The type's steps for this assignment beside what was stored for each."""
    instrument = Instrument.of(study)
    specs = instrument.steps(shown_to(submission.assignment, instrument))
    return [
        AnsweredStep(
            number=step.number + 1,
            title=spec.title,
            item=spec.item + 1,
            step=step,
            answers=[_answered(question, step) for question in spec.questions],
        )
        for spec, step in zip(specs, submission.assignment.steps.all(), strict=False)
    ]


def _answered(question: Question, step: Step) -> Answered:
    timing: Mapping[str, Any] = step.timing.get(question.key) or {}
    given = step.answers.get(question.key)
    seconds = timing.get("seconds")
    return Answered(
        label=question.label,
        about=question.about,
        answer=_in_words(question, given),
        is_text=isinstance(given, str),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else None,
        pastes=int(timing.get("pastes") or 0),
    )


def _in_words(question: Question, given: object) -> str:
    if given is None:
        return ""
    for point in question.scale.points:
        if point.value == given:
            return point.text
    return f"{given:g}" if isinstance(given, float) else str(given)
