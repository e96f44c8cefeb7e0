"""Whether comparisons determine strengths at all.

Without ties the maximum of the likelihood is finite if and only if, for every split of the systems into two groups,
each group beats the other at least once: the graph of wins is strongly connected (Ford 1957). With ties and a tie
parameter, a tie links its systems in both directions, and some cycle of comparisons must have more wins than ties:
otherwise ever larger tie parameters fit ever better. (The model is a multinomial logit; these are the conditions under
which no direction of its parameters separates the outcomes.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.preference.comparisons import Comparisons

Ints = NDArray[np.integer[Any]]
NAMED = 5


def refuse_unless_finite(comparisons: Comparisons) -> None:
    """ValueError if no finite strengths fit best, with the systems concerned and what to do."""
    count = len(comparisons.systems)
    won, lost, tied = (comparisons.outcome == value for value in (1, -1, 0))
    winners = np.concatenate([comparisons.first[won], comparisons.second[lost]])
    losers = np.concatenate([comparisons.second[won], comparisons.first[lost]])
    tied_first, tied_second = comparisons.first[tied], comparisons.second[tied]
    starts = np.concatenate([winners, tied_first, tied_second])
    ends = np.concatenate([losers, tied_second, tied_first])
    better = sparse.csr_array((np.ones(len(starts)), (starts, ends)), shape=(count, count))
    parts, part_of = sparse.csgraph.connected_components(better, directed=False)
    if parts > 1:
        groups = sorted((_members(comparisons, part_of, part) for part in range(parts)), key=len)
        raise ValueError(
            f"the comparisons fall into {parts} parts without a comparison between them, such as {_listed(groups[0])}: "
            "add comparisons across the parts, analyse each part alone, or ask for a regularised fit with a prior"
        )
    parts, part_of = sparse.csgraph.connected_components(better, directed=True, connection="strong")
    if parts > 1:
        # The smallest group that never won, or never lost, against all the others.
        starts, ends = better.nonzero()
        across = part_of[starts] != part_of[ends]
        has_won, has_lost = set(part_of[starts[across]].tolist()), set(part_of[ends[across]].tolist())
        candidates = [
            (_members(comparisons, part_of, part), "won" if part not in has_won else "lost")
            for part in range(parts)
            if part not in has_won or part not in has_lost
        ]
        group, what = min(candidates, key=lambda candidate: len(candidate[0]))
        infinite = "low" if what == "won" else "high"
        raise ValueError(
            f"{_listed(group)} never {what} or tied against the other systems, so no finite strength is {infinite} "
            "enough: leave it out, or ask for a regularised fit with a prior"
        )
    if len(tied_first) and not _wins_outweigh_ties(winners, losers, tied_first, tied_second, count):
        raise ValueError(
            "there are too few wins for the number of ties: no finite tie parameter fits best; "
            "ask for a regularised fit with a prior"
        )


def _members(comparisons: Comparisons, part_of: Ints, part: int) -> list[str]:
    return [name for name, part_of_system in zip(comparisons.systems, part_of, strict=True) if part_of_system == part]


def _wins_outweigh_ties(winners: Ints, losers: Ints, tied_first: Ints, tied_second: Ints, count: int) -> bool:
    """Whether a cycle has more wins than ties: a negative cycle, if a win costs −1 and a tie 1."""
    cost = np.full((count, count), np.inf)
    cost[tied_first, tied_second] = cost[tied_second, tied_first] = 1
    cost[winners, losers] = -1
    distance = np.zeros(count)
    for _ in range(count):
        shorter = np.minimum(distance, (distance[:, None] + cost).min(axis=0))
        if np.array_equal(shorter, distance):
            return False
        distance = shorter
    return True


def _listed(names: Sequence[str]) -> str:
    quoted = ", ".join(f"“{name[:60]}”" for name in names[:NAMED])
    return quoted + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
