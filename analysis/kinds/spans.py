"""Marks in a text."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, no_rating_instrument


class SpansInWords(KindInWords):
    """Stretches of the text with severities and labels."""

    def in_prose(self, question: QuestionDescription) -> str:
        return "by marking stretches of the text; its figure is the sum of their weights"

    def on_page(self, question: QuestionDescription) -> str:
        return "Marks in the text, each with how bad it is; or that there is nothing to mark."

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return no_rating_instrument("Marking stretches of a text")


WORDS = SpansInWords()
