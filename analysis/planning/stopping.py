"""What a rule for stopping early would save and risk, in simulated studies that are looked at as real ones are.

Every simulated study has new items, new workers and new answers. Workers come one after the other, in random order, and
rate all that the design gives them, but for systems of which nothing is open any more. Shapes: N answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.description import StoppingRule
from analysis.findings import Answers
from analysis.findings.answers import Flags
from analysis.findings.looks import Look, OpenDifference, look_at
from analysis.inference import Bounds, LevelDesign, LevelFigures, bounds_of_difference
from analysis.inference.cluster_sums import Floats
from analysis.planning.components import Components
from analysis.planning.power import LAYOUTS, LEAST_SIMULATIONS, draw_answers
from analysis.planning.scales import Scale, answer_model
from analysis.planning.study_design import Design, Layout, layout_of

SIMULATIONS = 400


@dataclass(frozen=True, slots=True)
class StoppingForecast:
    """What became of ``simulations`` studies in which the first system is ahead of the others by ``effect``.

    ``early``: the share that ended without some of the planned ratings. ``used``: the mean share of the planned
    ratings that they took, and ``used_most`` the share that nine of ten did not exceed. ``wrong``: the share with a
    settled difference that is not so: one that is not there or goes the other way, or one called too small to matter
    that is not. ``held``: the share in which all intervals at the end held the truth.
    """

    effect: float
    simulations: int
    early: float
    used: float
    used_most: float
    wrong: float
    held: float


@dataclass(frozen=True)
class _Moment:
    """One look at the studies of a layout: which answers are there (N,), with ``new`` ones since the look before, what
    follows from who gave them, and the share of the plan that every system has. Nothing follows while one has none."""

    there: Flags
    new: Flags
    design: LevelDesign | None
    shares: Floats


def forecast(
    rule: StoppingRule,
    design: Design,
    scale: Scale,
    components: Components,
    *,
    effect: float,
    mean: float | None = None,
    reference: bool = False,
    simulations: int = SIMULATIONS,
    seed: int = 1,
    seconds: float | None = None,
) -> StoppingForecast:
    """Simulate studies of this design with the rule. The same seed gives the same figures.

    ``reference``: the others are compared with the first system only. ``seconds``: stop after that long, with at least
    LEAST_SIMULATIONS. ValueError: one system, an effect that is impossible on the scale, no simulations.
    """
    if design.systems < 2:
        raise ValueError("there is one system, so nothing can be compared: plan two or more")
    if simulations < 1:
        raise ValueError(f"the number of simulated studies must be 1 or more, not {simulations}")
    rest = (scale.middle if mean is None else mean) - effect / design.systems
    model = answer_model(scale, components, (rest + effect, *[rest] * (design.systems - 1)))
    pairs = [pair for pair in combinations(range(design.systems), 2) if not reference or pair[0] == 0]
    truth = [effect if first == 0 else 0.0 for first, _ in pairs]
    rng = np.random.default_rng([seed, design.systems, design.items, design.raters, design.workers])
    until = math.inf if seconds is None else time.monotonic() + seconds
    ends: list[tuple[float, list[Look]]] = []
    in_layout = math.ceil(simulations / LAYOUTS)
    while len(ends) < simulations:
        layout = layout_of(design, rng)
        moments = _moments(rule, layout, rng)
        for _ in range(min(in_layout, simulations - len(ends))):
            ends.append(_one_study(rule, layout, moments, draw_answers(model, layout, rng), pairs, scale))
            if time.monotonic() > until and len(ends) >= LEAST_SIMULATIONS:
                return _summary(rule, effect, ends, truth)
    return _summary(rule, effect, ends, truth)


def _moments(rule: StoppingRule, layout: Layout, rng: np.random.Generator) -> list[_Moment]:
    """The looks of the rule, each after the worker whose answers make it due, and the end."""
    count = len(layout.items)
    arrives = rng.permutation(int(layout.workers.max()) + 1)[layout.workers]
    so_far = np.cumsum(np.bincount(arrives)) / count
    number = np.array([rule.looks_by(share) for share in so_far])
    due = np.flatnonzero(np.diff(number, prepend=0) > 0).tolist()
    moments = []
    before = np.zeros(count, dtype=bool)
    for last in dict.fromkeys([*due, len(so_far) - 1]):
        there = arrives <= last
        moments.append(_Moment(there, there & ~before, *_design_of(layout, there)))
        before = there
    return moments


def _design_of(layout: Layout, there: Flags) -> tuple[LevelDesign | None, Floats]:
    systems = layout.systems[there]
    planned = np.bincount(layout.systems)
    shares = np.bincount(systems, minlength=len(planned)) / planned
    if not shares.all():
        return None, shares
    answers = Answers.of(
        np.zeros(len(systems)),
        items=layout.texts[there],
        workers=layout.workers[there],
        contexts=layout.items[there],
    )
    return LevelDesign.of(systems, len(planned), answers.dimensions, answers.weights(systems)), shares


def _one_study(
    rule: StoppingRule,
    layout: Layout,
    moments: Sequence[_Moment],
    values: Floats,
    pairs: Sequence[tuple[int, int]],
    scale: Scale,
) -> tuple[float, list[Look]]:
    """The share of its answers that were there at the end, and what was settled then."""
    bounds = bounds_of_difference(scale.bounds)
    looks: list[Look] = []
    missing = np.zeros(len(values), dtype=bool)
    held: list[int] = []
    there = missing
    for moment in moments:
        missing = missing | (moment.new & np.isin(layout.systems, held))
        there = moment.there & ~missing
        design, shares = _design_of(layout, there) if missing.any() else (moment.design, moment.shares)
        if design is None:
            continue
        figures = LevelFigures.on(design, values[there])
        looks = look_at([_difference(figures, pair, shares, bounds) for pair in pairs], smallest=rule.smallest)
        if all(look.settled for look in looks):
            break
        still_open = {name for look in looks if not look.settled for name in (look.first, look.second)}
        held = [system for system in range(len(shares)) if str(system) not in still_open]
    return float(there.mean()), looks


def _difference(figures: LevelFigures, pair: tuple[int, int], shares: Floats, bounds: Bounds | None) -> OpenDifference:
    weights = figures.weights_of(*pair)
    return OpenDifference(
        str(pair[0]),
        str(pair[1]),
        figures.p_difference(*pair, bounds=bounds),
        lambda level: figures.contrast(weights, level=level, bounds=bounds),
        float(min(shares[list(pair)])),
    )


def _summary(
    rule: StoppingRule, effect: float, ends: Sequence[tuple[float, list[Look]]], truth: Sequence[float]
) -> StoppingForecast:
    used = np.array([share for share, _ in ends])
    wrong, held = [], []
    for _, looks in ends:
        wrong.append(any(_is_wrong(rule, look, true) for look, true in zip(looks, truth, strict=True)))
        intervals = [(look.difference.low, look.difference.high) for look in looks]
        held.append(
            all(math.isnan(low) or low <= true <= high for (low, high), true in zip(intervals, truth, strict=True))
        )
    return StoppingForecast(
        effect,
        len(ends),
        float((used < 1).mean()),
        float(used.mean()),
        float(np.quantile(used, 0.9, method="inverted_cdf")),
        float(np.mean(wrong)),
        float(np.mean(held)),
    )


def _is_wrong(rule: StoppingRule, look: Look, true: float) -> bool:
    if look.settled == "different":
        return look.difference.value * true <= 0
    return look.settled == "alike" and rule.smallest is not None and abs(true) >= rule.smallest
