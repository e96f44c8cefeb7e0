"""Human diversity scores (HDS) of sets from a long frame of ratings.

Shapes: one row per rating; columns name the set (``item``), the worker and the value, and for simHDS the two
responses of the pair. Out comes one row per set, in order of first appearance. Source: Tevet & Berant 2021,
(absHDS, aspHDS, rnkHDS, simHDS, and the reduction over pairs).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from analysis.estimate import Estimate

_METHOD = "t over workers"


def set_scores(
    ratings: pd.DataFrame,
    *,
    item: str = "item",
    worker: str = "worker",
    value: str = "value",
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean rating of each set (absHDS, aspHDS, rnkHDS), in the unit of the ratings.

    Columns: ``score`` the mean; ``sd`` over workers with ddof = 0, as the released ``metric_abs_hds_std`` has
    it; ``n`` ratings; ``workers``; ``low``, ``high`` the t interval of the mean over workers, NaN for a
    single worker; ``missing`` ratings (NaN), which enter nothing. A set all of whose ratings are missing
    keeps its row with a NaN score and n = 0.

    Raises ValueError for an empty frame, missing columns, values that are no numbers, or a worker with two
    ratings of a set.
    """
    frame = _prepare(ratings, [item, worker, value], keys=[item, worker])
    return _score(frame.assign(pair=0), sign=1, level=level)


def sim_scores(
    ratings: pd.DataFrame,
    *,
    item: str = "item",
    first: str = "first",
    second: str = "second",
    worker: str = "worker",
    value: str = "value",
    level: float = 0.95,
) -> pd.DataFrame:
    """simHDS of each set: minus the mean over its unordered pairs of the pair's mean similarity.

    ``first`` and ``second`` name the two responses; which comes first does not matter. Every pair counts the
    same however many ratings it has. Columns as in `set_scores`, plus ``pairs`` that have a rating; ``sd`` is
    over the workers' own scores (each over the pairs that worker rated); the interval is cluster-robust over
    workers, so it holds whether a worker rated all pairs or one, and is NaN where a pair has one rating only
    while the set has several workers.

    Raises ValueError as `set_scores`, and for a pair of a response with itself.
    """
    keys = [item, first, second, worker]
    for column in (first, second):
        if column not in ratings.columns:
            raise ValueError(f"the ratings have no column {column!r}")
    if (ratings[first] == ratings[second]).any():
        raise ValueError("a pair needs two different responses")
    ends = ratings[[first, second]].astype(str).to_numpy()
    ordered = ratings.assign(**{first: ends.min(axis=1), second: ends.max(axis=1)})
    frame = _prepare(ordered, [*keys, value], keys=keys)
    frame["pair"] = frame["first"] + "\0" + frame["second"]
    return _score(frame, sign=-1, level=level)


def to_estimates(scores: pd.DataFrame, *, level: float = 0.95) -> dict[str, Estimate]:
    """The rows of `set_scores` or `sim_scores` as estimates by set; ``n`` counts ratings."""
    rows: dict[Hashable, dict[str, Any]] = scores.to_dict("index")  # type: ignore[assignment]
    return {
        str(name): Estimate(
            row["score"],
            row["low"],
            row["high"],
            n=row["n"],
            n_of="ratings",
            level=level,
            method=_METHOD,
            note="" if row["n"] else "no rating",
        )
        for name, row in rows.items()
    }


def _prepare(ratings: pd.DataFrame, columns: list[str], *, keys: list[str]) -> pd.DataFrame:
    """The wanted columns under their own names, values as floats, checked."""
    for column in columns:
        if column not in ratings.columns:
            raise ValueError(f"the ratings have no column {column!r}")
    if ratings.empty:
        raise ValueError("there are no ratings")
    if ratings.duplicated(keys).any():
        again = ratings.loc[ratings.duplicated(keys), keys].iloc[0].to_dict()
        raise ValueError(f"rated twice by one worker: {again}")
    names = ["item", *(["first", "second"] if len(keys) == 4 else []), "worker", "value"]
    frame = ratings[columns].set_axis(names, axis=1)
    try:
        frame["value"] = frame["value"].astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a rating is not a number: {error}") from None
    return frame


def _score(frame: pd.DataFrame, *, sign: int, level: float) -> pd.DataFrame:
    items = pd.Index(frame["item"].unique(), name="item")
    rated = frame[frame["value"].notna()].copy()
    by_pair = rated.groupby(["item", "pair"], sort=False)["value"]
    rated["mean"], rated["count"] = by_pair.transform("mean"), by_pair.transform("size")
    pairs = by_pair.agg(["mean", "size"]).groupby(level="item", sort=False)
    own = rated.groupby(["item", "worker"], sort=False)["value"].mean().groupby(level="item", sort=False)
    result = pd.DataFrame({"score": sign * pairs["mean"].mean(), "sd": own.std(ddof=0)})
    result["n"] = rated.groupby("item", sort=False).size()
    result["workers"] = own.size()
    result["pairs"] = pairs.size()
    half = _half_width(rated, result, level)
    half[(pairs["size"].min() == 1) & (result["workers"] > 1)] = math.nan
    result["low"], result["high"] = result["score"] - half, result["score"] + half
    result = result.reindex(items)
    counts = ["n", "workers", "pairs"]
    result[counts] = result[counts].fillna(0).astype(int)
    result["missing"] = frame["value"].isna().groupby(frame["item"], sort=False).sum()
    return result if sign < 0 else result.drop(columns="pairs")


def _half_width(rated: pd.DataFrame, result: pd.DataFrame, level: float) -> pd.Series:
    """Half the t interval from each worker's influence on the score (linearised, clustered by worker).

    With every pair rated by every worker this is the ordinary t interval of the workers' own scores.
    """
    influence = (rated["value"] - rated["mean"]) / rated["count"] / rated["item"].map(result["pairs"])
    by_worker = influence.groupby([rated["item"], rated["worker"]], sort=False).sum()
    squares = (by_worker**2).groupby(level="item", sort=False).sum()
    workers = result["workers"].where(result["workers"] > 1)
    quantile = pd.Series(student.ppf((1 + level) / 2, np.asarray(workers - 1, dtype=float)), workers.index)
    return quantile * np.sqrt(squares * workers / (workers - 1))
