"""Judgements on whether a text is human or machine-made: accuracy and more, per group of workers and per worker.

Source: Clark 2021, ch. 6 and app. C. Shapes: N judgements, one per worker and text. An answer is 1 “Definitely
human-written”, 2 “Possibly human-written”, 3 “Possibly machine-generated”, 4 “Definitely machine-generated”. 1 and 2
are binned as human, 3 and 4 as machine. The positive class of precision, recall and F1 is *machine*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from analysis.agreement import krippendorff_alpha, ratings_from_arrays
from analysis.clusters import cluster_ratio
from analysis.diversity.association import Floats
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate

#: The name of the source of texts by people.
HUMAN = "human"
ANSWERS = {
    1: "Definitely human-written",
    2: "Possibly human-written",
    3: "Possibly machine-generated",
    4: "Definitely machine-generated",
}


@dataclass(frozen=True)
class Judgements:
    """``frame`` has a row per judgement: ``worker``, ``text``, ``source``, ``answer`` (1 … 4), ``said_machine``,
    ``is_machine``, ``right``, ``confident`` (all boolean), and any further columns such as ``domain`` and ``arm``.
    ``missing`` counts judgements without an answer, which are left out."""

    frame: pd.DataFrame
    missing: int = 0

    def where(self, mask: ArrayLike) -> Judgements:
        """Only some rows, by a boolean mask (N,)."""
        return Judgements(self.frame[np.asarray(mask, dtype=bool)])

    def __len__(self) -> int:
        return len(self.frame)


@dataclass(frozen=True, slots=True)
class Measures:
    """Shares between 0 and 1. A share whose denominator is 0 is NaN with a note."""

    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    said_human: Estimate
    confident: Estimate
    alpha: Estimate
    workers: int
    texts: int


def judgements_from_arrays(
    workers: ArrayLike,
    texts: ArrayLike,
    sources: ArrayLike,
    answers: ArrayLike,
    *,
    human: str = HUMAN,
    groups: Mapping[str, ArrayLike] | None = None,
) -> Judgements:
    """Judgements from long arrays (N,). ``answers`` are numbers 1 … 4; NaN is left out and counted.

    ``human`` names the source of texts by people; every other source is a machine. ``groups`` become columns, such as
    ``domain`` and ``arm``. ValueError: lengths differ; another answer; a worker who judged a text twice; no judgement.
    """
    given = np.asarray(answers, dtype=float)
    columns = {"worker": workers, "text": texts, "source": sources} | dict(groups or {})
    arrays = {name: np.asarray(column).astype(str) for name, column in columns.items()}
    if any(len(array) != len(given) for array in arrays.values()):
        raise ValueError("workers, texts, sources, answers and groups must be of equal length")
    strange = given[~np.isin(given, list(ANSWERS)) & ~np.isnan(given)]
    if len(strange):
        raise ValueError(f"an answer is 1, 2, 3 or 4, not {strange[0]:g}")
    frame = pd.DataFrame(arrays).assign(answer=given)
    kept = frame[frame["answer"].notna()].reset_index(drop=True)
    if kept.empty:
        raise ValueError("there is no judgement")
    twice = kept.duplicated(["worker", "text"])
    if twice.any():
        row = kept[twice].iloc[0]
        raise ValueError(f"“{row['worker']}” judged “{row['text']}” twice; keep one of the two")
    said, machine = kept["answer"] >= 3, kept["source"] != human
    kept = kept.assign(said_machine=said, is_machine=machine, right=said == machine)
    return Judgements(kept.assign(confident=kept["answer"].isin([1, 4])), int(frame["answer"].isna().sum()))


def measures(judgements: Judgements, *, plan: Bootstrap) -> Measures:
    """Everything that one cell of the published table holds. Intervals of shares resample whole workers.

    Krippendorff's α is nominal on the two classes, over texts × workers; its interval resamples texts. ValueError: no
    judgement.
    """
    frame = judgements.frame
    if frame.empty:
        raise ValueError("there is no judgement")
    worker = frame["worker"].to_numpy()
    said, is_machine, right, confident = (
        frame[name].to_numpy(dtype=float) for name in ("said_machine", "is_machine", "right", "confident")
    )
    ones, hits = np.ones(len(frame)), said * is_machine

    def share(above: Floats, below: Floats, undefined: str = "") -> Estimate:
        found = cluster_ratio(above, below, worker, plan=plan, n_of="workers")
        if math.isnan(found.value) and undefined:
            return Estimate(math.nan, n=found.n, n_of="workers", level=plan.level, note=undefined)
        return found

    return Measures(
        share(right, ones),
        share(hits, said, "nobody answered machine"),
        share(hits, is_machine, "no text is machine-made"),
        share(2 * hits, said + is_machine, "nothing is machine-made or was called so"),
        share(1 - said, ones),
        share(confident, ones),
        _alpha(frame, plan),
        len(np.unique(worker)),
        frame["text"].nunique(),
    )


def breakdown(judgements: Judgements, by: Sequence[str], *, plan: Bootstrap) -> list[tuple[tuple[str, ...], Measures]]:
    """`measures` for every combination of values in the columns ``by``, in order of first appearance.

    A worker's texts are by people and by one model, so to break down by *model* use a column that names the model that
    the worker faced, not ``source``. KeyError: no such column.
    """
    groups = judgements.frame.groupby(list(by), sort=False)
    return [
        (tuple(map(str, key if isinstance(key, tuple) else (key,))), measures(Judgements(rows), plan=plan))
        for key, rows in groups
    ]


def worker_scores(judgements: Judgements) -> pd.DataFrame:
    """One row per worker, in order of first appearance: ``worker``, ``right``, ``n``, ``accuracy``, and each further
    column: its value for the worker, or empty text if there are several."""
    frame = judgements.frame
    groups = frame.groupby("worker", sort=False)
    found = groups["right"].agg(right="sum", n="size").reset_index()
    found["accuracy"] = found["right"] / found["n"]
    own = {"worker", "text", "source", "answer", "said_machine", "is_machine", "right", "confident"}
    for name in (name for name in frame.columns if name not in own):
        single = groups[name].agg(lambda values: values.iloc[0] if values.nunique() == 1 else "")
        found[name] = found["worker"].map(single)
    return found


def score_counts(judgements: Judgements, *, out_of: int | None = None) -> pd.DataFrame:
    """How many workers got 0, 1, … of their texts right: ``score``, ``workers``, ``guessing`` (the number expected of
    workers who toss a coin).

    ``out_of``: only workers who judged this many texts; None: the most frequent number. ValueError: nobody did.
    """
    scores = worker_scores(judgements)
    many = int(scores["n"].mode().iloc[0]) if out_of is None else out_of
    whole = scores[scores["n"] == many]
    if whole.empty:
        raise ValueError(f"no worker judged {many} texts")
    counts = np.bincount(whole["right"].to_numpy(dtype=int), minlength=many + 1)
    points = np.arange(many + 1)
    expected = stats.binom.pmf(points, many, 0.5) * len(whole)
    return pd.DataFrame({"score": points, "workers": counts, "guessing": expected})


def _alpha(frame: pd.DataFrame, plan: Bootstrap) -> Estimate:
    try:
        ratings = ratings_from_arrays(
            frame["text"].to_numpy(), frame["worker"].to_numpy(), frame["said_machine"].to_numpy(dtype=float)
        )
        return krippendorff_alpha(ratings, draws=plan.draws, seed=plan.seed, confidence=plan.level)
    except ValueError as error:
        return Estimate(math.nan, n=frame["text"].nunique(), n_of="texts", level=plan.level, note=str(error))
