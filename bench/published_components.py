"""The published variance components that are computed from public data (`analysis.planning.published`).

SNOW is the folder with the answers of Snow et al. 2008 as TSV files (worker, item, response, gold); DIVERSITY is the
folder of Tevet & Berant's released data (github.com/GuyTevet/diversity-eval, ``data/with_metrics``), with ``conTest``.

    python -m bench.published_components SNOW DIVERSITY
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.planning.components import Components, fit_components
from analysis.planning.words import components_in_words

#: The files of the answers, and whether an answer is right or wrong instead of a rating.
FILES = {"similarity": ("wordsim", False), "entailment": ("rte", True), "temporal": ("temp", True)}
#: Every set of the diversity data has so many ratings.
RATINGS = 10


def of_snow(folder: Path) -> dict[str, Components]:
    fitted = {}
    for name, (file, right_or_wrong) in FILES.items():
        table = pd.read_csv(folder / f"{file}.tsv", sep="\t")
        values = (table["response"] == table["gold"]).astype(float) if right_or_wrong else table["response"]
        fitted[name] = fit_components(values, items=table["item"], workers=table["worker"]).components
    return fitted


def of_diversity(folder: Path) -> tuple[float, float]:
    """The variance of sets within classes, and of ratings of a set, each the mean over the three tasks.

    The released standard deviations have n in the denominator, and the variance of a set's mean holds a tenth of that
    of its ratings.
    """
    texts, ratings = [], []
    for path in sorted((folder / "conTest").glob("*.csv")):
        table = pd.read_csv(path).dropna(subset=["metric_abs_hds_mean"])
        rating = float((table["metric_abs_hds_std"] ** 2).mean()) * RATINGS / (RATINGS - 1)
        means = table.groupby("label_value")["metric_abs_hds_mean"]
        squares = float(((table["metric_abs_hds_mean"] - means.transform("mean")) ** 2).sum())
        texts.append(squares / (len(table) - means.ngroups) - rating / RATINGS)
        ratings.append(rating)
    return float(np.mean(texts)), float(np.mean(ratings))


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print((__doc__ or "").strip())
        return 2
    for name, components in of_snow(Path(argv[0])).items():
        print(f"{name}: {components_in_words(components)}")
    texts, ratings = of_diversity(Path(argv[1]))
    print(f"diversity: {components_in_words(Components(item_system=texts, residual=ratings))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
