"""Questions as data: their wording, how they are rendered, which answers are valid, and which ratings they make.

The page, the server's check, the ratings and the analysis all use the same description, so they cannot disagree.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from analysis.description import TEXT, Kind, Point, QuestionDescription, Scale
from common.text_length import count_characters, count_words, is_blank

#: A point's value, a text, or the keys of chosen or ranked options. None: left out.
Answer = float | str | list[str] | None
#: Everything in a form, by field name.
Form = Mapping[str, str]

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
MAX_CHARS = 20_000


#: The scale for every option of a question with several choices.
CHOSEN = Scale("chosen", "nominal", (Point(1.0, "chosen"), Point(0.0, "not chosen")))


class AnswerError(ValueError):
    """An answer that cannot be accepted. ``str()`` is the message for the worker."""


@dataclass(frozen=True, slots=True)
class ShownIf:
    """Shows a question only if question ``key`` on the same page has one of ``values`` as its answer."""

    key: str
    values: tuple[float | str, ...]

    def holds(self, answers: Mapping[str, Answer]) -> bool:
        answer = answers.get(self.key)
        chosen = answer if isinstance(answer, list) else [answer]
        return any(value in chosen for value in self.values)


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored for one answer: a number or a text about ``target``."""

    target: str
    value: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Question(ABC):
    """A question on a page. ``key`` names the form field and is unique on the page.

    ``topic`` names the question in the data and is the same for every item and target. ``target`` is the part of the
    item that the question is about, and becomes the target of the rating.
    """

    kind: ClassVar[Kind]
    key: str
    label: str
    topic: str
    scale: Scale = TEXT
    help: str = ""
    target: str = ""
    required: bool = True
    shown_if: ShownIf | None = None

    @property
    def template(self) -> str:
        """The template that renders it. Gets ``question``, ``values`` (the form as typed) and ``error``."""
        return f"annotation/questions/{self.kind}.html"

    @abstractmethod
    def clean(self, form: Form) -> Answer:
        """The answer in the form, or None if an optional answer is left out. Raises AnswerError."""

    @abstractmethod
    def typed(self, answer: Answer) -> dict[str, str]:
        """The form fields for this answer. `clean` turns them back into the answer."""

    @abstractmethod
    def stored(self, answer: Answer) -> list[Stored]:
        """The ratings that an answer makes."""

    def describe(self) -> QuestionDescription:
        """The question as the analysis sees it."""
        return QuestionDescription(self.topic, self.label, self.scale, self.kind, self.help, self.bounds())

    def bounds(self) -> dict[str, int]:
        return {}

    @property
    def stored_on(self) -> Scale:
        """The scale of the ratings from this question."""
        return self.scale


@dataclass(frozen=True, slots=True)
class ScaleQuestion(Question):
    """One point of a scale, in the order of its points."""

    kind: ClassVar[Kind] = "scale"

    def clean(self, form: Form) -> Answer:
        raw = form.get(self.key, "")
        if not raw.strip():
            if self.required:
                raise AnswerError("Please choose one answer.")
            return None
        for point in self.scale.points:
            if raw == point.key:
                return point.value
        raise AnswerError(f"“{clean_text(raw)[:40]}” is not one of the answers. Please choose one of those shown.")

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: f"{answer:g}" if isinstance(answer, int | float) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, int | float)  # noqa: S101 - `clean` made it
        return [Stored(self.target, float(answer))]


@dataclass(frozen=True, slots=True)
class ChoiceQuestion(ScaleQuestion):
    """One of several options without an order. The options are the points of a nominal scale."""

    kind: ClassVar[Kind] = "choice"


@dataclass(frozen=True, slots=True)
class Option:
    """One of a question's options. ``key`` is its name in the data and stays the same if its wording changes.

    ``group`` is a heading above the first of several neighbouring options (only in a `ChoicesQuestion`).
    """

    key: str
    label: str
    description: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class ChoicesQuestion(Question):
    """Any number of options. Each option gives a rating: 1 if chosen, else 0. The target is its key."""

    kind: ClassVar[Kind] = "choices"
    options: tuple[Option, ...] = ()
    least: int = 0
    most: int | None = None

    def field(self, option: Option) -> str:
        return f"{self.key}.{option.key}"

    def clean(self, form: Form) -> Answer:
        chosen = [option.key for option in self.options if form.get(self.field(option))]
        least = max(self.least, 1) if self.required or chosen else 0
        if len(chosen) < least:
            raise AnswerError(f"Please choose at least {least}.")
        if self.most is not None and len(chosen) > self.most:
            raise AnswerError(f"Please choose at most {self.most}; you chose {len(chosen)}.")
        return chosen

    def typed(self, answer: Answer) -> dict[str, str]:
        chosen = answer if isinstance(answer, list) else []
        return {self.field(option): "yes" for option in self.options if option.key in chosen}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, list)  # noqa: S101 - `clean` made it
        return [Stored(joined_target(self.target, option.key), float(option.key in answer)) for option in self.options]

    @property
    def stored_on(self) -> Scale:
        return CHOSEN

    def describe(self) -> QuestionDescription:
        return describe_options(self, self.options)


