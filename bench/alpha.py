"""Krippendorff's α on many ratings: seconds and peak memory, compared with the `krippendorff` package.

Every row is measured in a separate process, after it has made the input and loaded the libraries. *Peak* is the highest
resident memory of that process, including the input; *added* is how much the call itself added.

    python -m bench.alpha [--units 100000] [--raters 2000] [--per-unit 10] [--level nominal] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

METHODS = {
    "point": "analysis.agreement, from long arrays",
    "point_counts": "analysis.agreement, from value counts",
    "interval": "analysis.agreement, with interval",
    "krippendorff_matrix": "krippendorff, raters × units matrix",
    "krippendorff_counts": "krippendorff, value counts",
}


def make_ratings(units: int, raters: int, per_unit: int) -> tuple[Ints, Ints, Ints]:
    """Long arrays (unit, rater, value 1 … 5): raters differ within a unit, values agree moderately."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(units), per_unit)
    start = rng.integers(0, raters, units)
    step = rng.integers(1, max(2, raters // per_unit), units)
    rater = (start[:, None] + step[:, None] * np.arange(per_unit)) % raters
    scores = 3 + rng.normal(size=(units, 1)) + rng.normal(size=(units, per_unit))
    return unit, rater.ravel(), np.clip(np.round(scores), 1, 5).astype(np.int64).ravel()


def prepare(method: str, arguments: argparse.Namespace) -> Callable[[], float]:
    """The call to time. Loads and makes everything that it needs."""
    unit, rater, value = make_ratings(arguments.units, arguments.raters, arguments.per_unit)
    level = arguments.level
    table = np.bincount(unit * 5 + value - 1, minlength=arguments.units * 5).reshape(-1, 5)
    if method.startswith("krippendorff"):
        import krippendorff

        if method == "krippendorff_counts":
            scale = np.arange(1, 6)
            return lambda: float(krippendorff.alpha(value_counts=table, value_domain=scale, level_of_measurement=level))
        matrix = np.full((arguments.raters, arguments.units), np.nan)
        matrix[rater, unit] = value
        return lambda: float(krippendorff.alpha(matrix, level_of_measurement=level))
    from analysis.agreement import counts_from_table, krippendorff_alpha, ratings_from_arrays

    interval = method == "interval"
    if method == "point_counts":
        return lambda: krippendorff_alpha(counts_from_table(table, [1, 2, 3, 4, 5]), level, interval=False).value
    return lambda: krippendorff_alpha(ratings_from_arrays(unit, rater, value), level, interval=interval).value


def peak_bytes() -> int:
    """Highest resident memory of this process so far (Linux counts in kibibytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(method: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Warm up on a small case in this process, then time one call."""
    small = argparse.Namespace(**{**vars(arguments), "units": 100})
    prepare(method, small)()
    call = prepare(method, arguments)
    before = peak_bytes()
    start = time.perf_counter()
    alpha = call()
    seconds = time.perf_counter() - start
    return {
        "alpha": alpha,
        "seconds": seconds,
        "added_mb": (peak_bytes() - before) / 1e6,
        "peak_mb": peak_bytes() / 1e6,
    }


def measure_apart(method: str, argv: list[str]) -> dict[str, float]:
    """The same in a separate process."""
    command = [sys.executable, "-m", "bench.alpha", *argv, "--measure", method]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--raters", type=int, default=2_000)
    parser.add_argument("--per-unit", type=int, default=10)
    parser.add_argument("--level", default="nominal", choices=["nominal", "ordinal", "interval", "ratio"])
    parser.add_argument("--only", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", choices=METHODS, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments)))
        return 0
    found = {method: measure_apart(method, argv) for method in arguments.only}
    if arguments.json:
        print(json.dumps(found, indent=2))
        return 0
    total = arguments.units * arguments.per_unit
    print(
        f"{total:,} ratings: {arguments.units:,} units × {arguments.per_unit} of {arguments.raters:,} raters, ", end=""
    )
    print(f"{arguments.level}\n")
    print(f"{'':42}  {'alpha':>8}  {'seconds':>8}  {'added MB':>8}  {'peak MB':>8}")
    for method, row in found.items():
        figures = f"{row['alpha']:8.5f}  {row['seconds']:8.3f}  {row['added_mb']:8.0f}  {row['peak_mb']:8.0f}"
        print(f"{METHODS[method]:42}  {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
