"""The trials of `bench.uncertainty`: simulated studies, and whether each figure of them is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.agreement import (
    fleiss_kappa,
    gwet_ac1,
    icc,
    krippendorff_alpha,
    noise_ceiling,
    percent_agreement,
    ratings_from_arrays,
    split_half,
)
from analysis.detection import against_chance, differences, judgements_from_arrays, measures, sensitivity
from analysis.inference import (
    Dimensions,
    mean_correlation,
    median_estimate,
    ratios,
    sd_estimate,
)
from analysis.inference.mixed import MixedModelError, fit_mixed_model
from analysis.inference.sign_flip import sign_flip_p
from analysis.preference import bradley_terry, comparisons_from_choices, system_scores
from bench.level_trials import (
    FAR,
    Outcomes,
    compared,
    families,
    figures_of,
    interactions,
    kept,
    logit_of_mean,
    means,
    right,
    studies_of,
)
from bench.marking_trials import marks_agree, marks_nearly_agree, pairs_of_raters
from bench.replications import Design, alpha_of_labels, draw


@dataclass(frozen=True)
class Trial:
    """``run`` simulates studies of a design: ``at_once`` of them share who answered about what. ``interacts``: levels
    can interact with items and workers."""

    run: Callable[[Design, int, np.random.Generator], Outcomes]
    at_once: int = 1
    interacts: bool = False


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


def one_way(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """Writers (or contexts) with as many choices as there are answers per item; there are no other clusters."""
    count = design.per_item or 12
    clusters = np.repeat(np.arange(design.workers), count)
    effects = rng.normal(0, design.sd_workers, (design.workers, studies))[clusters]
    start = logit_of_mean(FAR, design.sd_workers)
    logistic = rng.logistic(size=effects.shape)
    outcomes = {}
    for name, values, truth, bounds in (
        ("mean", effects + logistic, 0.0, None),
        ("share of one half", (effects + logistic > 0).astype(float), 0.5, (0.0, 1.0)),
        (f"share of {FAR:g}", (start + effects + logistic > 0).astype(float), FAR, (0.0, 1.0)),
    ):
        figures = ratios(values, np.ones(values.shape), Dimensions.of(writers=clusters))
        outcomes[name] = np.concatenate([right(figures.estimate(at, bounds=bounds), truth) for at in range(studies)])
    return outcomes


def reliability(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """ICC, split-half reliability and the noise ceiling of items' means, about new items and new workers."""
    if not design.sd_items or design.per_item == 1:
        return {}
    drawn = draw(design, rng)
    values = drawn.effect + rng.normal(size=len(drawn.item))
    ratings = ratings_from_arrays(drawn.item, drawn.worker, values)
    noise = 1 + design.sd_workers**2
    of_mean = design.sd_items**2 / (design.sd_items**2 + noise / (design.per_item or design.workers))
    return {
        "ICC(1,1)": right(icc(ratings, "1,1", crossed=True), design.sd_items**2 / (design.sd_items**2 + noise)),
        "ICC(1,k)": right(icc(ratings, "1,k", crossed=True), of_mean),
        "split-half": right(split_half(ratings, crossed=True), of_mean),
        "noise ceiling": right(noise_ceiling(ratings, crossed=True), math.sqrt(of_mean)),
    }


def mixed(design: Design, studies: int, rng: np.random.Generator) -> Outcomes:
    """The mixed model of ``compare --mixed``, with the degrees of freedom of the comparison."""
    ((answers, levels),) = studies_of(design, "nested", 2, 1, rng)
    figures = figures_of(answers, levels, 2)
    freedom = figures.spread(figures.weights_of(0, 1)).freedom
    try:
        fit = fit_mixed_model(answers.values, levels, answers.items, answers.workers)
    except MixedModelError:
        return {"mixed model, difference": np.zeros(0, dtype=bool)}
    return {"mixed model, difference": right(fit.difference(0, 1, freedom), 0.0)}


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
    "one way": Trial(one_way, 50),
    "reliability": Trial(reliability),
    "mixed": Trial(mixed, interacts=True),
    "marks": Trial(marks_agree),
    "marks, γ": Trial(marks_nearly_agree),
    "pairs of raters": Trial(pairs_of_raters),
}
TRIALS |= {f"compare, {kind}": Trial(compared(kind), 10, interacts=True) for kind in KINDS}
TRIALS |= {f"families, {kind}": Trial(families(kind), 10, interacts=True) for kind in KINDS}
TRIALS |= {f"interaction, {kind}": Trial(interactions(kind), 10, interacts=True) for kind in KINDS}
