"""Power as planned, beside power in studies that are simulated by other code and read by the whole comparison.

The planner draws normal effects for a whole table and tests with the figures alone. Here every answer is made one by
one, workers come and take what is open, points are cut by comparing with thresholds, and `compare_levels` (or what the
reports call for shares) does the rest. Both must agree within three percentage points.

    python -m bench.planned_power [--studies 2000] [--designs 1 2 …] [--seed 5]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.findings import Answers, compare_levels, level_codes
from analysis.inference import Dimensions
from analysis.planning.aims import SHARES, Aim, Goal
from analysis.planning.components import Components
from analysis.planning.power import simulate
from analysis.planning.scales import Scale
from analysis.planning.study_design import Design
from analysis.preference.forced_choices import preference

LIKERT = Scale(1, 5, 5)
#: The latent standard deviations of the designs below whose answers are on points: items, workers, item × system,
#: worker × system, residual.
WIDE, NARROW = (0.5, 0.6, 0.45, 0.25, 0.8), (0.3, 0.2, 0.6, 0.1, 0.7)


@dataclass(frozen=True)
class Case:
    """A design, and the standard deviations of the effects that its answers are made of. ``means`` of systems are those
    of the normal variable. ``loads``: how uneven workers' loads are; 0: they take turns."""

    name: str
    design: Design
    sds: tuple[float, float, float, float, float]
    means: tuple[float, ...]
    points: int | None = None
    goal: Goal = "difference"
    margin: float = 0.0

    @property
    def latent(self) -> Components:
        items, workers, texts, likings, rest = (sd**2 for sd in self.sds)
        return Components(items, workers, texts, likings, rest, latent=self.points is not None)


CASES = (
    Case("independent answers", Design(2, 60, 1, 120, "one", False), (0, 0, 0, 0, 1.0), (0.5, 0.0)),
    Case("pairs, one worker each", Design(2, 40, 1, 40, "all"), (1.0, 0, 0.4, 0, 0.6), (0.45, 0.0)),
    Case("points, workers rate some", Design(2, 100, 3, 20, "some"), WIDE, (3.2, 2.9), 5),
    Case("points, all systems together", Design(2, 60, 5, 15, "all"), WIDE, (3.3, 2.95), 5),
    Case("points, one system each", Design(2, 50, 5, 60, "one"), WIDE, (3.4, 2.9), 5),
    Case("points near the top", Design(2, 80, 3, 12, "some"), NARROW, (4.4, 4.1), 5),
    Case("four systems, Holm", Design(4, 80, 4, 24, "some"), NARROW, (3.4, 3.0, 3.0, 3.0), 5),
    Case("own items", Design(2, 60, 4, 16, "some", False), NARROW, (3.5, 3.05), 5),
    Case("equivalence", Design(2, 150, 5, 40, "all"), NARROW, (3.0, 3.0), 5, "equivalence", 0.22),
    Case("share of choices", Design(1, 100, 5, 25, "some"), (0.5, 0.3, 0, 0, 0.8), (0.75,), 2, "share"),
)


def one_study(case: Case, rng: random.Random) -> list[tuple[str, str, str, float]]:
    """The rows (system, item, worker, answer) of one study, each made alone."""
    design = case.design
    sd_item, sd_worker, sd_text, sd_liking, sd_rest = case.sds
    drawn: dict[tuple[str, ...], float] = {}

    def effect(sd: float, *of: str) -> float:
        return drawn.setdefault(of, rng.gauss(0, sd)) if sd else 0.0

    people = [f"w{number}" for number in range(design.workers)]
    rng.shuffle(people)
    rows = []
    for system, item, worker in places(design, people, rng):
        name = item if design.same_items else f"{system} {item}"
        value = case.means[system] + effect(sd_item, "item", name) + effect(sd_worker, "worker", worker)
        value += effect(sd_text, "text", str(system), name) + effect(sd_liking, "liking", str(system), worker)
        value += rng.gauss(0, sd_rest)
        rows.append((str(system), name, worker, on_scale(case, value)))
    return rows


