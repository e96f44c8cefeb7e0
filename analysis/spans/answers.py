"""Answers that mark a text, from a study's data or from the export ``spans``, and the published weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.data import StudyData
from analysis.description import Factor
from analysis.factors import factors_of, level_names
from analysis.spans.marks import Span, spans_in, weight_of
from common.text_length import count_words

#: The level of all texts where no factor tells them apart.
ALL = "all texts"
#: Published weights: by severity, and of single labels. MQM: Freitag et al. 2021, §3.2 and table 2. ESA: Kocmi et al.
#: 2024, §3.
WEIGHTS: dict[str, tuple[dict[str, float], dict[tuple[str, str], float]]] = {
    "mqm": (
        {"neutral": 0.0, "minor": 1.0, "major": 5.0},
        {
            ("fluency/punctuation", "minor"): 0.1,
            ("non-translation", "major"): 25.0,
            ("source-error", "minor"): 0.0,
            ("source-error", "major"): 0.0,
        },
    ),
    "esa": ({"minor": 1.0, "major": 5.0}, {}),
}


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """What one worker marked in one text. ``weight``: the sum of the marks' weights; ``system``: what made the text.

    ``characters`` and ``words`` are those of the text; 0 where it is not known.
    """

    item: str
    part: str
    worker: str
    spans: tuple[Span, ...]
    weight: float
    system: str = ALL
    characters: int = 0
    words: int = 0

    @property
    def place(self) -> tuple[str, str]:
        return self.item, self.part

    @property
    def length(self) -> int:
        """The text's characters, and at least as many as are marked."""
        return max([self.characters, *(span.end for span in self.spans)])


def weighed(answer: MarkedAnswer, weights: str) -> float:
    """The answer's weight with published weights. KeyError: a severity that these do not have."""
    by_severity, special = WEIGHTS[weights]
    return weight_of(answer.spans, by_severity, special)


def answers_of_study(data: StudyData, rows: Any, factor: Factor | None) -> list[MarkedAnswer]:
    """From rows of ratings by one question (`Source.ratings_on`), with the levels of ``factor``."""
    if factor is None:
        levels: Sequence[str] = [ALL] * len(rows)
    else:
        levels = [level or ALL for level in level_names(data, factor, rows)]
    cells: dict[str, dict[str, str]] = dict(zip(data.items["item"], data.items["cells"], strict=True))
    groups: dict[str, list[list[str]]] = dict(zip(data.items["item"], data.items["texts"], strict=True))
    texts: dict[tuple[str, str], str] = {}
    answers = []
    columns = rows[["item", "target", "worker", "text", "value"]]
    for (item, part, worker, stored, value), level in zip(
        columns.itertuples(index=False, name=None), levels, strict=True
    ):
        if (item, part) not in texts:
            texts[item, part] = marked_text(cells[item], groups[item], part)
        text = texts[item, part]
        spans = tuple(spans_in(stored))
        answers.append(MarkedAnswer(item, part, worker, spans, float(value), level, len(text), count_words(text)))
    return answers


def system_factor(data: StudyData) -> Factor | None:
    """The most important factor of items or their texts."""
    return next((factor for factor in factors_of(data) if factor.of in ("item", "part")), None)


def marked_text(cells: Mapping[str, str], texts: Sequence[Sequence[str]], part: str) -> str:
    """The text that a rating with this target is about: ``SEGMENT/COLUMN`` as far as there are several of each.

    Empty if the item has no such text.
    """
    pieces = part.split("/")
    number = next((int(piece) for piece in pieces if piece.isdecimal()), 1)
    column = next((piece for piece in pieces if piece and not piece.isdecimal()), "")
    if column:
        return cells.get(f"{column}_{number}", cells.get(column, ""))
    segments = texts[0] if texts else []
    return segments[number - 1] if number <= len(segments) else ""
