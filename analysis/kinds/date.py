"""A date."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, no_rating_instrument


class DateInWords(KindInWords):
    """A day, stored as YYYY-MM-DD."""

    def in_prose(self, question: QuestionDescription) -> str:
        return "by giving a date"

    def on_page(self, question: QuestionDescription) -> str:
        return "A date."

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return no_rating_instrument("A date")


WORDS = DateInWords()
