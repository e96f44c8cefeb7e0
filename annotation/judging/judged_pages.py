"""The pages of one place of a judge, as its answers lead through them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.instrument import Instrument, item_data
from annotation.judging.prompts import Prompt, make_prompt
from annotation.judging.rendered_page import AskedQuestion, ReadPage, read_page
from annotation.models import Item, Judge, JudgePlace
from annotation.task_types.base import Answers, Page, RatingData, Shown
from annotation.task_types.items import ItemData, Json
from annotation.task_types.placements import Seen


@dataclass(frozen=True, slots=True)
class DuePage:
    """The page that a place needs an answer to. ``number``: from 0."""

    number: int
    page: Page
    read: ReadPage
    texts: dict[str, str]
    instruction: str

    def prompt(self, asked: Sequence[AskedQuestion] | None = None) -> Prompt:
        return make_prompt(self.read, self.texts, instruction=self.instruction, asked=asked)


@dataclass(frozen=True, slots=True)
class Hit:
    """One item, alone in a hit, as a worker in the given slot would see it."""

    instrument: Instrument
    shown: Shown

    @classmethod
    def of(cls, instrument: Instrument, place: JudgePlace) -> Hit:
        return cls(instrument, instrument.shown([item_data(place.item)], place.order))

    def due(self, judge: Judge, before: Sequence[Answers]) -> DuePage | None:
        """The page after those that have answers; None at the end. Raises `rendered_page.CannotJudge`."""
        page = self.instrument.page(self.shown, len(before), lambda: before)
        if page is None:
            return None
        texts = self.instrument.texts
        return DuePage(len(before), page, read_page(self.instrument, page), texts, judge.instruction)

    def problems(self, page: Page, answers: Answers, before: Sequence[Answers]) -> dict[str, str]:
        """What is wrong across the questions of a page."""
        return dict(self.instrument.task.check(self.shown, page, answers, before))

    def ratings(self, answers: Sequence[Answers]) -> list[RatingData]:
        """What the answers to all pages say about the item. Answers about no item are left out."""
        pages = self.instrument.pages(self.shown, answers)[: len(answers)]
        return [row for row in self.instrument.task.ratings(self.shown, pages, answers) if row.item is not None]

    def seen(self, row: RatingData) -> tuple[str, int | None]:
        """Side and position of the part that a rating is about."""
        task, payload = self.instrument.task, self.shown.items[0].payload
        seen = Seen(payload, 0, self.shown.order, row.question, row.target, row.value)
        placement = task.placement(seen)
        return placement.side, placement.part_position


def arranged(instrument: Instrument, item: Item, *, slot: int, seed: int) -> Json:
    """The order in which a judge sees an item, drawn as for a worker in this slot."""
    data = item_data(item)
    rng = drawn_from(seed, data.external_id, slot)
    return instrument.task.arrange([data], instrument.config, slot=slot, rng=rng)


def drawn_from(*key: object) -> random.Random:
    """The generator of a judge's random draws for ``key``: the same key always gives the same draws."""
    return random.Random("/".join(map(str, ("judge", *key))))  # noqa: S311 - draws that can be repeated


def has_sides(instrument: Instrument, item: Item) -> bool:
    """Whether the item's texts stand on sides that alternate from one rater to the next."""
    data: ItemData = item_data(item)
    task = instrument.task
    for question in task.questions(instrument.config, instrument.texts):
        sides = set()
        for slot in (0, 1):
            order = arranged(instrument, item, slot=slot, seed=0)
            sides.add(task.placement(Seen(data.payload, 0, order, question.topic, question.target, None)).side)
        if len(sides) > 1:
            return True
    return False
