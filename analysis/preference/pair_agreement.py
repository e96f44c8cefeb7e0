"""Agreement on pairs of samples: do people who rated the same two samples prefer the same one?

Source: Zhang et al. 2020, §4.1 and appendix A. A pair has two orders, and both count: 20 ordered pairs for five
samples. So the categories “first is better” and “second is better” are equally frequent by construction, and which
sample is called the first cannot change κ. Intervals are jackknife intervals over contexts and raters
(`analysis.agreement.jackknife`). Shapes: M comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.agreement.count_tables import ratio, row_sums
from analysis.agreement.jackknife import LEAST, Layout, Margins, estimate_from_table
from analysis.agreement.ratings import FloatArray, IntArray, Ratings
from analysis.estimate import Estimate

#: The columns of a table: how often the sample with the lower name was better, equal, worse.
BETTER, SAME, WORSE = 0, 1, 2
TIES = "every rating is a tie"


def pair_fleiss(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    raters: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Fleiss' κ (1971) of pairs on three categories: better, same, worse; with unequal numbers of raters.

    ``first`` and ``second`` (M,) name the samples, ``outcome`` (M,) is 1, 0 or −1 for the first, ``raters`` (M,) names
    who rated. Equal to `analysis.agreement.fleiss_kappa` of all pairs in both orders. n counts pairs with two raters or
    more, each once; the note counts others, which only enter the shares of categories. ``clusters`` (M,), such as
    contexts, are left out as a whole if there are five or more; otherwise pairs. Every pair must be in one cluster.

    NaN if every rating is a tie. ValueError: no pair with two ratings; a pair in two clusters; an outcome not −1, 0, 1.
    """
    ratings, together = _ratings(first, second, outcome, raters, clusters)
    paired = ratings.per_unit >= 2
    if not paired.any():
        raise ValueError("no pair of samples was rated by two people: agreement cannot be estimated")
    left_out = int((~paired).sum())
    return estimate_from_table(
        PairFleiss(),
        Layout(ratings.counts().table),
        ratings,
        units=int(paired.sum()),
        raters="any",
        interval=True,
        level=level,
        notes=(TIES, f"{left_out:,} pairs were rated once and have no agreement" if left_out else ""),
        clusters=together,
        n_of="pairs",
    )


def pair_cohen(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    raters: ArrayLike,
    pool: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Cohen's κ (1960) between two pools of raters who rated the same pairs (A/A), on better, same, worse.

    As `pair_fleiss`; ``pool`` (M,) has two different values. If a pool rated a pair several times, its shares of the
    categories count (Schouten 1982). n counts pairs that both pools rated, each once; the note counts the others.

    NaN if every rating is a tie. ValueError: not two pools; no pair that both rated; otherwise as `pair_fleiss`.
    """
    names = np.asarray(pool).astype(str)
    pools = sorted(set(names.tolist()))
    if len(pools) != 2:
        raise ValueError(f"agreement of pools needs two pools, not {len(pools)}")
    ratings, together = _ratings(first, second, outcome, raters, clusters)
    ratings_by_pool = Ratings(
        ratings.unit,
        ratings.rater,
        ratings.code + 3 * (names == pools[1]),
        ratings.units,
        ratings.raters,
        np.arange(6.0),
    )
    table = ratings_by_pool.counts().table
    used = int(((row_sums(table[:, :3]) > 0) & (row_sums(table[:, 3:]) > 0)).sum())
    if not used:
        raise ValueError("no pair of samples was rated by both pools")
    left_out = table.shape[0] - used
    return estimate_from_table(
        PairCohen(),
        Layout(table),
        ratings_by_pool,
        units=used,
        raters="any",
        interval=True,
        level=level,
        notes=(TIES, f"{left_out:,} pairs were rated by one pool only" if left_out else ""),
        clusters=together,
        n_of="pairs",
    )


@dataclass(frozen=True)
class PairFleiss:
    """κ as a function of sums: of pairs' agreement, pairs with two ratings, ties and ratings."""

    least: float = -1.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        counts = table.toarray()
        n = counts.sum(axis=1)
        paired = n >= 2
        agreed = np.where(paired, ((counts**2).sum(axis=1) - n) / np.maximum(n * (n - 1), 1), 0.0)
        return np.stack([agreed, paired, counts[:, SAME], n], axis=1), sparse.csr_array(table.shape)

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        agreed, paired, ties, n = sums.T
        same = ratio(ties, n)
        return _kappa(ratio(agreed, paired), same**2 + (1 - same) ** 2 / 2)


@dataclass(frozen=True)
class PairCohen:
    """κ as a function of sums: of the pools' agreement on pairs, pairs that both rated, and each pool's shares of ties.

    The columns of a table are the first pool's counts, then the second's.
    """

    least: float = -1.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        counts = table.toarray()
        sides = [counts[:, :3], counts[:, 3:]]
        totals = [side.sum(axis=1) for side in sides]
        used = (totals[0] > 0) & (totals[1] > 0)
        shares = [
            np.where(used[:, None], side / np.maximum(total, 1)[:, None], 0.0)
            for side, total in zip(sides, totals, strict=True)
        ]
        agreed = (shares[0] * shares[1]).sum(axis=1)
        columns = [agreed, used, shares[0][:, SAME], shares[1][:, SAME]]
        return np.stack(columns, axis=1).astype(np.float64), sparse.csr_array(table.shape)

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        agreed, used, first_ties, second_ties = sums.T
        a, b = ratio(first_ties, used), ratio(second_ties, used)
        return _kappa(ratio(agreed, used), a * b + (1 - a) * (1 - b) / 2)


def _kappa(observed: FloatArray, expected: FloatArray) -> FloatArray:
    return 1 - ratio(1 - observed, np.where(1 - expected > 1e-12, 1 - expected, 0.0))


def _ratings(
    first: ArrayLike, second: ArrayLike, outcome: ArrayLike, raters: ArrayLike, clusters: ArrayLike | None
) -> tuple[Ratings, IntArray | None]:
    """A unit per unordered pair, with codes for the sample with the lower name; each unit's cluster, if they are
    enough."""
    first_names, second_names = np.asarray(first).astype(str), np.asarray(second).astype(str)
    value = np.asarray(outcome, dtype=float)
    if not np.isin(value, (-1, 0, 1)).all():
        raise ValueError("an outcome is 1, 0 or −1")
    swap = first_names > second_names
    code = (1 - np.where(swap, -value, value)).astype(np.int64)
    pairs = pd.MultiIndex.from_arrays(
        [np.where(swap, second_names, first_names), np.where(swap, first_names, second_names)]
    )
    unit, listed = pd.factorize(pairs, sort=True)
    rater, names = pd.factorize(np.asarray(raters).astype(str), sort=True)
    ratings = Ratings(
        unit.astype(np.int64), rater.astype(np.int64), code, np.arange(len(listed)), names, np.arange(3.0)
    )
    if clusters is None:
        return ratings, None
    cluster, cluster_names = pd.factorize(np.asarray(clusters))
    cluster_of_pair = np.zeros(len(listed), dtype=np.int64)
    cluster_of_pair[unit] = cluster
    if (cluster_of_pair[unit] != cluster).any():
        raise ValueError("a pair of samples is in two clusters; leave out a larger unit, such as the context")
    return ratings, cluster_of_pair if len(cluster_names) >= LEAST else None
