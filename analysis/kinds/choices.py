"""Any number of options."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, rating_instrument
from analysis.paper.prose import listed, quoted


class ChoicesInWords(KindInWords):
    """Options with check boxes."""

    def in_prose(self, question: QuestionDescription) -> str:
        return f"by choosing any of {listed([quoted(label) for label in question.targets.values()])}"

    def on_page(self, question: QuestionDescription) -> str:
        return "\n".join(["Any of these options:", *question.targets.values()])

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return rating_instrument(list(question.targets.values()), "2. Check-boxes")


WORDS = ChoicesInWords()
