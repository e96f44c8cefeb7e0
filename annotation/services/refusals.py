"""How a service says no: everything that is wrong, at once, each with the way to mend it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """Something wrong with one value. ``field`` is a study's field, ``config.<name>`` or ``texts.<name>``."""

    field: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.field}: {self.what} {self.mend}".strip()


class Refused(ValueError):
    """Nothing was written. ``problems`` says why; ``str()`` says it in lines of text."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Invalid(Refused):
    """A value is not acceptable, or the study is not in a state for this."""


class Frozen(Refused):
    """The study has left draft, and this would change what its ratings mean or what workers were promised."""

    @property
    def fields(self) -> list[str]:
        return [problem.field for problem in self.problems]


def refuse_if_any(problems: Sequence[FieldProblem]) -> None:
    if problems:
        raise Invalid(problems)


def unknown(field: str, name: str, known: Iterable[str]) -> FieldProblem:
    """``name`` is not among ``known``: with the nearest that is, or all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    others = f"Known: {', '.join(names)}." if names else "Take it out."
    mend = f"Did you mean “{near[0]}”?" if near else others
    return FieldProblem(field, f"There is no such name as “{name[:60]}”.", mend)
