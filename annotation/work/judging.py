"""Which answers on a page about an item with right answers are right, and what people read about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.quality_control.answer_rules import Rated
from analysis.quality_control.work import Check
from annotation.task_types.base import Answers, Page, RatingData, Shown, TaskType
from annotation.task_types.other_answers import rules_about
from annotation.task_types.questions import Question
from annotation.work.rules_in_words import rule_in_words


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer that can be right or wrong. ``right`` contains the right answers in the page's words, ``explanation``
    what the study explains about this question."""

    key: str
    question: str
    given: str
    right: tuple[str, ...]
    is_right: bool
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What to show about one item with right answers."""

    answers: tuple[JudgedAnswer, ...]
    explanation: str

    @property
    def all_right(self) -> bool:
        return all(answer.is_right for answer in self.answers)

    @property
    def wrong(self) -> list[JudgedAnswer]:
        return [answer for answer in self.answers if not answer.is_right]


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the answers on the last page about one item with right answers."""

    task: TaskType
    shown: Shown
    pages: Sequence[Page]
    answers: Sequence[Answers]
    item: str
    check: Check

    def feedback(self) -> Feedback:
        """The answers that can be right or wrong, in the order of the page, and what the study explains."""
        answers = self.answers[-1]
        judged = ((question, self.is_right(question, answers)) for question in self.pages[-1].questions)
        return Feedback(
            tuple(
                JudgedAnswer(
                    question.key,
                    question.label,
                    question.in_words(answers[question.key]),
                    self.right(question),
                    right,
                    self.check.explanation_of(question.topic, question.target),
                )
                for question, right in judged
                if right is not None
            ),
            self.check.explanation,
        )

    def verdicts(self) -> dict[str, bool]:
        """By question of the last page, whether its answer is right. Those that cannot be wrong are left out."""
        answers = self.answers[-1]
        judged = ((question.key, self.is_right(question, answers)) for question in self.pages[-1].questions)
        return {key: right for key, right in judged if right is not None}

    def by_rule(self) -> dict[str, bool]:
        """By name of the right answer (a topic, or topic/part), whether the last page's answers to it are right."""
        rows = self._about_item(self.task.ratings(self.shown, self.pages, self.answers))
        step = len(self.answers) - 1
        by_name: dict[str, bool] = {}
        for row in rows:
            right = self.check.is_right(row.question, row.target, row.value, row.text)
            if row.step == step and right is not None:
                name = self.check.name_for(row.question, row.target)
                by_name[name] = by_name.get(name, True) and right
        rated = [Rated(row.question, row.target, row.value, row.text) for row in rows]
        return by_name | self.check.together(rated)

    def last_ratings(self) -> list[dict[str, Any]]:
        """The ratings that the last page makes about the item, each with whether it is right."""
        verdicts = self.verdicts()
        return [
            {
                "question": row.question,
                "target": row.target,
                "scale": row.scale,
                "value": row.value,
                "text": row.text,
                "right": verdicts.get(row.key),
            }
            for row in self._about_item(self.task.ratings(self.shown, self.pages, self.answers))
            if row.step == len(self.answers) - 1
        ]

    def is_right(self, question: Question, answers: Answers) -> bool | None:
        """Whether the last page's answer would be right; None if the item has no right answer to the question.

        It compares ratings, because a type may store an answer in other terms than the page shows.
        """
        rows = self.task.ratings(self.shown, self.pages, [*self.answers[:-1], answers])
        about_item = self._about_item(rows)
        step = len(self.answers) - 1
        mine = [row for row in about_item if (row.step, row.key) == (step, question.key)]
        alone = [self.check.is_right(row.question, row.target, row.value, row.text) for row in mine]
        decided = [right for right in alone if right is not None]
        rated = [Rated(row.question, row.target, row.value, row.text) for row in about_item]
        decided += [
            right
            for name, right in self.check.together(rated).items()
            if any(self.check.is_about(name, row.question, row.target) for row in mine)
        ]
        return all(decided) if decided else None

    def _about_item(self, rows: Sequence[RatingData]) -> list[RatingData]:
        return [row for row in rows if row.item is not None and self.shown.items[row.item].external_id == self.item]

    def right(self, question: Question) -> tuple[str, ...]:
        """The right answers in the page's words."""
        rules = [
            words
            for rule, part in rules_about(question.topic, question.target, self.check)
            if (words := rule_in_words(rule, question, part))
        ]
        if rules:
            plain = self.check.answers.get(self.check.name_for(question.topic, question.target), ())
            points = {point.key: point.text for point in question.scale.points}
            return (*(points.get(answer, answer) for answer in plain), *rules)
        if possible := question.every_answer():
            answers = dict(self.answers[-1])
            right = [answer for answer in possible if self.is_right(question, answers | {question.key: answer})]
            return tuple(question.in_words(answer) for answer in right)
        return tuple(answer for answers in self.check.answers.values() for answer in answers)
