"""How long recordings were played."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, no_rating_instrument


class PlayingInWords(KindInWords):
    """Seconds that were played, which the page recorded. Nobody was asked anything."""

    def in_prose(self, question: QuestionDescription) -> str:
        return "by the page, which recorded how many seconds were played"

    def on_page(self, question: QuestionDescription) -> str:
        return "A recording with buttons to play it. The page records how many seconds were played."

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return no_rating_instrument("Seconds played, recorded by the page")


WORDS = PlayingInWords()
