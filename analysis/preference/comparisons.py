"""Comparisons of systems, from ratings of samples that were shown together.

Each pair of samples that one worker rated in one task makes a comparison: the sample with the higher rating wins, equal
ratings tie. Source: Zhang et al. 2020, §4.1 and appendix A. Shapes: N ratings, M comparisons, S systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats, Ints
from analysis.estimate import Estimate
from analysis.inference import LEAST_CLUSTERS, Dimensions, Figures, Ranking, ranked_figures, ratios

#: The least and the largest difference of two scores.
APART = (-2.0, 2.0)


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
    rated_rows = np.nonzero(~np.isnan(rated))[0]
    # All unordered pairs of rows of one task, and how many tasks have one row alone.
    rated_tasks = task_codes[rated_rows]
    by_task = np.argsort(rated_tasks, kind="stable")
    _, starts, sizes = np.unique(rated_tasks[by_task], return_index=True, return_counts=True)
    lefts, rights = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        first, second = np.triu_indices(int(size), 1)
        begins = starts[sizes == size][:, None]
        lefts.append(by_task[(begins + first).ravel()])
        rights.append(by_task[(begins + second).ravel()])
    alone = int((sizes == 1).sum())
    left, right = rated_rows[np.concatenate(lefts)], rated_rows[np.concatenate(rights)]
    of_two_systems = codes[left] != codes[right]
    if not of_two_systems.any():
        raise ValueError("no task has ratings of two systems")
    same = int((~of_two_systems).sum())
    left, right = left[of_two_systems], right[of_two_systems]
    outcome = np.sign(rated[left] - rated[right])
    columns = (codes[left].astype(np.int64), codes[right].astype(np.int64), outcome, left, right)
    return Comparisons(tuple(listed), *columns, same, alone)


def comparisons_from_choices(first: ArrayLike, second: ArrayLike, choices: ArrayLike) -> Comparisons:
    """Comparisons from forced choices between two systems, all (M,): 1 for the first, −1 for the second, 0 for neither.

    A choice that is NaN, or between a system and itself, is left out. ValueError: a value other than −1, 0 or 1; no
    comparison is left.
    """
    first_names, second_names = np.asarray(first), np.asarray(second)
    outcome = np.asarray(choices, dtype=float)
    if (invalid := outcome[~np.isin(outcome, (-1, 0, 1)) & ~np.isnan(outcome)]).size:
        raise ValueError(f"a choice is 1, 0 or −1, not {invalid[0]:g}")
    listed, codes = _sorted_codes(np.concatenate([first_names, second_names]))
    rows = np.nonzero((first_names != second_names) & ~np.isnan(outcome))[0]
    if not len(rows):
        raise ValueError("there is no choice between two systems")
    first_codes, second_codes = codes[: len(first_names)][rows], codes[len(first_names) :][rows]
    same = int(((first_names == second_names) & ~np.isnan(outcome)).sum())
    return Comparisons(tuple(listed), first_codes, second_codes, outcome[rows], rows, rows, same)


def comparison_dimensions(
    comparisons: Comparisons, *, workers: ArrayLike, texts: ArrayLike, contexts: ArrayLike | None = None
) -> Dimensions:
    """How comparisons of rated texts belong together. All (N,): the worker, text and context of every rating.

    Workers are one dimension. The other is the contexts, if there are five or more: new contexts bring new texts, so
    they carry the texts' effects. With fewer contexts, or none, it is the texts, and figures are about these contexts.
    A comparison belongs to both of its texts or contexts.
    """
    context_names = None if contexts is None else np.asarray(contexts)
    by_context = context_names is not None and len(set(context_names.tolist())) >= LEAST_CLUSTERS
    names = context_names if by_context and context_names is not None else np.asarray(texts)
    pair_names = np.stack([names[comparisons.left], names[comparisons.right]], axis=1)
    items = pair_names[:, 0] if (pair_names[:, 0] == pair_names[:, 1]).all() else pair_names
    of_worker = np.asarray(workers)[comparisons.left]
    return Dimensions.of(**{"contexts" if by_context else "texts": items, "workers": of_worker})


@dataclass(frozen=True)
class SystemScores:
    """Mean outcomes of systems with their intervals. ``pairs`` counts each system's comparisons.

    ``ranking`` has the ranks and the corrected p of differences, in the order of ``systems``.
    """

    systems: tuple[str, ...]
    estimates: dict[str, Estimate]
    pairs: dict[str, int]
    figures: Figures
    ranking: Ranking

    def difference(self, first: str, second: str, *, level: float | None = None) -> Estimate:
        """The first system's score minus the second's; ``level`` of the interval: that of the scores by default.

        ValueError: no such system.
        """
        at = [self.systems.index(name) for name in (first, second)]
        return self.figures.contrast(self.figures.weights_of(*at), bounds=APART, level=level)

    def p_difference(self, first: str, second: str) -> float:
        """Two-sided p of their difference, uncorrected. ValueError: no such system."""
        at = [self.systems.index(name) for name in (first, second)]
        return self.figures.p_difference(*at, bounds=APART, cautious=True)


def system_scores(comparisons: Comparisons, dimensions: Dimensions, *, level: float = 0.95) -> SystemScores:
    """Each system's mean outcome over its ordered pairs, from −1 (always worse) to 1 (always better).

    A comparison counts for both systems, once with either sign, so scores weighted by ``pairs`` sum to 0.
    ``dimensions`` (M,) say which comparisons belong together: see `comparison_dimensions`. ValueError: another length.
    """
    if len(dimensions) != len(comparisons):
        raise ValueError(f"the dimensions must name the clusters of each of the {len(comparisons)} comparisons")
    rows, shape = np.arange(len(comparisons)), (len(comparisons), len(comparisons.systems))
    sums, counts = np.zeros(shape), np.zeros(shape)
    for side, sign in ((comparisons.first, 1.0), (comparisons.second, -1.0)):
        sums[rows, side], counts[rows, side] = sign * comparisons.outcome, 1.0
    figures = replace(ratios(sums, counts, dimensions, level=level), own_side=own_sides(comparisons))
    names = comparisons.systems
    estimates = {name: figures.estimate(index, bounds=(-1, 1)) for index, name in enumerate(names)}
    pairs = dict(zip(names, counts.sum(axis=0).astype(int).tolist(), strict=True))
    return SystemScores(names, estimates, pairs, figures, ranked_figures(figures, bounds=APART))


def own_sides(comparisons: Comparisons) -> Ints:
    """Which side of each comparison is each system's own, (M, S): 0 for the first, 1 for the second."""
    sides = np.zeros((len(comparisons), len(comparisons.systems)), dtype=np.int64)
    sides[np.arange(len(comparisons)), comparisons.second] = 1
    return sides


def outcome_table(comparisons: Comparisons) -> pd.DataFrame:
    """Wins, ties and losses of each pair of systems that met: ``first``, ``second`` (in order of names), ``wins`` (of
    the first), ``ties``, ``losses``, ``score`` (the first's mean outcome)."""
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
    array = np.asarray(names)
    codes, distinct = pd.factorize(array if array.dtype.kind in "iuO" else array.astype(object))
    if (codes < 0).any():
        raise ValueError("a system has no name")
    texts = distinct.astype(str)
    order = np.argsort(texts)
    return [str(name) for name in texts[order]], np.argsort(order)[codes]
