"""What the commands share: a parser that names invalid and valid options, and the types of option values."""

from __future__ import annotations

import argparse
import difflib
import math
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from analysis.estimate import DRAWS, SEED
from analysis.input_errors import number_in

Subparsers: TypeAlias = Any

#: With fewer draws, the outermost draw alone decides where a 95% interval ends.
FEWEST_DRAWS = 40


class Parser(argparse.ArgumentParser):
    """A parser that accepts no abbreviated options. An error is one line, followed by where to find help."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ")
        self.exit(2, f"error: {text}\nRun “{self.prog} --help” for the options.\n")

    def refuse_misspelled(self, words: Sequence[str]) -> None:
        """Exit with 2 if a word looks like an option but is not one. Call it before parsing."""
        names = (*self._option_string_actions, "--")
        unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in names]
        if unknown:
            self.refuse_unknown(unknown)

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        """Exit with 2 because of words that are neither options of this parser nor their values."""
        options = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        word = words[0].partition("=")[0]
        if not word.startswith("-"):
            self.error(f"“{word}” is one argument too many")
        near = difflib.get_close_matches(word, options, n=1)
        hint = f"did you mean {near[0]}? The" if near else "the"
        self.error(f"there is no option {word}; {hint} options are {', '.join(options)}")


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """``--draws``, where 0 means no interval, ``--seed`` and ``--confidence``."""
    explanation = f"bootstrap resamples, {FEWEST_DRAWS} or more, or 0 for no bootstrap interval (default: {DRAWS})"
    parser.add_argument("--draws", type=draws, default=DRAWS, help=explanation)
    add_seed(parser)
    add_confidence(parser)


def add_confidence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--confidence", type=confidence, default=0.95, help="level of the intervals (default: 0.95)")


def add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=count, default=SEED, help=f"seed of all random draws (default: {SEED})")


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"“{text}” is not a whole number of 0 or more")
    return int(text)


def positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a whole number of 1 or more")
    return int(text)


def above_zero(text: str) -> float:
    number = number_in(text)
    if number is None or number <= 0:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number above 0")
    return number


def finite_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number, such as 3")
    return number


def draws(text: str) -> int:
    number = count(text)
    if 0 < number < FEWEST_DRAWS:
        message = f"{text} is too few for an interval; give {FEWEST_DRAWS} or more, or 0 for no bootstrap interval"
        raise argparse.ArgumentTypeError(message)
    return number


def draws_not_none(text: str) -> int:
    if (number := count(text)) < FEWEST_DRAWS:
        raise argparse.ArgumentTypeError(f"{text} is too few for an interval; give {FEWEST_DRAWS} or more")
    return number


def confidence(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number between 0 and 1, such as 0.95")
    return level
