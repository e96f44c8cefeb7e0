"""How often looking again and again misleads, and what stopping early saves: ``python -m bench.sequential [--sets N]``.

In every simulated study, workers come one after the other and rate 20 of 40 items, 10 of each of two systems, of which
each has half the items; items, workers and their combinations vary. Every new worker from the sixth on is a look.
Prints for true differences of 0, 0.4 and 0.8 how often the difference was called decided by the ordinary interval and
by the confidence sequence, how often all intervals of the study held the truth, and how many workers had come on
average when the study could stop; at the planned number, 40, it stops anyway.
"""

from __future__ import annotations

import argparse

import numpy as np

from analysis.findings import Answers, compare_levels
from analysis.sequential import always_valid_level

ITEMS, PER_WORKER, PLANNED = 40, 20, 40
SD_ITEM, SD_WORKER, SD_WORKER_SYSTEM, SD_ANSWER = 0.3, 0.5, 0.2, 0.8
DIFFERENCES = (0.0, 0.4, 0.8)


def one_study(difference: float, random: np.random.Generator) -> dict[str, tuple[int, bool, bool]]:
    """By method: after how many workers it stopped, whether it decided, whether every interval held the truth."""
    systems = np.arange(ITEMS) % 2
    worth = random.normal(0, SD_ITEM, ITEMS) + difference * systems
    values, items, workers = [], [], []
    state = {"ordinary": [PLANNED, False, True], "always valid": [PLANNED, False, True]}
    for worker in range(PLANNED):
        rated = np.concatenate(
            [random.choice(np.arange(of, ITEMS, 2), PER_WORKER // 2, replace=False) for of in (0, 1)]
        )
        own = random.normal(0, SD_WORKER) + random.normal(0, SD_WORKER_SYSTEM, 2)[systems[rated]]
        values.append(worth[rated] + own + random.normal(0, SD_ANSWER, PER_WORKER))
        items.append(rated)
        workers.append(np.full(PER_WORKER, worker))
        if worker < 5:
            continue
        answers = Answers.of(np.concatenate(values), items=np.concatenate(items), workers=np.concatenate(workers))
        codes = systems[np.concatenate(items)]
        levels = {"ordinary": 0.95, "always valid": always_valid_level(worker + 1, PLANNED)}
        for method, level in levels.items():
            (pair,) = compare_levels(answers, codes, ("0", "1"), level=level).differences
            sign = 1 if pair.first == "1" else -1
            interval = pair.difference
            state[method][2] &= bool(interval.low <= sign * difference <= interval.high)
            if not state[method][1] and not interval.low <= 0 <= interval.high:
                state[method][:2] = [worker + 1, True]
    return {method: (int(stop), bool(decided), bool(held)) for method, (stop, decided, held) in state.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    print(f"{'difference':>10}  {'method':<13}{'decided':>9}{'all held':>10}{'workers':>9}")
    for difference in DIFFERENCES:
        studies = [one_study(difference, random) for _ in range(options.sets)]
        for method in ("ordinary", "always valid"):
            stops, decided, held = (np.mean([study[method][at] for study in studies]) for at in range(3))
            print(f"{difference:>10}  {method:<13}{decided:>9.1%}{held:>10.1%}{stops:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
