"""Agreement on pairs of samples: do people who rated the same two samples prefer the same one?

Source: Zhang et al. 2020, §4.1 and appendix A. A pair has two orders, and both count: 20 ordered pairs for five
samples. So the categories “first is better” and “second is better” are equally frequent by construction, and which
sample is called the first cannot change κ. Shapes: M comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.diversity.resampling import Bootstrap, bootstrap_values, quantile_interval
from analysis.estimate import Estimate

Statistic = Callable[[Floats], Floats]


def pair_fleiss(
    first: ArrayLike, second: ArrayLike, outcome: ArrayLike, *, plan: Bootstrap, clusters: ArrayLike | None = None
) -> Estimate:
    """Fleiss' κ (1971) of pairs on three categories: better, same, worse; with unequal numbers of raters.

    ``first`` and ``second`` (M,) name the samples, ``outcome`` (M,) is 1, 0 or −1 for the first; one row per rater and
    pair. Equal to `analysis.agreement.fleiss_kappa` of all pairs in both orders. n counts pairs with two raters or
    more, each once; the note counts others, which only enter the shares of categories. The bootstrap draws whole
    ``clusters`` (M,), such as tasks; None: pairs. Every pair must be in one cluster.

    NaN if every rating is a tie. ValueError: no pair with two ratings; a pair in two clusters; an outcome not −1, 0, 1.
    """
    frame, cluster, names = _table(first, second, outcome, clusters)
    counts = frame[["better", "same", "worse"]].to_numpy(dtype=float)
    n = counts.sum(axis=1)
    paired = n >= 2
    if not paired.any():
        raise ValueError("no pair of samples was rated by two people: agreement cannot be estimated")
    agreed = np.where(paired, ((counts**2).sum(axis=1) - n) / np.maximum(n * (n - 1), 1), 0.0)
    sums = _cluster_sums(cluster, names, [agreed, paired, counts[:, 1], n])

    def kappa(weights: Floats) -> Floats:
        agreement, units, ties, total = (weights @ sums).T
        same = ties / np.maximum(total, 1)
        return _kappa(agreement / np.maximum(units, 1), same**2 + (1 - same) ** 2 / 2)

    left_out = int((~paired).sum())
    note = f"{left_out:,} pairs were rated once and have no agreement" if left_out else ""
    return _estimate(kappa, names, int(paired.sum()), plan, clusters is not None, note)


def pair_cohen(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    pool: ArrayLike,
    *,
    plan: Bootstrap,
    clusters: ArrayLike | None = None,
) -> Estimate:
    """Cohen's κ (1960) between two pools of raters who rated the same pairs (A/A), on better, same, worse.

    As `pair_fleiss`; ``pool`` (M,) has two different values. If a pool rated a pair several times, its shares of the
    categories count (Schouten 1982). n counts pairs that both pools rated, each once; the note counts the others.

    NaN if every rating is a tie. ValueError: not two pools; no pair that both rated; otherwise as `pair_fleiss`.
    """
    pools = np.asarray(pool).astype(str)
    listed = sorted(set(pools.tolist()))
    if len(listed) != 2:
        raise ValueError(f"agreement of pools needs two pools, not {len(listed)}")
    one, two = np.asarray(first).astype(str), np.asarray(second).astype(str)
    both, cluster, names = _table(one, two, outcome, clusters)
    parts = []
    for name in listed:
        mine = pools == name
        shares, _, _ = _table(one[mine], two[mine], np.asarray(outcome)[mine], None)
        found = both[["low", "high"]].merge(shares, on=["low", "high"], how="left")
        counts = found[["better", "same", "worse"]].to_numpy(dtype=float)
        parts.append(counts / counts.sum(axis=1, keepdims=True))
    rated = ~np.isnan(parts[0][:, 0]) & ~np.isnan(parts[1][:, 0])
    if not rated.any():
        raise ValueError("no pair of samples was rated by both pools")
    agreed = np.where(rated, np.nansum(parts[0] * parts[1], axis=1), 0.0)
    ties = [np.where(rated, np.nan_to_num(part[:, 1]), 0.0) for part in parts]
    sums = _cluster_sums(cluster, names, [agreed, rated, *ties])

    def kappa(weights: Floats) -> Floats:
        agreement, units, first_ties, second_ties = (weights @ sums).T
        a, b = (each / np.maximum(units, 1) for each in (first_ties, second_ties))
        return _kappa(agreement / np.maximum(units, 1), a * b + (1 - a) * (1 - b) / 2)

    left_out = int((~rated).sum())
    note = f"{left_out:,} pairs were rated by one pool only" if left_out else ""
    return _estimate(kappa, names, int(rated.sum()), plan, clusters is not None, note)


def _table(
    first: ArrayLike, second: ArrayLike, outcome: ArrayLike, clusters: ArrayLike | None
) -> tuple[pd.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """Counts per unordered pair, its cluster's number, and the number of clusters."""
    one, two = np.asarray(first).astype(str), np.asarray(second).astype(str)
    value = np.asarray(outcome, dtype=float)
    if not np.isin(value, (-1, 0, 1)).all():
        raise ValueError("an outcome is 1, 0 or −1")
    swap = one > two
    value = np.where(swap, -value, value)
    frame = pd.DataFrame(
        {
            "low": np.where(swap, two, one),
            "high": np.where(swap, one, two),
            "better": value == 1,
            "same": value == 0,
            "worse": value == -1,
        }
    )
    if clusters is not None:
        frame["cluster"] = pd.factorize(np.asarray(clusters))[0]
    groups = frame.groupby(["low", "high"], sort=True)
    found = groups[["better", "same", "worse"]].sum().reset_index()
    if clusters is None:
        return found, np.arange(len(found)), len(found)
    if (groups["cluster"].nunique() > 1).any():
        raise ValueError("a pair of samples is in two clusters; resample a larger unit, such as the context")
    cluster = groups["cluster"].first().to_numpy()
    return found, cluster, int(frame["cluster"].max()) + 1


def _cluster_sums(cluster: ArrayLike, names: int, columns: list[Floats]) -> Floats:
    return np.stack([np.bincount(np.asarray(cluster), np.asarray(each, float), names) for each in columns], axis=1)


def _kappa(observed: Floats, expected: Floats) -> Floats:
    room = 1 - expected
    found = np.divide(observed - expected, room, out=np.full(room.shape, math.nan), where=room > 1e-12)
    return np.asarray(found)


def _estimate(kappa: Statistic, clusters: int, n: int, plan: Bootstrap, named: bool, note: str) -> Estimate:
    value = float(kappa(np.ones((1, clusters)))[0])
    if math.isnan(value):
        return Estimate(value, n=n, n_of="pairs", level=plan.level, note="every rating is a tie")
    if clusters < 2 or not plan.draws:
        return Estimate(value, n=n, n_of="pairs", level=plan.level, method="no interval", note=note)
    low, high, _ = quantile_interval(bootstrap_values(kappa, clusters, plan, None), plan.level)
    method = f"percentile bootstrap over {'clusters' if named else 'pairs'}, {plan.draws} resamples"
    return Estimate(value, low, high, n, "pairs", plan.level, method, note)
