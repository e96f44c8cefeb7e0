"""How often writers choose one suggester's text rather than another's.

Shapes: ``chosen`` (N,), 1 or True where the first suggester's text was chosen and 0 where another's was; ``writers``
(N,), who chose. Source: Clark 2021, ch. 4.5 (writers choose between two models in five rounds).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.estimate import Estimate, wilson
from analysis.inference import Dimensions, ratios


@dataclass(frozen=True, slots=True)
class BinomialTests:
    """Exact binomial tests of ``wins`` of ``n`` choices against ``chance``.

    ``two_sided``: the share is different from chance. ``one_sided``: it is further on the side where it was found
    (above chance if it is above), which is a test only if the side was predicted before the data were seen.
    """

    wins: int
    n: int
    chance: float
    two_sided: float
    one_sided: float


def binomial_tests(wins: int, n: int, *, chance: float = 0.5) -> BinomialTests:
    """Both exact tests; NaN for n = 0. They assume independent choices, but those of one writer are not.

    Two-sided as in R's ``binom.test``: all outcomes that are no more likely than the one found. ValueError: ``wins``
    is not between 0 and ``n``, or ``chance`` not between 0 and 1.
    """
    if not 0 <= wins <= n:
        raise ValueError(f"wins must be between 0 and {n}, not {wins}")
    if not 0 < chance < 1:
        raise ValueError(f"chance must be between 0 and 1, not {chance}")
    if not n:
        return BinomialTests(0, 0, chance, math.nan, math.nan)
    side: Literal["greater", "less"] = "greater" if wins >= n * chance else "less"
    two_sided = float(scipy.stats.binomtest(wins, n, chance).pvalue)
    return BinomialTests(
        wins, n, chance, two_sided, float(scipy.stats.binomtest(wins, n, chance, alternative=side).pvalue)
    )


def choice_share(chosen: ArrayLike, *, level: float = 0.95) -> Estimate:
    """The share of choices for the first, in [0, 1], with Wilson's interval, which assumes independent choices.

    NaN is left out. NaN without choices. ValueError: a value other than 0 or 1.
    """
    choices = known_choices(chosen)
    n = len(choices)
    if not n:
        return Estimate(math.nan, n=0, n_of="choices", level=level, note="nobody has chosen")
    share = float(choices.mean())
    low, high = wilson(share, n, level)
    return Estimate(share, low, high, n, "choices", level, "Wilson")


@dataclass(frozen=True, slots=True)
class WriterShare:
    """The share of choices for the first with an interval about new writers, and the two-sided p of one half."""

    share: Estimate
    p: float


def clustered_share(chosen: ArrayLike, writers: ArrayLike, *, level: float = 0.95) -> WriterShare:
    """The same share, clustered by writer: choices of one writer may be alike. The prompts are a fixed condition.

    ValueError: no choices, or a value other than 0 or 1. NaN is left out with its writer's name.
    """
    values = np.asarray(chosen, dtype=float)
    answered = ~np.isnan(values)
    choices = known_choices(values)
    if not len(choices):
        raise ValueError("there are no values")
    figures = ratios(choices, np.ones(len(choices)), Dimensions.of(writers=np.asarray(writers)[answered]), level=level)
    return WriterShare(replace(figures.estimate(bounds=(0, 1)), n_of="choices"), figures.p(null=0.5, bounds=(0, 1)))


def known_choices(chosen: ArrayLike) -> Floats:
    """The values without NaN, (n,). ValueError: a value other than 0 or 1."""
    values = np.asarray(chosen, dtype=float)
    choices = values[~np.isnan(values)]
    invalid = choices[~np.isin(choices, (0, 1))]
    if len(invalid):
        raise ValueError(f"a choice is 1 (the first) or 0 (another), not {invalid[0]:g}")
    return np.asarray(choices)
