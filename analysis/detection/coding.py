"""Coded comments: which labels coders gave to workers' explanations, and how well coders agree on each label.

Source: Clark 2021, app. C.3: two coders, several labels per comment. Shapes: one row per comment, coder and label,
``chosen`` 1 or 0, so that a label not given counts as a decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.agreement import krippendorff_alpha, mean_cohen_kappa, percent_agreement, ratings_from_arrays
from analysis.estimate import Estimate
from analysis.inference import Dimensions, holm, ratios


@dataclass(frozen=True, slots=True)
class Coded:
    """One label: how often coders gave it, and their agreement on whether it applies."""

    label: str
    chosen: int
    share: Estimate
    alpha: Estimate
    kappa: Estimate
    percent: Estimate


def label_agreement(
    comments: ArrayLike, coders: ArrayLike, labels: ArrayLike, chosen: ArrayLike, *, level: float = 0.95
) -> list[Coded]:
    """For every label, in order of first appearance: its share of all decisions, Krippendorff's α (nominal), Cohen's κ
    (averaged over pairs of coders) and percent agreement.

    All arrays are (N,). ``chosen`` is 1 or 0; NaN is left out. Intervals are about new comments, coded by these coders.
    What cannot be estimated (one coder, a label that nobody gave) is NaN with a note. ValueError: lengths differ;
    another value; a decision made twice.
    """
    frame = pd.DataFrame(
        {
            "comment": np.asarray(comments).astype(str),
            "coder": np.asarray(coders).astype(str),
            "label": np.asarray(labels).astype(str),
            "chosen": np.asarray(chosen, dtype=float),
        }
    ).dropna()
    if not frame["chosen"].isin([0, 1]).all():
        raise ValueError("a label is given (1) or not (0); there is another value")
    if frame.duplicated(["comment", "coder", "label"]).any():
        raise ValueError("a coder decided twice on one label of one comment; keep one of the two")
    coefficients: tuple[Callable[..., Estimate], ...] = (krippendorff_alpha, mean_cohen_kappa, percent_agreement)
    coded = []
    for label, rows in frame.groupby("label", sort=False):
        arrays = [rows[name].to_numpy() for name in ("comment", "coder", "chosen")]
        ratings = ratings_from_arrays(*arrays, categories=[0.0, 1.0])
        agreement = []
        for coefficient in coefficients:
            try:
                agreement.append(coefficient(ratings, raters="these", confidence=level))
            except ValueError as error:
                note = str(error)
                agreement.append(Estimate(math.nan, n=len(ratings.units), n_of="comments", level=level, note=note))
        coded.append(Coded(str(label), int(rows["chosen"].sum()), _share(rows, level), *agreement))
    return coded


def final_labels(by_coders: pd.DataFrame, adjudicated: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """The final decision on every label of every comment, and how many comments still differ between coders.

    ``by_coders``: rows (comment, coder, label, chosen), ``adjudicated``: rows (comment, label, chosen), with ``chosen``
    1 or 0. Returns rows (comment, label, chosen). A comment that people have settled has their decisions. Else, a
    label is final if any coder gave it: where all coders agree, these are the labels that all gave.
    """
    settled = adjudicated[adjudicated["comment"].isin(set(by_coders["comment"]))]
    unsettled = by_coders[~by_coders["comment"].isin(set(settled["comment"]))]
    by_label = unsettled.groupby(["comment", "label"], sort=False)["chosen"]
    differ = by_label.nunique() > 1
    any_coder = by_label.max().reset_index()
    final = pd.concat([settled[["comment", "label", "chosen"]], any_coder], ignore_index=True)
    return final, int(differ[differ].reset_index()["comment"].nunique()) if len(unsettled) else 0


def in_categories(decisions: pd.DataFrame, categories: Mapping[str, Collection[str]]) -> pd.DataFrame:
    """The decisions on categories: a category applies (1) if any of its labels does.

    ``decisions`` has the columns ``label`` and ``chosen`` (1 or 0) and others, such as ``comment`` and ``coder``, which
    stay. Labels in no category are left out. A label in two categories counts in both.
    """
    other_columns = [name for name in decisions.columns if name not in ("label", "chosen")]
    rows_by_category = [
        decisions[decisions["label"].isin(list(labels))]
        .groupby(other_columns, sort=False)["chosen"]
        .max()
        .reset_index()
        for labels in categories.values()
    ]
    frames = [frame.assign(label=name) for name, frame in zip(categories, rows_by_category, strict=True)]
    return pd.concat(frames, ignore_index=True) if frames else decisions.iloc[:0]


def adjudicated_shares(
    comments: ArrayLike,
    labels: ArrayLike,
    chosen: ArrayLike,
    *,
    null_labels: Collection[str] = (),
    level: float = 0.95,
) -> tuple[dict[str, Estimate], int]:
    """The share of comments with each label after adjudication, and how many comments have only ``null_labels``.

    All arrays are (N,), one row per comment and label. Comments with a null label (miscellaneous, vague) and no other,
    or with no label at all, are dropped at the end, as published, and their number is the second result. NaN shares if
    none is left.
    """
    frame = pd.DataFrame(
        {
            "comment": np.asarray(comments).astype(str),
            "label": np.asarray(labels).astype(str),
            "chosen": np.asarray(chosen, dtype=float),
        }
    )
    telling = frame[(frame["chosen"] == 1) & ~frame["label"].isin(list(null_labels))]
    labelled = frame[frame["comment"].isin(set(telling["comment"]))]
    dropped = frame["comment"].nunique() - labelled["comment"].nunique()
    shares = {}
    for label in frame["label"].unique():
        if label in null_labels:
            continue
        rows = labelled[labelled["label"] == label]
        if rows.empty:
            shares[str(label)] = Estimate(math.nan, n_of="comments", level=level, note="no comment is left")
            continue
        shares[str(label)] = _share(rows, level)
    return shares, dropped


@dataclass(frozen=True, slots=True)
class LevelShare:
    """One label (or category) at one level. ``share``: of the level's comments that have it; ``of_labels``: of all
    labels that these comments have, so that a level's figures add up to 1, as Clark 2021 (Table 6.3) prints them."""

    label: str
    level: str
    comments: int
    share: Estimate
    of_labels: Estimate


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """How much larger the share of comments with a label is at the first level. ``p_corrected`` by Holm over all labels
    and pairs of levels."""

    label: str
    first: str
    second: str
    difference: Estimate
    p: float
    p_corrected: float


