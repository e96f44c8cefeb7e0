"""How generation says no: everything that is wrong at once, each with its place and the way to mend it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at one place: a key of a file with its line, a row and column, a field."""

    place: str
    what: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.what} {self.mend}".strip()


class Invalid(ValueError):
    """Nothing was written. ``problems`` says why; ``str()`` says it in lines of text."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def invalid(place: str, what: str, mend: str = "") -> Invalid:
    """One problem, to be raised."""
    return Invalid([Problem(place, what, mend)])


def refuse_if_any(problems: Sequence[Problem]) -> None:
    if problems:
        raise Invalid(problems)


def unknown(place: str, name: str, known: Iterable[str]) -> Problem:
    """``name`` is not among ``known``: with the nearest that is, or all of them."""
    names = [str(each) for each in known]
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    others = f"Known: {', '.join(names[:30])}." if names else "There are none yet."
    return Problem(place, f"There is no “{name[:60]}”.", f"Did you mean “{near[0]}”?" if near else others)
