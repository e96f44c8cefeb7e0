"""How the project refuses something: all problems at once, each with its place and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

#: The maximum characters in each part of a problem: a message may quote untrusted input of any length.
LONGEST_PART = 1_000


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in one place: a field, a key of a file, a row and column. ``fix`` is what to do about it."""

    where: str
    what: str
    fix: str = ""

    def __post_init__(self) -> None:
        for name in ("where", "what", "fix"):
            text = getattr(self, name)
            if len(text) > LONGEST_PART:
                object.__setattr__(self, name, f"{text[:LONGEST_PART]}…")

    def __str__(self) -> str:
        return f"{self.where}: {self.what} {self.fix}".strip()


class Refused(ValueError):
    """Nothing was written. ``problems`` lists the reasons; ``str()`` gives one line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Invalid(Refused):
    """A value cannot be accepted, or the object is in the wrong state for this."""


def invalid(where: str, what: str, fix: str = "") -> Invalid:
    """One problem, ready to raise."""
    return Invalid([Problem(where, what, fix)])


def refuse_if_any(problems: Sequence[Problem]) -> None:
    """Raise Invalid with all of ``problems``, if there are any."""
    if problems:
        raise Invalid(problems)


def unknown(where: str, name: str, choices: Iterable[str]) -> Problem:
    """``name`` is not one of ``choices``. Suggests the closest match, or lists what exists."""
    names = list(map(str, choices))
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    alternatives = f"Known: {', '.join(names[:30])}." if names else "There are none."
    return Problem(where, f"There is no “{name[:60]}”.", f"Did you mean “{near[0]}”?" if near else alternatives)
