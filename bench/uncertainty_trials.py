"""The trials of `bench.uncertainty`: simulated studies, and whether each figure of them is right."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from analysis.agreement import (
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    ratings_from_arrays,
)
from analysis.detection import against_chance, differences, judgements_from_arrays, measures, sensitivity
from analysis.estimate import Estimate
from analysis.findings import Answers
from analysis.findings.comparison import standardised_figures
from analysis.findings.crossing import interactions_of
from analysis.inference import (
    Dimensions,
    LevelFigures,
    holm,
    mean_correlation,
    median_estimate,
    ranked_figures,
    sd_estimate,
)
from analysis.inference.sign_flip import sign_flip_p
from analysis.preference import bradley_terry, comparisons_from_choices, system_scores
from bench.many_studies import Flags, Floats, Ints, Layout, holds
from bench.replications import Design, alpha_of_labels, draw

#: By figure: whether it is right in each study that has it.
Outcomes = dict[str, Flags]
#: The difference of two levels in standard deviations of answers, where there is one.
EFFECT = 0.5
#: A share far from one half.
FAR = 0.85


@dataclass(frozen=True)
class Trial:
    """``run`` simulates studies of a design: ``at_once`` of them share who answered about what. ``interacts``: levels
    can interact with items and workers."""

    run: Callable[[Design, int, np.random.Generator], Outcomes]
    at_once: int = 1
    interacts: bool = False


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
    """The figures behind a comparison, as `analysis.findings.compare_levels` makes them."""
    return LevelFigures(answers.values, levels, count, answers.dimensions, weights=answers.weights(levels))


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
        standard = standardised_figures(answers, levels, 2, 0.95)
        if standard is not None:
            outcomes["standardised difference"] = right(standard.difference(0, 1), 0.0)
        return outcomes

    def run(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
        return gathered(one(design, *study) for study in studies_of(design, kind, 2, studies, rng))

    return run


def families(kind: str) -> Callable[[Design, int, np.random.Generator], Outcomes]:
    """Four equal levels: at most 5% of studies tell any two apart, so ranks and letters are right as well."""

    def one(answers: Answers, levels: Ints) -> Outcomes:
        figures = figures_of(answers, levels, 4)
        p = [figures.p_difference(0, level, cautious=True) for level in (1, 2, 3)]
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


def location(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    drawn = draw(design, rng)
    values, dimensions = drawn.effect + rng.normal(size=len(drawn.item)), drawn.dimensions("both")
    sd = math.sqrt(design.sd_items**2 + design.sd_workers**2 + 1)
    return {
        "median": right(median_estimate(values, dimensions), 0.0),
        "standard deviation": right(sd_estimate(values, dimensions), sd),
    }


def detection(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """Workers who guess, of two trainings, with texts of two domains: all shares are one half, d′ and c are 0."""
    drawn = draw(design, rng)
    by_arm = rng.normal(0, design.interaction, (design.items, 2))[drawn.item, drawn.worker % 2]
    is_right = drawn.effect + by_arm + rng.logistic(size=len(drawn.item)) > 0
    machine = drawn.item % 2 == 1
    answers = np.where(is_right == machine, 4, 1)
    groups = {"training": drawn.worker % 2, "domain": (drawn.item // 2) % 2}
    source = np.where(machine, "gpt", "human")
    judgements = judgements_from_arrays(drawn.worker, drawn.item, source, answers, groups=groups)
    shares, signal = measures(judgements), sensitivity(judgements)
    names = ("accuracy", "precision", "recall", "f1", "said_human")
    outcomes = {name.replace("_", " "): right(getattr(shares, name), 0.5) for name in names}
    return outcomes | {
        "d′": right(signal.d_prime, 0.0),
        "criterion": right(signal.criterion, 0.0),
        "trainings": kept(*(pair.p for pair in differences(judgements, "training"))),
        "domains": kept(*(pair.p for pair in differences(judgements, "domain"))),
        "domains against chance, Holm": kept(*(test.corrected for test in against_chance(judgements, ["domain"]))),
    }


def agreement(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """Two labels. Any two raters agree as `alpha_of_labels` says, and both labels are equally frequent."""
    if design.per_item == 1:
        return {}
    drawn = draw(design, rng)
    label = (drawn.effect + rng.logistic(size=len(drawn.item)) > 0).astype(float)
    ratings = ratings_from_arrays(drawn.item, drawn.worker, label)
    truth = alpha_of_labels(design.sd_items, design.sd_workers)
    outcomes: Outcomes = {}
    for name, coefficient, value in (
        ("α, nominal", krippendorff_alpha, truth),
        ("Fleiss’ κ", fleiss_kappa, truth),
        ("AC1", gwet_ac1, truth),
        ("percent", percent_agreement, (1 + truth) / 2),
    ):
        outcomes[name] = right(coefficient(ratings), value)
    return outcomes


def choices(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """Items show texts of two of four equal systems; items, and workers with systems, have preferences."""
    drawn = draw(design, rng)
    pairs = np.array([(first, second) for second in range(4) for first in range(second)])
    shown = pairs[drawn.item % len(pairs)]
    taste = rng.normal(0, design.sd_workers, (design.workers, 4))
    rows = np.arange(len(drawn.item))
    liking = rng.normal(0, design.sd_items, design.items)[drawn.item] + rng.logistic(size=len(rows))
    liking += taste[drawn.worker, shown[:, 0]] - taste[drawn.worker, shown[:, 1]]
    names = np.array(list("abcd"))
    comparisons = comparisons_from_choices(names[shown[:, 0]], names[shown[:, 1]], np.sign(liking))
    dimensions = Dimensions.of(items=drawn.item, workers=drawn.worker).chosen(comparisons.left)
    scores = system_scores(comparisons, dimensions)
    same = all(scores.ranking.ranks[at][1:] == (1, 4) for at in range(4))
    outcomes = {"share of choices": right(scores.estimates["a"], 0.0)}
    if not np.isnan(scores.ranking.p[np.triu_indices(4, 1)]).any():
        outcomes["ranks from choices, Holm"] = np.array([same])
        outcomes["difference of shares"] = right(scores.difference("a", "b"), 0.0)
    try:
        strengths = bradley_terry(comparisons, dimensions=dimensions)
    except ValueError:
        return outcomes
    return outcomes | {"strength": right(strengths.strengths["a"], 0.0)}


def correlations(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """Items’ mean answers with a label: unrelated, or the item's effect with noise of the same size."""
    drawn = draw(design, rng)
    item_effects = rng.normal(0, design.sd_items, design.items)
    worker_effects = rng.normal(0, design.sd_workers, design.workers)[drawn.worker]
    values = item_effects[drawn.item] + worker_effects + rng.normal(size=len(drawn.item))
    dimensions = drawn.dimensions("both")
    unrelated = rng.normal(size=design.items)
    outcomes = {
        "ρ of 0": right(mean_correlation(unrelated, drawn.item, values, dimensions), 0.0),
        "r of 0": right(mean_correlation(unrelated, drawn.item, values, dimensions, kind="pearson"), 0.0),
    }
    if design.sd_items:
        label = item_effects + rng.normal(0, design.sd_items, design.items)
        count = design.per_item or design.workers
        # Workers of an item are drawn without replacement; if all rate it, they do not add to what items differ in.
        of_workers = design.sd_workers**2 * (1 / count - 1 / design.workers)
        truth = design.sd_items / math.sqrt(2 * (design.sd_items**2 + of_workers + 1 / count))
        outcomes["r above 0"] = right(mean_correlation(label, drawn.item, values, dimensions, kind="pearson"), truth)
    return outcomes


def flips(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """Differences within items with both systems, by these workers: no system is better with new items."""
    by_item = rng.normal(0, design.interaction, (design.items, 2))
    noise = rng.normal(size=(design.items, design.workers, 2))
    values = by_item[:, None, :] + noise
    return {"sign-flip p": kept(sign_flip_p(values.mean(axis=1) @ [1.0, -1.0]))}


KINDS = ("nested", "crossed", "arms")
TRIALS: dict[str, Trial] = {"one mean": Trial(means("one"), 50)}
TRIALS |= {f"difference, {kind}": Trial(means(kind), 50, interacts=True) for kind in KINDS}
TRIALS |= {
    "location": Trial(location),
    "detection": Trial(detection, interacts=True),
    "agreement": Trial(agreement),
    "choices": Trial(choices),
    "correlation": Trial(correlations),
    "sign flips": Trial(flips, interacts=True),
}
TRIALS |= {f"compare, {kind}": Trial(compared(kind), 10, interacts=True) for kind in KINDS}
TRIALS |= {f"families, {kind}": Trial(families(kind), 10, interacts=True) for kind in KINDS}
TRIALS |= {f"interaction, {kind}": Trial(interactions(kind), 10, interacts=True) for kind in KINDS}