def places(design: Design, people: Sequence[str], rng: random.Random) -> list[tuple[int, str, str]]:
    """Who rates what: of the people with the least to do, chance chooses, and nobody rates a text twice."""
    groups: list[tuple[list[tuple[int, str]], Sequence[str]]] = []
    texts = [(system, f"i{item}") for system in range(design.systems) for item in range(design.items)]
    if design.crossing == "one":
        for system in range(design.systems):
            groups.append(([text for text in texts if text[0] == system], people[system :: design.systems]))
    else:
        groups.append((texts, people))
    chosen = []
    for group, pool in groups:
        load = dict.fromkeys(pool, 0)
        things = [text for text in group if text[0] == 0] if design.crossing == "all" else group
        rng.shuffle(things)
        for system, item in things:
            for worker in sorted(pool, key=lambda name: (load[name], rng.random()))[: design.raters]:
                load[worker] += 1
                shown = range(design.systems) if design.crossing == "all" else [system]
                chosen += [(shown_system, item, worker) for shown_system in shown]
    return chosen


def on_scale(case: Case, value: float) -> float:
    if case.points is None:
        return value
    if case.points == 2:
        return 1.0 if value > 0.5 else 0.0
    return float(min(case.points, max(1, round(value))))


def expected(case: Case, rng: np.random.Generator, draws: int = 1_000_000) -> list[float]:
    """The mean answer of every system, from many draws."""
    total = float(np.sqrt(sum(sd**2 for sd in case.sds)))
    means = []
    for mean in case.means:
        normal = rng.normal(mean, total, draws)
        if case.points == 2:
            normal = (normal > 0.5).astype(float)
        elif case.points is not None:
            normal = np.clip(np.round(normal), 1, case.points)
        means.append(float(normal.mean()) if case.points is not None else mean)
    return means


def shown_in(case: Case, rows: Sequence[tuple[str, str, str, float]]) -> float:
    """The share of the true differences that the report of this study would call significant."""
    systems, items, workers, values = zip(*rows, strict=True)
    if case.goal == "share":
        choices = np.array(values) * 2 - 1
        return float(preference(choices, Dimensions.of(items=items, workers=workers)).p < 0.05)
    texts = [f"{system} {item}" for system, item in zip(systems, items, strict=True)]
    bounds = None if case.points is None else (1.0, float(case.points))
    answers = Answers.of(values, items=texts, workers=workers, contexts=items, bounds=bounds)
    codes, names = level_codes(np.array(systems, dtype=object))
    result = compare_levels(answers, codes, names, margin=case.margin or None)
    if case.goal == "equivalence":
        return float(np.mean([pair.p_equivalent < 0.05 for pair in result.differences]))
    return float(np.mean([pair.p_corrected < 0.05 for pair in result.differences if "0" in (pair.first, pair.second)]))


def aim_of(case: Case, means: Sequence[float]) -> Aim:
    if case.goal == "share":
        # Two points have no variance of their own: what counts is the normal variable, so its share is named.
        return Aim("share", SHARES, case.latent, effect=means[0])
    scale = Scale(0, 1) if case.points is None else Scale(1, case.points, case.points)
    centre, effect = float(np.mean(means)), means[0] - means[-1]
    return Aim(case.goal, scale, case.latent, effect=0.0 if case.margin else effect, mean=centre, margin=case.margin)


def compared(case: Case, studies: int, seed: int, say: Callable[[str], None] = print) -> tuple[float, float]:
    """Planned and simulated power."""
    means = expected(case, np.random.default_rng(seed))
    planned = simulate(aim_of(case, means), case.design, simulations=studies, seed=seed)
    rng = random.Random(seed)
    shown = [shown_in(case, one_study(case, rng)) for _ in range(studies)]
    simulated = float(np.mean(shown))
    design = case.design
    sizes = f"{design.systems} × {design.items} × {design.raters} by {design.workers}"
    gap = planned.power - simulated
    say(f"| {case.name} | {sizes} | {100 * planned.power:.1f}% | {100 * simulated:.1f}% | {100 * gap:+.1f} |")
    return planned.power, simulated


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--designs", type=int, nargs="+", default=list(range(1, len(CASES) + 1)))
    args = parser.parse_args(argv)
    print("| design | systems × items × raters by workers | planned | simulated | apart |\n|---|---|--:|--:|--:|")
    pairs = [compared(CASES[number - 1], args.studies, args.seed) for number in args.designs]
    gaps = [abs(planned - simulated) for planned, simulated in pairs]
    print(f"\nLargest gap: {100 * max(gaps):.1f} percentage points, {args.studies:,} studies of each design, twice.")
    return 0 if max(gaps) <= 0.03 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
