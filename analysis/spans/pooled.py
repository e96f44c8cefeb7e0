"""Agreement of several markers over all texts, with an interval about new items and new workers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

import numpy as np

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats
from analysis.inference.contrasts import LEAST_CLUSTERS, too_few_in_words
from analysis.inference.left_out import LeftOut, interval_from_left_out
from analysis.spans.agreement import Count
from analysis.spans.marks import Span

#: With fewer items or workers there is no interval.
FEWEST = LEAST_CLUSTERS
LEVEL = 0.95
#: In simulated studies (docs/uncertainty.md): mostly too wide, because t has few degrees of freedom.
SHARE_RIGHT = "93 to 100%"
#: A text: its item, and its part of the item.
Place = TypeVar("Place", bound=tuple[Hashable, str])


@dataclass
class PairSums:
    """A figure that is a function of Σ ``above`` / Σ ``below``, over all pairs of workers who marked the same text.

    One entry for each pair and text: the text, both workers, and its parts of the two sums.
    """

    places: list[tuple[Hashable, str]] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    above: list[float] = field(default_factory=list)
    below: list[float] = field(default_factory=list)

    def add(self, place: tuple[Hashable, str], one: str, other: str, above: float = 0.0, below: float = 0.0) -> int:
        """Adds an entry and returns its number."""
        self.places.append(place)
        self.pairs.append((one, other))
        self.above.append(above)
        self.below.append(below)
        return len(self.places) - 1

    def estimate(self, name: str, figure: Callable[[Floats], Floats], *, ends: tuple[float, float]) -> Estimate:
        """The figure, with an interval from the figure without each item, each worker and each answer
        (`analysis.inference.left_out`); none with fewer than five items or workers."""
        units = _codes(self.places)
        n = len(set(units.tolist()))
        above, below = np.array(self.above, dtype=float), np.array(self.below, dtype=float)
        if not below.sum():
            note = "nobody marked anything" if n else "no text has two markers"
            return Estimate(math.nan, n=n, n_of="texts", note=note)
        value = float(figure(np.array([above.sum() / below.sum()]))[0])
        items = _codes([item for item, _ in self.places])
        workers = _codes([worker for pair in self.pairs for worker in pair]).reshape(-1, 2)
        note = too_few(int(items.max()) + 1, int(workers.max()) + 1)
        if note:
            return Estimate(value, n=n, n_of="texts", note=note)

        def without(*columns: np.ndarray) -> LeftOut:
            """The figure without all entries that have each code in one of these columns."""
            _, flat = np.unique(np.concatenate(columns), return_inverse=True)
            left = [total.sum() - np.bincount(flat, np.tile(total, len(columns))) for total in (above, below)]
            with np.errstate(divide="ignore", invalid="ignore"):
                figures = np.where(left[1] > 1e-12, figure(left[0] / left[1]), np.nan)
            return LeftOut(figures, np.ones(len(figures)))

        one, other = workers.T
        answers = [units * (int(workers.max()) + 1) + column for column in (one, other)]
        low, high = interval_from_left_out(
            value, without(items), without(one, other), without(*answers), ends=ends, level=LEVEL
        )
        return Estimate(value, low, high, n, "texts", method=method_of(name))


def too_few(items: int, workers: int) -> str:
    """Why there is no interval; empty if there is one."""
    sizes = {"items": items, "workers": workers}
    return next((too_few_in_words(size, name) for name, size in sizes.items() if size < FEWEST), "")


def method_of(name: str) -> str:
    right = f"{SHARE_RIGHT} of such 95% intervals are right in simulations"
    return f"{name} without each item, each worker and each answer; {right}"


def pooled_f1(answers: Mapping[Place, Sequence[tuple[str, Sequence[Span]]]], count: Count) -> Estimate:
    """F1 over all pairs of workers who marked the same text, all texts together; NaN if nobody marked anything.

    ``answers``: by (item, part), the workers with their spans. ``count``: `analysis.spans.agreement.characters` or
    ``whole``, perhaps with what must be the same. The interval is that of `PairSums`.
    """
    pairs = PairSums()
    for place, marks in answers.items():
        for (one, of_one), (other, of_other) in combinations(marks, 2):
            sums = count(of_one, of_other)
            pairs.add(place, one, other, 2 * sums.both, sums.one + sums.other)
    return pairs.estimate("F1", lambda share: share, ends=(0.0, 1.0))


def _codes(names: Sequence[Hashable]) -> np.ndarray:
    """A number (N,) for each name, in the order of their first appearance."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)
