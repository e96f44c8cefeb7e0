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
import scipy
from numpy.typing import ArrayLike

from analysis.agreement import krippendorff_alpha, ratings_from_arrays
from analysis.estimate import Estimate
from analysis.inference import Dimensions, Figures, ratios

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
    """Shares between 0 and 1. A share whose denominator is 0 is NaN with a note. ``p_chance`` tests accuracy against
    one half, two-sided, about new texts and new workers; NaN where accuracy has no interval."""

    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    said_human: Estimate
    confident: Estimate
    alpha: Estimate
    workers: int
    texts: int
    p_chance: float = math.nan


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
    answer_values = np.asarray(answers, dtype=float)
    columns = {"worker": workers, "text": texts, "source": sources} | dict(groups or {})
    arrays = {name: np.asarray(column).astype(str) for name, column in columns.items()}
    if any(len(array) != len(answer_values) for array in arrays.values()):
        raise ValueError("workers, texts, sources, answers and groups must be of equal length")
    invalid = answer_values[~np.isin(answer_values, list(ANSWERS)) & ~np.isnan(answer_values)]
    if len(invalid):
        raise ValueError(f"an answer is 1, 2, 3 or 4, not {invalid[0]:g}")
    frame = pd.DataFrame(arrays).assign(answer=answer_values)
    answered = frame[frame["answer"].notna()].reset_index(drop=True)
    if answered.empty:
        raise ValueError("there is no judgement")
    twice = answered.duplicated(["worker", "text"])
    if twice.any():
        row = answered[twice].iloc[0]
        raise ValueError(f"“{row['worker']}” judged “{row['text']}” twice; keep one of the two")
    said_machine, is_machine = answered["answer"] >= 3, answered["source"] != human
    answered = answered.assign(said_machine=said_machine, is_machine=is_machine, right=said_machine == is_machine)
    return Judgements(answered.assign(confident=answered["answer"].isin([1, 4])), int(frame["answer"].isna().sum()))


def measures(judgements: Judgements, *, level: float = 0.95) -> Measures:
    """Everything that one cell of the published table holds.

    Intervals of shares are about new texts and new workers (`analysis.inference`), and so is that of Krippendorff's α
    (nominal on the two classes, over texts × workers). ValueError: no judgement.
    """
    frame = judgements.frame
    if frame.empty:
        raise ValueError("there is no judgement")
    said_machine, is_machine, right, confident = (
        frame[name].to_numpy(dtype=float) for name in ("said_machine", "is_machine", "right", "confident")
    )
    ones, hits = np.ones(len(frame)), said_machine * is_machine
    above = np.stack([right, hits, hits, 2 * hits, 1 - said_machine, confident], axis=1)
    below = np.stack([ones, said_machine, is_machine, said_machine + is_machine, ones, ones], axis=1)
    shares = ratios(above, below, dimensions(judgements), level=level)
    undefined = {
        1: "nobody answered machine",
        2: "no text is machine-made",
        3: "nothing is machine-made or was called so",
    }
    estimates = [shares.estimate(index, bounds=(0, 1)) for index in range(len(shares.values))]
    for index, why in undefined.items():
        if math.isnan(estimates[index].value):
            estimates[index] = Estimate(math.nan, n_of="answers", level=level, note=why)
    accuracy, precision, recall, f1, said_human, definite = estimates
    if is_machine.any() and not is_machine.all() and said_machine.any():
        precision, f1 = precision_and_f1(judgements, level)
    workers, texts = int(frame["worker"].nunique()), int(frame["text"].nunique())
    try:
        texts_judged, judges = frame["text"].to_numpy(), frame["worker"].to_numpy()
        alpha = krippendorff_alpha(ratings_from_arrays(texts_judged, judges, said_machine), confidence=level)
    except ValueError as error:
        alpha = Estimate(math.nan, n=texts, n_of="texts", level=level, note=str(error))
    p_chance = shares.p(0, null=0.5, bounds=(0, 1))
    return Measures(accuracy, precision, recall, f1, said_human, definite, alpha, workers, texts, p_chance)


