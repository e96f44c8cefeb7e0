"""Bradley–Terry strengths from many comparisons: seconds and results, compared with choix and crowd-kit.

All run in one process on the same comparisons, one after the other. choix and crowd-kit have no ties, so there are
none. crowd-kit is not one of the project's requirements: if it is not installed, it is left out and the output says so.

    python -m bench.preference [--comparisons 1000000] [--systems 15] [--sparse] [--json]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.preference import bradley_terry, comparisons_from_choices

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def make_comparisons(n: int, systems: int, *, sparse: bool) -> tuple[Floats, Ints, Ints]:
    """True strengths, winners and losers. Sparse: every system meets only its two neighbours on a ring."""
    rng = np.random.default_rng(0)
    strength = rng.normal(size=systems)
    first = rng.integers(systems, size=n)
    apart = np.where(rng.random(n) < 0.5, 1, systems - 1) if sparse else rng.integers(1, systems, size=n)
    second = (first + apart) % systems
    won = rng.random(n) < 1 / (1 + np.exp(strength[second] - strength[first]))
    return strength - strength.mean(), np.where(won, first, second), np.where(won, second, first)


def ours(winners: Ints, losers: Ints, systems: int) -> Floats:
    found = bradley_terry(comparisons_from_choices(winners, losers, np.ones(len(winners))))
    return np.array([found.strengths[str(at)].value for at in range(systems)])


def with_choix(winners: Ints, losers: Ints, systems: int) -> Floats:
    import choix

    data = list(zip(winners.tolist(), losers.tolist(), strict=True))
    return np.asarray(choix.ilsr_pairwise(systems, data, alpha=0))


def with_crowd_kit(winners: Ints, losers: Ints, systems: int) -> Floats:
    import pandas as pd
    from crowdkit.aggregation import BradleyTerry

    frame = pd.DataFrame({"worker": 0, "left": winners, "right": losers, "label": winners})
    scores = BradleyTerry(n_iter=100).fit_predict(frame).reindex(range(systems)).to_numpy()
    strengths = np.log(np.maximum(scores, 1e-300))
    return np.asarray(strengths - strengths.mean())


METHODS: dict[str, tuple[str, Callable[[Ints, Ints, int], Floats]]] = {
    "analysis.preference": ("numpy", ours),
    "choix": ("choix", with_choix),
    "crowd-kit": ("crowd-kit", with_crowd_kit),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=1_000_000)
    parser.add_argument("--systems", type=int, default=15)
    parser.add_argument("--sparse", action="store_true", help="every system meets only two others")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    truth, winners, losers = make_comparisons(args.comparisons, args.systems, sparse=args.sparse)
    rows: list[dict[str, Any]] = []
    reference: Floats | None = None
    for name, (package, run) in METHODS.items():
        try:
            version = importlib.metadata.version(package)
            began = time.perf_counter()
            found = run(winners, losers, args.systems)
        except (ImportError, RuntimeError, ValueError) as error:
            rows.append({"method": name, "problem": f"{type(error).__name__}: {str(error)[:80]}"})
            continue
        seconds = time.perf_counter() - began
        reference = found if reference is None else reference
        row = {"method": name, "version": version, "seconds": round(seconds, 3)}
        row |= {"from_ours": float(np.abs(found - reference).max()), "from_truth": float(np.abs(found - truth).max())}
        rows.append(row)
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{args.comparisons:,} comparisons of {args.systems} systems")
    for row in rows:
        told = row.get("problem") or (
            f"{row['seconds']:>9.3f} s   largest difference from ours {row['from_ours']:.1e}, "
            f"from the truth {row['from_truth']:.3f}"
        )
        print(f"  {row['method']:<20} {told}")


if __name__ == "__main__":
    main()
