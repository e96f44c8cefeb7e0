"""How often 95% intervals hold the truth, in simulated studies in which items and workers both vary.

The grid: items 10, 30, 100 × workers 5, 12, 50 × ratings per item 1, 3, 5, all; standard deviations of items and
workers 0, 0.5, 1 (of a noise with s.d. 1, or on the logit scale); with and without an interaction of items and of
workers with the system (s.d. 0.5). Every figure is made by the functions of the report (“both”), and by the same
functions with clusters of items alone or of workers alone, which is what bootstraps and tests over one of them do. An
interval and its test agree, so a true null is rejected as often as the interval misses it.

    python -m bench.replications [--sets 1000] [--seed 1] [--figures mean share …] [--items 10 30] [--processes 2]
                                 [--json]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.agreement import krippendorff_alpha, ratings_from_arrays
from analysis.detection import Judgements, judgements_from_arrays, measures, sensitivity
from analysis.estimate import Estimate
from analysis.inference import Dimensions, ratios

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
METHODS = ("both", "items", "workers")
#: Interaction of items and workers with a system or an arm, where there is one.
INTERACTION = 0.5


@dataclass(frozen=True, slots=True)
class Design:
    """One cell of the grid. ``per_item`` 0 means all workers."""

    items: int
    workers: int
    per_item: int
    sd_items: float
    sd_workers: float
    interaction: float = 0.0

    @property
    def label(self) -> str:
        per_item = "all" if not self.per_item else str(self.per_item)
        return f"{self.items} × {self.workers}, {per_item} per item"


@dataclass(frozen=True, slots=True)
class Answers:
    """Who answered about what, and the effects on the answer: all (N,)."""

    item: Ints
    worker: Ints
    effect: Floats

    def dimensions(self, method: str) -> Dimensions:
        names = {"items": self.item, "workers": self.worker}
        return Dimensions.of(**(names if method == "both" else {method: names[method]}))


def designs(items: list[int]) -> Iterator[Design]:
    for many in items:
        for workers in (5, 12, 50):
            for per_item in (1, 3, 5, 0):
                if per_item and per_item >= workers:
                    continue
                for sds in itertools.product((0.0, 0.5, 1.0), repeat=2):
                    yield Design(many, workers, per_item, *sds)


def draw(design: Design, rng: np.random.Generator) -> Answers:
    """Items with their workers, balanced: workers are dealt out in shuffled rounds."""
    each = design.per_item or design.workers
    item = np.repeat(np.arange(design.items), each)
    if design.per_item:
        worker = np.concatenate([rng.permutation(design.workers)[:each] for _ in range(design.items)])
    else:
        worker = np.tile(np.arange(design.workers), design.items)
    effect = (
        rng.normal(0, design.sd_items, design.items)[item] + rng.normal(0, design.sd_workers, design.workers)[worker]
    )
    return Answers(item, worker, effect)


def levels(answers: Answers, level: Ints, design: Design, rng: np.random.Generator) -> Floats:
    """Interactions of items and of workers with one of two levels (N,)."""
    by_item = rng.normal(0, design.interaction, (design.items, 2))
    by_worker = rng.normal(0, design.interaction, (design.workers, 2))
    return np.asarray(by_item[answers.item, level] + by_worker[answers.worker, level])


Figure = Callable[[Design, np.random.Generator], tuple[float, dict[str, Estimate]]]


def mean(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    answers = draw(design, rng)
    values = answers.effect + rng.normal(size=len(answers.item))
    ones = np.ones(len(values))
    return 0.0, {name: ratios(values, ones, answers.dimensions(name)).estimate() for name in METHODS}


def share(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    answers = draw(design, rng)
    won = (answers.effect + rng.logistic(size=len(answers.item)) > 0).astype(float)
    ones = np.ones(len(won))
    return 0.5, {name: ratios(won, ones, answers.dimensions(name)).estimate(bounds=(0, 1)) for name in METHODS}


def _difference(
    design: Design, answers: Answers, level: Ints, rng: np.random.Generator
) -> tuple[float, dict[str, Estimate]]:
    values = answers.effect + levels(answers, level, design, rng) + rng.normal(size=len(level))
    below = np.eye(2)[level]
    return 0.0, {
        name: ratios(values[:, None] * below, below, answers.dimensions(name)).difference(0, 1) for name in METHODS
    }


def systems_crossed(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    """Both systems have a text for each item, and whoever rates one rates both."""
    once = draw(design, rng)
    answers = Answers(np.tile(once.item, 2), np.tile(once.worker, 2), np.tile(once.effect, 2))
    return _difference(design, answers, np.repeat([0, 1], len(once.item)), rng)


def systems_nested(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    """Every item is by one of the systems."""
    answers = draw(design, rng)
    return _difference(design, answers, answers.item % 2, rng)


def arms(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    """Every worker is in one of two arms; both arms see all items."""
    answers = draw(design, rng)
    return _difference(design, answers, answers.worker % 2, rng)


def judged(design: Design, rng: np.random.Generator) -> tuple[Answers, Judgements]:
    """Workers who guess; texts and workers differ in how often *machine* is said of or by them."""
    answers = draw(design, rng)
    right = answers.effect + rng.logistic(size=len(answers.item)) > 0
    machine = answers.item % 2 == 1
    source = np.where(machine, "gpt", "human")
    return answers, judgements_from_arrays(answers.worker, answers.item, source, np.where(right == machine, 4, 1))


def accuracy(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    answers, judgements = judged(design, rng)
    right = judgements.frame["right"].to_numpy(dtype=float)
    ones = np.ones(len(right))
    alone = {
        name: ratios(right, ones, answers.dimensions(name)).estimate(bounds=(0, 1)) for name in ("items", "workers")
    }
    return 0.5, {"both": measures(judgements).accuracy, **alone}


def d_prime(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    _, judgements = judged(design, rng)
    return 0.0, {"both": sensitivity(judgements).d_prime}


def alpha(design: Design, rng: np.random.Generator) -> tuple[float, dict[str, Estimate]]:
    """Nominal α of two labels: new units and new raters, and these raters only."""
    answers = draw(design, rng)
    label = (answers.effect + rng.logistic(size=len(answers.item)) > 0).astype(float)
    ratings = ratings_from_arrays(answers.item, answers.worker, label)
    return alpha_of_labels(design.sd_items, design.sd_workers), {
        "both": krippendorff_alpha(ratings),
        "items": krippendorff_alpha(ratings, raters="these"),
    }


def alpha_of_labels(sd_items: float, sd_workers: float) -> float:
    """α of any two raters in the population: items and raters are normal, noise is logistic (Gauss–Hermite)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    chance = np.array([weights @ (1 / (1 + np.exp(-(sd_items * item + sd_workers * nodes)))) for item in nodes])
    both, one = float(weights @ chance**2), float(weights @ chance)
    return 1 - (one - both) / (one * (1 - one))


