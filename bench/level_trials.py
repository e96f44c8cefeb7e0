"""Simulated studies of levels, and whether what is printed about them is right: trials of `bench.uncertainty`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from analysis.estimate import Estimate
from analysis.findings import Answers
from analysis.findings.crossing import interactions_of
from analysis.inference import LevelDesign, LevelFigures, holm, ranked_figures
from bench.many_studies import Flags, Floats, Ints, Layout, holds
from bench.replications import Design, draw

#: By figure: whether it is right in each study that has it.
Outcomes = dict[str, Flags]
#: The difference of two levels in standard deviations of answers, where there is one.
EFFECT = 0.5
#: A share far from one half.
FAR = 0.85


def layout_of(design: Design, kind: str, rng: np.random.Generator) -> Layout | None:
    """Two levels with items of their own (nested), that share items (crossed) or workers of their own (arms); or one.
    None: a level has fewer than five items or workers."""
    drawn = draw(design, rng)
    items, workers = drawn.item, drawn.worker
    levels = np.zeros(len(items), dtype=np.int64)
    if kind == "crossed":
        levels = np.repeat([0, 1], len(items)).astype(np.int64)
        items, workers = np.tile(items, 2), np.tile(workers, 2)
    elif kind != "one":
        levels = (items if kind == "nested" else workers) % 2
    weights = np.array([1.0]) if kind == "one" else np.array([1.0, -1.0])
    for level in range(len(weights)):
        if min(len(np.unique(codes[levels == level])) for codes in (items, workers)) < 5:
            return None
    return Layout(items, workers, levels, weights)


def effects_of(design: Design, layout: Layout, studies: int, rng: np.random.Generator) -> Floats:
    """What items and workers add to each answer (N, S), also with a level alone."""
    values: Floats = rng.normal(0, design.sd_items, (design.items, studies))[layout.items]
    values += rng.normal(0, design.sd_workers, (design.workers, studies))[layout.workers]
    if design.interaction and len(layout.weights) > 1:
        for codes, size in ((layout.items, design.items), (layout.workers, design.workers)):
            values += rng.normal(0, design.interaction, (size, 2, studies))[codes, layout.levels]
    return values


def logit_of_mean(share: float, sd: float) -> float:
    """The intercept with which a logit-normal chance with this standard deviation has the mean ``share``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = float(weights @ (1 / (1 + np.exp(-(middle + sd * nodes))))) / float(weights.sum())
        low, high = (middle, high) if mean < share else (low, middle)
    return (low + high) / 2


