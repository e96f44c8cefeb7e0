"""Levels of a factor compared on one criterion: means, differences, effects, ranks, and which levels do not differ.

Everything is about new items (or contexts) and new workers: see `analysis.inference`. Shapes: N answers, L levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from analysis.estimate import Estimate
from analysis.findings.answers import Answers, Codes, Flags, names_in_words
from analysis.findings.letters import clusters_of, letters_of_tests
from analysis.inference import LEAST_CLUSTERS, LevelFigures, bounds_of_difference, holm, ranked_figures
from analysis.inference.sign_flip import sign_flip_p
from common.words import counted

#: With more levels there would be hundreds of differences, of which Holm's correction leaves next to nothing.
MOST_LEVELS = 30


@dataclass(frozen=True, slots=True)
class LevelResult:
    """One level. ``mean``: every item counts the same. ``rank``: among all levels, with the best and worst that the
    data allow; ``cluster`` from 1 for the best; levels that share one of the
    ``letters`` do not differ significantly, and a level without a test has none.
    ``standardised``: the mean in standard deviations within workers; None where that says nothing."""

    name: str
    mean: Estimate
    answers: int
    items: int
    workers: int
    rank: tuple[int, int, int]
    cluster: int
    letters: str
    standardised: Estimate | None


@dataclass(frozen=True, slots=True)
class Difference:
    """The first level's mean minus the second's. ``p`` tests that there is none; ``p_corrected`` by Holm's method over
    the family, which is all differences of the comparison.

    ``effect``: Cohen's d. ``equivalent_within``: the smallest margin within which two one-sided tests at 5% show the
    levels to be equivalent; ``p_equivalent``: their p for the margin that was asked for, else NaN.
    ``standardised``: the difference in standard deviations within workers. ``p_these_workers``: where there are too few
    workers for ``p``, that of a sign-flip test over items or contexts with both levels, which is about new items and
    these workers; else NaN. It is corrected like ``p``.
    """

    first: str
    second: str
    difference: Estimate
    p: float
    p_corrected: float
    effect: Estimate
    equivalent_within: float
    p_equivalent: float
    standardised: Estimate | None
    p_these_workers: float = math.nan


@dataclass(frozen=True)
class Comparison:
    """``levels`` from the largest mean down. ``reference``: what the others are compared with; empty: all pairs.
    ``figures`` has the means in the order of ``names``."""

    levels: tuple[LevelResult, ...]
    differences: tuple[Difference, ...]
    reference: str
    names: tuple[str, ...]
    figures: LevelFigures
    notes: tuple[str, ...]
    margin: float | None = None

    def freedom(self, first: str, second: str) -> float:
        """The degrees of freedom of the difference of two levels. ValueError: no such level."""
        at = [self.names.index(name) for name in (first, second)]
        return self.figures.spread(self.figures.weights_of(*at)).freedom

    @cached_property
    def family(self) -> str:
        """What Holm's correction covers, in words."""
        count = len(self.differences)
        pairs = "all pairs of levels" if not self.reference else f"all differences from {self.reference}"
        return f"{pairs}, {count}"


def compare_levels(
    answers: Answers,
    levels: Codes,
    names: Sequence[str],
    *,
    reference: str = "",
    margin: float | None = None,
    level: float = 0.95,
) -> Comparison:
    """Compare the L levels ``names``; ``levels`` (N,) are their codes, −1 for answers of none, which are left out.

    ValueError: fewer than two levels with answers, more than MOST_LEVELS, a reference that is none of them.
    """
    used = levels >= 0
    if not used.all():
        answers, levels = answers.chosen(used), levels[used]
    check_levels(levels, names, reference)
    present = present_codes(levels)
    names = [names[code] for code in present]
    levels = np.searchsorted(present, levels)
    figures = answers.known_means(levels, len(names), level=level)
    rated_by = levels_of_clusters(answers.workers, levels, len(names))
    shared = pairs_together(rated_by)
    standard = standardised_figures(answers, levels, rated_by, level)
    results = results_of(figures, standard, levels, names, answers, shared)
    order = [names.index(result.name) for result in results]
    pairs = list(combinations(order, 2))
    if reference:
        base = names.index(reference)
        pairs = [(index, base) for index in order if index != base]
    differences = differences_of(figures, standard, pairs, names, answers, margin, shared)
    if np.count_nonzero(np.bincount(answers.workers)) < LEAST_CLUSTERS and not answers.own:
        flipped = holm([paired_p(answers, levels, first, second) for first, second in pairs]).tolist()
        differences = [replace(pair, p_these_workers=p) for pair, p in zip(differences, flipped, strict=True)]
    notes = tuple(notes_on(answers, levels, names, standard, shared))
    figures.free_sums()
    return Comparison(results, tuple(differences), reference, tuple(names), figures, notes, margin)


def results_of(
    figures: LevelFigures,
    standard: LevelFigures | None,
    levels: Codes,
    names: Sequence[str],
    answers: Answers,
    shared: set[tuple[int, int]],
) -> tuple[LevelResult, ...]:
    """Every level from the largest mean down, with ranks, clusters and letters from all pairs.

    ``shared``: the pairs of levels that some worker rated both of; a level in none of them has no standardised mean.
    """
    ranking = ranked_figures(figures, bounds=bounds_of_difference(answers.bounds))
    order = sorted(range(len(names)), key=lambda index: (-figures.means[index], names[index]))
    alpha = 1 - figures.level
    clusters, letters = clusters_of(order, ranking.p < alpha), letters_of_tests(order, ranking.p, alpha)
    item_counts, worker_counts = (
        [int(np.count_nonzero(np.bincount(codes[rows]))) for rows in figures.design.rows_of_levels]
        for codes in (answers.items, answers.workers)
    )
    return tuple(
        LevelResult(
            names[index],
            figures.estimate(index, bounds=answers.bounds),
            int(figures.answer_counts[index]),
            item_counts[index],
            worker_counts[index],
            ranking.ranks[index],
            clusters[index],
            letters[index],
            standard.estimate(index) if standard is not None and any(index in pair for pair in shared) else None,
        )
        for index in order
    )


