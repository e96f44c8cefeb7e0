"""How often 95% intervals contain the truth, in simulated studies of the published sizes with known effects.

Z: 1,930 tasks of five texts by 15 systems (Zhang et al. 2020), balanced by the block planner; a rating depends on the
system and on the task (its context and its worker). C: 15 cells of 130 workers with five texts each (Clark 2021, ch.
6); workers differ in ability. Every study is analysed as the report does. With a coverage of exactly 95%, the number of
200 intervals that contain the truth has mean 190 and s.d. 3.1; 184 is two s.d. below the mean.

    python -m bench.replications [--studies 200] [--draws 1000] [--seed 1] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from analysis.detection import (
    Judgements,
    judgements_from_arrays,
    mean_against,
    mean_difference,
    measures,
    worker_scores,
)
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate
from analysis.planning import Sample, plan_blocks
from analysis.preference import bradley_terry, comparisons_from_ratings, system_scores

Floats = npt.NDArray[np.float64]
Truths = dict[str, float]
SYSTEMS, CONTEXTS, SAMPLES, TASKS, SIZE = 15, 48, 10, 1930, 5
#: The cuts between five labels, on the scale of a text's latent quality.
CUTS = np.array([-2.0, -0.7, 0.6, 2.0])
#: What a task adds to the quality of all its texts, with equal chances.
TASK_EFFECTS = np.array([-1.0, 0.0, 1.0])
CELLS, WORKERS, TEXTS = 15, 130, 5
#: Machine texts among a worker's five, and the beta distribution of how often workers are right.
MACHINE = np.array([False, False, True, True, True])


class QualityStudies:
    """Studies with the same plan; only the ratings differ."""

    def __init__(self) -> None:
        samples = [
            Sample(f"{context}/{system}/{number}", str(context), f"s{system:02d}")
            for context in range(CONTEXTS)
            for system in range(SYSTEMS)
            for number in range(SAMPLES)
        ]
        plan = plan_blocks(samples, size=SIZE, tasks=TASKS)
        self.pair_counts = plan.pair_counts
        self.system = np.array([[int(name.split("/")[1]) for name in block.samples] for block in plan.blocks])
        self.quality = np.linspace(-1.0, 1.0, SYSTEMS)
        self.tasks = np.repeat(np.arange(TASKS), SIZE)
        self.names = np.array([f"s{at:02d}" for at in range(SYSTEMS)])[self.system.ravel()]
        meetings = plan.meetings.to_numpy().astype(float)
        better, tie = self._chances()
        scores = (meetings * (better - better.T)).sum(axis=1) / meetings.sum(axis=1)
        strengths = self._strengths(meetings, better, tie)
        self.truths = {f"score {at}": float(scores[at]) for at in range(SYSTEMS)}
        self.truths |= {f"strength {at}": float(strengths[at]) for at in range(SYSTEMS)}
        self.truths["difference of scores"] = float(scores[-1] - scores[0])

    def _labels(self, effect: float) -> Floats:
        """Probabilities of the labels 1 … 5 of every system, (S, 5)."""
        above = expit(self.quality[:, None] + effect - CUTS[None, :])
        edges = np.concatenate([np.ones((SYSTEMS, 1)), above, np.zeros((SYSTEMS, 1))], axis=1)
        return np.asarray(edges[:, :-1] - edges[:, 1:])

    def _chances(self) -> tuple[Floats, Floats]:
        """The exact probabilities that system i is rated above j, and equally, (S, S)."""
        better, tie = np.zeros((SYSTEMS, SYSTEMS)), np.zeros((SYSTEMS, SYSTEMS))
        for effect in TASK_EFFECTS:
            labels = self._labels(float(effect))
            below = np.cumsum(labels, axis=1) - labels
            better += labels @ below.T / len(TASK_EFFECTS)
            tie += labels @ labels.T / len(TASK_EFFECTS)
        return better, tie

    def _strengths(self, meetings: Floats, better: Floats, tie: Floats) -> Floats:
        """The strengths that fit the exact probabilities best: what Davidson's model estimates, though it is not the
        model of these ratings."""
        one, two = np.triu_indices(SYSTEMS, 1)
        n = meetings[one, two]
        win, loss, even = better[one, two], better[two, one], tie[one, two]

        def loss_of(free: Floats) -> float:
            theta, eta = free[:-1], free[-1]
            utilities = np.stack([theta[one], theta[two], eta + (theta[one] + theta[two]) / 2])
            total = np.logaddexp.reduce(utilities, axis=0)
            return float(
                -(n * (win * utilities[0] + loss * utilities[1] + even * utilities[2] - total)).sum() / n.sum()
            )

        found = minimize(loss_of, np.zeros(SYSTEMS + 1), method="BFGS", options={"gtol": 1e-9}).x[:-1]
        return np.asarray(found - found.mean())

    def estimates(self, seed: int, draws: int) -> Iterator[tuple[str, Estimate]]:
        rng = np.random.default_rng([seed, 1])
        effect = rng.choice(TASK_EFFECTS, TASKS)
        latent = self.quality[self.system] + effect[:, None] + rng.logistic(size=self.system.shape)
        ratings = 1 + (latent[:, :, None] > CUTS).sum(axis=2)
        found = comparisons_from_ratings(self.tasks, self.names, ratings.ravel().astype(float))
        clusters = self.tasks[found.left]
        scores = system_scores(found, clusters, plan=Bootstrap(draws=draws, seed=seed), n_of="tasks")
        strengths = bradley_terry(found, clusters=clusters).strengths
        for at, name in enumerate(found.systems):
            yield f"score {at}", scores.estimates[name]
            yield f"strength {at}", strengths[name]
        yield "difference of scores", scores.difference(found.systems[-1], found.systems[0])


class DetectionStudies:
    """Cell k has the mean ability 0.45 + 0.01·k; every worker's is drawn from a beta distribution around it."""

    spread = 20.0

    def __init__(self) -> None:
        self.means = 0.45 + 0.01 * np.arange(CELLS)
        self.truths = {f"accuracy {at}": float(mean) for at, mean in enumerate(self.means)}
        self.truths |= {f"mean accuracy {at}": float(mean) for at, mean in enumerate(self.means)}
        # Right answers are as likely on human texts: machine texts called machine are right ones.
        self.truths |= {f"recall {at}": float(mean) for at, mean in enumerate(self.means)}
        self.truths["difference of means"] = float(self.means[-1] - self.means[0])
        self.truths["Cohen’s d"] = self._d()

    def _d(self) -> float:
        variances = []
        for mean in (self.means[-1], self.means[0]):
            a, b = mean * self.spread, (1 - mean) * self.spread
            ability = a * b / ((a + b) ** 2 * (a + b + 1))
            variances.append(ability + (mean * (1 - mean) - ability) / TEXTS)
        return float((self.means[-1] - self.means[0]) / np.sqrt(np.mean(variances)))

    def estimates(self, seed: int, draws: int) -> Iterator[tuple[str, Estimate]]:
        rng = np.random.default_rng([seed, 2])
        plan = Bootstrap(draws=draws, seed=seed)
        accuracies = []
        for at, mean in enumerate(self.means):
            found = self._cell(float(mean), rng)
            whole = measures(found, plan=plan)
            scores = worker_scores(found)["accuracy"].to_numpy()
            accuracies.append(scores)
            yield f"accuracy {at}", whole.accuracy
            yield f"recall {at}", whole.recall
            yield f"mean accuracy {at}", mean_against(scores, tests=CELLS).mean
        last = mean_difference(accuracies[-1], accuracies[0])
        yield "difference of means", last.mean
        yield "Cohen’s d", last.d

    def _cell(self, mean: float, rng: np.random.Generator) -> Judgements:
        ability = rng.beta(mean * self.spread, (1 - mean) * self.spread, WORKERS)
        right = rng.random((WORKERS, TEXTS)) < ability[:, None]
        said = np.where(right, MACHINE, ~MACHINE)
        workers = np.repeat(np.arange(WORKERS), TEXTS)
        # Fifty texts of either kind; every worker sees five different ones.
        texts = (workers * TEXTS + np.tile(np.arange(TEXTS), WORKERS)) % 50
        machine = np.tile(MACHINE, WORKERS)
        names = np.char.add(np.where(machine, "m", "h"), texts.astype(str))
        sources = np.where(machine, "model", "human")
        return judgements_from_arrays(workers, names, sources, np.where(said, 3, 2).ravel())


