"""How often intervals and tests are right: every figure that is printed, where items and workers both vary.

The grid: items 10, 30, 100 × workers 5, 12, 50 × answers per item 1, 3, 5, all; standard deviations of items and of
workers 0, 0.5, 1 (noise: 1, or logistic); with and without interactions of items and of workers with the levels (0.5).
Every trial is one simulated study, or many of one design, and gives for each figure whether its 95% interval holds the
truth, or its test keeps a true null. Both should be 95%.

    python -m bench.uncertainty run [TRIAL …] [--cells all|telling|few] [--sets 1000] [--seed 1] [--out FILE]
    python -m bench.uncertainty table FILE …

``run`` adds one line per cell and figure to FILE and skips what FILE already has; ``table`` makes the table of
docs/uncertainty.md from it.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
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
HEADER = ("trial", "figure", "items", "workers", "per item", "sd items", "sd workers", "interaction", "right", "of")
LEAST, MOST = 92.5, 97.5


def cells_of(trial: Trial, which: str) -> Iterator[Design]:
    chosen = {"all": None, "telling": TELLING, "few": FEW}[which]
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


def run(arguments: argparse.Namespace) -> None:
    done: set[tuple[str, ...]] = set()
    if arguments.out.exists():
        done = {
            tuple(line.split("\t")[:1] + line.split("\t")[2:8]) for line in arguments.out.read_text().splitlines()[1:]
        }
    else:
        arguments.out.write_text("\t".join(HEADER) + "\n")
    for name in arguments.trials or TRIALS:
        trial = TRIALS[name]
        for design in cells_of(trial, arguments.cells):
            cell = (design.items, design.workers, design.per_item, design.sd_items, design.sd_workers)
            key = (name, *map(str, cell), str(design.interaction))
            if key in done:
                continue
            counts = counted_in(trial, design, arguments.sets, seed_of(arguments.seed, name, design))
            with arguments.out.open("a") as out:
                for figure, numbers in counts.items():
                    print(name, figure, *cell, design.interaction, *numbers, sep="\t", file=out)


def table(arguments: argparse.Namespace) -> None:
    """A line per figure: the cells in which half of the studies have it, with the lowest, middle and highest."""
    shares: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    sets: dict[tuple[str, str], int] = defaultdict(int)
    for path in arguments.files:
        for line in path.read_text().splitlines()[1:]:
            trial, figure, items, workers, per_item, sd_items, sd_workers, interaction, right, having = line.split("\t")
            sets[trial, figure] = max(sets[trial, figure], int(having))
            if int(having) >= max(100, sets[trial, figure] / 2):
                cell = f"{items} × {workers}, {'all' if per_item == '0' else per_item}, {sd_items}/{sd_workers}"
                cell += f", {interaction}" if interaction != "0.0" else ""
                shares[trial, figure].append((100 * int(right) / int(having), cell))
    print("| trial | figure | cells × studies | lowest | median | highest | outside |\n|---|---|---|---|---|---|---|")
    for (trial, figure), values in shares.items():
        values.sort()
        outside = [share for share, _ in values if not LEAST <= share <= MOST]
        (low, low_cell), (high, high_cell) = values[0], values[-1]
        ends = f"{low:.1f} ({low_cell}) | {np.median([share for share, _ in values]):.1f} | {high:.1f} ({high_cell})"
        size = f"{len(values)} × {sets[trial, figure]:,}"
        print(f"| {trial} | {figure} | {size} | {ends} | {len(outside)} |")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("trials", nargs="*", metavar="TRIAL", help=", ".join(TRIALS))
    running.add_argument("--cells", choices=("all", "telling", "few"), default="telling")
    running.add_argument("--sets", type=int, default=1_000)
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--out", type=Path, default=Path("uncertainty.tsv"))
    running.set_defaults(call=run)
    showing = commands.add_parser("table")
    showing.add_argument("files", nargs="+", type=Path)
    showing.set_defaults(call=table)
    arguments = parser.parse_args(argv)
    arguments.call(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
