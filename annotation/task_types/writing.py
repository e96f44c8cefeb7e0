"""What the writing types share: a text for each prompt, with suggestions, and statements about it; then a survey.

A text is written line by line, one page each; a slogan is a text of one line. `stories` has more for those of several.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from analysis.description import ReportSection, Score
from annotation.task_types.base import Answers, Page, RatingData, Shown, TaskType
from annotation.task_types.counterbalancing import balanced_order
from annotation.task_types.items import ItemData, ItemFacts, Json
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.offers import SuggesterNeed
from annotation.task_types.questions import Grid
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.surveys import statements, survey_page, survey_sections


@dataclass(frozen=True, slots=True)
class Position:
    """Where page ``step`` of a hit is: at a line (from 1) of a text (from 0), or at the statements after the last line.

    ``item`` is the index of the text's prompt in the hit.
    """

    step: int
    text: int
    item: int
    line: int
    lines: int

    @property
    def is_after_last_line(self) -> bool:
        return self.line > self.lines

    @property
    def round(self) -> int:
        """The round of suggestions at this line, from 1: every second line has one. 0 for other lines."""
        return 0 if self.line % 2 or self.is_after_last_line else self.line // 2


class WritingType(TaskType):
    """A page for each line of a text, then one with statements about it, for each prompt."""

    group = "Writing"
    own_work = True
    balance = "The order of the prompts was counterbalanced over writers (a Williams design)."
    #: The topic of a line, and the key of its question.
    line_topic: ClassVar[str]
    #: What a suggester's template can use.
    suggester_fields: ClassVar[Sequence[str]]
    #: Whether the page of `surveys.survey_page` follows the last text.
    has_survey: ClassVar[bool] = True

    # --- items and report ---

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["prompt"])

    def scores(self, config: Json) -> Sequence[Score]:
        return [Score(row["topic"], row["question"]) for row in config["statements"]]

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (*survey_sections(config), ReportSection("waiting"))

    # --- suggestions ---

    def suggesters(self, config: Json) -> Sequence[SuggesterNeed]:
        names = config["suggesters"] if config.get("suggestions", True) else []
        rounds = self.suggestion_rounds(config)
        return [SuggesterNeed(name, rounds, names.count(name), self.suggester_fields) for name in dict.fromkeys(names)]

    def suggestion_rounds(self, config: Json) -> int:
        """The rounds of suggestions for one text that a suggester's pool must last for."""
        return 1

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the prompts, counterbalanced over the writers of a hit."""
        return {"items": balanced_order(len(items), slot)}

    @abstractmethod
    def lines(self, config: Json) -> int:
        """The lines of a text."""

    @abstractmethod
    def line_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        """The page on which a line is written, after the pages that have ``answers``."""

    @abstractmethod
    def statements_page(self, shown: Shown, position: Position, answers: Sequence[Answers]) -> Page:
        """The page with statements about a text, after the pages that have ``answers``."""

    def length(self, shown: Shown) -> int:
        return (self.lines(shown.config) + 1) * len(shown.items) + self.has_survey

    def position_of(self, shown: Shown, step: int) -> Position:
        """The position of page ``step`` (from 0) before the survey."""
        lines = self.lines(shown.config)
        text, line = divmod(step, lines + 1)
        return Position(step, text, shown.order["items"][text], line + 1, lines)

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        step, length = len(answers), self.length(shown)
        if step >= length:
            return None
        if self.has_survey and step == length - 1:
            return survey_page(shown.config, shown.texts)
        position = self.position_of(shown, step)
        page_at = self.statements_page if position.is_after_last_line else self.line_page
        return page_at(shown, position, answers)

    def line_question(self, page: Page) -> TextQuestion | None:
        """The box for a line; None if the page has none."""
        question = next((question for question in page.questions if question.key == self.line_topic), None)
        return question if isinstance(question, TextQuestion) else None

    # --- what becomes of the answers ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """What the questions store and, for each line, what `suggestion_ratings` adds; in the order of the pages."""
        rows = super().ratings(shown, pages, answers)
        for step, (page, page_answers) in enumerate(zip(pages, answers, strict=True)):
            if (question := self.line_question(page)) is not None:
                rows += self.suggestion_ratings(shown, page, question, step, page_answers)
        return sorted(rows, key=lambda row: row.step)

    @abstractmethod
    def suggestion_ratings(
        self, shown: Shown, page: Page, question: TextQuestion, step: int, page_answers: Answers
    ) -> list[RatingData]:
        """What is stored about the suggestions for a line and their use. ``question`` is the box for the line."""

    # --- simulated workers ---

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        question = self.line_question(page)
        if question is None:
            return super().simulate(worker, shown, page, before)
        return self.simulate_line(worker, shown, page, question, step=len(before))

    @abstractmethod
    def simulate_line(
        self, worker: SimulatedWorker, shown: Shown, page: Page, question: TextQuestion, *, step: int
    ) -> dict[str, str]:
        """The form that a simulated worker sends with a line on page ``step``."""


def rating_page(shown: Shown, position: Position, template: str, context: Json) -> Page:
    """The page with the statements that the settings list, under the texts ``rating.title`` and ``rating.question``."""
    texts = shown.texts
    grid = Grid("statements", texts["rating.question"], tuple(statements(shown.config, texts, "statements")))
    return Page(f"rating-{position.text + 1}", texts["rating.title"], template, [grid], context, position.item)
