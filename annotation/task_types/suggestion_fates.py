"""What became of a suggestion that a writer got: kept, edited or deleted, decided by its text and the submitted one."""

from __future__ import annotations

from itertools import pairwise

from analysis.description import TEXT, Point, Scale
from annotation.task_types.base import Page, RatingData
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.offers import OfferData
from annotation.task_types.questions import Question
from common.text_length import normalised

KEPT, EDITED, DELETED = 1.0, 2.0, 3.0
FATE = Scale("fate", "nominal", (Point(KEPT, "Kept"), Point(EDITED, "Edited"), Point(DELETED, "Deleted")))
SOURCES: dict[str, float] = {"live": 1.0, "second_try": 2.0, "pool": 3.0, "none": 4.0}
SOURCE = Scale(
    "source",
    "nominal",
    (Point(1.0, "In time"), Point(2.0, "Second try"), Point(3.0, "From the pool"), Point(4.0, "None")),
)


def fate_of(suggested: str, submitted: str) -> float:
    """What a writer did with a suggestion.

    ``KEPT``: only white space differs. ``DELETED``: no two neighbouring words of the suggestion are neighbours in the
    text or, if the suggestion is a single word, the word is missing. ``EDITED``: everything else. Words are compared
    without case and punctuation.
    """
    if suggested.split() == submitted.split():
        return KEPT
    before, after = normalised(suggested).split(), normalised(submitted).split()
    if len(before) < 2:
        return EDITED if set(before) & set(after) else DELETED
    return EDITED if set(pairwise(before)) & set(pairwise(after)) else DELETED


def use_questions() -> list[Question]:
    """The questions whose ratings describe the suggestions that writers got. No page asks them."""
    return [
        TextQuestion("suggested", "The suggestion, before it was edited", "suggested"),
        ChoiceQuestion("fate", "What became of the suggestion", "fate", FATE),
        ChoiceQuestion("source", "Where the suggestion came from", "source", SOURCE),
    ]


def use_ratings(page: Page, question: Question, step: int, offer: OfferData | None, submitted: str) -> list[RatingData]:
    """The ratings about the suggestion that a writer got for ``question``, answered on page ``step``; none without
    one."""

    def rating(topic: str, scale: Scale, value: float | None = None, text: str = "") -> RatingData:
        return RatingData(page.item, topic, scale.name, question.target, value, text, question.key, step)

    if offer is None:
        return []
    source = rating("source", SOURCE, SOURCES[offer.source])
    if not offer.text:
        return [source]
    fate = rating("fate", FATE, fate_of(offer.text, submitted))
    return [source, rating("suggested", TEXT, text=offer.text), fate]
