"""Options in order."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, no_rating_instrument
from analysis.paper.prose import listed, quoted, words


class RankingInWords(KindInWords):
    """All options in order, best first."""

    relative = True
    option_figure = "mean rank of each option, 1 the best"

    def in_prose(self, question: QuestionDescription) -> str:
        return f"by ordering {listed([quoted(label) for label in question.targets.values()])}"

    def on_page(self, question: QuestionDescription) -> str:
        return "\n".join(["An order of these options:", *question.targets.values()])

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        return no_rating_instrument(f"Ordering: {'; '.join(words(label) for label in question.targets.values())}")


WORDS = RankingInWords()
