"""A place on a line."""

from __future__ import annotations

from analysis.description import Point, QuestionDescription
from analysis.kinds.base import KindInWords, rating_instrument
from analysis.paper.prose import words


class SliderInWords(KindInWords):
    """A visual analogue scale: its ends have names, and nothing is chosen at first."""

    def in_prose(self, question: QuestionDescription) -> str:
        low, high = _ends(question)
        return f"with a slider from {_named(low)} to {_named(high)}, on which nothing was chosen at first"

    def on_page(self, question: QuestionDescription) -> str:
        low, high = _ends(question)
        return f"A place on a line from {_named(low)} to {_named(high)}."

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        low, high = _ends(question)
        places = len(question.scale.points)
        return rating_instrument([low.text, high.text], "3. Slider") | {
            "4.3.3": str(places),
            "4.3.4": words(f"{low.key} to {high.key} in {places} places"),
        }


def _ends(question: QuestionDescription) -> tuple[Point, Point]:
    points = question.scale.points
    return points[0], points[-1]


def _named(point: Point) -> str:
    return f"{point.key} (“{words(point.label)}”)" if point.label else point.key


WORDS = SliderInWords()
