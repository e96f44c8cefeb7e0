"""Whether a judge's probabilities are those of people's answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

BINS = 5


@dataclass(frozen=True, slots=True)
class Calibration:
    """``error``: the expected calibration error, the mean gap between stated and observed shares, weighted by cells.
    ``rows``: by bin of the stated probability: low, high, cells, mean stated, mean observed. ``from_samples``: the
    probabilities are the shares of the judge's own samples."""

    error: float
    rows: Sequence[tuple[float, float, int, float, float]]
    items: int
    from_samples: bool


def stated_chances(ratings: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """The probability of every value of an item: ``item``, ``value``, ``chance``; and whether it is a share of samples.

    From a judge's ratings (item, sample, value, chances). Without stated probabilities, the shares of an item's
    samples stand for them; an item with one sample then has none.
    """
    if len(ratings) and all(bool(chances) for chances in ratings["chances"]):
        cells = [
            (item, float(value), float(chance))
            for item, chances in zip(ratings["item"], ratings["chances"], strict=True)
            for value, chance in chances.items()
        ]
        table = pd.DataFrame(cells, columns=["item", "value", "chance"])
        return table.groupby(["item", "value"], as_index=False, sort=False).agg({"chance": "mean"}), False
    sampled = ratings[ratings.groupby("item")["sample"].transform("nunique") > 1]
    counts = sampled.groupby(["item", "value"], sort=False).size().rename("n").reset_index()
    counts["chance"] = counts["n"] / counts.groupby("item")["n"].transform("sum")
    return counts.drop(columns="n"), True


def calibration(answers: pd.DataFrame, ratings: pd.DataFrame) -> Calibration | None:
    """How the stated probability of each value of an item compares with the share of people who gave it.

    From people's answers (item, worker, value) and a judge's ratings (item, sample, value, chances). None without
    probabilities of an item that people rated. Source: Guo et al. 2017, "On calibration of modern neural networks",
    section 2, with every (item, value) as a cell and people's shares as what is observed.
    """
    chances, from_samples = stated_chances(ratings)
    people = answers.groupby("item")["value"].agg(list)
    chances = chances[chances["item"].isin(people.index)]
    if chances.empty:
        return None
    values = np.unique(np.concatenate([chances["value"].to_numpy(), answers["value"].to_numpy()]))
    stated = chances.pivot_table(index="item", columns="value", values="chance", fill_value=0.0)
    stated = stated.reindex(columns=values, fill_value=0.0)
    observed = np.array([[np.mean(np.asarray(people[item]) == value) for value in values] for item in stated.index])
    of_judge, of_people = stated.to_numpy().ravel(), observed.ravel()
    edges = np.linspace(0, 1, BINS + 1)
    place = np.clip(np.digitize(of_judge, edges[1:-1]), 0, BINS - 1)
    rows, error = [], 0.0
    for number in range(BINS):
        cells = place == number
        if not cells.any():
            continue
        mean_stated, mean_observed = float(of_judge[cells].mean()), float(of_people[cells].mean())
        rows.append((float(edges[number]), float(edges[number + 1]), int(cells.sum()), mean_stated, mean_observed))
        error += abs(mean_stated - mean_observed) * cells.sum() / len(of_judge)
    return Calibration(error if rows else math.nan, rows, len(stated), from_samples)
