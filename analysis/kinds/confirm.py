"""Statements to confirm."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, rating_instrument
from analysis.paper.prose import listed, quoted


class ConfirmInWords(KindInWords):
    """Statements with check boxes, some of which had to be ticked."""

    option_figure = "share of answers that ticked each statement"

    def in_prose(self, question: QuestionDescription) -> str:
        return f"by ticking {listed([quoted(label) for label in question.targets.values()])}"

    def on_page(self, question: QuestionDescription) -> str:
        return "\n".join(["These statements, to be ticked:", *question.targets.values()])

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return rating_instrument(list(question.targets.values()), "2. Check-boxes")


WORDS = ConfirmInWords()
