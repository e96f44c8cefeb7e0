"""What a study asks about one item, for rules on right answers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from annotation.task_types.base import Answers, Page, Shown, TaskType
from annotation.task_types.items import ItemData, Json
from annotation.task_types.questions import Question
from annotation.task_types.simulation import SimulatedWorker

#: The most pages that are walked to find what is asked about an item.
MOST_PAGES = 300


@dataclass(frozen=True)
class AskedAbout:
    """What a study asks about one item under one topic, perhaps about one ``part`` of it.

    Found by walking the pages about the item, only when a rule needs it.
    """

    task: TaskType
    item: ItemData | None
    config: Json
    texts: Mapping[str, str]
    topic: str
    part: str = ""
    example: Question | None = None

    @cached_property
    def _walked(self) -> tuple[list[Question], list[str]]:
        """The questions under the topic, and the targets of their ratings."""
        if self.item is None:
            return [], []
        worker = SimulatedWorker.named("rules", "careful")
        rng = random.Random(0)
        order = self.task.arrange([self.item], self.config, slot=0, rng=rng)
        shown = Shown([self.item], self.config, self.texts, order)
        pages: list[Page] = []
        answers: list[Answers] = []
        while len(pages) < MOST_PAGES and (page := self.task.next_page(shown, answers)) is not None:
            cleaned, errors = page.clean({} if page.asks else self.task.simulate(worker, shown, page, answers))
            if errors:
                break
            pages.append(page)
            answers.append(cleaned)
        asked = [question for page in pages for question in page.questions if question.topic == self.topic]
        rows = self.task.ratings(shown, pages, answers)
        targets = [row.target for row in rows if row.question == self.topic]
        if type(self.task).ratings is TaskType.ratings:
            for question in asked:
                answer = next(question.alternatives(lambda _: ()), None)
                targets += [] if answer is None else [stored.target for stored in question.stored(answer)]
        return asked, list(dict.fromkeys(filter(None, targets)))

    @property
    def questions(self) -> list[Question]:
        """The questions about the part as pages ask them, with their texts. Empty: the item could not be read."""
        asked = self._walked[0]
        return [question for question in asked if not self.part or question.target == self.part]

    @property
    def names(self) -> list[str] | None:
        """What ratings can be about, below the part. None: the item could not be read."""
        if not self._walked[0]:
            return None
        start = f"{self.part}/" if self.part else ""
        return [name.removeprefix(start) for name in self._walked[1] if name.startswith(start)]
