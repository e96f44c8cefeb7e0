"""Answers in people's own words."""

from __future__ import annotations

from analysis.description import QuestionDescription
from analysis.kinds.base import KindInWords, no_rating_instrument


class TextInWords(KindInWords):
    """A text with or without limits."""

    def in_prose(self, question: QuestionDescription) -> str:
        limits = limits_in_words(question)
        return f"in words ({limits})" if limits else "in words"

    def on_page(self, question: QuestionDescription) -> str:
        limits = limits_in_words(question)
        return f"A text of {limits}." if limits else "A text of any length."

    def datasheet(self, question: QuestionDescription) -> dict[str, str]:
        single = question.bounds.get("max_words", 99) <= 1
        return no_rating_instrument("Writing a word" if single else "Writing a text")


def limits_in_words(question: QuestionDescription) -> str:
    """“at least 10 words, at most 200 characters”; empty if there is no limit."""
    bounds, parts = question.bounds, []
    for unit, one, several in (("words", "one word", "words"), ("chars", "one character", "characters")):
        for end, phrase in (("min", "at least"), ("max", "at most")):
            if number := bounds.get(f"{end}_{unit}"):
                parts.append(f"{phrase} {one if number == 1 else f'{number:,g} {several}'}")
    return ", ".join(parts)


WORDS = TextInWords()
