"""Scores of groups of workers (arms), and how much two groups differ.

Workers are assigned to arms, so intervals resample workers: within each arm, independently of the others (two-sample
bootstrap, Efron & Tibshirani 1993, §8.3; expanded percentile interval, Hesterberg 2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.description import Score
from analysis.diversity.association import Floats
from analysis.diversity.resampling import Bootstrap, bootstrap_weights, expanded_level_of, quantile_interval
from analysis.estimate import Estimate
from analysis.scores import prepared_ratings

_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class ArmMean:
    """The mean over items of an arm's scores; ``draws`` are the same mean in resamples of its ``workers``."""

    value: float
    draws: Floats
    workers: int
    items: int


def arm_mean(ratings: pd.DataFrame, score: Score, *, plan: Bootstrap) -> ArmMean:
    """The mean over items of `analysis.scores.item_scores`, from one arm's ratings (with the same columns).

    Every item that the arm rated counts the same. In a resample, an item counts if a drawn worker rated it. NaN without
    ratings. Give each arm a plan with a different seed, because arms are resampled independently.
    """
    rated = prepared_ratings(ratings, score)
    workers, names = pd.factorize(rated["worker"])
    if not len(names):
        return ArmMean(math.nan, np.empty(0), 0, 0)
    parts = rated.groupby(["item", "target"], sort=False).ngroup().to_numpy()
    first = rated.assign(part=parts).drop_duplicates("part")
    items, item_names = pd.factorize(first["item"])
    shape = (len(names), len(first))
    sums = sparse.csr_array((rated["value"].to_numpy(), (workers, parts)), shape=shape)
    counts = sparse.csr_array((np.ones(len(rated)), (workers, parts)), shape=shape)
    to_items = sparse.csr_array((np.ones(len(items)), (np.arange(len(items)), items)))

    def mean(weights: Floats) -> Floats:
        n, total = np.asarray(weights @ counts), np.asarray(weights @ sums)
        means = np.divide(total, n, out=np.zeros(n.shape), where=n > 0)
        n_parts, of_items = np.asarray((n > 0).astype(float) @ to_items), np.asarray(means @ to_items)
        scores = np.divide(of_items, n_parts, out=np.zeros(n_parts.shape), where=n_parts > 0)
        return np.asarray(score.sign * scores.sum(axis=1) / (n_parts > 0).sum(axis=1))

    rng = np.random.default_rng(plan.seed)
    step = max(1, _CELLS // max(shape))
    sizes = [min(step, plan.draws - start) for start in range(0, plan.draws, step)]
    draws = np.concatenate([mean(bootstrap_weights(len(names), len(names), size, rng)) for size in sizes])
    return ArmMean(float(mean(np.ones((1, len(names))))[0]), draws, len(names), len(item_names))


def arm_estimate(arm: ArmMean, *, plan: Bootstrap) -> Estimate:
    """The arm's mean with its interval. A single worker gives no interval."""
    return _estimate(arm.value, arm.draws, [arm], plan)


def arm_difference(first: ArmMean, second: ArmMean, *, plan: Bootstrap) -> Estimate:
    """The first arm's mean minus the second's; no interval if either arm has only one worker."""
    draws = first.draws - second.draws if len(first.draws) == len(second.draws) else np.empty(0)
    return _estimate(first.value - second.value, draws, [first, second], plan)


def _estimate(value: float, draws: Floats, arms: Sequence[ArmMean], plan: Bootstrap) -> Estimate:
    workers = sum(arm.workers for arm in arms)
    if math.isnan(value):
        return Estimate(math.nan, n=workers, n_of="workers", level=plan.level, note="there are no ratings")
    if min(arm.workers for arm in arms) < 2:
        return Estimate(value, n=workers, n_of="workers", level=plan.level, note="no interval from a single worker")
    level = expanded_level_of(plan.level, [(arm.draws, arm.workers) for arm in arms])
    low, high, _ = quantile_interval(draws, level)
    method = f"expanded percentile bootstrap over workers, {plan.draws} resamples"
    return Estimate(value, low, high, workers, "workers", plan.level, method)
