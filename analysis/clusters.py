"""Means and spreads of values in clusters, such as several ratings of an item or several sets by a writer.

Values of one cluster are alike, so intervals resample whole clusters (cluster bootstrap; Davison & Hinkley 1997, §3.8;
expanded percentile interval, Hesterberg 2015). Shapes: ``values`` (N,) and ``clusters`` (N,), the name of each value's
cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.diversity.resampling import Bootstrap, bootstrap_estimate
from analysis.estimate import Estimate


def cluster_mean(values: ArrayLike, clusters: ArrayLike, *, plan: Bootstrap, n_of: str) -> Estimate:
    """The mean of all values. ``n`` counts clusters, and ``n_of`` names them. ValueError: no values."""
    shift, count, off, _ = _sums(values, clusters)
    return _estimated(lambda weights: np.asarray(shift + (weights @ off) / (weights @ count)), len(count), plan, n_of)


def cluster_sd(values: ArrayLike, clusters: ArrayLike, *, plan: Bootstrap, n_of: str) -> Estimate:
    """The standard deviation of all values (n − 1), NaN for one value. Otherwise as `cluster_mean`."""
    _, count, off, square = _sums(values, clusters)

    def deviation(weights: Floats) -> Floats:
        n = weights @ count
        inside = np.maximum(weights @ square - (weights @ off) ** 2 / n, 0)
        variance = np.divide(inside, n - 1, out=np.full(len(n), math.nan), where=n > 1)
        return np.asarray(np.sqrt(variance))

    return _estimated(deviation, len(count), plan, n_of, undefined="one rating has no spread")


def cluster_ratio(above: ArrayLike, below: ArrayLike, clusters: ArrayLike, *, plan: Bootstrap, n_of: str) -> Estimate:
    """Σ above / Σ below, such as wins over decided choices; NaN if Σ below is 0. Otherwise as `cluster_mean`."""
    codes, names = pd.factorize(np.asarray(clusters))
    top, bottom = (np.bincount(codes, np.asarray(each, dtype=float), len(names)) for each in (above, below))

    def share(weights: Floats) -> Floats:
        n = weights @ bottom
        return np.asarray(np.divide(weights @ top, n, out=np.full(len(n), math.nan), where=n > 0))

    return _estimated(share, len(names), plan, n_of, undefined="nothing to take a share of")


def _sums(values: ArrayLike, clusters: ArrayLike) -> tuple[float, Floats, Floats, Floats]:
    """The overall mean; per cluster the count, and the sums of deviations from that mean and of their squares."""
    found = np.asarray(values, dtype=float)
    if not len(found):
        raise ValueError("there are no values")
    codes, names = pd.factorize(np.asarray(clusters))
    shift = float(found.mean())
    count = np.bincount(codes, minlength=len(names)).astype(float)
    off = np.bincount(codes, found - shift, len(names))
    square = np.bincount(codes, (found - shift) ** 2, len(names))
    return shift, count, np.asarray(off, dtype=float), np.asarray(square, dtype=float)


def _estimated(
    statistic: Callable[[Floats], Floats], n: int, plan: Bootstrap, n_of: str, *, undefined: str = ""
) -> Estimate:
    if not n:
        raise ValueError("there are no values")
    value = float(statistic(np.ones((1, n)))[0])
    found = bootstrap_estimate(value, statistic, n, plan, expand=True)
    note = undefined if math.isnan(value) else found.note
    return replace(found, method=found.method.replace("sets", n_of), n_of=n_of, note=note)