FIGURES: dict[str, Figure] = {
    "mean": mean,
    "share": share,
    "systems_crossed": systems_crossed,
    "systems_nested": systems_nested,
    "arms": arms,
    "accuracy": accuracy,
    "d_prime": d_prime,
    "alpha": alpha,
}
#: Figures that compare two levels, with which items and workers may interact.
WITH_LEVELS = ("systems_crossed", "systems_nested", "arms")


def held_in(figure: str, design: Design, sets: int, seed: int) -> Counter[str]:
    """By method: how many intervals of ``sets`` studies hold the truth; with “ none”: how many studies have none."""
    rng = np.random.default_rng([seed, design.items, design.workers, design.per_item, int(10 * design.sd_items)])
    count: Counter[str] = Counter()
    for _ in range(sets):
        try:
            truth, estimates = FIGURES[figure](design, rng)
        except ValueError:  # such as agreement with one rating per item
            count["both none"] += 1
            continue
        for method, estimate in estimates.items():
            if math.isnan(estimate.low):
                count[f"{method} none"] += 1
            else:
                count[method] += estimate.low <= truth <= estimate.high
    return count


def row_of(job: tuple[str, Design, int, int]) -> dict[str, object]:
    figure, design, sets, seed = job
    count = held_in(figure, design, sets, seed)
    row: dict[str, object] = {
        "figure": figure,
        "design": design.label,
        "sd": f"{design.sd_items:g}, {design.sd_workers:g}",
        "interaction": design.interaction,
    }
    for method in METHODS:
        having = sets - count[f"{method} none"]
        row[method] = round(100 * count[method] / having, 1) if method in count and having >= sets / 2 else None
    row["without interval"] = round(100 * count["both none"] / sets, 1)
    return row


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--figures", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument("--items", nargs="+", type=int, default=[10, 30, 100])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    jobs = []
    for figure in arguments.figures:
        for design in designs(arguments.items):
            jobs.append((figure, design, arguments.sets, arguments.seed))
            if figure in WITH_LEVELS:
                jobs.append((figure, replace(design, interaction=INTERACTION), arguments.sets, arguments.seed))
    with ProcessPoolExecutor(arguments.processes) as pool:
        rows = []
        for row in pool.map(row_of, jobs):
            rows.append(row)
            if not arguments.json:
                print("  ".join(f"{value!s:>16}" for value in row.values()), flush=True)
    if arguments.json:
        print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