def check_levels(levels: Codes, names: Sequence[str], reference: str) -> None:
    """ValueError: what `compare_levels` refuses."""
    present = [names[code] for code in present_codes(levels)]
    if len(present) < 2:
        only = f"all answers have the level {present[0]}" if present else "no answer has a level"
        raise ValueError(f"{only}: there is nothing to compare")
    if len(present) > MOST_LEVELS:
        raise ValueError(f"there are {len(present)} levels, and at most {MOST_LEVELS} can be compared")
    if reference and reference not in present:
        raise ValueError(f"the reference {reference} is no level with answers; there are {', '.join(present[:12])}")


def standardised_figures(answers: Answers, levels: Codes, rated_by: Flags, level: float) -> LevelFigures | None:
    """The means of answers standardised within workers. ``rated_by`` (G × L): which levels each worker rated.

    None if no worker answered about two levels: then the workers' means would take the difference away.
    """
    if rated_by.sum(axis=1).max() == 1:
        return None
    scores, varies = answers.standardised()
    if not len(scores):
        return None
    return scores.means(levels if varies.all() else levels[varies], rated_by.shape[1], level=level)


def differences_of(
    figures: LevelFigures,
    standard: LevelFigures | None,
    pairs: Sequence[tuple[int, int]],
    names: Sequence[str],
    answers: Answers,
    margin: float | None,
    shared: set[tuple[int, int]],
) -> list[Difference]:
    """``shared``: the pairs of levels that some worker rated both of; others have no standardised difference."""
    bounds = bounds_of_difference(answers.bounds)
    tests = [figures.p_difference(first, second, bounds=bounds) for first, second in pairs]
    return [
        Difference(
            names[first],
            names[second],
            figures.difference(first, second, bounds=bounds),
            p,
            p_corrected,
            figures.effect(first, second),
            equivalence_margin(figures, first, second),
            math.nan if margin is None else figures.p_equivalent(first, second, margin),
            standard.difference(first, second)
            if standard is not None and tuple(sorted((first, second))) in shared
            else None,
        )
        for (first, second), p, p_corrected in zip(pairs, tests, holm(tests).tolist(), strict=True)
    ]


def paired_p(answers: Answers, levels: Codes, first: int, second: int) -> float:
    """p of a sign-flip test of the differences of two levels within contexts (or items) that have both."""
    means = []
    for level in (first, second):
        rows = levels == level
        contexts = answers.contexts[rows]
        sums = np.bincount(contexts, answers.values[rows], int(answers.contexts.max()) + 1)
        counts = np.bincount(contexts, minlength=len(sums))
        means.append(np.divide(sums, counts, out=np.full(len(sums), math.nan), where=counts > 0))
    differences = means[0] - means[1]
    return sign_flip_p(differences[~np.isnan(differences)])


def equivalence_margin(figures: LevelFigures, first: int, second: int) -> float:
    """The larger end of the 90% interval, without its sign: two one-sided tests at 5% succeed for any wider margin."""
    interval = figures.contrast(figures.weights_of(first, second), level=0.9)
    return max(abs(interval.low), abs(interval.high))


def notes_on(
    answers: Answers,
    levels: Codes,
    names: Sequence[str],
    standard: LevelFigures | None,
    shared: set[tuple[int, int]],
) -> list[str]:
    """What a reader must know about how the levels were rated. ``shared``: the pairs of levels that some worker rated
    both of."""
    notes = []
    pairs = list(combinations(range(len(names)), 2))
    apart = [pair for pair in pairs if pair not in shared]
    if len(apart) == len(pairs):
        notes.append("No worker rated two levels, so how workers differ is part of every difference.")
        if not answers.own and not pairs_together(levels_of_clusters(answers.contexts, levels, len(names))):
            notes.append(
                "No item or context has two levels either: a difference between levels may be one between their items."
            )
    elif apart:
        named = names_in_words([f"{names[first]} – {names[second]}" for first, second in apart])
        notes.append(
            f"No worker rated both levels of some pairs, so how workers differ is part of their differences: {named}."
        )
    if standard is not None and len(standard.codes) < len(answers):
        left_out = len(answers) - len(standard.codes)
        notes.append(
            f"Standardised figures leave out {counted(left_out, 'answer')} by workers whose answers do not vary."
        )
    return notes


def pairs_together(present: Flags) -> set[tuple[int, int]]:
    """The pairs of levels that some cluster has answers of, from `levels_of_clusters` (G × L)."""
    together = present.astype(float).T @ present.astype(float)
    return {(first, second) for first, second in combinations(range(len(together)), 2) if together[first, second]}


def present_codes(levels: Codes) -> Codes:
    """The codes that some answer has, in order."""
    return np.flatnonzero(np.bincount(levels))


def levels_of_clusters(clusters: Codes, levels: Codes, count: int) -> Flags:
    """Which levels each cluster has answers of (G × L)."""
    present = np.zeros((int(clusters.max(initial=-1)) + 1, count), dtype=bool)
    present[clusters, levels] = True
    return present
