"""One judge beside people on one question: everything that a report says about the two.

Shapes: N answers of people with the columns item, worker, value; J ratings of the judge with item, sample, value, side,
chances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from analysis.estimate import Estimate
from analysis.inference import mean_estimate
from analysis.inference.contrasts import Bounds
from analysis.inference.dimensions import Dimensions
from analysis.judges.alignment import (
    MARGINS,
    AlternativeTest,
    alternative_annotator_test,
    equal_with_the_others,
    equal_with_the_people,
    with_the_others,
    with_the_people,
)
from analysis.judges.biases import PositionBias, length_bias, own_texts_bias, position_bias
from analysis.judges.calibration import Calibration, calibration
from analysis.judges.powered import PoweredLevels, powered_levels

MOST_LISTED = 10


@dataclass(frozen=True)
class Beside:
    """``measure``: how agreement is measured. ``ceiling``: a person with the others, and over how many people.

    ``bias``, ``powered`` and what follows from them are missing for categories, which have no mean. ``judged``: the
    judge's rating by item, a mean over its samples or, for categories, the most frequent. ``judge_spread`` and
    ``people_spread``: standard deviations within an item, over samples and over people.
    """

    measure: str
    answers: pd.DataFrame
    judged: pd.Series
    agreement: float
    ceiling: tuple[float, int]
    test: AlternativeTest
    calibration: Calibration | None
    position: PositionBias | None
    judge_spread: float
    people_spread: float
    powered: PoweredLevels | None = None
    bias: Mapping[str, Estimate] = field(default_factory=dict)
    length: tuple[float, int] = (math.nan, 0)
    own_texts: Estimate | None = None

    @property
    def n_items(self) -> int:
        """Items that both rated."""
        return int(self.answers["item"].nunique())

    def differing(self) -> pd.DataFrame:
        """The items on which people and the judge differ most, with both means."""
        means = self.answers.groupby("item")["value"].mean()
        table = pd.DataFrame({"people": means, "judge": self.judged.reindex(means.index)})
        table["difference"] = table["judge"] - table["people"]
        order = table["difference"].abs().sort_values(ascending=False, kind="stable").index
        return table.loc[order[:MOST_LISTED]]


def beside(
    people: pd.DataFrame,
    judge: pd.DataFrame,
    *,
    level: str,
    bounds: Bounds | None = None,
    levels: pd.Series | None = None,
    lengths: pd.Series | None = None,
    own: pd.Series | None = None,
    margin: float = MARGINS["crowd"],
) -> Beside:
    """``level`` of the scale: ordinal, interval, pairwise, or nominal (categories) or share (1 and 0).

    By item: ``levels`` of a factor, ``lengths`` of texts, and whether the text is the judge's ``own``. ValueError: they
    share no item.
    """
    categories = level in ("nominal", "pairwise", "share")
    judged = judge.groupby("item", sort=False)["value"].mean()
    if level == "pairwise":
        of_category = pd.Series(np.sign(judged), index=judged.index)
    elif categories:
        of_category = judge.groupby("item", sort=False)["value"].agg(lambda values: float(values.mode().iloc[0]))
    else:
        of_category = judged
    answers = people[people["item"].isin(judged.index)].reset_index(drop=True)
    if answers.empty:
        raise ValueError("the judge rated no item that people rated")
    if level == "nominal":
        judged = of_category
    agreement = equal_with_the_people(answers, of_category) if categories else with_the_people(answers, judged)
    ceiling = equal_with_the_others(answers) if categories else with_the_others(answers)
    both = Beside(
        "share of equal answers" if categories else "Spearman’s ρ",
        answers,
        judged,
        agreement,
        ceiling,
        alternative_annotator_test(answers, of_category, nominal=categories, margin=margin),
        calibration(answers, judge),
        position_bias(judge) if level == "pairwise" else None,
        _spread(judge),
        _spread(answers),
    )
    return both if level == "nominal" else _with_means(both, people, bounds, levels, lengths, own)


def _with_means(
    both: Beside,
    people: pd.DataFrame,
    bounds: Bounds | None,
    levels: pd.Series | None,
    lengths: pd.Series | None,
    own: pd.Series | None,
) -> Beside:
    """With everything that is about means."""
    answers, judged = both.answers, both.judged
    named = None if levels is None else levels.reindex(judged.index)
    if named is not None and (named.isna().any() or (named == "").any() or named.nunique() < 2):
        named = None
    items, workers = (answers[name].to_numpy(dtype=object) for name in ("item", "worker"))
    powered = powered_levels(answers["value"], items=items, workers=workers, judged=judged, levels=named, bounds=bounds)
    difference = judged.reindex(answers["item"]).to_numpy(dtype=float) - answers["value"].to_numpy(dtype=float)
    dimensions = Dimensions.of(items=items, workers=workers)
    bias = {"": mean_estimate(difference, dimensions)}
    if named is not None:
        of_answers = named.reindex(answers["item"]).to_numpy(dtype=object)
        for name in dict.fromkeys(of_answers):
            rows = of_answers == name
            bias[str(name)] = mean_estimate(difference[rows], dimensions.chosen(rows))
    by_item = (judged - answers.groupby("item")["value"].mean()).dropna()
    return replace(
        both,
        powered=powered,
        bias=bias,
        length=(math.nan, 0) if lengths is None else length_bias(by_item, lengths),
        own_texts=None if own is None else own_texts_bias(people, judged, own),
    )


def _spread(ratings: pd.DataFrame) -> float:
    """The standard deviation within an item, pooled over items with two ratings or more; NaN without any."""
    groups = ratings.groupby("item")["value"]
    counts, squares = groups.transform("count"), (ratings["value"] - groups.transform("mean")) ** 2
    freedom = int((groups.count() - 1).sum())
    return math.sqrt(float(squares[counts > 1].sum()) / freedom) if freedom else math.nan
