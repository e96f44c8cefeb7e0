"""Answers that a worker could give to a question instead: to look for one that is right or that no rule flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.quality_control.answer_rules import Above, AnswerRule, Days, ExactOptions, Marks, Range, part_below
from analysis.quality_control.work import Check
from analysis.spans import Span, spans_text
from annotation.task_types.questions import Answer, Question


def other_answers(question: Question, check: Check | None) -> Iterator[Answer]:
    """First what ``check`` says is right, then answers that differ from it in one place; all points of a scale."""

    def right(part: str) -> Sequence[str]:
        """The right answers for one part of the item, as they are in the file, and some that meet its rules."""
        if check is None:
            return []
        meeting = [
            answer
            for rule, below in rules_about(question.topic, part, check)
            for answer in meeting_answers(rule, below)
        ]
        return [*check.answers.get(check.name_for(question.topic, part), ()), *meeting]

    yield from question.alternatives(right)


def rules_about(topic: str, target: str, check: Check) -> Iterator[tuple[AnswerRule, str]]:
    """The rules on ratings of ``target``, or on parts of it, each with the part of it below the rule's name."""
    for name, rules in check.rules.items():
        below = "" if name == f"{topic}/{target}" else part_below(topic, target, name)
        if below is not None:
            yield from ((rule, below) for rule in rules)


def meeting_answers(rule: AnswerRule, part: str) -> list[str]:
    """Answers that meet the rule, as an items file writes them. For a rule on several ratings: that of one part."""
    match rule:
        case Range():
            return [f"{end:g}" for end in (rule.low, rule.high) if end is not None]
        case Days():
            return [day for day in (rule.first, rule.last) if day]
        case Marks():
            spans = (Span(mark.start, mark.end, mark.severity, mark.label, mark.missing) for mark in rule.wanted)
            return [spans_text(spans)]
        case ExactOptions():
            return ["1" if part in rule.options else "0"]
        case Above() if part in rule.order:
            at = rule.order.index(part)
            if rule.sign < 0:
                return [str(at + 1)]
            return ["1"] if at == 0 else ["-1"] if at == len(rule.order) - 1 else ["0"]
    return []


def answers_in_order(questions: Sequence[Question], check: Check) -> dict[str, Answer]:
    """By question key, answers that rate one part above another as the check wants it."""
    answers: dict[str, Answer] = {}
    for question in questions:
        for rule, part in rules_about(question.topic, question.target, check):
            if isinstance(rule, Above) and part in rule.order:
                share = 1 - rule.order.index(part) / (len(rule.order) - 1)
                if (answer := _answer_at(share, question, rule.sign)) is not None:
                    answers[question.key] = answer
    return answers


def _answer_at(share: float, question: Question, sign: int) -> Answer:
    """The answer at this share of the way from the worst to the best of some; None if it gives no single figure."""
    by_figure: dict[float, Answer] = {}
    for answer in question.alternatives(lambda _: ()):
        stored = [] if answer is None else question.stored(answer)
        if len(stored) != 1 or stored[0].value is None:
            return None
        by_figure.setdefault(sign * stored[0].value, answer)
    figures = sorted(by_figure)
    return by_figure[figures[round(share * (len(figures) - 1))]] if figures else None
