"""A story in progress: which sentence is due, what was written, and what was suggested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.task_types.base import Answers, Shown
from annotation.task_types.items import Json
from annotation.task_types.offers import OfferData

SIDE = "1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page is in its hit: the story (from 0) and its sentence (from 1), or the statements after the last."""

    story: int
    sentence: int
    sentences: int

    @property
    def is_rating(self) -> bool:
        return self.sentence > self.sentences

    @property
    def is_suggested(self) -> bool:
        """Whether the sentence begins as a suggestion, in arms with suggestions: every second sentence does."""
        return not self.is_rating and self.sentence % 2 == 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as submitted, on page ``step``. ``offer`` is the suggestion that was in the box, if any."""

    step: int
    number: int
    text: str
    offer: OfferData | None = None


def pages_per_story(config: Json) -> int:
    """All sentences, and the page with statements."""
    return int(config["sentences"]) + 1


def place_of(page: int, config: Json) -> Place:
    """The place of page ``page`` of the hit, counted from 0."""
    story, at = divmod(page, pages_per_story(config))
    return Place(story, at + 1, config["sentences"])


def sentence_at(shown: Shown, step: int, given: Answers) -> Sentence:
    """The sentence that was written on page ``step``, counted from 0."""
    offer = shown.offers.at(step).get(SIDE) if shown.config["suggestions"] else None
    return Sentence(step, place_of(step, shown.config).sentence, str(given["sentence"]), offer)


def sentences_before(shown: Shown, answers: Sequence[Answers]) -> list[Sentence]:
    """The sentences so far of the story that comes after ``answers``."""
    whole = pages_per_story(shown.config)
    start = len(answers) // whole * whole
    return [sentence_at(shown, step, given) for step, given in enumerate(answers[start:], start=start)][: whole - 1]


def as_text(sentences: Sequence[Sentence]) -> str:
    """The story as one text: what a suggester continues and other studies judge."""
    return " ".join(" ".join(each.text.split()) for each in sentences)
