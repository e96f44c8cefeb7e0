"""Scores of items from ratings, by the rule that the console, the report and the exports share.

Source: human diversity scores of Tevet & Berant 2021, §4 (absHDS, aspHDS, rnkHDS; simHDS with a part for each pair);
the rule works for any instrument that rates items, or parts of them, in numbers.

An item has few raters, and its ratings have a lowest and a highest value. An ordinary t interval then often leaves the
scale. So the mean is rescaled to a share p = (mean − low) / (high − low), and the t interval is computed for
logit(p), whose standard error is that of p divided by p · (1 − p) (the delta method), and transformed back: the logit
interval of Brown, Cai and DasGupta 2001, §4, with Student's t as `svyciprop(method="logit")` of R's survey package has
it. It never leaves the scale, and is longer towards its middle. `tests/analysis/test_score_intervals.py` measures how
often it covers the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from analysis.description import Score
from analysis.distributions import t_quantile

SCORE_COLUMNS = ("score", "sd", "n", "workers", "low", "high")
#: Means that differ only in their last bits, which depend on the order of a sum, are equal: they tie in ranks.
DECIMALS = 12
#: Half an interval below this is a sum that did not come out as exactly zero.
EQUAL = 1e-9
#: With two raters, the interval would be almost the whole scale.
FEWEST_WORKERS = 3


def item_scores(ratings: pd.DataFrame, score: Score, *, level: float = 0.95) -> pd.DataFrame:
    """The score of every item: ``score.sign`` × the mean over its parts of the mean rating of each part; or of every
    part of an item, if the score is over parts.

    ``ratings`` has a row per rating with ``item``, ``target`` (the part, empty for the whole item), ``worker`` and
    ``value``; with a column ``question``, only the rows on ``score.topic`` are used. NaN values are left out, and so is
    a worker's second rating of a part (an item can be in two hits).

    A score with terms needs ``question``, and all ratings of the items, not only those on its terms.

    Returns a frame indexed by item (and ``part``, if the score is over parts) in order of first appearance: ``score``,
    to 12 decimals; ``sd`` over the workers' own scores (each the mean over the parts that worker rated, or their sum)
    with n in the denominator, as the released ``metric_abs_hds_std``; ``n`` ratings; ``workers``; ``low`` and ``high``,
    the interval at ``level``. An item with only NaN ratings has a NaN score and n = 0.

    The interval is about new workers, who rate the same item. Its standard error is linearised and clustered by worker:
    if every worker rated every part, it is that of the mean of the workers' own scores. It uses Student's t on the
    logit scale between ``score.low`` and ``score.high`` (see the module), and is the ordinary t interval if these are
    None. NaN where the ratings say nothing about it: for fewer than three workers, if all agree, and if a part has only
    one rating.

    ValueError: a column is missing, or a value is not a number.
    """
    rated, codes = _in_codes(ratings, score)
    by_part, parts = _by_part(rated)
    scores_by_worker = rated.groupby(["item", "worker"], sort=False)["value"].mean().groupby(level="item", sort=False)
    scores = _means(rated, parts, score)
    scores["sd"] = scores_by_worker.std(ddof=0)
    scores["workers"] = scores_by_worker.size()
    rated = rated.assign(mean=by_part.transform("mean"), count=by_part.transform("size"))
    # Half the ordinary t interval, from each worker's influence on the score.
    influence = (rated["value"] - rated["mean"]) / rated["count"] / rated["item"].map(parts.size())
    by_worker = influence.groupby([rated["item"], rated["worker"]], sort=False).sum()
    squares = (by_worker**2).groupby(level="item", sort=False).sum()
    several = scores["workers"].where(scores["workers"] > 1)
    quantile = pd.Series(t_quantile((1 + level) / 2, np.asarray(several - 1, dtype=float)), several.index)
    half: pd.Series = quantile * np.sqrt(squares * several / (several - 1))
    half[(parts["size"].min() == 1) | (scores["workers"] < FEWEST_WORKERS) | (half < EQUAL)] = math.nan
    scores["low"], scores["high"] = _interval(scores["score"], half, score)
    return _by_name(scores, ratings, score, codes, ("n", "workers"))[list(SCORE_COLUMNS)]


def item_means(ratings: pd.DataFrame, score: Score) -> pd.DataFrame:
    """``score`` and ``n`` of `item_scores` alone, in a third of its time."""
    rated, codes = _in_codes(ratings, score, ("item", "target"))
    _, parts = _by_part(rated)
    return _by_name(_means(rated, parts, score), ratings, score, codes, ("n",))


def _in_codes(
    ratings: pd.DataFrame, score: Score, columns: Sequence[str] = ("item", "target", "worker")
) -> tuple[pd.DataFrame, dict[str, tuple[Any, Any]]]:
    """The ratings that a score uses with codes for names, which are several times faster to group by and give the same
    order; and the codes with the names."""
    rated = prepared_ratings(ratings, score)
    codes: dict[str, tuple[Any, Any]] = {column: pd.factorize(rated[column]) for column in columns}
    if score.over == "part":
        codes["item"] = pd.MultiIndex.from_frame(rated[["item", "target"]], names=["item", "part"]).factorize()
    return rated.assign(**{column: code for column, (code, _) in codes.items()}), codes


def _by_part(rated: pd.DataFrame) -> tuple[Any, Any]:
    """The ratings by part, and the mean and size of every part by item."""
    by_part = rated.groupby(["item", "target"], sort=False)["value"]
    return by_part, by_part.agg(["mean", "size"]).groupby(level="item", sort=False)


def _means(rated: pd.DataFrame, parts: Any, score: Score) -> pd.DataFrame:
    scores = pd.DataFrame({"score": (score.sign * parts["mean"].mean()).round(DECIMALS)})
    scores["n"] = rated.groupby("item", sort=False).size()
    return scores


def _by_name(
    scores: pd.DataFrame,
    ratings: pd.DataFrame,
    score: Score,
    codes: Mapping[str, tuple[Any, Any]],
    counts: Sequence[str],
) -> pd.DataFrame:
    """The scores by the items' names, also of items with only NaN ratings, whose counts are 0."""
    scores.index = codes["item"][1] if score.over == "part" else pd.Index(codes["item"][1], name="item")
    if not score.terms and score.over != "part":
        scores = scores.reindex(pd.Index(_on_topic(ratings, score)["item"].unique(), name="item"))
    scores[list(counts)] = scores[list(counts)].fillna(0).astype(int)
    return scores


