"""Choices between two things, each +1 (the first is preferred), −1 (the second) or 0 (no difference).

Shapes: ``choices`` (N,), ``items`` (N,), the name of the item that each choice is about. Source: Clark 2021, ch. 3.7
and app. B.7 (forced choices between two systems, majority per passage).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.estimate import Estimate, wilson
from analysis.inference import Dimensions, ratios

#: Ties are left out, split evenly between both sides, or counted as choices that were not for the first.
Ties = Literal["dropped", "split", "counted"]


@dataclass(frozen=True, slots=True)
class Choices:
    """How often workers preferred the first of two, neither, or the second."""

    wins: int
    ties: int
    losses: int

    @property
    def n(self) -> int:
        return self.wins + self.ties + self.losses


@dataclass(frozen=True, slots=True)
class Majorities:
    """Items by the majority of their choices. ``neither``: as many for the first as for the second."""

    first: int
    neither: int
    second: int

    @property
    def n(self) -> int:
        return self.first + self.neither + self.second


def count_choices(choices: ArrayLike) -> Choices:
    """Count choices (N,); NaN is left out. ValueError: a value other than −1, 0 or 1."""
    answered = _checked(choices)
    answered = answered[~np.isnan(answered)]
    return Choices(*(int((answered == value).sum()) for value in (1, 0, -1)))


def win_share(counts: Choices, *, ties: Ties = "dropped", level: float = 0.95) -> Estimate:
    """The share of wins with Wilson's interval (Wilson 1927), which assumes independent choices.

    Ties are dropped, split (half a win each), or counted (as not won). NaN if nothing is left.
    """
    wins = counts.wins + (counts.ties / 2 if ties == "split" else 0)
    n = float(counts.wins + counts.losses if ties == "dropped" else counts.n)
    if not n:
        return Estimate(math.nan, n=0, n_of="choices", level=level, note="no choice was made either way")
    low, high = wilson(wins / n, n, level)
    return Estimate(wins / n, low, high, round(n), "choices", level, f"Wilson, ties {ties}")


def binomial_test(counts: Choices, *, ties: Ties = "dropped") -> float:
    """The two-sided p of an exact binomial test of wins against one half; NaN if nothing is left.

    Ties are dropped (the sign test, Dixon & Mood 1946); split evenly between both sides, and the last of an odd number
    dropped; or counted as not won, which tests whether the first wins half of *all* choices. Assumes independent
    choices. Two-sided as in R's ``binom.test``.
    """
    share = counts.ties // 2 if ties == "split" else 0
    wins, losses = counts.wins + share, counts.losses + (counts.ties if ties == "counted" else share)
    return float(scipy.stats.binomtest(wins, wins + losses).pvalue) if wins + losses else math.nan


def majorities(choices: ArrayLike, items: ArrayLike) -> Majorities:
    """Per item, whether more choices are for the first or for the second; ties decide nothing.

    NaN is left out, and so is an item with only NaN.
    """
    frame = pd.DataFrame({"choice": _checked(choices), "item": np.asarray(items)}).dropna(subset="choice")
    balance = frame.groupby("item", sort=False)["choice"].sum()
    return Majorities(int((balance > 0).sum()), int((balance == 0).sum()), int((balance < 0).sum()))


@dataclass(frozen=True, slots=True)
class Preference:
    """The share of wins among choices that are no tie, and the two-sided p of one half. About new items and workers."""

    share: Estimate
    p: float


def preference(choices: ArrayLike, dimensions: Dimensions, *, level: float = 0.95) -> Preference:
    """The share of wins among the N choices without ties, with the interval and test of crossed designs.

    Choices about one item are alike, and so are those of one worker, which Wilson's interval and the binomial test
    ignore. NaN in ``choices`` is left out. NaN with a note if all choices are ties. ValueError: no choices, or a value
    other than −1, 0 or 1.
    """
    answered = _checked(choices)
    if not len(answered):
        raise ValueError("there are no choices")
    decided = np.nonzero(np.abs(answered) == 1)[0]
    if not len(decided):
        return Preference(Estimate(math.nan, n_of="answers", level=level, note="all choices are ties"), math.nan)
    won = (answered[decided] == 1).astype(float)
    figures = ratios(won, np.ones(len(won)), dimensions.chosen(decided), level=level)
    return Preference(figures.estimate(bounds=(0, 1)), figures.p(null=0.5, bounds=(0, 1)))


def _checked(choices: ArrayLike) -> Floats:
    values = np.asarray(choices, dtype=float)
    invalid = values[~np.isin(values, (-1, 0, 1)) & ~np.isnan(values)]
    if len(invalid):
        raise ValueError(f"a choice is 1, 0 or −1, not {invalid[0]:g}")
    return values
