"""Looking at results while ratings still arrive: intervals and p values that hold however often one looks.

An ordinary 95% interval holds at one time that was fixed beforehand. Whoever looks again and again, and stops when the
interval leaves 0, is wrong far more often than in 5 of 100 studies. A confidence sequence holds at all times at once.

This one is the normal mixture (Robbins 1970; Howard, Ramdas, McAuliffe & Sekhon 2021, "Time-uniform, nonparametric,
nonasymptotic confidence sequences", eq. 14; asymptotic for estimates with a variance: Waudby-Smith, Arbour, Sinha,
Kennedy & Ramdas 2024, "Time-uniform central limit theory and asymptotic confidence sequences", theorem 2.2). At
information v, the ordinary z value of a difference stays inside ±√((1 + 1/ρ²v) (log(1 + ρ²v) − 2 log α)) for ever with
probability 1 − α. ρ² is chosen so that this is narrowest when all planned ratings are there.

With n of N planned ratings, ρ²v is taken as c·n/N. Items and workers vary at once: with the items fixed from the start,
the estimates' covariances are those of independent increments, and their information grows more slowly than the ratings
(it ends at what the items allow). So v/v_N ≥ n/N before the planned end and ≤ n/N after it, and the bound here is never
below the true one. Few clusters: the ordinary interval at the level that belongs to the bound, with its t distribution.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def always_valid_level(done: int, planned: int, level: float = 0.95) -> float:
    """The level at which an ordinary interval after ``done`` of ``planned`` ratings is part of a confidence sequence.

    ValueError: no ratings, nothing planned, a level outside 0 … 1.
    """
    fraction, alpha = _checked(done, planned, level), 1 - level
    time = _narrowest(alpha) * fraction
    bound = math.sqrt((1 + 1 / time) * (math.log1p(time) - 2 * math.log(alpha)))
    return 1 - 2 * _NORMAL.cdf(-bound)


def always_valid_p(p: float, done: int, planned: int, level: float = 0.95) -> float:
    """The p value that holds at all times, from an ordinary two-sided ``p`` after ``done`` of ``planned`` ratings.

    ``level``: for which the sequence is narrowest at the planned end. NaN stays NaN. ValueError: as above.
    """
    time = _narrowest(1 - level) * _checked(done, planned, level)
    if math.isnan(p):
        return math.nan
    z = -_NORMAL.inv_cdf(max(p, 1e-300) / 2)
    return min(1.0, math.exp(math.log1p(time) / 2 - z * z * time / (1 + time) / 2))


def _narrowest(alpha: float) -> float:
    """ρ²v where the bound is narrowest for its information (Waudby-Smith et al. 2024, appendix B.2, approximation)."""
    return -2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))


def _checked(done: int, planned: int, level: float) -> float:
    if not 0 < level < 1:
        raise ValueError("the level of an interval lies between 0 and 1")
    if planned < 1:
        raise ValueError("how many ratings are planned in all is 1 or more")
    if done < 1:
        raise ValueError("there are no ratings yet")
    return done / planned
