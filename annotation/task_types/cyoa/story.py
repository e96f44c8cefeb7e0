"""A story in progress: whose turn it is, what was written, what was suggested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from annotation.task_types.base import Answers, Shown
from annotation.task_types.items import Json
from annotation.task_types.offers import OfferData


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page is in its hit: the story (from 0), its turn (from 1), or the questions after the last turn."""

    story: int
    turn: int
    turns: int

    @property
    def is_final(self) -> bool:
        return self.turn > self.turns

    @property
    def round(self) -> int:
        return (self.turn + 1) // 2

    @property
    def has_suggestions(self) -> bool:
        return not self.is_final and self.turn % 2 == 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One line of the story. ``text`` is as submitted; ``offer`` is the suggestion that it started from, if any."""

    step: int
    number: int
    text: str
    offer: OfferData | None = None


def pages_per_story(config: Json) -> int:
    """All turns and the page of questions."""
    return int(2 * config["rounds"] + 1)


def place_of(page: int, config: Json) -> Place:
    """The place of page ``page`` of the hit, counted from 0."""
    story, turn = divmod(page, pages_per_story(config))
    return Place(story, turn + 1, 2 * config["rounds"])


def picks(given: Answers) -> list[str]:
    """The sides picked on a page, in order; empty if there was nothing to pick."""
    picked = given.get("pick")
    return picked if isinstance(picked, list) else []


def turn_at(shown: Shown, step: int, given: Answers) -> Turn:
    """The turn that was written on a page. An empty box means the unchanged suggestion."""
    picked = picks(given)
    offer = shown.offers.at(step).get(picked[-1]) if picked else None
    text = given.get("turn")
    return Turn(step, place_of(step, shown.config).turn, str(text) if text else offer.text if offer else "", offer)


def turns_before(shown: Shown, answers: Sequence[Answers]) -> list[Turn]:
    """The turns so far of the story that comes after ``answers``."""
    whole = pages_per_story(shown.config)
    start = len(answers) // whole * whole
    return [
        turn_at(shown, step, given)
        for step, given in enumerate(answers[start:], start=start)
        if not place_of(step, shown.config).is_final
    ]


def stories(shown: Shown, answers: Sequence[Answers]) -> Iterator[tuple[int, list[Turn]]]:
    """Each complete story with the index of its item."""
    whole = pages_per_story(shown.config)
    for number, index in enumerate(shown.order["items"]):
        pages = answers[number * whole : (number + 1) * whole]
        yield index, turns_before(shown, [*answers[: number * whole], *pages[:-1]])


def as_text(turns: Sequence[Turn]) -> str:
    """The story as one text: what suggesters continue and other studies judge."""
    return " ".join(" ".join(turn.text.split()) for turn in turns)


def as_paragraphs(turns: Sequence[Turn]) -> list[str]:
    """One paragraph per round, for reading."""
    return [as_text(turns[start : start + 2]) for start in range(0, len(turns), 2)]
