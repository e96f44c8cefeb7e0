"""Two factors at once: a mean for every combination of levels, overall means, and interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.estimate import Estimate
from analysis.findings.answers import Answers, Codes
from analysis.inference import LevelFigures, holm

#: With more, Holm's correction leaves next to nothing, and nobody could read them.
MOST_INTERACTIONS = 40
OVERALL = "Overall"


@dataclass(frozen=True, slots=True)
class Cell:
    """The mean of the answers with both levels. An overall cell has OVERALL for one of them, or for both."""

    first: str
    second: str
    mean: Estimate
    answers: int


@dataclass(frozen=True, slots=True)
class Interaction:
    """(first − first_base) at ``second``, minus the same at ``second_base``: 0 if the factors do not interact."""

    first: str
    first_base: str
    second: str
    second_base: str
    difference: Estimate
    p: float
    p_corrected: float


@dataclass(frozen=True)
class Crossing:
    """``cells`` by first, then second level, with overall cells last; ``empty`` have no answers."""

    cells: tuple[Cell, ...]
    interactions: tuple[Interaction, ...]
    empty: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def cross_levels(
    answers: Answers,
    first: tuple[Codes, Sequence[str]],
    second: tuple[Codes, Sequence[str]],
    *,
    level: float = 0.95,
) -> Crossing:
    """Cross two factors, each given as the codes (N,) of its levels (−1: none) and their names.

    Interactions are those with the first level of each factor, Holm's correction covers all of them. ValueError: no
    answer has a level of both.
    """
    used = (first[0] >= 0) & (second[0] >= 0)
    if not used.any():
        raise ValueError("no answer has a level of both factors")
    answers, rows, columns = answers.chosen(used), first[0][used], second[0][used]
    width = len(second[1])
    figures = answers.means(rows * width + columns, len(first[1]) * width, level=level)
    marginal_rows = answers.known_means(rows, len(first[1]), level=level)
    marginal_columns = answers.known_means(columns, width, level=level)
    everything = answers.known_means(np.zeros(len(rows), dtype=np.int64), 1, level=level)

    def cell(of: LevelFigures, index: int, row: str, column: str) -> Cell:
        return Cell(row, column, of.estimate(index, bounds=answers.bounds), int(of.answer_counts[index]))

    cells: list[Cell] = []
    for row, row_name in enumerate(first[1]):
        cells += [cell(figures, row * width + at, row_name, name) for at, name in enumerate(second[1])]
        cells.append(cell(marginal_rows, row, row_name, OVERALL))
    cells += [cell(marginal_columns, at, OVERALL, name) for at, name in enumerate(second[1])]
    cells.append(cell(everything, 0, OVERALL, OVERALL))
    for marginal in (marginal_rows, marginal_columns, everything):
        marginal.free_sums()
    empty = tuple((c.first, c.second) for c in cells if not c.answers)
    notes = []
    if len(empty) > 0:
        notes.append("Combinations without answers are not in the overall means, which then compare different things.")
    count = (len(first[1]) - 1) * (width - 1)
    interactions: list[Interaction] = []
    if count > MOST_INTERACTIONS:
        notes.append(f"There are {count:,} interactions, more than the {MOST_INTERACTIONS} that are tested.")
    else:
        interactions = interactions_of(figures, first[1], second[1])
    return Crossing(tuple(cells), tuple(interactions), empty, tuple(notes))


def interactions_of(figures: LevelFigures, first: Sequence[str], second: Sequence[str]) -> list[Interaction]:
    width = len(second)
    interactions = []
    for row in range(1, len(first)):
        for column in range(1, width):
            corners = [(row * width + column, 1), (column, -1), (row * width, -1), (0, 1)]
            if any(figures.answer_counts[cell] == 0 for cell, _ in corners):
                continue
            weights = np.zeros(len(figures.values))
            for cell, sign in corners:
                weights[cell] = sign
            difference = figures.contrast(weights)
            p = figures.contrast_p(weights)
            interactions.append(Interaction(first[row], first[0], second[column], second[0], difference, p, p))
    corrected = holm([interaction.p for interaction in interactions]).tolist() if interactions else []
    return [replace(interaction, p_corrected=p) for interaction, p in zip(interactions, corrected, strict=True)]
