"""Answers that a worker could give to a question instead: to look for one that is right or that no rule flags."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from analysis.quality_control.work import Check, as_number
from annotation.task_types.questions import (
    Answer,
    ChoicesQuestion,
    Question,
    RankingQuestion,
    ScaleQuestion,
    TextQuestion,
    joined_target,
)
from annotation.task_types.simulation import SENTENCES

#: Words of a text that is long enough for any question, if the question allows them.
MANY_WORDS = 40


def other_answers(question: Question, check: Check | None) -> Iterator[Answer]:
    """All points of a scale; for other kinds, what ``check`` says is right and answers that differ in one place."""
    if isinstance(question, ScaleQuestion):
        yield from (point.value for point in question.scale.points)
    elif isinstance(question, ChoicesQuestion):
        yield from _choices(question, check)
    elif isinstance(question, RankingQuestion):
        yield from _rankings(question, check)
    elif isinstance(question, TextQuestion):
        yield from _texts(question, check)


def _right(question: Question, part: str, check: Check | None) -> list[str]:
    """The right answers for one part of the item, as they are in the file."""
    if check is None:
        return []
    answers = check.answers.get(f"{question.topic}/{part}") if part else None
    return list(check.answers.get(question.topic, ()) if answers is None else answers)


def _choices(question: ChoicesQuestion, check: Check | None) -> Iterator[Answer]:
    keys = [option.key for option in question.options]
    right = [key for key in keys if "1" in _right(question, joined_target(question.target, key), check)]
    yield list(right)
    yield list(keys)
    for key in keys:
        yield [key]
        yield [name for name in keys if (name in right) != (name == key)]


def _rankings(question: RankingQuestion, check: Check | None) -> Iterator[Answer]:
    keys = [option.key for option in question.options]

    def rank(key: str) -> float:
        numbers = [
            number
            for answer in _right(question, joined_target(question.target, key), check)
            if (number := as_number(answer))
        ]
        return min(numbers, default=len(keys) / 2 + 0.25)

    best = sorted(keys, key=rank)
    yield best
    for first, second in combinations(range(len(best)), 2):
        swapped = list(best)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        yield swapped


def _texts(question: TextQuestion, check: Check | None) -> Iterator[Answer]:
    yield from _right(question, question.target, check)
    for start in range(3):
        words = [
            word for offset in range(len(SENTENCES)) for word in SENTENCES[(start + offset) % len(SENTENCES)].split()
        ]
        most = min(question.max_words or MANY_WORDS, max(MANY_WORDS, question.min_words))
        while len(words) < most:
            words += words
        text = " ".join(words[:most])
        yield text[: question.max_chars].strip()
