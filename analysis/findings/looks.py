"""One look at differences while ratings still arrive: which of them are settled, however often somebody looks.

A difference is settled if its test shows one, or if its interval lies within the smallest difference that matters. p is
corrected by Holm's method over all differences; intervals hold for all differences and at all times at once
(Bonferroni's correction). Source of the intervals and p at all times: `analysis.sequential`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.estimate import Estimate
from analysis.findings.comparison import Comparison
from analysis.inference import Bounds, bounds_of_difference, holm
from analysis.sequential import always_valid_level, always_valid_p

Settled = Literal["different", "alike", ""]
#: Shares of a plan in whole numbers, as `analysis.sequential` takes ratings.
WHOLE = 1_000_000


@dataclass(frozen=True)
class OpenDifference:
    """Two levels, the ordinary p of their difference, its interval at any level, and how much of what was planned for
    both has arrived (the smaller of their shares, from 0 to 1)."""

    first: str
    second: str
    p: float
    interval: Callable[[float], Estimate]
    share: float


@dataclass(frozen=True, slots=True)
class Look:
    """Two levels at this time. ``p``: Holm, at all times. ``settled``: “different” if p is below 1 − confidence,
    “alike” if the interval lies within the smallest difference that matters, empty if neither."""

    first: str
    second: str
    difference: Estimate
    p: float
    settled: Settled


def differences_so_far(
    comparison: Comparison, ends: Bounds | None, share_of: Callable[[str], float]
) -> list[OpenDifference]:
    """The differences of a comparison. ``ends`` of the scale; ``share_of`` the plan that a level has, from 0 to 1."""
    figures, bounds = comparison.figures, bounds_of_difference(ends)

    def interval(first: str, second: str) -> Callable[[float], Estimate]:
        weights = figures.weights_of(comparison.names.index(first), comparison.names.index(second))
        return lambda level: figures.contrast(weights, level=level, bounds=bounds)

    return [
        OpenDifference(
            pair.first,
            pair.second,
            pair.p,
            interval(pair.first, pair.second),
            min(share_of(pair.first), share_of(pair.second)),
        )
        for pair in comparison.differences
    ]


def look_at(
    differences: Sequence[OpenDifference], *, smallest: float | None = None, confidence: float = 0.95
) -> list[Look]:
    """What is settled now. ``smallest``: the smallest difference that matters; None: only a difference settles."""
    alpha = 1 - confidence
    done = [max(1, round(difference.share * WHOLE)) for difference in differences]
    corrected = holm(
        [
            always_valid_p(difference.p, now, WHOLE, confidence)
            for difference, now in zip(differences, done, strict=True)
        ]
    ).tolist()
    looks = []
    for difference, now, p in zip(differences, done, corrected, strict=True):
        interval = difference.interval(always_valid_level(now, WHOLE, 1 - alpha / len(differences)))
        settled: Settled = ""
        if p < alpha:
            settled = "different"
        elif smallest is not None and max(abs(interval.low), abs(interval.high)) < smallest:
            settled = "alike"
        looks.append(Look(difference.first, difference.second, interval, p, settled))
    return looks
