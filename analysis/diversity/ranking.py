"""The ranking test: do two sets' scores differ as the parameters they were made with do?

Shapes: one score difference and one parameter difference per pair of sets, both (n,), set 1 minus set 2 in
both. Source: Tevet & Berant 2021, ranking test and rnkHDS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.diversity.association import Floats, spearman_draws
from analysis.diversity.checks import CONSTANT_SCORES, is_constant, paired_columns, without_noise
from analysis.diversity.resampling import Bootstrap, bootstrap_estimate
from analysis.estimate import Estimate, wilson


@dataclass(frozen=True, slots=True)
class RankingTest:
    rho: Estimate
    accuracy: Estimate


def ranking_test(
    score_differences: ArrayLike,
    parameter_differences: ArrayLike,
    *,
    plan: Bootstrap | None = None,
    groups: ArrayLike | None = None,
) -> RankingTest:
    """Spearman's ρ of the differences (n,), −1 to 1, and the share of pairs (0 to 1) whose two signs agree.

    For rnkHDS the score difference is the mean rating minus 3. A tie in either difference counts as a miss;
    so pairs made with equal parameters, which nothing can get right, lower the accuracy: a note counts them.
    Accuracy has Wilson's interval, ρ a bootstrap over pairs; with ``groups`` (n,) both are bootstrapped over
    groups, which pairs that share a set need. ρ depends on which set of a pair comes first, accuracy does
    not. Where either difference is constant (all pairs high minus low, say) ρ is NaN with a note.

    Raises ValueError for fewer than 3 pairs, unequal lengths, NaN or infinity.
    """
    plan = plan or Bootstrap()
    x, y = paired_columns(score_differences, parameter_differences, "parameter difference")

    def rho(weights: Floats) -> Floats:
        return spearman_draws(x, y, weights)

    value = float(rho(np.ones((1, len(x))))[0])
    note = CONSTANT_SCORES if is_constant(x) else ""
    if is_constant(y):
        note = f"all parameter differences are {y[0]:g}, so nothing can correlate with them"
    estimate = bootstrap_estimate(value, rho, len(x), plan, groups=groups, note=note)
    accuracy = _sign_accuracy(x, y, plan, groups)
    return RankingTest(_of_pairs(estimate), _of_pairs(accuracy))


def pair_differences(keys: ArrayLike, *columns: ArrayLike) -> tuple[NDArray[np.str_], list[Floats]]:
    """All unordered pairs of rows that share a key, as differences earlier row minus later row.

    ``keys`` and each column are (n,). Returns the key of each of the m pairs, (m,), and for each column its
    differences, (m,), without the noise of subtracting. Keys with one row make no pair. Raises ValueError when no
    key repeats.
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


def _sign_accuracy(x: Floats, y: Floats, plan: Bootstrap, groups: ArrayLike | None) -> Estimate:
    hits = (np.sign(x) * np.sign(y) > 0).astype(float)
    equal = int((y == 0).sum())
    note = f"{equal} of {len(y)} pairs have equal parameters and count as misses" if equal else ""
    share = float(hits.mean())
    if groups is None:
        return Estimate(share, *wilson(share, len(x), plan.level), len(x), "pairs", plan.level, "Wilson", note)

    def accuracy(weights: Floats) -> Floats:
        return np.asarray((weights * hits).sum(axis=1) / weights.sum(axis=1))

    return bootstrap_estimate(share, accuracy, len(x), plan, groups=groups, note=note)
