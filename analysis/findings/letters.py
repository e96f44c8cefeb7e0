"""Which levels the data tell apart, as clusters and as letters. Shapes: L levels, from the largest figure down."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt


def clusters_of(order: Sequence[int], different: npt.ArrayLike) -> list[int]:
    """The cluster of every level, from 1 down, by its index.

    A new cluster begins where every level so far differs from every level that follows, as in the results of the
    Conference on Machine Translation (Barrault et al. 2020, §3). ``order`` (L,) has the levels' indices, the largest
    first; ``different`` (L, L) is true where two levels differ.
    """
    apart = np.asarray(different, dtype=bool)[np.ix_(order, order)]
    clusters, current = [0] * len(order), 1
    for rank, level in enumerate(order):
        if rank and apart[:rank, rank:].all():
            current += 1
        clusters[level] = current
    return clusters


def letters_of(order: Sequence[int], different: npt.ArrayLike) -> list[str]:
    """The compact letter display: two levels share a letter if the data do not tell them apart.

    Algorithm: insert and absorb (Piepho 2004). Arguments as in `clusters_of`; the result is by the levels' indices.
    """
    apart = np.asarray(different, dtype=bool)
    columns: list[frozenset[int]] = [frozenset(order)]
    for position, first in enumerate(order):
        for second in order[position + 1 :]:
            if not apart[first, second]:
                continue
            split = [column for column in columns if first in column and second in column]
            columns = [column for column in columns if column not in split]
            columns += [column - {level} for column in split for level in (first, second)]
            unique = set(columns)
            columns = [column for column in unique if not any(column < other for other in unique)]
    rank_of = {level: rank for rank, level in enumerate(order)}
    columns.sort(key=lambda column: sorted(rank_of[level] for level in column))
    letters = []  # a … z, then a1 … z1
    for place in range(len(columns)):
        turn, letter = divmod(place, len(ascii_lowercase))
        letters.append(ascii_lowercase[letter] + (str(turn) if turn else ""))
    named = list(zip(letters, columns, strict=True))
    return ["".join(letter for letter, column in named if level in column) for level in sorted(order)]


def letters_of_tests(order: Sequence[int], p: npt.ArrayLike, alpha: float) -> list[str]:
    """The letters of levels with these corrected p (L, L; NaN: no test). A level without any test has no letter: that
    would say that it does not differ."""
    tests = np.array(p, dtype=float)
    letters = letters_of(order, tests < alpha)
    np.fill_diagonal(tests, np.nan)
    return ["" if np.isnan(row).all() else letter for row, letter in zip(tests, letters, strict=True)]
