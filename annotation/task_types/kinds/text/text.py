"""An answer in the worker's own words, with limits that the page counts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from analysis.description import Kind
from annotation.languages import gettext as _
from annotation.languages import ngettext, number
from annotation.task_types.for_judges import ForJudge, NoAnswer
from annotation.task_types.questions import (
    MAX_CHARS,
    Answer,
    AnswerError,
    Asked,
    Form,
    Question,
    Right,
    Stored,
    clean_text,
)
from annotation.task_types.settings import ConfigForm, refuse_crossed_limits
from annotation.task_types.simulation import SENTENCES
from common.text_length import count_characters, count_words, is_blank

if TYPE_CHECKING:
    from annotation.task_types.simulation import SimulatedWorker

#: Words of a text that is long enough for any question, if the question allows them.
MANY_WORDS = 40


class TextForm(ConfigForm):
    """The limits of a text, as a study describes them."""

    min_words = forms.IntegerField(label="At least this many words", min_value=0, required=False)
    max_words = forms.IntegerField(label="At most this many words", min_value=1, required=False)
    min_chars = forms.IntegerField(label="At least this many characters", min_value=0, required=False)
    max_chars = forms.IntegerField(
        label="At most this many characters", min_value=1, max_value=MAX_CHARS, required=False
    )
    rows = forms.IntegerField(label="Height of the box in lines", min_value=1, max_value=30, initial=2, required=False)

    def clean(self) -> dict[str, Any]:
        settings: dict[str, Any] = super().clean() or self.cleaned_data
        refuse_crossed_limits(self, "min_words", "max_words", "highest number of words")
        refuse_crossed_limits(self, "min_chars", "max_chars", "highest number of characters")
        return settings


@dataclass(frozen=True, slots=True)
class TextQuestion(Question):
    """An answer in the worker's own words. Words and characters are counted as people count them
    (`common.text_length`): an emoji is one character, and so is a Chinese word."""

    kind: ClassVar[Kind] = "text"
    kind_name: ClassVar[str] = "Text in their own words"
    writes: ClassVar[bool] = True
    min_words: int = 1
    max_words: int | None = None
    min_chars: int = 0
    max_chars: int = MAX_CHARS
    rows: int = 2
    settings_form: ClassVar[type[forms.Form] | None] = TextForm

    @classmethod
    def from_settings(cls, asked: Asked, settings: Mapping[str, Any]) -> Question:
        return cls(
            **asked.arguments(),
            min_words=settings["min_words"] or 1,
            max_words=settings["max_words"],
            min_chars=settings["min_chars"] or 0,
            max_chars=settings["max_chars"] or MAX_CHARS,
            rows=settings["rows"] or 2,
        )

    def drawn(self, values: Form) -> dict[str, Any]:
        """The limits for the script to check and count, by attribute name."""
        limits = {
            "min-words": self.min_words,
            "max-words": self.max_words or 0,
            "min-chars": self.min_chars,
            "max-chars": 0 if self.max_chars == MAX_CHARS else self.max_chars,
        }
        return {"limits": {name: limit for name, limit in limits.items() if limit}}

    def for_judge(self) -> ForJudge:
        limits = {
            "at least {} words": self.min_words if self.min_words > 1 else 0,
            "at most {} words": self.max_words or 0,
            "at least {} characters": self.min_chars,
            "at most {} characters": 0 if self.max_chars == MAX_CHARS else self.max_chars,
        }
        words = ", ".join(text.format(limit) for text, limit in limits.items() if limit)

        def read(value: Any) -> Form:
            if not isinstance(value, str):
                raise NoAnswer("a text")
            return {self.key: value}

        return ForJudge(f"A text ({words})" if words else "A text", {"type": "string"}, read)

    def clean(self, form: Form) -> Answer:
        text = clean_text(form.get(self.key, ""))
        if is_blank(text):
            if self.required:
                raise AnswerError(_("Please write something here."))
            return None
        if len(text) > MAX_CHARS:
            text_limit = _("This is %(count)s characters long; at most %(limit)s fit. Please shorten it.")
            raise AnswerError(text_limit % {"count": number(len(text)), "limit": number(MAX_CHARS)})
        self._check_length(count_characters(text), count_words(text))
        return text

    def _check_length(self, characters: int, words: int) -> None:
        if characters > (limit := self.max_chars):
            message = ngettext(
                "Please use at most %(limit)s character; you wrote %(count)s.",
                "Please use at most %(limit)s characters; you wrote %(count)s.",
                limit,
            )
            raise AnswerError(message % {"limit": number(limit), "count": number(characters)})
        if characters < (limit := self.min_chars):
            message = ngettext(
                "Please write at least %(limit)s character; you wrote %(count)s.",
                "Please write at least %(limit)s characters; you wrote %(count)s.",
                limit,
            )
            raise AnswerError(message % {"limit": number(limit), "count": number(characters)})
        if words < (limit := self.min_words) and limit > 1:
            message = ngettext(
                "Please write at least %(limit)s word; you wrote %(count)s.",
                "Please write at least %(limit)s words; you wrote %(count)s.",
                limit,
            )
            raise AnswerError(message % {"limit": number(limit), "count": number(words)})
        if self.max_words is not None and words > (limit := self.max_words):
            message = ngettext(
                "Please use at most %(limit)s word; you wrote %(count)s.",
                "Please use at most %(limit)s words; you wrote %(count)s.",
                limit,
            )
            raise AnswerError(message % {"limit": number(limit), "count": number(words)})

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: answer if isinstance(answer, str) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        assert isinstance(answer, str)  # noqa: S101 - `clean` made it
        return [Stored(self.target, None, answer)]

    def bounds(self) -> Mapping[str, float]:
        limits = {"min_words": self.min_words, "max_words": self.max_words or 0, "min_chars": self.min_chars}
        if self.max_chars != MAX_CHARS:
            limits["max_chars"] = self.max_chars
        return {name: limit for name, limit in limits.items() if limit}

    def texts_in(self, answer: Answer) -> list[str]:
        return [answer] if isinstance(answer, str) else []

    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]:
        return {self.key: self.text_by(worker, rng)}

    def text_by(self, worker: SimulatedWorker, rng: random.Random) -> str:
        """A text within the question's limits. A careless worker writes as little as allowed."""
        if worker.profile == "careless" and self.min_words <= 1 and not self.min_chars:
            return "ok"
        words: list[str] = []
        while len(words) < self.min_words or len(" ".join(words)) < self.min_chars or not words:
            words += rng.choice(SENTENCES).split()
        words = words[: self.max_words]
        return " ".join(words)[: self.max_chars].strip()

    def alternatives(self, right: Right) -> Iterator[Answer]:
        yield from right(self.target)
        for start in range(3):
            words = [
                word
                for offset in range(len(SENTENCES))
                for word in SENTENCES[(start + offset) % len(SENTENCES)].split()
            ]
            most = min(self.max_words or MANY_WORDS, max(MANY_WORDS, self.min_words))
            while len(words) < most:
                words += words
            text = " ".join(words[:most])
            yield text[: self.max_chars].strip()
