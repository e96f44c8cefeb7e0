"""How long metrics and intervals take on the released diversity sets: ``python -m bench.metrics [DATA]``.

DATA is the folder ``diversity-eval`` (default: ../shared/data/diversity-eval next to the checkout). Prints one line per
step: sets, seconds, and the peak memory of the process so far.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from analysis.diversity.evaluation import con_test, dec_test
from analysis.diversity.metrics import METRICS
from analysis.diversity.set_files import LABEL, numbers, read_sets, responses


def timed(what: str, sets: int, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<42}{sets:>7} sets {seconds:>8.3f} s {peak:>7.0f} MB")


def main() -> None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "diversity-eval"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, default=beside, help="the released sets' folder")
    folder = parser.parse_args().folder
    paths = sorted(folder.glob("*/*.csv"))
    if not paths:
        parser.error(f"{folder} has no folders with CSV files.")
    frames = {path: read_sets(path) for path in paths}
    timed("read", sum(map(len, frames.values())), lambda: [read_sets(path) for path in paths])
    texts = [text for path, frame in frames.items() for text in responses(frame, path)]
    for name, metric in METRICS.items():
        timed(name, len(texts), lambda metric=metric: [metric(text) for text in texts])  # type: ignore[misc]
    rng = np.random.default_rng(0)
    labels = rng.uniform(0.2, 1.2, 200)
    timed("decTest, 2 intervals of 1,000 resamples", 200, lambda: dec_test(labels + rng.normal(size=200), labels))
    for path, frame in frames.items():
        if path.parent.name == "McDiv":
            classes = numbers(frame, LABEL, path)
            scores = numbers(frame, "metric_AveragedDistinctNgrams", path)
            what = f"conTest of {path.stem.removeprefix('mcdiv_all_no_hds_')}"
            timed(what, len(scores), lambda x=scores, y=classes: con_test(x, y))  # type: ignore[misc]


if __name__ == "__main__":
    main()
