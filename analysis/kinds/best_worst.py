"""The best and the worst of several."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, no_rating_instrument
from analysis.paper.prose import listed, quoted, words


class BestWorstInWords(KindInWords):
    """Best–worst scaling: 1 for the best, −1 for the worst, 0 for the others."""

    relative = True
    option_figure = "share as best minus share as worst, of each option"

    def in_prose(self, question: QuestionDescription) -> str:
        named = listed([quoted(label) for label in question.targets.values()])
        return f"by choosing the best and the worst of {named}" if named else "by choosing the best and the worst"

    def on_page(self, question: QuestionDescription) -> str:
        return "\n".join(["The best and the worst of these:", *question.targets.values()])

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return no_rating_instrument(
            f"Best and worst of: {'; '.join(words(label) for label in question.targets.values())}"
        )


WORDS = BestWorstInWords()