def means(kind: str) -> Callable[[Design, int, np.random.Generator], Outcomes]:
    """Means or differences of numbers, of shares near one half, and of shares far from it."""

    def run(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
        layout = layout_of(design, kind, rng)
        if layout is None:
            return {}
        effects = effects_of(design, layout, studies, rng)
        apart = (-1.0, 1.0) if kind != "one" else (0.0, 1.0)
        noise, logistic = rng.normal(size=effects.shape), rng.logistic(size=effects.shape)
        interactions = 2 * design.interaction**2 if kind != "one" else 0.0
        start = logit_of_mean(FAR, math.sqrt(design.sd_items**2 + design.sd_workers**2 + interactions))
        half, far = (0.5, FAR) if kind == "one" else (0.0, 0.0)
        return {
            "mean": holds(layout, effects + noise, 0.0),
            "share of one half": holds(layout, (effects + logistic > 0).astype(float), half, apart),
            f"share of {FAR:g}": holds(layout, (start + effects + logistic > 0).astype(float), far, apart),
        }

    return run


def studies_of(
    design: Design, kind: str, count: int, studies: int, rng: np.random.Generator
) -> Iterator[tuple[Answers, Ints]]:
    """Studies with the same items and workers, about ``count`` levels that do not differ."""
    drawn = draw(design, rng)
    item, worker = drawn.item, drawn.worker
    levels = (item if kind == "nested" else worker) % count
    if kind == "crossed":
        levels = np.repeat(np.arange(count), len(drawn.item))
        item, worker = np.tile(item, count), np.tile(worker, count)
    answers = Answers.of(np.zeros(len(levels)), items=item, workers=worker)
    for _ in range(studies):
        values: Floats = rng.normal(0, design.sd_items, design.items)[item] + rng.normal(size=len(levels))
        values += rng.normal(0, design.sd_workers, design.workers)[worker]
        values += rng.normal(0, design.interaction, (design.items, count))[item, levels]
        values += rng.normal(0, design.interaction, (design.workers, count))[worker, levels]
        yield valued(answers, values), levels


def valued(answers: Answers, values: Floats) -> Answers:
    """Other answers by the same workers about the same items, with what is worked out about their clusters."""
    other = replace(answers, values=values)
    vars(other)["dimensions"] = answers.dimensions
    return other


def right(estimate: Estimate | None, truth: float) -> Flags:
    if estimate is None or math.isnan(estimate.low):
        return np.zeros(0, dtype=bool)
    return np.array([estimate.low <= truth <= estimate.high])


def kept(*p: float) -> Flags:
    """Whether no test of a family of true nulls rejects; nothing if one is missing."""
    return np.zeros(0, dtype=bool) if any(math.isnan(value) for value in p) else np.array([min(p) >= 0.05])


def figures_of(answers: Answers, levels: Ints, count: int) -> LevelFigures:
    """The figures behind a comparison, as `analysis.findings.compare_levels` makes them.

    What follows from who rated what alone is worked out once for all studies that share it: it is kept with their
    dimensions.
    """
    shared = vars(answers.dimensions).setdefault("shared", {})
    key = (count, levels.tobytes())
    if key not in shared:
        shared[key] = LevelDesign.of(levels, count, answers.dimensions, answers.weights(levels))
    return LevelFigures.on(shared[key], answers.values)


def gathered(outcomes: Iterable[Outcomes]) -> Outcomes:
    lists: dict[str, list[Flags]] = defaultdict(list)
    for outcome in outcomes:
        for figure, flags in outcome.items():
            lists[figure].append(flags)
    return {figure: np.concatenate(flags) for figure, flags in lists.items()}


def compared(kind: str) -> Callable[[Design, int, np.random.Generator], Outcomes]:
    """What is printed about two levels besides their difference, which `means` does."""

    def one(design: Design, answers: Answers, levels: Ints) -> Outcomes:
        sd = math.sqrt(design.sd_items**2 + design.sd_workers**2 + 2 * design.interaction**2 + 1)
        equal = figures_of(answers, levels, 2)
        apart = figures_of(valued(answers, answers.values + EFFECT * sd * (levels == 0)), levels, 2)
        outcomes = {
            "Cohen’s d of 0": right(equal.effect(0, 1), 0.0),
            f"Cohen’s d of {EFFECT}": right(apart.effect(0, 1), EFFECT),
            "equivalence at its margin": kept(apart.p_equivalent(0, 1, EFFECT * sd)),
        }
        scores, varies = answers.standardised()
        if kind != "arms" and varies.all():  # a worker of one arm has no standardised difference
            standard = figures_of(valued(answers, scores.values), levels, 2)
            outcomes["standardised difference"] = right(standard.difference(0, 1), 0.0)
        return outcomes

    def run(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
        return gathered(one(design, *study) for study in studies_of(design, kind, 2, studies, rng))

    return run


def families(kind: str) -> Callable[[Design, int, np.random.Generator], Outcomes]:
    """Four equal levels: at most 5% of studies tell any two apart, so ranks and letters are right as well."""

    def one(answers: Answers, levels: Ints) -> Outcomes:
        figures = figures_of(answers, levels, 4)
        p = [figures.p_difference(0, level) for level in (1, 2, 3)]
        ranking = ranked_figures(figures)
        return {
            "Holm, six pairs; ranks": kept(*ranking.p[np.triu_indices(4, 1)]),
            "Holm, three from a reference": kept(*holm(p)),
        }

    def run(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
        return gathered(one(*study) for study in studies_of(design, kind, 4, studies, rng))

    return run


def interactions(kind: str) -> Callable[[Design, int, np.random.Generator], Outcomes]:
    """Two systems by two domains of items."""

    def one(answers: Answers, levels: Ints) -> Outcomes:
        cells = 2 * levels + (answers.items // 2) % 2
        if len(np.unique(cells)) < 4:
            return {}
        tests = interactions_of(figures_of(answers, cells, 4), ["a", "b"], ["x", "y"])
        return {"interaction": kept(*(test.p for test in tests))}

    def run(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
        return gathered(one(*study) for study in studies_of(design, kind, 2, studies, rng))

    return run
