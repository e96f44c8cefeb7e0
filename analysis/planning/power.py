"""Power and width of intervals of a planned study, by simulation through the inference that its report will use.

Every simulated study has new items, new workers and new answers; its figures are tested as
`analysis.findings.compare_levels` (or the sections on shares and agreement) would. Shapes: N answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.agreement import krippendorff_alpha, ratings_from_arrays
from analysis.findings import Answers
from analysis.findings.comparison import paired_p
from analysis.inference import LEAST_CLUSTERS, LevelFigures, bounds_of_difference, holm, ratios
from analysis.inference.cluster_sums import Floats
from analysis.planning.aims import ONE_SHARE, Aim
from analysis.planning.scales import AnswerModel
from analysis.planning.study_design import Design, Layout, layout_of

#: Simulated studies for each design, and how many of them the time may cut it down to.
SIMULATIONS, LEAST_SIMULATIONS = 1_000, 50
#: How often the work is given out anew.
LAYOUTS = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """One simulated study: which of the true differences (or the share) a test showed, the figure, its width."""

    shown: Floats
    figure: float
    width: float


Analysis = Callable[[Floats], Outcome]


@dataclass(frozen=True, slots=True)
class Power:
    """What ``simulations`` simulated studies of a design showed.

    ``power``: the chance that a given true difference (or share) is significant, with its Monte-Carlo standard
    ``error``; ``power_all``: that all of them are. Both NaN where nothing is tested. ``figure`` and ``width``: means of
    the estimate and of its interval's width, over studies that have one; ``with_interval``: the share of these.
    ``these_workers``: there are too few workers for intervals, so the test is about new items and these workers.
    """

    design: Design
    simulations: int
    power: float
    error: float
    power_all: float
    figure: float
    width: float
    with_interval: float
    these_workers: bool = False

    def reaches(self, *, power: float | None, width: float | None) -> bool:
        """Whether the design has the wanted power, in whole percent as tables show it, and intervals that are narrow
        enough."""
        shown = math.nan if math.isnan(self.power) else round(100 * self.power) / 100
        return (power is None or shown >= power) and (width is None or self.width <= width)


def simulate(
    aim: Aim, design: Design, *, simulations: int = SIMULATIONS, seed: int = 1, seconds: float | None = None
) -> Power:
    """Simulate studies of this design. The same seed and design give the same figures.

    ``seconds``: stop after that long, with at least LEAST_SIMULATIONS. ValueError: an aim or design that nothing can
    come of.
    """
    if simulations < 1:
        raise ValueError(f"the number of simulated studies must be 1 or more, not {simulations}")
    model = aim.model(design.systems)
    these_workers = aim.compares and design.workers_of_a_system < LEAST_CLUSTERS
    _refuse_untestable(aim, design, these_workers)
    rng = np.random.default_rng([seed, design.systems, design.items, design.raters, design.workers])
    outcomes: list[Outcome] = []
    stop = math.inf if seconds is None else time.monotonic() + seconds
    in_layout = math.ceil(simulations / LAYOUTS)
    while len(outcomes) < simulations:
        layout = layout_of(design, rng)
        analyse = analysis_of(aim, layout, these_workers=these_workers)
        for _ in range(min(in_layout, simulations - len(outcomes))):
            outcomes.append(analyse(draw_answers(model, layout, rng)))
            if time.monotonic() > stop and len(outcomes) >= LEAST_SIMULATIONS:
                return _summary(design, outcomes, these_workers)
    return _summary(design, outcomes, these_workers)


def _refuse_untestable(aim: Aim, design: Design, these_workers: bool) -> None:
    """DesignError, or ValueError: the report of such a study would have neither interval nor test."""
    if aim.goal == "agreement":
        if design.raters < 2:
            raise ValueError("agreement needs two raters or more for every item")
        return
    if design.items < LEAST_CLUSTERS:
        raise ValueError(f"a report gives no interval for fewer than {LEAST_CLUSTERS} items: plan more items")
    if not these_workers and design.workers_of_a_system < LEAST_CLUSTERS:
        raise ValueError(f"a report gives no interval for fewer than {LEAST_CLUSTERS} workers: plan more workers")
    if these_workers and (aim.goal == "equivalence" or not design.same_items or design.crossing == "one"):
        raise ValueError(
            f"with fewer than {LEAST_CLUSTERS} workers for a system, a report can only test a difference of systems "
            "that have texts for the same items and are rated by the same workers: plan more workers"
        )


def draw_answers(model: AnswerModel, layout: Layout, rng: np.random.Generator) -> Floats:
    """The answers (N,) of one simulated study."""
    latent = model.latent

    def effects(variance: float, codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
        return np.asarray(rng.normal(0, math.sqrt(variance), int(codes.max()) + 1)[codes])

    systems = len(model.means)
    normal = (
        np.array(model.means)[layout.systems]
        + effects(latent.items, layout.items)
        + effects(latent.item_system, layout.texts)
        + effects(latent.workers, layout.workers)
        + effects(latent.worker_system, layout.workers * systems + layout.systems)
        + rng.normal(0, math.sqrt(latent.residual), len(layout.items))
    )
    return model.scale.cut(normal)


def analysis_of(aim: Aim, layout: Layout, *, these_workers: bool) -> Analysis:
    """What the report would test and estimate, as a function of the answers."""
    if aim.goal == "agreement":
        return _agreement(aim, layout)
    answers = Answers.of(
        np.zeros(len(layout.items)),
        items=layout.texts,
        workers=layout.workers,
        contexts=layout.items,
        bounds=aim.scale.bounds,
    )
    if aim.goal in ONE_SHARE:
        return _one_share(aim, answers)
    return _few_workers(aim, answers, layout) if these_workers else _differences(aim, answers, layout)


def _differences(aim: Aim, answers: Answers, layout: Layout) -> Analysis:
    """Every difference as in `analysis.findings.comparison.differences_of`."""
    systems = int(layout.systems.max()) + 1
    dimensions, weights = answers.dimensions, answers.weights(layout.systems)
    pairs = list(combinations(range(systems), 2))
    if aim.reference:
        pairs = [(index, 0) for index in range(1, systems)]
    bounds = bounds_of_difference(aim.scale.bounds)
    equivalence = aim.goal == "equivalence"
    level = 1 - 2 * aim.significance if equivalence else 1 - aim.significance
    counts_for = np.array([equivalence or 0 in pair for pair in pairs])

    def analyse(values: Floats) -> Outcome:
        figures = LevelFigures(values, layout.systems, systems, dimensions, weights=weights, level=level)
        interval = figures.difference(0, 1, bounds=None if equivalence else bounds)
        if equivalence:
            p = np.array([figures.p_equivalent(first, second, aim.margin) for first, second in pairs])
        else:
            cautious = len(pairs) > 1
            p = holm([figures.p_difference(*pair, bounds=bounds, cautious=cautious) for pair in pairs])
        return Outcome(p[counts_for] < aim.significance, interval.value, interval.high - interval.low)

    return analyse


def _few_workers(aim: Aim, answers: Answers, layout: Layout) -> Analysis:
    """The sign-flip tests that `compare_levels` gives in place of intervals."""
    systems = int(layout.systems.max()) + 1
    pairs = list(combinations(range(systems), 2))
    if aim.reference:
        pairs = [(index, 0) for index in range(1, systems)]
    counts_for = np.array([0 in pair for pair in pairs])
    weights = answers.weights(layout.systems)

    def analyse(values: Floats) -> Outcome:
        answered = Answers(
            values, answers.items, answers.workers, answers.parts, answers.contexts, bounds=answers.bounds
        )
        p = holm([paired_p(answered, layout.systems, first, second) for first, second in pairs])
        means = np.bincount(layout.systems, weights * values) / np.bincount(layout.systems, weights)
        return Outcome(p[counts_for] < aim.significance, float(means[0] - means[1]), math.nan)

    return analyse


def _one_share(aim: Aim, answers: Answers) -> Analysis:
    """As `analysis.preference.forced_choices.preference` and `analysis.detection.against_chance`."""
    dimensions, all_count = answers.dimensions, np.ones(len(answers))

    def analyse(values: Floats) -> Outcome:
        figures = ratios(values, all_count, dimensions, level=1 - aim.significance)
        share = figures.estimate(bounds=(0, 1))
        p = figures.p(null=aim.null, bounds=(0, 1))
        return Outcome(np.array([p < aim.significance]), share.value, share.high - share.low)

    return analyse


def _agreement(aim: Aim, layout: Layout) -> Analysis:
    points = aim.scale.points
    measured = "interval" if points is None else "nominal" if points == 2 else "ordinal"

    def analyse(values: Floats) -> Outcome:
        ratings = ratings_from_arrays(layout.texts, layout.workers, values)
        alpha = krippendorff_alpha(ratings, measured, confidence=1 - aim.significance)  # type: ignore[arg-type]
        return Outcome(np.array([]), alpha.value, alpha.high - alpha.low)

    return analyse


def _summary(design: Design, outcomes: list[Outcome], these_workers: bool) -> Power:
    count = len(outcomes)
    shown = np.array([outcome.shown for outcome in outcomes], dtype=float)
    widths = np.array([outcome.width for outcome in outcomes])
    values = np.array([outcome.figure for outcome in outcomes])
    measured = np.isfinite(widths)
    power = error = power_all = math.nan
    if shown.size:
        by_study = shown.mean(axis=1)
        power, power_all = float(by_study.mean()), float(shown.all(axis=1).mean())
        # With none or all significant, their spread is 0 and says nothing: Agresti and Coull's (1998) two more of each.
        close = (power * count + 2) / (count + 4)
        error = (float(by_study.std()) or math.sqrt(close * (1 - close))) / math.sqrt(count)
    return Power(
        design,
        count,
        power,
        error,
        power_all,
        float(np.nanmean(values)) if np.isfinite(values).any() else math.nan,
        float(widths[measured].mean()) if measured.any() else math.nan,
        float(measured.mean()),
        these_workers,
    )