def coverage(studies: int, draws: int, seed: int) -> tuple[dict[str, int], dict[str, float], tuple[int, int]]:
    """How many of ``studies`` intervals contained the truth, by estimate; the truths; how often systems meet."""
    held: Counter[str] = Counter()
    quality, detection = QualityStudies(), DetectionStudies()
    truths = quality.truths | detection.truths
    for number in range(studies):
        for design in (quality, detection):
            for name, estimate in design.estimates(seed * 100_000 + number, draws):
                held[name] += estimate.low <= truths[name] <= estimate.high
    return {name: held[name] for name in truths}, truths, quality.pair_counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    began = time.perf_counter()
    held, truths, met = coverage(args.studies, args.draws, args.seed)
    seconds = time.perf_counter() - began
    if args.json:
        print(json.dumps({"studies": args.studies, "seconds": seconds, "held": held, "truths": truths}))
        return
    print(f"{args.studies} studies, {seconds:.0f} s; any two systems meet {met[0]} or {met[1]} times")
    kinds: dict[str, list[int]] = {}
    for name, many in held.items():
        kinds.setdefault(name.rstrip("0123456789 "), []).append(many)
    for kind, counts in kinds.items():
        mean = sum(counts) / len(counts) / args.studies
        print(
            f"  {kind:<22} {len(counts):>2} estimates: least {min(counts)}, most {max(counts)}, mean {100 * mean:.1f}%"
        )


if __name__ == "__main__":
    main()
