"""What a worker reads after a gold item, in a study that gives feedback: their answer, the right one, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.quality_control.answer_rules import Rated
from analysis.quality_control.work import Check
from annotation.instrument import Instrument, live_instrument, shown_to
from annotation.models import Assignment
from annotation.task_types.base import Answers, Page, Shown, TaskType
from annotation.task_types.checks import check_of
from annotation.task_types.other_answers import rules_about
from annotation.task_types.questions import Question
from annotation.work.rules_in_words import rule_in_words
from annotation.work.standing import given_answers


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One answer to a gold item. ``right`` contains the right answers in the page's words."""

    question: str
    given: str
    right: tuple[str, ...]
    is_right: bool


@dataclass(frozen=True, slots=True)
class Feedback:
    """What to show about one gold item."""

    answers: tuple[GoldAnswer, ...]
    explanation: str

    @property
    def all_right(self) -> bool:
        return all(answer.is_right for answer in self.answers)


def feedback_on(instrument: Instrument, shown: Shown, answers: Sequence[Answers]) -> list[Feedback]:
    """Feedback on the gold items of the last page in ``answers``; empty if the study gives none."""
    checks = {item.external_id: check for item in shown.items if (check := check_of(item)) and check.role == "gold"}
    if not instrument.gold_feedback or not checks or not answers:
        return []
    pages = instrument.walk(shown).answered(answers)
    judges = (_Judge(instrument.task, shown, pages, list(answers), name, check) for name, check in checks.items())
    judged = ((judge.judged_answers(), judge.check.explanation) for judge in judges)
    return [Feedback(answers_shown, explanation) for answers_shown, explanation in judged if answers_shown]


def last_feedback(participant_id: int, arm_id: int) -> list[Feedback]:
    """Feedback on the last page of the hit that the participant sent last. No query if the study gives none."""
    instrument = live_instrument(arm_id)
    if not instrument.gold_feedback:
        return []
    submitted = Assignment.objects.filter(participant=participant_id, state=Assignment.State.SUBMITTED)
    last = submitted.order_by("-ended_at", "-pk").first()
    return feedback_on(instrument, shown_to(last, instrument), given_answers(last.pk)) if last is not None else []


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges the answers on the last page about one gold item."""

    task: TaskType
    shown: Shown
    pages: Sequence[Page]
    answers: Sequence[Answers]
    item: str
    check: Check

    def judged_answers(self) -> tuple[GoldAnswer, ...]:
        """The answers that can be right or wrong, in the order of the page."""
        answers = self.answers[-1]
        judged = ((question, self.is_right(question, answers)) for question in self.pages[-1].questions)
        return tuple(
            GoldAnswer(question.label, question.in_words(answers[question.key]), self.right(question), right)
            for question, right in judged
            if right is not None
        )

    def is_right(self, question: Question, answers: Answers) -> bool | None:
        """Whether the last page's answer would be right; None if the item has no right answer to the question.

        It compares ratings, because a type may store an answer in other terms than the page shows.
        """
        rows = self.task.ratings(self.shown, self.pages, [*self.answers[:-1], answers])
        about_item = [
            row for row in rows if row.item is not None and self.shown.items[row.item].external_id == self.item
        ]
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