def shares_by_level(
    decisions: pd.DataFrame, level_of: Mapping[str, str], *, level: float = 0.95
) -> tuple[list[LevelShare], list[ShareDifference]]:
    """Final labels compared between levels of a factor of the comments, such as their authors' training.

    ``decisions``: rows (comment, label, chosen), all labels of every comment; ``level_of`` by comment, empty or missing
    where it has none, which leaves it out. Figures are about new comments. ValueError: fewer than two levels.
    """
    labels_of_comments = decisions.pivot_table(
        index="comment", columns="label", values="chosen", aggfunc="max", sort=False
    ).fillna(0)
    levels = pd.Series({comment: level_of.get(comment, "") for comment in labels_of_comments.index})
    labels_of_comments, levels = labels_of_comments[levels != ""], levels[levels != ""]
    names = list(dict.fromkeys(level_of[comment] for comment in level_of if level_of[comment] in set(levels)))
    if len(names) < 2:
        raise ValueError("the comments have fewer than two levels")
    labels = list(labels_of_comments.columns)
    inside = (levels.to_numpy()[:, None] == np.array(names, dtype=object)).astype(float)
    chosen = labels_of_comments.to_numpy(dtype=float)
    dimensions = Dimensions.of(comments=labels_of_comments.index.to_numpy())
    above = (chosen[:, :, None] * inside[:, None, :]).reshape(len(labels_of_comments), -1)
    shares = ratios(above, np.tile(inside, len(labels)), dimensions, level=level)
    of_labels = ratios(above, np.tile(chosen.sum(axis=1)[:, None] * inside, len(labels)), dimensions, level=level)
    bounds = (0.0, 1.0)
    records = [
        LevelShare(
            str(label),
            name,
            int(inside[:, at].sum()),
            shares.estimate(row * len(names) + at, bounds=bounds),
            of_labels.estimate(row * len(names) + at, bounds=bounds),
        )
        for row, label in enumerate(labels)
        for at, name in enumerate(names)
    ]
    pairs = [
        (label, row * len(names) + first, row * len(names) + second, names[first], names[second])
        for row, label in enumerate(labels)
        for first, second in combinations(range(len(names)), 2)
    ]
    tests = [shares.p_difference(first, second, bounds=(-1, 1), cautious=True) for _, first, second, *_ in pairs]
    differences = [
        ShareDifference(str(label), one, other, shares.difference(first, second, bounds=(-1, 1)), p, p_corrected)
        for (label, first, second, one, other), p, p_corrected in zip(pairs, tests, holm(tests).tolist(), strict=True)
    ]
    return records, differences


def _share(rows: pd.DataFrame, level: float) -> Estimate:
    """The share of decisions for a label. Coders are the ones there are, so only comments vary."""
    comments = Dimensions.of(comments=rows["comment"].to_numpy())
    return ratios(rows["chosen"], np.ones(len(rows)), comments, level=level).estimate(bounds=(0, 1))
