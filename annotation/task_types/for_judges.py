"""How a judge, such as a language model, answers a question: what it is asked for, and how its answer is read.

A judge answers a page with one JSON object that has a value for each question. A kind of question says which values
these are (`Question.for_judge`). The form that `ForJudge.read` makes is then checked like a worker's, so a judge can
give no answer that a worker could not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Protocol, TypeVar

from analysis.description import Point

#: Labels of options up to this length are answers themselves; longer ones have letters.
LONGEST_ANSWER = 40
#: With more possible answers, a judge is not asked how likely each of them is.
MOST_SCORED = 21
Json = dict[str, Any]


class Option(Protocol):
    """What an answer can name (`questions.Option`)."""

    @property
    def key(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def description(self) -> str: ...


Named = TypeVar("Named", bound=Option)


class NoAnswer(ValueError):
    """The value cannot be an answer to the question, whatever is in it. ``str()`` says what was expected."""


@dataclass(frozen=True, slots=True)
class ForJudge:
    """How a judge answers one question.

    ``ask``: what the prompt says about the form of the answer. ``schema``: the JSON schema of the value. ``read``: the
    form fields of a value; raises `NoAnswer`. ``shown``: words of the item that only the question's widget shows.
    ``values``: all possible values, if there are few.
    """

    ask: str
    schema: Json
    read: Callable[[Any], Mapping[str, str]]
    shown: str = ""
    values: Sequence[Any] = ()


def plain_number(value: float) -> int | float:
    """4 and not 4.0, as people and models write it."""
    return int(value) if float(value).is_integer() else value


def number_of(value: Any) -> float:
    """A number in an answer, also if the model wrote it as a text. Raises `NoAnswer`."""
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            raise NoAnswer("a number") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoAnswer("a number")
    return float(value)


def points_in_words(points: Sequence[Point]) -> str:
    """The points of a scale in their order, with their names and descriptions."""
    named = []
    for point in points:
        about = ": ".join(filter(None, (point.label, point.description)))
        named.append(f"{point.key} ({about})" if about else point.key)
    return ", ".join(named)


def words_of(names: Sequence[str]) -> dict[str, str]:
    """The answer that stands for each option: its name if all are short and different, else a letter."""
    short = all(0 < len(name) <= LONGEST_ANSWER and '"' not in name for name in names)
    return {
        (name if short and len(set(names)) == len(names) else letter_of(position)): name
        for position, name in enumerate(names)
    }


def letter_of(position: int) -> str:
    """A, B, …, Z, A2, …"""
    turn, letter = divmod(position, len(ascii_uppercase))
    return ascii_uppercase[letter] + (str(turn + 1) if turn else "")


def lettered(options: Sequence[Named]) -> dict[str, Named]:
    """Options by letter, in the order shown. Their keys stay hidden: they may name what wrote a text."""
    return {letter_of(position): option for position, option in enumerate(options)}


def options_in_words(options: Mapping[str, Option]) -> str:
    return "; ".join(
        f"{letter} = {option.label}" + (f" ({option.description})" if option.description else "")
        for letter, option in options.items()
    )


def letter_in(value: Any, options: Mapping[str, Named]) -> Named:
    """The option that an answer names by its letter or its label. Raises `NoAnswer`."""
    text = value.strip() if isinstance(value, str) else ""
    for letter, option in options.items():
        if text.casefold() in (letter.casefold(), option.label.casefold()) and text:
            return option
    raise NoAnswer(f"one of {', '.join(options)}")


def or_null(schema: Json, *, required: bool) -> Json:
    """The schema of a question that can be left out."""
    return schema if required else {"anyOf": [schema, {"type": "null"}]}


def texts_in_words(options: Mapping[str, Option]) -> str:
    """The texts of an item that a question shows as its options."""
    return "\n\n".join(f"{letter}:\n{option.label}" for letter, option in options.items())
