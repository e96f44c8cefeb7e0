"""Seeded, vectorised resampling: bootstrap and subsampling weights, and intervals from them.

Shapes: a resample is a row of weights, (D, n): how often each of n sets was drawn. A statistic maps weights (D, n) to
values (D,), see `association`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats, Ints
from analysis.estimate import DRAWS, NO_WIDTH, SEED, Estimate

Statistic: TypeAlias = Callable[[Floats], Floats]

# Weights held at once: 2 million cells are 16 MB, and a statistic makes about ten arrays of that size.
_CELLS = 2_000_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How to bootstrap: ``draws`` resamples of ``size`` units each (None: as many as in the data), from ``seed``.

    0 draws mean no interval. The published interval of Stasaski & Hearst 2022 is ``Bootstrap(draws=1000, size=n //
    2)``; resamples smaller than the data give a wider interval than the data.
    """

    draws: int = DRAWS
    seed: int = SEED
    level: float = 0.95
    size: int | None = None

    def __post_init__(self) -> None:
        if self.draws < 0 or self.draws == 1:
            raise ValueError("an interval needs two draws or more; 0 for none")
        if self.size is not None and self.size < 1:
            raise ValueError("the size of a resample must be 1 or more")
        if not 0 < self.level < 1:
            raise ValueError(f"level must be between 0 and 1, not {self.level}")


def bootstrap_estimate(
    value: float,
    statistic: Statistic,
    n: int,
    plan: Bootstrap,
    *,
    groups: ArrayLike | None = None,
    note: str = "",
) -> Estimate:
    """``value`` with a percentile bootstrap interval of ``statistic`` over n sets, or over ``groups`` of sets.

    ``groups`` (n,) names the unit that repeats, such as the context that several sets share. The bootstrap draws whole
    groups, or sets if None. Resamples with an undefined statistic are left out and counted in the note; if they are
    more than half, the interval is NaN. A NaN ``value`` has no interval.
    """
    codes = group_codes(groups, n)
    unit = "sets" if codes is None else "groups of sets"
    if math.isnan(value) or not plan.draws:
        method = "" if plan.draws else "no interval"
        return Estimate(value, n=n, n_of="sets", level=plan.level, method=method, note=note)
    values = bootstrap_values(statistic, n, plan, codes)
    low, high, lost = quantile_interval(values, plan.level)
    notes = [note] if note else []
    if math.isclose(low, high, rel_tol=0, abs_tol=1e-12):
        notes.append(NO_WIDTH)
    if lost:
        notes.append(f"{lost} of {plan.draws} resamples left the statistic undefined and are not in the interval")
    size = "" if plan.size is None else f" of {plan.size}"
    method = f"percentile bootstrap over {unit}, {plan.draws} resamples{size}"
    return Estimate(value, low, high, n, "sets", plan.level, method, "; ".join(notes))


def quantile_interval(values: Floats, level: float) -> tuple[float, float, int]:
    """The central ``level`` of the values that are not NaN, and how many are NaN; NaN bounds if more than half are."""
    defined = values[~np.isnan(values)]
    lost = len(values) - len(defined)
    if 2 * len(defined) < len(values) or not len(defined):
        return math.nan, math.nan, lost
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high), lost


def group_codes(groups: ArrayLike | None, n: int) -> Ints | None:
    """Groups as numbers 0 … G−1, (n,). ValueError unless there are n of them, in two groups or more."""
    if groups is None:
        return None
    names = np.asarray(groups)
    if names.shape != (n,):
        raise ValueError(f"groups must name one group for each of the {n} sets, not have shape {names.shape}")
    _, codes = np.unique(names.astype(str), return_inverse=True)
    if codes.max() == 0:
        raise ValueError("all sets are in one group: there is nothing to resample")
    return codes.astype(np.int64)


def context_groups(contexts: Sequence[str]) -> list[str] | None:
    """What to resample: whole contexts if some have several sets; None (single sets) if none or all share one.

    The report and the command line use this rule. A set without a context forms a separate group.
    """
    names = [f"context {context}" if context else f"set {index}" for index, context in enumerate(contexts)]
    return names if 1 < len(set(names)) < len(names) else None


def in_order(x: Floats, y: Floats, groups: ArrayLike | None) -> tuple[Floats, Floats, ArrayLike | None]:
    """Rows (n,) in a canonical order: the same rows and seed give the same draws, however a file is sorted."""
    names = None if groups is None else np.asarray(groups).astype(str)
    if names is not None and names.shape != x.shape:
        return x, y, groups
    order = np.lexsort((x, y) if names is None else (x, y, names))
    return x[order], y[order], None if names is None else names[order]


def bootstrap_weights(n: int, size: int, draws: int, rng: np.random.Generator) -> Floats:
    """Counts of each of n units in ``draws`` samples of ``size`` with replacement, (draws, n)."""
    drawn = rng.integers(n, size=(draws, size)) + n * np.arange(draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=draws * n).reshape(draws, n).astype(float)


def subsample_indices(n: int, size: int, draws: int, rng: np.random.Generator) -> Ints:
    """``draws`` samples of ``size`` of n units without replacement, (draws, size). ValueError: size above n."""
    if not 1 <= size <= n:
        raise ValueError(f"cannot draw {size} of {n} without replacement")
    keys = rng.random((draws, n))
    if size == n:
        return np.argsort(keys, axis=1)
    return np.argpartition(keys, size - 1, axis=1)[:, :size]


def bootstrap_values(statistic: Statistic, n: int, plan: Bootstrap, codes: Ints | None) -> Floats:
    """The statistic in each of the plan's resamples, (draws,). The same seed gives the same values."""
    rng = np.random.default_rng(plan.seed)
    units = n if codes is None else int(codes.max()) + 1
    step = max(1, _CELLS // n)
    parts = []
    for start in range(0, plan.draws, step):
        weights = bootstrap_weights(units, plan.size or units, min(step, plan.draws - start), rng)
        parts.append(statistic(weights if codes is None else weights[:, codes]))
    return np.concatenate(parts)
