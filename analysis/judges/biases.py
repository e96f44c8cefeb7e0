"""What moves a judge besides the texts: the side on which a text stands, its length, and whether the judge wrote it.

Shapes: J ratings of a judge; N answers of people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.estimate import Estimate
from analysis.inference import mean_estimate
from analysis.inference.crossed import ratios
from analysis.inference.dimensions import Dimensions

#: Fewer items do not say whether length matters.
LEAST_ITEMS = 5
FIRST_SIDE = "A"


@dataclass(frozen=True, slots=True)
class PositionBias:
    """``shift``: how much a judge's rating of text 1 is higher when text 1 stands first, halved: on a scale from −1 to
    1, 0 is no bias and 1 means that the first text always wins. ``flips``: the share of pairs whose winner changes
    with the order. ``pairs``: those judged in both orders."""

    shift: Estimate
    flips: float
    pairs: int


def position_bias(ratings: pd.DataFrame, *, level: float = 0.95) -> PositionBias | None:
    """From ratings (J rows: item, side, value) of text 1 against text 2, where ``side`` is that of text 1.

    None if no pair was judged in both orders. Each pair is its own control, as in Wang et al. 2024, "Large language
    models are not fair evaluators", section 2; the interval is over pairs.
    """
    placed = ratings[ratings["side"] != ""]
    first = placed[placed["side"] == FIRST_SIDE].groupby("item")["value"].mean()
    second = placed[placed["side"] != FIRST_SIDE].groupby("item")["value"].mean()
    both = first.index.intersection(second.index)
    if not len(both):
        return None
    of_first, of_second = first[both].to_numpy(), second[both].to_numpy()
    shift = mean_estimate((of_first - of_second) / 2, Dimensions.of(items=np.asarray(both, dtype=object)), level=level)
    flips = float((np.sign(of_first) != np.sign(of_second)).mean())
    return PositionBias(shift, flips, len(both))


def length_bias(difference: pd.Series, lengths: pd.Series) -> tuple[float, int]:
    """Spearman's ρ over items, of the judge's rating less people's mean with the length of the text; and how many.

    What length does to both cancels out: a judge that only shares people's taste for long texts gets 0. NaN for fewer
    than five items or equal lengths. For pairs, ``lengths`` are those of text 1 less those of text 2.
    """
    both = difference.index.intersection(lengths.index)
    of_items, of_lengths = difference[both], lengths[both]
    if len(both) < LEAST_ITEMS or of_lengths.nunique() < 2 or of_items.nunique() < 2:
        return math.nan, len(both)
    return float(of_items.rank().corr(of_lengths.rank())), len(both)


def own_texts_bias(
    answers: pd.DataFrame, judged: pd.Series, is_own: pd.Series, *, level: float = 0.95
) -> Estimate | None:
    """The judge's rating less people's answer for texts by the judge's own model, less the same for all other texts.

    From answers (N rows: item, worker, value). Above 0, the judge favours itself more than people do. None without
    texts of both sorts. Source of the comparison with people: Panickssery, Bowman & Feng 2024, "LLM evaluators
    recognize and favor their own generations", section 2.
    """
    rows = answers[answers["item"].isin(judged.index)]
    own = is_own.reindex(rows["item"]).fillna(False).to_numpy(dtype=bool)
    if not own.any() or own.all():
        return None
    difference = judged.reindex(rows["item"]).to_numpy(dtype=float) - rows["value"].to_numpy(dtype=float)
    dimensions = Dimensions.of(items=rows["item"].to_numpy(dtype=object), workers=rows["worker"].to_numpy(dtype=object))
    flags = np.stack([own, ~own], axis=1).astype(float)
    return ratios(difference[:, None] * flags, flags, dimensions, level=level).difference(0, 1)
