"""Systems as the Conference on Machine Translation (WMT) ranks them, to compare a study with its tables.

Scores are standardised within workers, averaged for every item, then for every system. Of two systems, the one with the
higher mean is better if a one-sided Wilcoxon rank-sum test on its items' scores has p < 5%, without correction; a
cluster ends where every system above is better than every system below. Source: Barrault et al. 2020, §3; Akhbardeh et
al. 2021, §3.

The test takes every item as one independent observation and the workers as fixed. Where workers differ in how they take
to a system, or items are of several systems, it is too sure; `compare_levels` is about new items and new workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from analysis.findings.answers import Answers, Codes, Floats
from analysis.findings.letters import clusters_of

#: The level of WMT's tests.
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class WmtSystem:
    """``raw`` and ``z``: the means over items of the answers, and of the answers standardised within workers."""

    name: str
    raw: float
    z: float
    items: int
    cluster: int


def wmt_ranking(answers: Answers, levels: Codes, names: Sequence[str]) -> list[WmtSystem]:
    """The systems from the highest standardised mean down. ``levels`` (N,) are codes of ``names``, −1 for none.

    Workers whose answers do not vary have no standardised scores, and are left out. ValueError: fewer than two systems
    have any.
    """
    used = levels >= 0
    answers, levels = answers.chosen(used), levels[used]
    standard, varies = answers.standardised()
    levels = levels[varies]
    present = np.unique(levels)
    if len(present) < 2:
        raise ValueError("fewer than two levels have standardised scores")
    scores = {level: means_of_items(standard, levels == level) for level in present}
    raw = {level: means_of_items(answers.chosen(varies), levels == level).mean() for level in present}
    order = sorted(present.tolist(), key=lambda level: (-scores[level].mean(), names[level]))
    better = np.zeros((len(order), len(order)), dtype=bool)
    for high, first in enumerate(order):
        for low in range(high + 1, len(order)):
            better[high, low] = better[low, high] = rank_sum_p(scores[first], scores[order[low]]) < SIGNIFICANT
    clusters = clusters_of(range(len(order)), better)
    return [
        WmtSystem(names[level], float(raw[level]), float(scores[level].mean()), len(scores[level]), cluster)
        for level, cluster in zip(order, clusters, strict=True)
    ]


def means_of_items(answers: Answers, rows: np.ndarray) -> Floats:
    """The mean of every item's answers among ``rows``, a flag for each answer."""
    items = np.unique(answers.items[rows], return_inverse=True)[1]
    return np.asarray(np.bincount(items, answers.values[rows]) / np.bincount(items))


def rank_sum_p(higher: Floats, lower: Floats) -> float:
    """p of the one-sided Wilcoxon rank-sum test that ``higher`` is not higher, with continuity and ties corrected, as
    R's ``wilcox.test`` does for 50 values or more."""
    return float(scipy.stats.mannwhitneyu(higher, lower, alternative="greater", method="asymptotic").pvalue)
