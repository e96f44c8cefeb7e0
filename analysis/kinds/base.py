"""What a kind of question can say in its own words, and how a scale says it."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.description import QuestionDescription, Scale
from analysis.paper.prose import blank, listed, quoted, words
from analysis.report.source import MANY_POINTS
from common.words import counted

#: A scale with more points than this is named by its ends.
MOST_NAMED_POINTS = 9


class KindInWords:
    """How questions of a kind read. The defaults are those of a scale and of a choice between options."""

    #: Whether an answer compares several things with each other.
    relative = False
    #: What the figure of each option is, for a question with ``targets``.
    option_figure = "share of answers that chose each option"

    def in_prose(self, question: QuestionDescription) -> str:
        """How it was answered, after “was answered”: “on an ordinal scale of 7 points from 1 (…) to 7 (…)”."""
        scale = question.scale
        if not scale.points:
            return f"with a number ({words(scale.name)})"
        if scale.level in ("nominal", "pairwise"):
            return f"by choosing one of {listed([quoted(point.label or point.key) for point in scale.points])}"
        return f"on {points_in_prose(scale)}"

    def on_page(self, question: QuestionDescription) -> str:
        """The possible answers as the page shows them: a scale from its top down."""
        scale = question.scale
        if not scale.points:
            return f"A number on the scale “{scale.name}”."
        if len(scale.points) > MANY_POINTS and not any(point.label for point in scale.points):
            return f"A number from {scale.low:g} to {scale.high:g}."
        return "\n".join(
            f"{point.text}: {point.description}" if point.description else point.text for point in scale.points
        )

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        """Questions 4.3.3 to 4.3.6 of the Human Evaluation Datasheet: size, values and presentation of the scale, and
        the form of the answer where there is none."""
        return rating_instrument([point.text for point in question.scale.points], "1. Multiple-choice options")


def rating_instrument(labels: Sequence[str], presented: str) -> dict[str, str]:
    """The datasheet's answers for a question with these possible answers."""
    unknown = blank("to fill in")
    return {
        "4.3.3": str(len(labels)) if labels else unknown,
        "4.3.4": "; ".join(map(words, labels)) if labels else unknown,
        "4.3.5": presented,
        "4.3.6": "N/A",
    }


def no_rating_instrument(task: str) -> dict[str, str]:
    """The datasheet's answers for a question without a scale; ``task`` is what people do instead."""
    return {
        "4.3.3": "N/A",
        "4.3.4": "N/A",
        "4.3.5": "4. N/A (there is no rating instrument)",
        "4.3.6": task,
    }


def points_in_prose(scale: Scale) -> str:
    """“an ordinal scale of 5 points: 1 (never), …” or “… from 1 (never) to 5 (always)”."""
    points = sorted(scale.points, key=lambda point: point.value)
    kind = "an ordinal scale" if scale.level == "ordinal" else "a scale"
    named = [f"{point.key} ({words(point.label)})" for point in points if point.label]
    if 2 < len(named) <= MOST_NAMED_POINTS:
        steps = "" if len(named) == len(points) else f" and {counted(len(points) - len(named), 'point')} between them"
        return f"{kind} of {len(points)} points: {listed(named)}{steps}"
    ends = [f"{point.key} ({words(point.label)})" if point.label else point.key for point in (points[0], points[-1])]
    return f"{kind} of {counted(len(points), 'point')} from {ends[0]} to {ends[1]}"
