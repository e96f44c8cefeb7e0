"""Comparisons of systems, from ratings of samples that were shown together.

Every two samples that one worker rated in one task make a comparison: the sample with the higher rating wins, equal
ratings tie. Source: Zhang et al. 2020, §4.1 and appendix A. Shapes: N ratings, M comparisons, S systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats, Ints
from analysis.diversity.resampling import Bootstrap, bootstrap_values, quantile_interval
from analysis.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Comparisons:
    """M comparisons of two systems, each once. All arrays have the shape (M,).

    ``first`` and ``second`` are indices of ``systems``; ``outcome`` is 1 (the first won), 0 (tie) or −1. ``left`` and
    ``right`` are the rows of the two ratings, so ``workers[comparisons.left]`` has each comparison's worker.
    ``same_system`` counts pairs of samples of one system, which are left out; ``alone`` counts tasks with one rating.
    """

    systems: tuple[str, ...]
    first: Ints
    second: Ints
    outcome: Floats
    left: Ints
    right: Ints
    same_system: int = 0
    alone: int = 0

    def __len__(self) -> int:
        return len(self.outcome)


def comparisons_from_ratings(tasks: ArrayLike, systems: ArrayLike, values: ArrayLike) -> Comparisons:
    """All comparisons within tasks, from N ratings.

    ``tasks`` (N,) names who rated what together: one worker on one task, such as a submission. ``values`` (N,) are
    numbers, higher is better; NaN is left out. Systems are in the order of their names. ValueError: lengths differ; an
    infinite value; a system without a name; no comparison is left.
    """
    names, rated = np.asarray(systems), np.asarray(values, dtype=float)
    task_codes, _ = pd.factorize(np.asarray(tasks))
    if not len(task_codes) == len(names) == len(rated):
        raise ValueError("tasks, systems and values must be of equal length")
    if np.isinf(rated).any():
        raise ValueError("a rating is infinite")
    listed, codes = _sorted_codes(names)
    known = np.nonzero(~np.isnan(rated))[0]
    left, right, alone = _pairs_within(task_codes[known])
    left, right = known[left], known[right]
    apart = codes[left] != codes[right]
    if not apart.any():
        raise ValueError("no task has ratings of two systems")
    same = int((~apart).sum())
    left, right = left[apart], right[apart]
    outcome = np.sign(rated[left] - rated[right])
    found = (codes[left].astype(np.int64), codes[right].astype(np.int64), outcome, left, right)
    return Comparisons(tuple(listed), *found, same, alone)


def comparisons_from_choices(first: ArrayLike, second: ArrayLike, choices: ArrayLike) -> Comparisons:
    """Comparisons from forced choices between two systems, all (M,): 1 for the first, −1 for the second, 0 for neither.

    A choice that is NaN, or between a system and itself, is left out. ValueError: a value other than −1, 0 or 1; no
    comparison is left.
    """
    one, two = np.asarray(first), np.asarray(second)
    outcome = np.asarray(choices, dtype=float)
    if (strange := outcome[~np.isin(outcome, (-1, 0, 1)) & ~np.isnan(outcome)]).size:
        raise ValueError(f"a choice is 1, 0 or −1, not {strange[0]:g}")
    listed, codes = _sorted_codes(np.concatenate([one, two]))
    kept = np.nonzero((one != two) & ~np.isnan(outcome))[0]
    if not len(kept):
        raise ValueError("there is no choice between two systems")
    first_codes, second_codes = codes[: len(one)][kept], codes[len(one) :][kept]
    same = int(((one == two) & ~np.isnan(outcome)).sum())
    return Comparisons(tuple(listed), first_codes, second_codes, outcome[kept], kept, kept, same)


@dataclass(frozen=True)
class SystemScores:
    """Mean outcomes of systems. ``draws`` (D, S) are the scores in the resamples, in the order of ``systems``."""

    systems: tuple[str, ...]
    estimates: dict[str, Estimate]
    pairs: dict[str, int]
    draws: Floats
    level: float

    def difference(self, one: str, two: str) -> Estimate:
        """The first system's score minus the second's, from the same resamples. KeyError: no such system."""
        value = self.estimates[one].value - self.estimates[two].value
        apart = self.draws[:, self.systems.index(one)] - self.draws[:, self.systems.index(two)]
        first = self.estimates[one]
        units = min(first.n, self.estimates[two].n)
        low, high, _ = quantile_interval(apart, self.level, units=units) if len(apart) else (math.nan, math.nan, 0)
        return Estimate(value, low, high, first.n, first.n_of, self.level, first.method)


def system_scores(comparisons: Comparisons, clusters: ArrayLike, *, plan: Bootstrap, n_of: str) -> SystemScores:
    """Each system's mean outcome over its ordered pairs, from −1 (always worse) to 1 (always better).

    A comparison counts for both systems, once with either sign, so scores weighted by ``pairs`` sum to 0. The bootstrap
    draws whole ``clusters`` (M,), such as tasks or workers, which ``n_of`` names; one cluster gives no interval.
    Intervals are expanded for the clusters in which a system is (Hesterberg 2015). ValueError: ``clusters`` has another
    length.
    """
    codes, names = pd.factorize(np.asarray(clusters))
    if len(codes) != len(comparisons):
        raise ValueError(f"clusters must name one cluster for each of the {len(comparisons)} comparisons")
    many = len(comparisons.systems)
    flat, sizes = np.zeros(len(names) * many), np.zeros(len(names) * many)
    for side, sign in ((comparisons.first, 1.0), (comparisons.second, -1.0)):
        cells = codes * many + side
        flat += np.bincount(cells, sign * comparisons.outcome, len(flat))
        sizes += np.bincount(cells, minlength=len(sizes))
    sums, counts = flat.reshape(-1, many), sizes.reshape(-1, many)

    def scores(weights: Floats) -> Floats:
        n = weights @ counts
        return np.asarray(np.divide(weights @ sums, n, out=np.full(n.shape, math.nan), where=n > 0))

    values = scores(np.ones((1, len(names))))[0]
    enough = len(names) > 1 and plan.draws > 0
    draws = bootstrap_values(scores, len(names), plan, None) if enough else np.empty((0, many))
    method = f"expanded percentile bootstrap over {n_of}, {plan.draws} resamples" if enough else "no interval"
    used = (counts > 0).sum(axis=0)
    estimates = {}
    for at, name in enumerate(comparisons.systems):
        found = quantile_interval(draws[:, at], plan.level, units=int(used[at])) if enough else (math.nan, math.nan, 0)
        low, high, _ = found
        estimates[name] = Estimate(float(values[at]), low, high, int(used[at]), n_of, plan.level, method)
    pairs = dict(zip(comparisons.systems, counts.sum(axis=0).astype(int).tolist(), strict=True))
    return SystemScores(comparisons.systems, estimates, pairs, draws, plan.level)


def outcome_table(comparisons: Comparisons) -> pd.DataFrame:
    """Wins, ties and losses of each two systems that met: ``first``, ``second`` (in order of names), ``wins`` (of the
    first), ``ties``, ``losses``, ``score`` (the first's mean outcome)."""
    swap = comparisons.first > comparisons.second
    low = np.where(swap, comparisons.second, comparisons.first)
    high = np.where(swap, comparisons.first, comparisons.second)
    outcome = np.where(swap, -comparisons.outcome, comparisons.outcome)
    frame = pd.DataFrame({"low": low, "high": high, "win": outcome == 1, "tie": outcome == 0, "loss": outcome == -1})
    counts = frame.groupby(["low", "high"], sort=True).sum().reset_index()
    names = np.array(comparisons.systems, dtype=object)
    wins, ties, losses = (counts[name].to_numpy(dtype=int) for name in ("win", "tie", "loss"))
    return pd.DataFrame(
        {
            "first": names[counts["low"]],
            "second": names[counts["high"]],
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "score": (wins - losses) / (wins + ties + losses),
        }
    )


def ranked(estimates: dict[str, Estimate]) -> Sequence[str]:
    """The names, best first; equal values in the order of their names."""
    return sorted(estimates, key=lambda name: (-estimates[name].value, name))


def _sorted_codes(names: ArrayLike) -> tuple[Sequence[str], Ints]:
    """The different names in order, and each row's index of it. Hashing millions of texts is faster than sorting."""
    given = np.asarray(names)
    codes, found = pd.factorize(given if given.dtype.kind in "iuO" else given.astype(object))
    if (codes < 0).any():
        raise ValueError("a system has no name")
    texts = found.astype(str)
    order = np.argsort(texts)
    return [str(name) for name in texts[order]], np.argsort(order)[codes]


def _pairs_within(codes: Ints) -> tuple[Ints, Ints, int]:
    """Positions of all unordered pairs with one code, and how many codes have one position alone."""
    order = np.argsort(codes, kind="stable")
    _, starts, sizes = np.unique(codes[order], return_index=True, return_counts=True)
    left, right = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        one, two = np.triu_indices(int(size), 1)
        begins = starts[sizes == size][:, None]
        left.append(order[(begins + one).ravel()])
        right.append(order[(begins + two).ravel()])
    return np.concatenate(left), np.concatenate(right), int((sizes == 1).sum())
