"""Answers that a worker could give to a question instead: to look for one that is right or that no rule flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.quality_control.work import Check
from annotation.task_types.questions import Answer, Question


def other_answers(question: Question, check: Check | None) -> Iterator[Answer]:
    """First what ``check`` says is right, then answers that differ from it in one place; all points of a scale."""

    def right(part: str) -> Sequence[str]:
        """The right answers for one part of the item, as they are in the file."""
        if check is None:
            return []
        answers = check.answers.get(f"{question.topic}/{part}") if part else None
        return check.answers.get(question.topic, ()) if answers is None else answers

    yield from question.alternatives(right)
