"""How often intervals and tests are right: every figure that is printed, where items and workers both vary.

The grid: items 10, 30, 100 × workers 5, 12, 50 × answers per item 1, 3, 5, all; standard deviations of items and of
workers 0, 0.5, 1 (noise: 1, or logistic); with and without interactions of items and of workers with the levels (0.5).
Every trial is one simulated study, or many of one design, and gives for each figure whether its 95% interval holds the
truth, or its test keeps a true null. Both should be 95%.

    python -m bench.uncertainty run [TRIAL …] [--cells all|telling|few|many] [--sets 1000] [--seed 1] [--out FILE]
    python -m bench.uncertainty table FILE … [--many]

``run`` adds one line per cell and figure to FILE and skips what FILE already has; with ``--again OTHER`` it runs only
cells that are outside 92.5–97.5% in OTHER. ``table`` makes the table of docs/uncertainty.md from all of them.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.level_trials import Outcomes
from bench.replications import INTERACTION, Design, designs
from bench.uncertainty_trials import TRIALS, Trial

#: Corners and the middle of the grid: items, workers, answers per item (0: all).
TELLING: tuple[tuple[int, int, int], ...] = (
    (10, 5, 0),
    (10, 12, 3),
    (10, 12, 0),
    (10, 50, 5),
    (30, 5, 0),
    (30, 12, 1),
    (30, 12, 3),
    (30, 12, 0),
)
TELLING += ((30, 50, 5), (100, 5, 1), (100, 5, 0), (100, 12, 3), (100, 50, 5))
FEW = ((10, 12, 0), (10, 50, 5), (30, 5, 0), (30, 12, 3), (100, 12, 3))
#: Enough items and workers that reports do not warn of few (`analysis.inference.contrasts.FEW_CLUSTERS`).
MANY = tuple((items, 50, per_item) for items in (30, 100) for per_item in (1, 3, 5, 0))
HEADER = ("trial", "figure", "items", "workers", "per item", "sd items", "sd workers", "interaction", "right", "of")
LEAST, MOST = 92.5, 97.5
AT_MOST = ("equivalence", "Holm", "ranks")


def cells_of(trial: Trial, which: str) -> Iterator[Design]:
    chosen = {"all": None, "telling": TELLING, "few": FEW, "many": MANY}[which]
    for design in designs([10, 30, 100]):
        if chosen is not None and (design.items, design.workers, design.per_item) not in chosen:
            continue
        if which == "few" and (design.sd_items, design.sd_workers) not in ((0.0, 0.0), (1.0, 1.0)):
            continue
        yield design
        if trial.interacts:
            yield replace(design, interaction=INTERACTION)


def seed_of(seed: int, name: str, design: Design) -> list[int]:
    sds = int(10 * design.sd_items), int(10 * design.sd_workers), int(10 * design.interaction)
    return [seed, sum(map(ord, name)), design.items, design.workers, design.per_item, *sds]


def counted_in(trial: Trial, design: Design, sets: int, seed: list[int]) -> dict[str, tuple[int, int]]:
    """By figure, how often it is right, and how many studies have it."""
    rng = np.random.default_rng(seed)
    right: dict[str, int] = defaultdict(int)
    having: dict[str, int] = defaultdict(int)
    done = 0
    while done < sets:
        size = min(trial.at_once, sets - done)
        outcomes: Outcomes = trial.run(design, size, rng)
        for figure, holds in outcomes.items():
            right[figure] += int(np.sum(holds))
            having[figure] += len(holds)
        done += size
    return {figure: (right[figure], having[figure]) for figure in having}


@dataclass(frozen=True)
class Count:
    """How often a figure was right in a cell, of the studies that had it."""

    right: int
    having: int

    @property
    def share(self) -> float:
        return 100 * self.right / self.having if self.having else math.nan

    def is_outside(self, figure: str) -> bool:
        """Tests that promise 5% at most may reject less."""
        return self.share < LEAST or (self.share > MOST and not figure.startswith(AT_MOST))


def counts_in(paths: Iterable[Path]) -> dict[tuple[str, str], dict[Design, Count]]:
    """By trial and figure, then by cell. A cell that a later file has again is taken from there."""
    counts: dict[tuple[str, str], dict[Design, Count]] = defaultdict(dict)
    for path in paths:
        for line in path.read_text().splitlines()[1:]:
            trial, figure, *cell, right, having = line.split("\t")
            design = Design(*map(int, cell[:3]), *map(float, cell[3:]))
            counts[trial, figure][design] = Count(int(right), int(having))
    return counts


def run(arguments: argparse.Namespace) -> None:
    if not arguments.out.exists():
        arguments.out.write_text("\t".join(HEADER) + "\n")
    done = {(trial, design) for (trial, _), cells in counts_in([arguments.out]).items() for design in cells}
    outside = {
        (trial, design)
        for (trial, figure), cells in counts_in(arguments.again).items()
        for design, count in cells.items()
        if count.is_outside(figure)
    }
    for name in arguments.trials or TRIALS:
        trial = TRIALS[name]
        for design in cells_of(trial, arguments.cells):
            if (name, design) in done or (arguments.again and (name, design) not in outside):
                continue
            counts = counted_in(trial, design, arguments.sets, seed_of(arguments.seed, name, design))
            cell = (design.items, design.workers, design.per_item, design.sd_items, design.sd_workers)
            with arguments.out.open("a") as out:
                for figure, numbers in counts.items():
                    print(name, figure, *cell, design.interaction, *numbers, sep="\t", file=out)


def described(design: Design, count: Count) -> str:
    cell = f"{design.items} × {design.workers}, {design.per_item or 'all'}, {design.sd_items}/{design.sd_workers}"
    return f"{count.share:.1f} ({cell}{f', {design.interaction}' if design.interaction else ''})"


def table(arguments: argparse.Namespace) -> None:
    """A line per figure: the cells in which half of the studies have it, with the lowest, middle and highest."""
    print("| trial | figure | cells × studies | lowest | median | highest | outside |\n|---|---|---|---|---|---|---|")
    for (trial, figure), cells in counts_in(arguments.files).items():
        most = Counter(count.having for count in cells.values()).most_common(1)[0][0]
        usual = [(design, count) for design, count in cells.items() if count.having >= max(most, 100) / 2]
        if arguments.many:
            usual = [
                (design, count) for design, count in usual if (design.items, design.workers, design.per_item) in MANY
            ]
        if not usual:
            continue
        usual.sort(key=lambda cell: cell[1].share)
        middle = float(np.median([count.share for _, count in usual]))
        ends = f"{described(*usual[0])} | {middle:.1f} | {described(*usual[-1])}"
        outside = sum(count.is_outside(figure) for _, count in usual)
        print(f"| {trial} | {figure} | {len(usual)} × {most:,} | {ends} | {outside} |")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("trials", nargs="*", metavar="TRIAL", help=", ".join(TRIALS))
    running.add_argument("--cells", choices=("all", "telling", "few", "many"), default="telling")
    running.add_argument("--sets", type=int, default=1_000)
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--again", nargs="+", type=Path, default=[], metavar="FILE", help="only cells outside there")
    running.add_argument("--out", type=Path, default=Path("uncertainty.tsv"))
    running.set_defaults(call=run)
    showing = commands.add_parser("table")
    showing.add_argument("files", nargs="+", type=Path)
    showing.add_argument("--many", action="store_true", help="only cells with many items and workers")
    showing.set_defaults(call=table)
    arguments = parser.parse_args(argv)
    arguments.call(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
