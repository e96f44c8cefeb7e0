"""A small picture of the page of each task type, drawn from what the page declares: its texts and its questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from annotation.instrument import Instrument, whole_texts
from annotation.studies.checking import default_config
from annotation.task_types.base import Page, TaskType
from annotation.task_types.items import ItemFacts, Row
from annotation.task_types.questions import Question
from annotation.work.pages.preview import Trial

WIDTH, HEIGHT = 200, 130
EDGE = 14
INNER = WIDTH - 2 * EDGE
#: Where the button is; everything else ends above it.
BUTTON_Y = 112
#: The most texts of one side, and the most options or statements, that are drawn.
MOST_TEXTS, MOST_ROWS = 5, 4


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle or, of the kind ``dot``, a circle in this square. Kinds are classes of the stylesheet."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    r: float = 1.5

    @property
    def cx(self) -> float:
        return self.x + self.width / 2

    @property
    def cy(self) -> float:
        return self.y + self.height / 2


@cache
def miniature(task: TaskType) -> Sequence[Shape]:
    """The picture of the page that `TaskType.pictured` names, with the first example and the type's own settings."""
    example = next(candidate for candidate in task.examples() if not candidate.problems)
    config = default_config(task)
    items, problems = task.read_items(
        [Row(number, dict(row)) for number, row in enumerate(example.rows, start=1)], config
    )
    if problems:
        raise ValueError(f"The first example of {task.name} cannot be read with the type's own settings.")
    trial = Trial(Instrument(task, config, whole_texts(task, config)), items, seed=1)
    pages = trial.all_pages()
    if task.pictured is not None:
        page = pages[task.pictured]
    else:
        page = next((candidate for candidate in reversed(pages) if candidate.item is not None), pages[-1])
    facts = task.describe_item(items[page.item or 0].payload)
    return _Drawing().draw(page, facts)


class _Drawing:
    """Shapes from the top to the button, as far as there is room."""

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.y = 12.0

    def draw(self, page: Page, facts: ItemFacts) -> list[Shape]:
        self._add("head", EDGE, 78, 5)
        self.y += 12
        writes_only = all(question.writes for question in page.questions)
        if facts.context.strip():
            self._add("bar", EDGE, 3, 13)
            self._add("line", EDGE + 9, INNER - 25, 4)
            self._add("line", EDGE + 9, INNER - 70, 4, dy=8)
            self.y += 20
        if (facts.texts and not writes_only) or not facts.context.strip():
            self._texts([list(group) for group in facts.texts if group] or [[""]])
        for question in page.questions[: MOST_ROWS + 1]:
            self._question(question)
        self.shapes.append(Shape("button", EDGE, BUTTON_Y, 48, 10, 3))
        return self.shapes

    def _add(self, kind: str, x: float, width: float, height: float, *, dy: float = 0, r: float = 1.5) -> None:
        if self.y + dy + height <= BUTTON_Y - 2:
            self.shapes.append(Shape(kind, round(x, 1), round(self.y + dy, 1), round(width, 1), height, r))

    def _texts(self, groups: Sequence[Sequence[str]]) -> None:
        """One column for each group: one text as a block of lines, several as small cards."""
        gap = 8.0
        width = (INNER - gap * (len(groups) - 1)) / len(groups)
        tallest = 0.0
        for column, texts in enumerate(groups):
            x = EDGE + column * (width + gap)
            if len(texts) == 1:
                self._add("card", x, width, 28, r=3)
                for row, share in enumerate((0.85, 0.9, 0.5)):
                    self._add("line", x + 6, (width - 12) * share, 3, dy=6 + 7 * row)
                tallest = max(tallest, 33)
                continue
            for row in range(min(len(texts), MOST_TEXTS)):
                self._add("card", x, width, 8, dy=10 * row, r=2)
                self._add("line", x + 5, (width - 10) * (0.8, 0.6, 0.7, 0.5, 0.65)[row], 3, dy=10 * row + 2.5)
            tallest = max(tallest, 10.0 * min(len(texts), MOST_TEXTS) + 3)
        self.y += tallest

    def _question(self, question: Question) -> None:
        sketch = question.sketch
        if sketch.shape == "box":
            self._add("box", EDGE, INNER, 11, r=2.5)
            self.y += 13
        elif sketch.shape == "line":
            self._add("line", EDGE, INNER * 0.9, 3)
            self._add("bar", EDGE + INNER * 0.3, INNER * 0.25, 3)
            self.y += 9
        elif sketch.shape == "bar":
            self._add("line", EDGE, INNER, 3, dy=2)
            self._add("dot", EDGE + INNER * 0.6, 7, 7, r=3.5)
            self.y += 12
        elif sketch.shape == "dots" and sketch.count:
            step = min(INNER / sketch.count, 22)
            for index in range(sketch.count):
                self._add("dot", EDGE + index * step, 7, 7, r=3.5)
            self.y += 12
        elif sketch.shape in ("dot", "tick"):
            for row in range(min(sketch.count, MOST_ROWS)):
                self._add(sketch.shape, EDGE, 7, 7, r=3.5 if sketch.shape == "dot" else 1.5)
                self._add("line", EDGE + 13, INNER * (0.6, 0.5, 0.65, 0.45)[row], 3, dy=2)
                self.y += 11
