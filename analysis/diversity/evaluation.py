"""How well a score of sets measures diversity: decTest and conTest.

Shapes: one score and one label per set, both (n,). Scores come from a metric or from people (HDS); labels are the
diversity parameter of the sets (decTest: temperature, k of top-k; conTest: two classes). Missing values raise an error
and are never dropped: choose the sets first. Source: Tevet & Berant 2021 (decTest; conTest: §6.4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats, pearson_draws, spearman_draws
from analysis.diversity.checks import (
    CONSTANT_SCORES,
    LabelError,
    high_class,
    is_constant,
    note_on_ranks,
    paired_columns,
)
from analysis.diversity.oca import Threshold, oca_estimate
from analysis.diversity.resampling import (
    Bootstrap,
    bootstrap_estimate,
    in_order,
    quantile_interval,
    subsample_indices,
)
from analysis.estimate import SEED, Estimate


@dataclass(frozen=True, slots=True)
class DecTest:
    """ρ and r of the scores with the diversity parameter."""

    spearman: Estimate
    pearson: Estimate


@dataclass(frozen=True, slots=True)
class Subsampled:
    """Mean (``value``), middle 95% (``low``, ``high``) and s.d. (ddof = 1) over repeated subsamples."""

    spearman: Estimate
    spearman_sd: float
    pearson: Estimate
    pearson_sd: float


@dataclass(frozen=True, slots=True)
class ConTest:
    """ρ of the scores with the class, OCA with the threshold that reaches it, and the numbers of sets by class."""

    rho: Estimate
    oca: Estimate
    threshold: Threshold
    n_low: int
    n_high: int


def dec_test(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    log10: bool = False,
    plan: Bootstrap | None = None,
    groups: ArrayLike | None = None,
) -> DecTest:
    """Spearman's ρ and Pearson's r of scores (n,) with the diversity parameter (n,), −1 to 1, each with its
    interval.

    ``log10`` takes the base-10 logarithm of the labels first (top-k; it changes r, not ρ). Ties get average ranks.
    Intervals are percentile bootstraps over sets, or over whole ``groups`` (n,) of sets. Constant scores give NaN with
    a note.

    Raises ValueError for fewer than 3 sets, unequal lengths, NaN or infinity, constant labels, labels ≤ 0 with
    ``log10``. Source: Tevet & Berant 2021, decTest.
    """
    plan = plan or Bootstrap()
    x, y = _parameter_test(scores, labels, log10=log10)
    x, y, groups = in_order(x, y, groups)
    ones = np.ones((1, len(x)))
    note = CONSTANT_SCORES if is_constant(x) else ""
    of_ranks = note_on_ranks(x, y)

    def spearman(weights: Floats) -> Floats:
        return spearman_draws(x, y, weights)

    def pearson(weights: Floats) -> Floats:
        return pearson_draws(x, y, weights)

    return DecTest(
        bootstrap_estimate(float(spearman(ones)[0]), spearman, len(x), plan, groups=groups, note=of_ranks),
        bootstrap_estimate(float(pearson(ones)[0]), pearson, len(x), plan, groups=groups, note=note),
    )


def subsampled(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    size: int = 200,
    repeats: int = 100,
    seed: int = SEED,
    level: float = 0.95,
    log10: bool = False,
) -> Subsampled:
    """Mean and s.d. of ρ and r over ``repeats`` subsamples of ``size`` of the n sets, each without
    replacement.

    As published: 200 of 1,000 sets, 100 times. The s.d. is that of a study of ``size`` sets only if ``size`` is small
    compared with n; at size = n all subsamples are the same and it is 0. Shapes, ties and errors as in `dec_test`;
    ValueError also for size < 3 or > n or fewer than two repeats.
    """
    x, y, _ = in_order(*_parameter_test(scores, labels, log10=log10), None)
    if not 3 <= size <= len(x) or repeats < 2:
        raise ValueError(f"needs a size from 3 to {len(x)} and 2 or more repeats, not {size} and {repeats}")
    drawn = subsample_indices(len(x), size, repeats, np.random.default_rng(seed))
    method = f"{repeats} subsamples of {size} without replacement"
    spreads = []
    for correlate in (spearman_draws, pearson_draws):
        values = correlate(x[drawn], y[drawn], np.ones(drawn.shape))
        defined = values[~np.isnan(values)]
        low, high, lost = quantile_interval(values, level)
        note = f"undefined in {lost} of {repeats} subsamples" if lost else ""
        mean = float(defined.mean()) if len(defined) else math.nan
        sd = float(defined.std(ddof=1)) if len(defined) > 1 else math.nan
        spreads.append((Estimate(mean, low, high, len(x), "sets", level, method, note), sd))
    return Subsampled(*spreads[0], *spreads[1])


def con_test(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    plan: Bootstrap | None = None,
    groups: ArrayLike | None = None,
    either: bool = False,
) -> ConTest:
    """Spearman's ρ of scores (n,) with a binary label (n,), and the optimal classification accuracy (OCA).

    ``labels`` contain exactly two different numbers; the larger is "high". ρ runs from −1 to 1 (ties get average
    ranks), OCA from the larger class's share to 1; OCA's interval and its optimism: `oca_estimate`. Both intervals
    resample sets, or whole ``groups`` (n,): pass the contexts if each has a low and a high set, because these are not
    independent. ``either``: thresholds in both directions. Constant scores: ρ is NaN with a note, OCA the larger
    class's share.

    Raises ValueError for fewer than 3 sets, unequal lengths, NaN or infinity, one class or more than two. Source: Tevet
    & Berant 2021, §6.4 (conTest).
    """
    plan = plan or Bootstrap()
    x, y, groups = in_order(*paired_columns(scores, labels), groups)
    high = high_class(y)

    def rho(weights: Floats) -> Floats:
        return spearman_draws(x, high.astype(float), weights)

    value = float(rho(np.ones((1, len(x))))[0])
    note = note_on_ranks(x, y)
    oca, threshold = oca_estimate(x, y, plan=plan, groups=groups, either=either)
    return ConTest(
        bootstrap_estimate(value, rho, len(x), plan, groups=groups, note=note),
        oca,
        threshold,
        n_low=int((~high).sum()),
        n_high=int(high.sum()),
    )


def _parameter_test(scores: ArrayLike, labels: ArrayLike, *, log10: bool) -> tuple[Floats, Floats]:
    x, y = paired_columns(scores, labels)
    if log10:
        if (y <= 0).any():
            raise LabelError(f"labels must be above 0 to take their logarithm; the lowest is {y.min():g}")
        y = np.log10(y)
    if is_constant(y):
        raise LabelError("all labels are the same, so there is no parameter to correlate with")
    return x, y