@dataclass(frozen=True, slots=True)
class RankingQuestion(Question):
    """All options in order, best first. Each option gives a rating: its rank from 1. The target is its key."""

    kind: ClassVar[Kind] = "ranking"
    options: tuple[Option, ...] = ()

    def field(self, option: Option) -> str:
        return f"{self.key}.{option.key}"

    def clean(self, form: Form) -> Answer:
        ranks = {option.key: form.get(self.field(option), "").strip() for option in self.options}
        if not any(ranks.values()):
            if self.required:
                raise AnswerError("Please give each option a rank.")
            return None
        each_rank_once = [str(rank) for rank in range(1, len(self.options) + 1)]
        if sorted(ranks.values(), key=lambda rank: (len(rank), rank)) != each_rank_once:
            raise AnswerError(f"Please use each rank from 1 to {len(self.options)} exactly once.")
        return sorted(ranks, key=lambda key: int(ranks[key]))

    def typed(self, answer: Answer) -> dict[str, str]:
        order = answer if isinstance(answer, list) else []
        return {f"{self.key}.{key}": str(rank) for rank, key in enumerate(order, start=1)}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, list)  # noqa: S101 - `clean` made it
        return [Stored(joined_target(self.target, key), float(rank)) for rank, key in enumerate(answer, start=1)]

    @property
    def stored_on(self) -> Scale:
        return Scale.numbered("rank", max(2, len(self.options)), low="best", high="worst")

    def describe(self) -> QuestionDescription:
        return describe_options(self, self.options)


@dataclass(frozen=True, slots=True)
class TextQuestion(Question):
    """An answer in the worker's own words. Words and characters are counted as people count them
    (`common.text_length`): an emoji is one character, and so is a Chinese word."""

    kind: ClassVar[Kind] = "text"
    min_words: int = 1
    max_words: int | None = None
    min_chars: int = 0
    max_chars: int = MAX_CHARS
    rows: int = 2

    def clean(self, form: Form) -> Answer:
        text = clean_text(form.get(self.key, ""))
        if is_blank(text):
            if self.required:
                raise AnswerError("Please write something here.")
            return None
        if len(text) > MAX_CHARS:
            raise AnswerError(f"This is {len(text):,} characters long; at most {MAX_CHARS:,} fit. Please shorten it.")
        characters = count_characters(text)
        if characters > self.max_chars:
            raise AnswerError(f"Please use at most {self.max_chars:,} characters; you wrote {characters:,}.")
        if characters < self.min_chars:
            raise AnswerError(f"Please write at least {self.min_chars:,} characters; you wrote {characters:,}.")
        words = count_words(text)
        if words < self.min_words and self.min_words > 1:
            raise AnswerError(f"Please write at least {self.min_words} words; you wrote {words}.")
        if self.max_words is not None and words > self.max_words:
            raise AnswerError(f"Please use at most {self.max_words} words; you wrote {words}.")
        return text

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: answer if isinstance(answer, str) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, str)  # noqa: S101 - `clean` made it
        return [Stored(self.target, None, answer)]

    def bounds(self) -> dict[str, int]:
        limits = {"min_words": self.min_words, "max_words": self.max_words or 0, "min_chars": self.min_chars}
        if self.max_chars != MAX_CHARS:
            limits["max_chars"] = self.max_chars
        return {name: limit for name, limit in limits.items() if limit}


@dataclass(frozen=True, slots=True)
class Grid:
    """Several statements on one scale: a table on a wide screen, one after the other on a narrow one.

    Its questions are ordinary ones, each with its own topic, time and error.
    """

    key: str
    label: str
    questions: tuple[ScaleQuestion, ...]
    help: str = ""

    @property
    def scale(self) -> Scale:
        return self.questions[0].scale


Part = Question | Grid


def describe_options(question: Question, options: Sequence[Option]) -> QuestionDescription:
    """A question whose ratings are about its options."""
    named = {joined_target(question.target, option.key): option.label for option in options}
    return QuestionDescription(
        question.topic, question.label, question.stored_on, question.kind, question.help, targets=named
    )


def joined_target(*parts: str) -> str:
    """A rating's target from its parts, without empty ones."""
    return "/".join(part for part in parts if part)


def clean_text(raw: str) -> str:
    """``raw`` without control characters (no database stores NUL), with newlines as ``\\n`` and trimmed ends."""
    return _NOT_TEXT.sub("", raw.replace("\r\n", "\n").replace("\r", "\n")).strip()
