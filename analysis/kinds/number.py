"""A number that people type."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, no_rating_instrument


class NumberInWords(KindInWords):
    """A number, within limits if the study sets some."""

    def in_prose(self, question: QuestionDescription) -> str:
        return f"by typing a number{_limits(question)}"

    def on_page(self, question: QuestionDescription) -> str:
        return f"A number{_limits(question)}."

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return no_rating_instrument(f"A number{_limits(question)}")


def _limits(question: QuestionDescription) -> str:
    low, high = question.bounds.get("min_value"), question.bounds.get("max_value")
    if low is not None and high is not None:
        return f" from {low:,g} to {high:,g}"
    if low is not None:
        return f" of at least {low:,g}"
    return "" if high is None else f" of at most {high:,g}"


WORDS = NumberInWords()
