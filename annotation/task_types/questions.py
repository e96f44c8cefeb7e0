"""Questions as data: what is asked, on which scale, and when an answer is valid.

One description serves the page, the server's check, the ratings and the analysis, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["ordinal", "nominal", "interval", "pairwise", "text"]
Answer = float | str | None

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
MAX_CHARS = 20_000


class AnswerError(ValueError):
    """An answer that cannot be taken. ``str()`` is what the worker reads."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a scale. ``label`` is empty for an unnamed point, such as a half step."""

    value: float
    label: str = ""

    @property
    def key(self) -> str:
        """The value as forms send it: 3 for 3.0, 3.5 for 3.5."""
        return f"{self.value:g}"

    @property
    def text(self) -> str:
        """What a screen reader says: the number, then the name if it has one."""
        return f"{self.key} {self.label}".strip()


@dataclass(frozen=True, slots=True)
class Scale:
    """A named scale: its measurement level decides how it is analysed."""

    name: str
    level: Level
    points: tuple[Point, ...] = ()

    @classmethod
    def of(cls, name: str, level: Level, labels: Sequence[str], *, half_steps: bool = False) -> Scale:
        """Points from the best down, ``labels[0]`` being the highest whole number.

        With ``half_steps`` an unnamed point stands between each two named ones.
        """
        top = len(labels)
        points: list[Point] = []
        for index, label in enumerate(labels):
            points.append(Point(float(top - index), label))
            if half_steps and index < top - 1:
                points.append(Point(top - index - 0.5))
        return cls(name, level, tuple(points))

    @property
    def low(self) -> float:
        return min(point.value for point in self.points)

    @property
    def high(self) -> float:
        return max(point.value for point in self.points)


TEXT = Scale("text", "text")


@dataclass(frozen=True, slots=True)
class Question:
    """Something asked on a step. ``key`` names the form field; it is unique within the step.

    ``about`` says which part of the item is asked about (``Rating.target``); ``topic`` names the question in the
    data and is the same for every target and item.
    """

    key: str
    label: str
    topic: str
    scale: Scale = TEXT
    help: str = ""
    about: str = ""
    required: bool = True
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Names the template that draws it: ``annotation/questions/<kind>.html``."""
        return "scale"

    def clean(self, raw: str) -> Answer:
        """The answer in the form's text ``raw``, or None when it may be and is left out.

        Raises AnswerError with what the worker should do.
        """
        if not raw.strip():
            if self.required:
                raise AnswerError("Please choose one answer.")
            return None
        for point in self.scale.points:
            if raw == point.key:
                return point.value
        raise AnswerError(
            f"“{clean_text(raw)[:40]}” is not a point of this scale. Please choose one of the answers shown."
        )


@dataclass(frozen=True, slots=True)
class TextQuestion(Question):
    """An answer in the worker's own words."""

    min_words: int = 1
    max_words: int | None = None
    max_chars: int = MAX_CHARS
    rows: int = 2

    @property
    def kind(self) -> str:
        return "text"

    def clean(self, raw: str) -> Answer:
        text = clean_text(raw)
        if len(text) > self.max_chars:
            raise AnswerError(
                f"This is {len(text):,} characters long; at most {self.max_chars:,} fit. Please shorten it."
            )
        words = len(text.split())
        if words == 0:
            if self.required:
                raise AnswerError("Please write something here.")
            return None
        if words < self.min_words:
            raise AnswerError(f"Please write at least {self.min_words} words; this is {words}.")
        if self.max_words is not None and words > self.max_words:
            raise AnswerError(f"Please use at most {self.max_words} words; this is {words}.")
        return text


def clean_text(raw: str) -> str:
    """``raw`` without control characters (no database stores NUL), newlines as ``\\n``, ends trimmed."""
    return _NOT_TEXT.sub("", raw.replace("\r\n", "\n").replace("\r", "\n")).strip()
