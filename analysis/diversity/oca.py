"""Optimal classification accuracy (OCA): the best accuracy of any single threshold on a score.

As the paper defines it, a set above the threshold is called diverse, so a score that falls as diversity rises is no
better than calling all sets the same. ``either=True`` takes the better of both directions.

Shapes: one score and one binary label per set, both (n,). Source: Tevet & Berant 2021, §6.4 (conTest).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Bools, Floats, Ints, cut_hits, oca_draws
from analysis.diversity.checks import high_class, is_constant, paired_columns
from analysis.diversity.resampling import Bootstrap, bootstrap_values, group_codes
from analysis.estimate import Estimate, wilson

Direction: TypeAlias = Literal["above", "below"]

_DIRECTIONS: tuple[Direction, Direction] = ("above", "below")


@dataclass(frozen=True, slots=True)
class Threshold:
    """The single cut that classifies best.

    "above": a set is classified as high if its score is ``value`` or more; "below": if it is less. ``value`` is midway
    between two neighbouring scores, or −inf or inf if it is best to give every set the same class.
    """

    value: float
    direction: Direction
    accuracy: float

    def calls_high(self, scores: Floats) -> Bools:
        return np.asarray((scores >= self.value) == (self.direction == "above"))


def best_threshold(scores: ArrayLike, labels: ArrayLike, *, either: bool = False) -> Threshold:
    """The most accurate threshold for scores (n,) and binary labels (n,), in O(n log n).

    ``labels`` contain two different numbers; the larger is "high". Equal scores stay on the same side. Among equally
    good cuts, prefer a cut between scores to one beyond them all, then "above" to "below", then the lowest.

    Raises ValueError for fewer than 3 sets, unequal lengths, NaN or infinity, one class or more than two.
    """
    x, y = paired_columns(scores, labels)
    return _best_cut(x, high_class(y), either)


def oca_estimate(
    scores: ArrayLike, labels: ArrayLike, *, plan: Bootstrap, groups: ArrayLike | None = None, either: bool = False
) -> tuple[Estimate, Threshold]:
    """OCA, from the larger class's share to 1, with its interval, and the threshold that reaches it.

    OCA is the best of many thresholds on the same data, so it is optimistic. Every resample adds optimism, and the
    percentile interval covers only 65–80% at 200 sets. The interval is therefore Wilson's around OCA minus the
    bootstrap optimism (mean over resamples minus OCA), which covers 92–99% (tests, 30 to 1,000 sets). It always
    contains OCA itself and never goes below one half. ``groups`` (n,) widens it by the design effect of whole groups,
    at least 1. Constant scores give the larger class's share with a note. The plan's ``size`` does not matter here.
    Errors as in `best_threshold`.
    """
    x, y = paired_columns(scores, labels)
    high = high_class(y)
    codes = group_codes(groups, len(x))
    threshold = _best_cut(x, high, either)
    constant = "all scores are the same: the share of the larger class" if is_constant(x) else ""
    if not plan.draws:
        estimate = Estimate(threshold.accuracy, n=len(x), n_of="sets", level=plan.level, method="no interval")
        return replace(estimate, note=constant), threshold
    full_size_plan = replace(plan, size=None)
    values = bootstrap_values(lambda weights: oca_draws(x, high, weights, either=either), len(x), full_size_plan, codes)
    values = values[~np.isnan(values)]
    optimism = max(0.0, float(values.mean()) - threshold.accuracy) if len(values) else 0.0
    hits = (threshold.calls_high(x) == high).astype(float)
    n = len(x) / design_effect(hits, codes)
    low, top = around_oca(threshold.accuracy, optimism, n, plan.level)
    return Estimate(
        threshold.accuracy,
        low,
        top,
        n=len(x),
        n_of="sets",
        level=plan.level,
        method=f"Wilson around the OCA less its bootstrap optimism of {optimism:.3f}, {plan.draws} resamples",
        note=constant,
    ), threshold


def around_oca(value: float, optimism: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval around ``value`` minus its optimism, widened to contain ``value`` and cut at one half."""
    low, high = wilson(value - optimism, n, level)
    return min(max(low, 0.5), value), max(high, value)


def _best_cut(x: Floats, high: Bools, either: bool) -> Threshold:
    hits = cut_hits(x, high, np.ones((1, len(x))))[0]
    table = np.nan_to_num(np.stack([hits, len(x) - hits] if either else [hits]), nan=-1.0)
    most = float(table.max())
    between = table[:, 1:-1]
    if between.max() == most:
        row, cut = divmod(int(between.argmax()), between.shape[1])
        cut += 1
    else:
        row, end = divmod(int(table[:, [0, -1]].argmax()), 2)
        cut = end * len(x)
    if cut == 0:
        value = -math.inf
    elif cut == len(x):
        value = math.inf
    else:
        ordered = np.sort(x)
        below, above = float(ordered[cut - 1]), float(ordered[cut])
        middle = below + (above - below) / 2
        value = middle if middle > below else above
    return Threshold(value, _DIRECTIONS[row], most / len(x))


def design_effect(hits: Floats, codes: Ints | None) -> float:
    """Variance of the mean of ``hits`` by whole groups divided by that of independent sets, at least 1."""
    share = float(hits.mean())
    if codes is None or share in (0.0, 1.0):
        return 1.0
    sums = np.bincount(codes, weights=hits - share)
    clustered = len(sums) / (len(sums) - 1) * float((sums**2).sum()) / len(hits) ** 2
    return max(1.0, clustered / (share * (1 - share) / len(hits)))