def rates_of(judgements: Judgements, level: float) -> Figures:
    """How often machine texts, and human texts, are called machine. There must be texts of both kinds."""
    frame = judgements.frame
    machine, said_machine = (frame[name].to_numpy(dtype=float) for name in ("is_machine", "said_machine"))
    below = np.stack([machine, 1 - machine], axis=1)
    return ratios(said_machine[:, None] * below, below, dimensions(judgements), level=level)


def precision_and_f1(judgements: Judgements, level: float) -> tuple[Estimate, Estimate]:
    """Functions of the two rates, with their intervals by the delta method: a study decides how many of its texts are a
    machine's, so these numbers do not vary, as they would if a text's source were one of its answers."""
    machines = float(judgements.frame["is_machine"].sum())
    humans = len(judgements.frame) - machines
    rates = rates_of(judgements, level)
    hits, false_alarms = machines * rates.values[0], humans * rates.values[1]
    called, both = hits + false_alarms, hits + false_alarms + machines
    gradient = np.array(
        [
            [machines * false_alarms / called**2, -hits * humans / called**2],
            [2 * machines * (both - hits) / both**2, -2 * hits * humans / both**2],
        ]
    )
    figures = rates.combined([hits / called, 2 * hits / both], gradient)
    return figures.estimate(0, bounds=(0, 1)), figures.estimate(1, bounds=(0, 1))


def dimensions(judgements: Judgements) -> Dimensions:
    """What the answers have in common: their texts and their workers."""
    frame = judgements.frame
    return Dimensions.of(texts=frame["text"].to_numpy(), workers=frame["worker"].to_numpy())


def breakdown(
    judgements: Judgements, by: Sequence[str], *, level: float = 0.95
) -> list[tuple[tuple[str, ...], Measures]]:
    """`measures` for every combination of values in the columns ``by``, in order of first appearance.

    A worker's texts are by people and by one model, so to break down by *model* use a column that names the model that
    the worker faced, not ``source``. KeyError: no such column.
    """
    groups = judgements.frame.groupby(list(by), sort=False)
    return [
        (tuple(map(str, key if isinstance(key, tuple) else (key,))), measures(Judgements(rows), level=level))
        for key, rows in groups
    ]


def worker_scores(judgements: Judgements) -> pd.DataFrame:
    """One row per worker, in order of first appearance: ``worker``, ``right``, ``n``, ``accuracy``, and each further
    column: its value for the worker, or empty text if there are several."""
    frame = judgements.frame
    groups = frame.groupby("worker", sort=False)
    scores = groups["right"].agg(right="sum", n="size").reset_index()
    scores["accuracy"] = scores["right"] / scores["n"]
    judgement_columns = {"worker", "text", "source", "answer", "said_machine", "is_machine", "right", "confident"}
    for name in (name for name in frame.columns if name not in judgement_columns):
        single = groups[name].agg(lambda values: values.iloc[0] if values.nunique() == 1 else "")
        scores[name] = scores["worker"].map(single)
    return scores


def score_counts(judgements: Judgements, *, out_of: int | None = None) -> pd.DataFrame:
    """How many workers got 0, 1, … of their texts right: ``score``, ``workers``, ``guessing`` (the number expected of
    workers who toss a coin).

    ``out_of``: only workers who judged this many texts; None: the most frequent number. ValueError: nobody did.
    """
    scores = worker_scores(judgements)
    texts = int(scores["n"].mode().iloc[0]) if out_of is None else out_of
    complete = scores[scores["n"] == texts]
    if complete.empty:
        raise ValueError(f"no worker judged {texts} texts")
    counts = np.bincount(complete["right"].to_numpy(dtype=int), minlength=texts + 1)
    points = np.arange(texts + 1)
    expected = scipy.stats.binom.pmf(points, texts, 0.5) * len(complete)
    return pd.DataFrame({"score": points, "workers": counts, "guessing": expected})
