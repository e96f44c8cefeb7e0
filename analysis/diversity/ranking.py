"""The ranking test: do the scores of two sets differ as their parameters do?

Shapes: one score difference and one parameter difference per pair of sets, both (n,), one set minus the other in both.

The choice of the first set of a pair is arbitrary, yet ρ of the differences depends on it: if all pairs have the more
diverse set first, ρ compares only the sizes of the differences. So ρ is computed over both orders of every pair: (d, p)
and (−d, −p). This is the average result of a random order over many pairs, as in a study that shows the two sets on
random sides. It does not depend on the order of rows.

Source: Tevet & Berant 2021, ranking test and rnkHDS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.diversity.association import Floats, spearman_draws
from analysis.diversity.checks import paired_columns, without_noise
from analysis.diversity.resampling import Bootstrap, bootstrap_estimate, in_order
from analysis.estimate import LARGEST, Estimate, wilson
from analysis.inference import orders_alike


@dataclass(frozen=True, slots=True)
class RankingTest:
    """ρ over both orders of the pairs, and the share of right signs."""

    rho: Estimate
    accuracy: Estimate


def ranking_test(
    score_differences: ArrayLike,
    parameter_differences: ArrayLike,
    *,
    plan: Bootstrap | None = None,
    groups: ArrayLike | None = None,
) -> RankingTest:
    """Spearman's ρ of the differences over both orders of each pair, and the share of pairs whose two signs agree.

    For rnkHDS the score difference is the mean rating minus 3. ρ runs from −1 to 1. A tie in either difference counts
    as a wrong sign. Pairs with equal parameters, which no score can get right, therefore lower the accuracy; a note
    counts them. Accuracy has Wilson's interval, and ρ a bootstrap over pairs (with both orders). With ``groups`` (n,)
    both are bootstrapped over groups, which is necessary if pairs share a set. Neither depends on which set of a pair
    comes first, nor on the order of pairs. If all differences of either kind are 0, ρ is NaN with a note.

    ValueError: fewer than 3 pairs, unequal lengths, NaN or infinity.
    """
    plan = plan or Bootstrap()
    x, y = paired_columns(score_differences, parameter_differences, "parameter difference")
    side = np.where(y == 0, np.where(x < 0, -1.0, 1.0), np.sign(y))
    x, y, groups = in_order(x * side + 0.0, y * side + 0.0, groups)

    def rho(weights: Floats) -> Floats:
        return both_orders(x, y, weights)

    def weighted_share(weights: Floats) -> Floats:
        return np.asarray((weights * hits).sum(axis=1) / weights.sum(axis=1))

    value = float(rho(np.ones((1, len(x))))[0])
    note = "no pair differs in its scores" if not x.any() else ""
    if not y.any():
        note = "no pair differs in its parameters"
    if not note and orders_alike(np.append(x, -x), np.append(y, -y)):
        note = LARGEST
    estimate = bootstrap_estimate(value, rho, len(x), plan, groups=groups, note=note)
    hits = (np.sign(x) * np.sign(y) > 0).astype(float)
    share, equal = float(hits.mean()), int((y == 0).sum())
    equal_note = f"pairs with equal parameters, which count as misses: {equal} of {len(y)}" if equal else ""
    if groups is None:
        interval = wilson(share, len(x), plan.level)
        accuracy = Estimate(share, *interval, len(x), "pairs", plan.level, "Wilson", equal_note)
    else:
        accuracy = bootstrap_estimate(share, weighted_share, len(x), plan, groups=groups, note=equal_note)
    return RankingTest(_of_pairs(estimate), _of_pairs(accuracy))


def both_orders(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman's ρ of each draw (D,) with every pair in both orders; differences (n,) or (D, n), weights (D, n)."""
    return spearman_draws(
        np.concatenate([x, -x], axis=-1), np.concatenate([y, -y], axis=-1), np.concatenate([weights, weights], axis=-1)
    )


def pair_differences(keys: ArrayLike, *columns: ArrayLike) -> tuple[NDArray[np.str_], list[Floats]]:
    """All unordered pairs of rows that share a key, as differences (earlier row minus later row).

    ``keys`` and each column are (n,). Returns the key of each of the m pairs, (m,), and for each column its
    differences, (m,), without rounding noise. A key with only one row gives no pair. ValueError: no key repeats.
    """
    names = np.asarray(keys).astype(str)
    members: dict[str, list[int]] = {}
    for row, name in enumerate(names.tolist()):
        members.setdefault(name, []).append(row)
    pairs = [pair for rows in members.values() for pair in combinations(rows, 2)]
    if not pairs:
        raise ValueError("no two sets share a key, so there are no pairs to compare")
    left, right = np.array(pairs).T
    values = [np.asarray(column, dtype=float) for column in columns]
    return names[left], [without_noise(value[left] - value[right]) for value in values]


def _of_pairs(estimate: Estimate) -> Estimate:
    return replace(estimate, n_of="pairs", method=estimate.method.replace("sets", "pairs"))
