"""Reference values of Gwet's AC1/AC2 from irrCAC 0.4.4 (PyPI), the Python port of Gwet's own R package.

Run once, in a separate environment: python reference_gwet.py > reference_gwet.json
"""

import json

import numpy as np
import pandas as pd
from irrCAC.raw import CAC  # type: ignore[import-not-found]

nan = float("nan")
KRIPPENDORFF_B = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]


def cases() -> dict[str, np.ndarray]:
    found = {"krippendorff_b": np.array(KRIPPENDORFF_B).T}
    rng = np.random.default_rng(1)
    for number, (units, raters, values, missing) in enumerate(
        [(10, 2, 2, 0.0), (30, 4, 5, 0.3), (50, 8, 3, 0.6), (25, 3, 7, 0.2)]
    ):
        truth = rng.integers(1, values + 1, units)
        noise = rng.integers(1, values + 1, (units, raters))
        ratings = np.where(rng.random((units, raters)) < 0.5, truth[:, None], noise).astype(float)
        ratings[rng.random((units, raters)) < missing] = nan
        found[f"random_{number}"] = ratings[~np.isnan(ratings).all(axis=1)]
    return found


def main() -> None:
    out = {}
    for name, ratings in cases().items():
        frame = pd.DataFrame(ratings)
        figures = {
            weights: CAC(frame, weights=weights, digits=13).gwet()["est"]["coefficient_value"]
            for weights in ("identity", "linear", "quadratic")
        }
        rows = [[None if np.isnan(cell) else cell for cell in row] for row in ratings]
        out[name] = {"ratings": rows, **{key: float(value) for key, value in figures.items()}}
    print("{\n" + ",\n".join(f'"{name}": {json.dumps(case)}' for name, case in out.items()) + "\n}")


if __name__ == "__main__":
    main()
