"""How often what `compare` and the report's findings print is right, in simulated studies where items and workers vary.

The grid is that of `bench.replications`. Figures:

- ``effect``: 95% intervals of Cohen's d that hold the true d of 0.5;
- ``standardised``: intervals of a difference standardised within workers that hold 0, where there is none;
- ``family``: studies of four equal levels in which no difference has a corrected p below 5%;
- ``reference``: the same for three differences from a reference;
- ``interaction``: studies without an interaction whose p is not below 5%;
- ``equivalence``: studies whose levels differ by the margin and are not said to be equivalent.

All should be 95%, or more for the last where the margin is only just reached.

    python -m bench.comparison_grid [--sets 1000] [--seed 1] [--figures effect …] [--items 10 30] [--processes 2]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from analysis.findings import Answers, compare_levels
from analysis.findings.crossing import cross_levels
from bench.replications import INTERACTION, Design, Floats, Ints, designs, draw

#: What the levels belong to: items of one system each, items that all systems have (with one text each), workers.
LAYOUTS = ("nested", "crossed", "arms")
EFFECT, MARGIN = 0.5, 0.4


def study(
    design: Design, layout: str, count: int, rng: np.random.Generator, first_higher: float = 0.0
) -> tuple[Answers, Ints]:
    """Answers about ``count`` levels that differ in nothing, except that the first is higher."""
    drawn = draw(design, rng)
    if layout == "crossed":
        levels = np.repeat(np.arange(count), len(drawn.item))
        item, worker, effect = (np.tile(column, count) for column in (drawn.item, drawn.worker, drawn.effect))
    else:
        item, worker, effect = drawn.item, drawn.worker, drawn.effect
        levels = (item if layout == "nested" else worker) % count
    by_item = rng.normal(0, design.interaction, (design.items, count))[item, levels]
    by_worker = rng.normal(0, design.interaction, (design.workers, count))[worker, levels]
    values: Floats = effect + by_item + by_worker + rng.normal(size=len(levels)) + first_higher * (levels == 0)
    return Answers.of(values, items=item, workers=worker), levels


def total_sd(design: Design) -> float:
    """The standard deviation of the answers about one level."""
    return math.sqrt(design.sd_items**2 + design.sd_workers**2 + 2 * design.interaction**2 + 1)


def effect(design: Design, layout: str, rng: np.random.Generator) -> bool | None:
    answers, levels = study(design, layout, 2, rng, EFFECT * total_sd(design))
    interval = compare_levels(answers, levels, ["a", "b"], reference="b").differences[0].effect
    return None if math.isnan(interval.low) else interval.low <= EFFECT <= interval.high


def standardised(design: Design, layout: str, rng: np.random.Generator) -> bool | None:
    answers, levels = study(design, layout, 2, rng)
    interval = compare_levels(answers, levels, ["a", "b"]).differences[0].standardised
    return None if interval is None or math.isnan(interval.low) else interval.low <= 0 <= interval.high


def _none_significant(design: Design, layout: str, rng: np.random.Generator, reference: str) -> bool | None:
    answers, levels = study(design, layout, 4, rng)
    tests = [
        pair.p_corrected for pair in compare_levels(answers, levels, list("abcd"), reference=reference).differences
    ]
    return None if any(math.isnan(p) for p in tests) else min(tests) >= 0.05


def family(design: Design, layout: str, rng: np.random.Generator) -> bool | None:
    return _none_significant(design, layout, rng, "")


def reference(design: Design, layout: str, rng: np.random.Generator) -> bool | None:
    return _none_significant(design, layout, rng, "a")


def interaction(design: Design, layout: str, rng: np.random.Generator) -> bool | None:
    """Systems by domains of items: every item is in one of two domains."""
    answers, levels = study(design, layout, 2, rng)
    domains = (answers.items // 2) % 2
    tests = cross_levels(answers, (levels, ["a", "b"]), (domains, ["x", "y"])).interactions
    return None if not tests or math.isnan(tests[0].p) else tests[0].p >= 0.05


def equivalence(design: Design, layout: str, rng: np.random.Generator) -> bool | None:
    answers, levels = study(design, layout, 2, rng, MARGIN)
    p = compare_levels(answers, levels, ["a", "b"], reference="b", margin=MARGIN).differences[0].p_equivalent
    return None if math.isnan(p) else p >= 0.05


FIGURES: dict[str, Callable[[Design, str, np.random.Generator], bool | None]] = {
    "effect": effect,
    "standardised": standardised,
    "family": family,
    "reference": reference,
    "interaction": interaction,
    "equivalence": equivalence,
}


def right_in(figure: str, layout: str, design: Design, sets: int, seed: int) -> tuple[int, int]:
    """In how many of ``sets`` studies the figure is right, and how many studies have it at all."""
    rng = np.random.default_rng([seed, design.items, design.workers, design.per_item, int(10 * design.sd_items)])
    outcomes = [FIGURES[figure](design, layout, rng) for _ in range(sets)]
    return sum(outcome is True for outcome in outcomes), sum(outcome is not None for outcome in outcomes)


def cells(items: list[int]) -> Iterator[Design]:
    for design in designs(items):
        yield design
        yield replace(design, interaction=INTERACTION)


def row_of(job: tuple[str, str, Design, int, int]) -> tuple[object, ...]:
    figure, layout, design, sets, seed = job
    right, having = right_in(figure, layout, design, sets, seed)
    share = f"{100 * right / having:.1f}" if having >= sets / 2 else "–"
    sds = f"{design.sd_items:g}, {design.sd_workers:g}"
    return figure, layout, design.label, sds, design.interaction, share, having


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--figures", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument("--items", nargs="+", type=int, default=[10, 30, 100])
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args(argv)
    jobs = [
        (figure, layout, design, arguments.sets, arguments.seed)
        for figure in arguments.figures
        for layout in arguments.layouts
        for design in cells(arguments.items)
    ]
    with ProcessPoolExecutor(arguments.processes) as pool:
        for row in pool.map(row_of, jobs):
            print("\t".join(map(str, row)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
