"""Majority votes, and accuracy of labels against a gold standard."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.agreement.count_tables import ratio
from analysis.agreement.ratings import Data, as_counts
from analysis.estimate import Estimate, wilson


def majority_vote(data: Data) -> pd.DataFrame:
    """Units × values: the share of the vote each value wins, ties split evenly; rows sum to 1.

    data: units × raters matrix (NaN missing), `Ratings` or `Counts`. The index is the unit's label (the row number for
    a matrix or counts). A unit without ratings has only NaN. ValueError: no ratings.
    """
    counts, ratings = as_counts(data)
    if not counts.table.nnz:
        raise ValueError("there are no ratings: every cell is missing")
    dense = counts.table.toarray()
    top = dense.max(axis=1, keepdims=True)
    winners = ((dense == top) & (top > 0)).astype(np.float64)
    shares = ratio(winners, winners.sum(axis=1, keepdims=True))
    return pd.DataFrame(shares, index=None if ratings is None else ratings.units, columns=counts.values)


def accuracy(shares: pd.DataFrame, gold: Mapping[Any, Any], *, confidence: float = 0.95) -> Estimate:
    """Share of units whose label is the gold one. A tied unit counts by the share of its gold label.

    shares: units × values as from `majority_vote`, or `DawidSkene.labels()`. ``gold``: unit label → value. Units
    without gold or without a label are left out. n counts the units used; the note counts the others. Range 0 to 1.
    Interval: Wilson score, with the sum of shares as the number of correct units. ValueError: no unit has both.
    """
    column = {value: column_index for column_index, value in enumerate(shares.columns)}
    figures = shares.to_numpy()
    right = []
    for row, unit in enumerate(shares.index):
        if unit in gold and not math.isnan(figures[row, 0]):
            column_index = column.get(gold[unit])
            right.append(0.0 if column_index is None else float(figures[row, column_index]))
    if not right:
        raise ValueError("no unit has both a label and a gold value")
    left_out = len(shares) - len(right)
    share, n = float(np.mean(right)), len(right)
    low, high = wilson(share, n, confidence)
    note = f"{left_out} of {len(shares)} units lack a label or a gold value" if left_out else ""
    return Estimate(share, low, high, n, level=confidence, method="Wilson score", note=note)
