"""Answers to a form: what an answer consists of, and whether it is what the form asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from common.languages import gettext as _
from common.languages import marked
from common.languages import number as in_digits
from common.text_length import is_blank
from marketplace.questions.question_form import Form, FormQuestion, TextRule

UNANSWERED = marked("Please answer this question.")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,100}(?:\.[0-9]{0,100})?|\.[0-9]{1,100})")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was accepted: its key, its size in bytes, and the worker's name for it."""

    key: str
    size: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """One answer: the typed text or the chosen identifiers, the text typed for “other”, or a file."""

    values: tuple[str, ...] = ()
    other: str = ""
    upload: Upload | None = None

    def __bool__(self) -> bool:
        return not all(map(is_blank, (*self.values, self.other))) or self.upload is not None


Answer = str | Sequence[str] | Given


def given(answer: Answer) -> Given:
    """The answer as a `Given`, whether it is one text, several texts, or already a `Given`."""
    if isinstance(answer, Given):
        return answer
    return Given((answer,) if isinstance(answer, str) else tuple(answer))


def check_answers(form: Form, answers: Mapping[str, Answer]) -> dict[str, str]:
    """What is wrong with the answers to a form, by question; empty if nothing is wrong."""
    problems = {}
    for question in form.questions:
        answer = given(answers.get(question.identifier, ()))
        if question.required and not answer:
            problem = _(UNANSWERED)
        elif question.kind == "text":
            problem = _wrong_text(question.rule, "|".join(answer.values))
        elif question.kind == "file":
            problem = _wrong_file(question, answer)
        else:
            problem = _wrong_selection(question, answer)
        if problem:
            problems[question.identifier] = problem
    return problems


def _wrong_text(rule: TextRule, text: str) -> str:
    """Number and length. Expressions (``rule.patterns``) are the browser's to check."""
    if is_blank(text):
        return ""
    if rule.numeric:
        number = text.strip()
        if not _NUMBER.fullmatch(number):
            return _("Please enter a number.")
        if rule.least is not None and Decimal(number) < rule.least:
            return _("At least %(limit)s.") % {"limit": rule.least}
        if rule.most is not None and Decimal(number) > rule.most:
            return _("At most %(limit)s.") % {"limit": rule.most}
    if rule.shortest is not None and len(text) < rule.shortest:
        return _("At least %(limit)s characters.") % {"limit": rule.shortest}
    if rule.longest is not None and len(text) > rule.longest:
        return _("At most %(limit)s characters.") % {"limit": rule.longest}
    return ""


def _wrong_selection(question: FormQuestion, answer: Given) -> str:
    if not answer:
        return ""
    chosen = [value for value in answer.values if value]
    if not set(chosen) <= {option.identifier for option in question.options}:
        return _("Please choose from the options shown.")
    if question.kind == "one" and len(chosen) > 1:
        return _("Please choose one.")
    if question.least is not None and len(chosen) + (not is_blank(answer.other)) < question.least:
        return _("Please choose at least %(limit)s.") % {"limit": question.least}
    if question.most is not None and len(chosen) > question.most:
        return _("Please choose at most %(limit)s.") % {"limit": question.most}
    if question.other is None:
        return _("Please choose from the options shown.") if answer.other else ""
    problem = _wrong_text(question.other, answer.other)
    return _("In your own words: %(problem)s") % {"problem": problem} if problem else ""


def _wrong_file(question: FormQuestion, answer: Given) -> str:
    upload = answer.upload
    if upload is None:
        return _("Please choose a file.") if answer else ""
    if question.least is not None and upload.size < question.least:
        return _("The file has %(size)s bytes. It must have at least %(limit)s.") % {
            "size": in_digits(upload.size),
            "limit": in_digits(question.least),
        }
    if question.most is not None and upload.size > question.most:
        return _("The file has %(size)s bytes. It can have at most %(limit)s.") % {
            "size": in_digits(upload.size),
            "limit": in_digits(question.most),
        }
    return ""