def own_scores(ratings: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Each worker's own score of an item (``item``, ``worker``, ``value``), from the rows that `item_scores` uses."""
    scores_by_worker = (
        prepared_ratings(ratings, score).groupby(["item", "worker"], sort=False)["value"].mean().reset_index()
    )
    return scores_by_worker.assign(value=score.sign * scores_by_worker["value"])


def prepared_ratings(ratings: pd.DataFrame, score: Score) -> pd.DataFrame:
    """The ratings that a score uses: ``item``, ``target``, ``worker``, ``value``. ValueError as in `item_scores`."""
    columns = ["item", "target", "worker", "value"]
    for column in columns:
        if column not in ratings.columns:
            raise ValueError(f"the ratings have no column {column!r}")
    if score.terms:
        return combined(ratings, score)[columns]
    try:
        frame = _on_topic(ratings, score)[columns].astype({"value": float})
    except (TypeError, ValueError) as error:
        raise ValueError(f"a rating is not a number: {error}") from None
    frame = frame if frame["value"].notna().all() else frame[frame["value"].notna()]
    repeated = repeated_rows(frame, ["item", "target", "worker"])
    return frame[~repeated] if repeated.any() else frame


def repeated_rows(frame: pd.DataFrame, columns: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows (N,) have the same values in these columns as an earlier one."""
    codes = [frame[column].to_numpy() for column in columns]
    if any(column.dtype.kind not in "iu" for column in codes):
        return frame.duplicated(list(columns)).to_numpy()
    key = np.zeros(len(frame), dtype=np.int64)
    count = 1
    for column in codes:  # as one number, which is compared several times faster
        low, high = int(column.min(initial=0)), int(column.max(initial=0))
        count *= high - low + 1
        key = key * (high - low + 1) + (column - low)
    return pd.Series(key).duplicated().to_numpy() if count < 2**63 else frame.duplicated(list(columns)).to_numpy()


def combined(ratings: pd.DataFrame, score: Score) -> pd.DataFrame:
    """The answers that a score's terms combine into: a row with all columns of ``ratings`` for each item and worker,
    and for each part unless the score is a sum. ``question`` and ``scale`` are the score's topic.

    The other columns are those of the first rating of the item by the worker. Items are in order of first appearance.
    """
    if "question" not in ratings.columns:
        raise ValueError(
            f"the score {score.topic} is made of {len(score.terms)} topics: a column 'question' is missing"
        )
    about_items = ratings[ratings["item"] != ""]
    first = about_items.drop_duplicates(["item", "worker"])
    key = ["item", "target", "worker"]
    terms = []
    for term in score.terms:
        rows = about_items[about_items["question"] == term.topic]
        rows = rows[rows["value"].notna()].drop_duplicates(key)
        terms.append(rows[key].assign(value=term.weight * rows["value"].astype(float), terms=1))
    parts = pd.concat(terms).groupby(key, sort=False)[["value", "terms"]].sum().reset_index()
    is_whole = parts["terms"] == len(score.terms)
    parts = _with_absent(parts, first, score) if score.absent else parts[is_whole]
    if score.over == "sum":
        parts = parts.groupby(["item", "worker"], sort=False)["value"].sum().reset_index().assign(target="")
    answers = first.drop(columns=["target", "value", "question", "text"], errors="ignore").reset_index()
    answers = answers.merge(parts[[*key, "value"]], on=["item", "worker"]).set_index("index").rename_axis(None)
    answers = answers.assign(question=score.topic, text="")
    if "scale" in ratings.columns:
        answers["scale"] = score.topic
    order = pd.factorize(answers["item"])[0]
    return answers.iloc[np.argsort(order, kind="stable")][[*ratings.columns.union(["text"], sort=False)]]


def _with_absent(parts: pd.DataFrame, first: pd.DataFrame, score: Score) -> pd.DataFrame:
    """All parts of every item for every worker who answered anything about it, with 0 where they rated nothing."""
    of_item = parts[["item", "target"]].drop_duplicates()
    everybody = first[["item", "worker"]].merge(of_item, on="item", how="inner" if score.over == "part" else "left")
    everybody["target"] = everybody["target"].fillna("")
    return everybody.merge(parts, on=["item", "target", "worker"], how="left").fillna({"value": 0.0})


def _on_topic(ratings: pd.DataFrame, score: Score) -> pd.DataFrame:
    return ratings[ratings["question"] == score.topic] if "question" in ratings.columns else ratings


def _interval(means: pd.Series, half: pd.Series, score: Score) -> tuple[pd.Series, pd.Series]:
    """The ends of the intervals, from half the widths of ordinary t intervals. NaN where ``half`` is."""
    if score.low is None or score.high is None or score.low >= score.high:
        return means - half, means + half
    lowest, highest = sorted((score.sign * score.low, score.sign * score.high))
    width = highest - lowest
    means, half = means.astype(float), half.astype(float)  # of no rating, both are objects
    share = ((means - lowest) / width).where((means > lowest) & (means < highest))
    centre, reach = logit(share), half / width / (share * (1 - share))
    ends = (lowest + width * expit(centre + sign * reach) for sign in (-1, 1))
    low, high = (pd.Series(end, means.index) for end in ends)
    return low, high
