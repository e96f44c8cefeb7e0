"""Simulated studies of marks in texts and of pairs of raters, and whether their agreement is right: trials of
`bench.uncertainty`."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations

import numpy as np

from analysis.agreement import cohen_kappa, mean_cohen_kappa, ratings_from_arrays
from analysis.spans.agreement import characters, whatever, whole
from analysis.spans.alpha import character_alpha
from analysis.spans.gamma import gamma
from analysis.spans.marks import Span
from analysis.spans.pooled import pooled_f1
from bench.level_trials import Outcomes, right
from bench.many_studies import Floats
from bench.replications import Design, alpha_of_labels, draw

#: A text has places where something may be wrong, each this many characters long.
PLACES, PLACE_LENGTH = 6, 20
#: How much places differ, and how seldom an average one is marked (logistic noise).
SD_PLACES, SELDOM = 2.0, -1.5
#: Pairs of raters who share nothing with other pairs, from which the true agreement is taken.
TRUE_PAIRS = 20_000
TRUE_GAMMA_PAIRS = 3_000
Marks = dict[tuple[int, str], list[tuple[str, list[Span]]]]


def spans_of(chances: Floats, rng: np.random.Generator) -> list[Span]:
    """The marks of one answer: each place that is seen, with ends that vary by a few characters."""
    seen = np.flatnonzero(chances + rng.logistic(size=PLACES) > 0)
    starts = seen * PLACE_LENGTH + 3 + rng.integers(0, 3, len(seen))
    ends = starts + 9 + rng.integers(0, 3, len(seen))
    return [Span(start, end, "major") for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def texts_of(design: Design, count: int, rng: np.random.Generator) -> Floats:
    """How easily each place of each text is marked (count × PLACES)."""
    of_text = rng.normal(0, design.sd_items, (count, 1))
    return np.asarray(SELDOM + of_text + rng.normal(0, SD_PLACES, (count, PLACES)))


def lengths_of(marks: Marks) -> dict[tuple[int, str], int]:
    return dict.fromkeys(marks, PLACES * PLACE_LENGTH)


def study_of(design: Design, rng: np.random.Generator) -> Marks:
    drawn = draw(design, rng)
    texts, strictness = texts_of(design, design.items, rng), rng.normal(0, design.sd_workers, design.workers)
    marks: Marks = {}
    for item, worker in zip(drawn.item.tolist(), drawn.worker.tolist(), strict=True):
        spans = spans_of(texts[item] + strictness[worker], rng)
        marks.setdefault((item, ""), []).append((f"w{worker:03}", spans))
    return marks


def apart(design: Design, common: list[int], rng: np.random.Generator) -> Marks:
    """Pairs of workers, each with texts of their own: as many as ``common`` says, in turn."""
    marks: Marks = {}
    for pair, count in enumerate(common):
        strictness = rng.normal(0, design.sd_workers, 2)
        for text in texts_of(design, count, rng):
            answers = [(f"{pair}-{side}", spans_of(text + strictness[side], rng)) for side in (0, 1)]
            marks[len(marks), ""] = answers
    return marks


@cache
def true_marks(design: Design) -> dict[str, float]:
    """F1 and α of two workers and a text, all drawn anew."""
    marks = apart(design, [1] * TRUE_PAIRS, np.random.default_rng(7))
    return {
        "F1 of characters": pooled_f1(marks, characters).value,
        "F1 of whole marks": pooled_f1(marks, whole).value,
        "α of characters": character_alpha(marks, lengths_of(marks), whatever).value,
    }


@cache
def true_gamma(design: Design) -> float:
    """γ of pairs of new workers with as many new texts in common as in such a study: chance depends on it."""
    rng = np.random.default_rng(8)
    common: list[int] = []
    while len(common) < TRUE_GAMMA_PAIRS // 3 and sum(common) < TRUE_GAMMA_PAIRS:
        together: dict[tuple[str, str], int] = {}
        for answers in study_of(design, rng).values():
            for pair in combinations(sorted(worker for worker, _ in answers), 2):
                together[pair] = together.get(pair, 0) + 1
        common += together.values()
    marks = apart(design, common, rng)
    return gamma(marks, lengths_of(marks), whatever).value


def marks_agree(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """F1 and α of what workers mark. Places, texts and workers differ in how easily something is marked."""
    if design.per_item == 1:
        return {}
    marks, truth = study_of(design, rng), true_marks(design)
    return {
        "F1 of characters": right(pooled_f1(marks, characters), truth["F1 of characters"]),
        "F1 of whole marks": right(pooled_f1(marks, whole), truth["F1 of whole marks"]),
        "α of characters": right(character_alpha(marks, lengths_of(marks), whatever), truth["α of characters"]),
    }


def marks_nearly_agree(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """γ of the same marks."""
    if design.per_item == 1:
        return {}
    marks = study_of(design, rng)
    return {"γ": right(gamma(marks, lengths_of(marks), whatever), true_gamma(design))}


def true_mean_kappa(design: Design) -> float:
    """The mean of Cohen's κ over pairs of workers, each pair with its own shares of labels (Gauss–Hermite)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    # By item and worker: the chance of the first label.
    chance = 1 / (1 + np.exp(-(design.sd_items * nodes[:, None] + design.sd_workers * nodes)))
    share = weights @ chance
    both = chance.T @ (weights[:, None] * chance)
    same = 1 - share[:, None] - share + 2 * both
    by_chance = share[:, None] * share + (1 - share[:, None]) * (1 - share)
    return float(weights @ (1 - (1 - same) / (1 - by_chance)) @ weights)


def pairs_of_raters(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """Two labels, both equally frequent: κ of two halves of the workers, and the mean κ of pairs of workers."""
    drawn = draw(design, rng)
    label = (drawn.effect + rng.logistic(size=len(drawn.item)) > 0).astype(float)
    table = np.full((design.items, design.workers), math.nan)
    table[drawn.item, drawn.worker] = label
    half = design.workers // 2
    pools = table[:, :half], table[:, half:]
    outcomes: Outcomes = {}
    both = ~np.isnan(pools[0]).all(axis=1) & ~np.isnan(pools[1]).all(axis=1)
    if both.any():
        truth = alpha_of_labels(design.sd_items, design.sd_workers)
        outcomes["κ of two pools"] = right(cohen_kappa(*pools), truth)
    if design.per_item != 1:
        ratings = ratings_from_arrays(drawn.item, drawn.worker, label)
        outcomes["mean κ of pairs of raters"] = right(mean_cohen_kappa(ratings), true_mean_kappa(design))
    return outcomes
