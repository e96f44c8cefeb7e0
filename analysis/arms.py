"""Scores of groups of workers (arms), and how much two groups differ.

Workers belong to one arm; items may be rated in several. Intervals and tests are about new items and new workers: what
arms share of an item cancels out, what an item does in one arm alone remains (see `analysis.inference`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.description import Score
from analysis.estimate import Estimate
from analysis.inference import Bounds, Dimensions, Figures, bounds_of_difference, ratios
from analysis.inference.dimensions import crossed_codes
from analysis.scores import prepared_ratings

#: What answers of an arm are about, and who gave them.
_CLUSTERS = ("item", "target", "worker")


@dataclass(frozen=True)
class ArmMeans:
    """The mean over items of the scores of each of the A ``arms``; ``items`` and ``workers`` count those who rated.

    ``bounds`` are the ends of a score, if known.
    """

    arms: tuple[str, ...]
    figures: Figures
    items: dict[str, int]
    workers: dict[str, int]
    bounds: Bounds | None

    def estimate(self, arm: str) -> Estimate:
        """The arm's mean. KeyError: no such arm."""
        return self.figures.estimate(self._at[arm], bounds=self.bounds)

    def difference(self, first: str, second: str) -> Estimate:
        """The first arm's mean minus the second's."""
        return self.figures.difference(self._at[first], self._at[second], bounds=self._apart)

    def p(self, first: str, second: str) -> float:
        """Two-sided p of the hypothesis that both means are equal, not corrected; NaN where there is no interval."""
        return self.figures.p_difference(self._at[first], self._at[second], bounds=self._apart)

    @property
    def _at(self) -> dict[str, int]:
        return {arm: index for index, arm in enumerate(self.arms)}

    @property
    def _apart(self) -> Bounds | None:
        return bounds_of_difference(self.bounds)


def arm_means(
    ratings: pd.DataFrame,
    score: Score,
    *,
    arms: Sequence[str],
    about_items: bool = True,
    bounds: Bounds | None = None,
    dimensions: Dimensions | None = None,
    level: float = 0.95,
) -> ArmMeans:
    """The mean over items of every arm's scores, from ratings with the columns of `item_scores` and ``arm``.

    Every item that an arm rated counts the same, and so does every part of an item. ``about_items``: whether items are
    clusters, besides workers; not if workers rated their own texts, or nothing in particular. ``bounds``: the ends of a
    score. ``dimensions``: how all ratings belong together, by items (if they are about any) and workers, if it is
    known. An arm without ratings is NaN.
    """
    rated = prepared_ratings(ratings, score)
    arm_codes, names = pd.factorize(ratings["arm"].reindex(rated.index))
    of_arm = np.array([arms.index(name) if name in arms else -1 for name in names], dtype=np.int64)[arm_codes]
    known = {} if dimensions is None or len(rated) < len(ratings) else dimensions.codes
    codes = {
        column: known[f"{column}s"] if f"{column}s" in known else np.asarray(pd.factorize(rated[column])[0], np.int64)
        for column in _CLUSTERS
    }
    of_item = crossed_codes(of_arm + 1, codes["item"])
    of_part = crossed_codes(of_item, codes["target"]) if codes["target"].any() else of_item
    item_of_part = np.zeros(int(of_part.max(initial=-1)) + 1, dtype=np.int64)
    item_of_part[of_part] = of_item
    parts, targets = np.bincount(of_part)[of_part], np.bincount(item_of_part)[of_item]
    weights = (1 / (parts * targets))[:, None] * (of_arm[:, None] == np.arange(len(arms)))
    clusters = {"items": codes["item"], "workers": codes["worker"]} if about_items else {"workers": codes["worker"]}
    if dimensions is None or known.keys() != clusters.keys():
        dimensions = Dimensions(clusters)
    values = score.sign * rated["value"].to_numpy(dtype=float)[:, None]
    figures = ratios(values * weights, weights, dimensions, level=level)
    items, workers = (
        {arm: int(np.count_nonzero(np.bincount(codes[column][of_arm == at]))) for at, arm in enumerate(arms)}
        for column in ("item", "worker")
    )
    return ArmMeans(tuple(arms), figures, items, workers, bounds)
