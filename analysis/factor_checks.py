"""What is wrong with a declared factor, as far as the items and arms show it: sentences for reports, pages and the
command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pandas as pd

from analysis.description import Comparable, Factor
from analysis.factors import ARM, arm_levels, item_levels, unit_levels
from analysis.findings.comparison import MOST_LEVELS
from common.problems import unknown
from common.words import counted

#: Names of columns, arms or levels in one message.
MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class FactorProblem:
    """``setting``: the setting of the factor that it is about, if any. ``refused``: a study file or form that declares
    it is refused. ``blocks``: nothing can be compared."""

    what: str
    fix: str = ""
    setting: str = ""
    refused: bool = False
    blocks: bool = False

    def __str__(self) -> str:
        return f"{self.what} {self.fix}".strip()


def design_problems(factor: Factor, description: Comparable, items: pd.DataFrame) -> list[FactorProblem]:
    """What the main ``items`` and the arms show. Without items, nothing is wrong with factors of theirs yet."""
    if factor.of == "worker":
        topics = [question.topic for question in description.worker_questions]
        if factor.name in topics:
            return []
        what = f"No question has the topic {factor.name}, so workers have no level of it."
        return [FactorProblem(what, unknown("", factor.name, topics).fix, "of", True, True)]
    if factor.of == "part":
        if not factor.parts:
            return []
        if len(factor.parts) == 1:
            (column,) = factor.parts.values()
            what = f"Only one part has a column, {column}, so there is nothing to compare it with."
            return [FactorProblem(what, "Name the column of every part.", "parts", True, True)]
    if factor.of in ("item", "part"):
        if items.empty:
            return []
        missing = [
            column
            for column in (factor.parts.values() if factor.of == "part" else [factor.name])
            if not any(item_levels(items, column))
        ]
        if missing:
            return [_no_column(column, items, "parts" if factor.of == "part" else "") for column in missing]
    levels = unit_levels(factor, description, items)
    if not any(levels):
        return [FactorProblem(f"No arm has a level of {factor.name}.", "Give the arms levels.", "of", True, True)]
    return list(_with_levels(factor, levels, description))


def _no_column(column: str, items: pd.DataFrame, setting: str) -> FactorProblem:
    names = list(dict.fromkeys(name for cells in items["cells"] for name, cell in cells.items() if str(cell).strip()))
    names += [name for name in dict.fromkeys(items["parameter"]) if name and name not in names]
    return FactorProblem(
        f"No item has anything in a column {column}.", unknown("", column, names).fix, setting, True, True
    )


def _with_levels(factor: Factor, levels: list[str], description: Comparable) -> Iterator[FactorProblem]:
    counts = Counter(levels)
    without = counts.pop("", 0)
    if factor.reference and factor.reference not in counts:
        what = f"No {_unit(factor)} has the reference {factor.reference}."
        yield FactorProblem(what, unknown("", factor.reference, counts).fix, "reference", True)
    if len(counts) == 1:
        what = f"All {_unit(factor)}s have the same level of {factor.name}, {next(iter(counts))}, so there is nothing"
        yield FactorProblem(f"{what} to compare.", blocks=True)
    if len(counts) > MOST_LEVELS:
        what = f"{factor.name} has {len(counts):,} levels, and at most {MOST_LEVELS} can be compared."
        yield FactorProblem(what, "Add a column that groups them, and declare that as the factor.", blocks=True)
    if without and factor.of == "arm" and factor.name != ARM:
        names = [arm for arm, level in arm_levels(description, factor.name).items() if not level]
        what = f"{named(names)} {'has' if len(names) == 1 else 'have'} no level of {factor.name}, so the answers there"
        yield FactorProblem(f"{what} are in no comparison by {factor.name}.")
    elif without and factor.of != "arm":
        have = "has" if without == 1 else "have"
        what = f"{counted(without, _unit(factor))} of {len(levels):,} {have} no level of {factor.name}"
        yield FactorProblem(f"{what} and {'is' if without == 1 else 'are'} in no comparison by {factor.name}.")


def _unit(factor: Factor) -> str:
    return {"item": "item", "part": "part", "arm": "arm"}[factor.of]


def unanswered_by_workers(factor: Factor) -> FactorProblem:
    """For a factor of workers of which nobody has a level."""
    what = f"Nobody who rated has answered {factor.name}, or it is a question about items and not about workers."
    return FactorProblem(what)


def named(names: Collection[str]) -> str:
    """The first names and how many others there are."""
    first = list(names)[:MOST_NAMED]
    rest = len(names) - len(first)
    return ", ".join(first) + (f" and {rest:,} more" if rest else "")
