"""Published tests on workers' own accuracies. One worker is one observation, and the texts are taken as fixed.

If texts differ in how hard they are, these tests find differences between models and from chance that new texts would
not show: `analysis.detection.groups` has the tests that carry both.

Source: Clark 2021, ch. 6. Shapes: accuracies (W,), one per worker. Tests are two-sided and are SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.estimate import Estimate


@dataclass(frozen=True, slots=True)
class MeanTest:
    """A mean, or a difference of means, with its t test. ``d`` is Cohen's d. ``corrected`` is p times the number of
    tests (Bonferroni), 1 at most; ``threshold`` is what p itself is compared with."""

    mean: Estimate
    t: float
    df: float
    p: float
    corrected: float
    threshold: float
    d: Estimate

    @property
    def differs(self) -> bool:
        return self.p < self.threshold


@dataclass(frozen=True, slots=True)
class Anova:
    """One-way analysis of variance. ``eta_squared`` is the share of variance between groups."""

    f: float
    df_between: int
    df_within: int
    p: float
    eta_squared: float
    means: dict[str, float]


@dataclass(frozen=True, slots=True)
class TukeyPair:
    """The first group's mean minus the second's, with Tukey's simultaneous interval and p."""

    first: str
    second: str
    difference: Estimate
    p: float


def mean_against(accuracies: ArrayLike, null: float = 0.5, *, tests: int = 1, level: float = 0.95) -> MeanTest:
    """One-sample t test of the mean against ``null`` (chance), corrected for ``tests`` by Bonferroni.

    Degrees of freedom are W − 1: 390 workers give t(389). (Clark 2021 prints t(388) for two models with 390 workers
    each, which is what 389 workers give: one worker fewer than in the text.) The interval of the mean is Student's at
    ``level``, uncorrected. d is (mean − null) / s.d. NaN t and p if all accuracies are equal. ValueError: fewer than
    two workers, NaN, tests below 1.
    """
    values = _checked(accuracies)
    _refuse_below_one(tests)
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    n, df = len(values), len(values) - 1
    half = float(scipy.stats.t.ppf((1 + level) / 2, df)) * sd / math.sqrt(n)
    mean_with_interval = Estimate(mean, mean - half, mean + half, n, "workers", level, "Student’s t")
    if sd == 0:
        flat = Estimate(math.nan, n=n, n_of="workers", level=level, note="all workers have the same accuracy")
        return MeanTest(mean_with_interval, math.nan, df, math.nan, math.nan, (1 - level) / tests, flat)
    t = (mean - null) / (sd / math.sqrt(n))
    p = 2 * float(scipy.stats.t.sf(abs(t), df))
    low, high = (bound / math.sqrt(n) for bound in _noncentral(t, df, level))
    d = Estimate((mean - null) / sd, low, high, n, "workers", level, "noncentral t")
    return MeanTest(mean_with_interval, t, df, p, min(1.0, p * tests), (1 - level) / tests, d)


def mean_difference(
    first: ArrayLike, second: ArrayLike, *, tests: int = 1, equal_variances: bool = True, level: float = 0.95
) -> MeanTest:
    """Two-sample t test of the first mean minus the second: Student's, or Welch's if not ``equal_variances``.

    d divides by the pooled s.d. (Cohen 1988); its interval is from the noncentral t of Student's test (Steiger 2004).
    NaN t, p and d if neither sample varies. ValueError as `mean_against`.
    """
    first_values, second_values = _checked(first), _checked(second)
    _refuse_below_one(tests)
    n, m = len(first_values), len(second_values)
    pooled = math.sqrt(((n - 1) * first_values.var(ddof=1) + (m - 1) * second_values.var(ddof=1)) / (n + m - 2))
    value = float(first_values.mean() - second_values.mean())
    if pooled == 0:
        flat = Estimate(math.nan, n=n + m, n_of="workers", level=level, note="no worker differs from their group")
        mean = Estimate(value, n=n + m, n_of="workers", level=level)
        return MeanTest(mean, math.nan, n + m - 2, math.nan, math.nan, (1 - level) / tests, flat)
    t_test = scipy.stats.ttest_ind(first_values, second_values, equal_var=equal_variances)
    bounds = t_test.confidence_interval(level)
    method = "Student’s t, equal variances" if equal_variances else "Welch’s t"
    mean = Estimate(value, float(bounds.low), float(bounds.high), n + m, "workers", level, method)
    scale = math.sqrt(1 / n + 1 / m)
    low, high = (bound * scale for bound in _noncentral(value / (pooled * scale), n + m - 2, level))
    d = Estimate(value / pooled, low, high, n + m, "workers", level, "noncentral t")
    p = float(t_test.pvalue)
    return MeanTest(mean, float(t_test.statistic), float(t_test.df), p, min(1.0, p * tests), (1 - level) / tests, d)


def anova(groups: Mapping[str, ArrayLike]) -> Anova:
    """One-way ANOVA of independent groups. ValueError: fewer than two groups, a group of one, no variance at all."""
    values_by_group = {name: _checked(values, name) for name, values in groups.items()}
    if len(values_by_group) < 2:
        raise ValueError("an analysis of variance needs two groups or more")
    everyone = np.concatenate(list(values_by_group.values()))
    within = sum(float(((values - values.mean()) ** 2).sum()) for values in values_by_group.values())
    total = float(((everyone - everyone.mean()) ** 2).sum())
    if within <= 1e-12 * max(total, 1e-300):
        raise ValueError("nothing varies within the groups")
    f_test = scipy.stats.f_oneway(*values_by_group.values())
    means = {name: float(values.mean()) for name, values in values_by_group.items()}
    df = len(values_by_group) - 1, len(everyone) - len(values_by_group)
    return Anova(float(f_test.statistic), *df, float(f_test.pvalue), 1 - within / total, means)


def tukey(groups: Mapping[str, ArrayLike], *, level: float = 0.95) -> list[TukeyPair]:
    """Tukey's HSD (Tukey–Kramer with unequal sizes): every pair of groups, p and intervals corrected for all of them.

    ValueError as `anova`.
    """
    values_by_group = {name: _checked(values, name) for name, values in groups.items()}
    anova(values_by_group)
    test = scipy.stats.tukey_hsd(*values_by_group.values())
    bounds = test.confidence_interval(level)
    statistic, p_values = np.asarray(test.statistic), np.asarray(test.pvalue)
    lows, highs = np.asarray(bounds.low), np.asarray(bounds.high)
    pairs = []
    for (i, first), (j, second) in combinations(enumerate(values_by_group), 2):
        n = len(values_by_group[first]) + len(values_by_group[second])
        low, high = float(lows[i, j]), float(highs[i, j])
        value = Estimate(float(statistic[i, j]), low, high, n, "workers", level, "Tukey’s HSD")
        pairs.append(TukeyPair(first, second, value, float(p_values[i, j])))
    return pairs


def _checked(values: ArrayLike, name: str = "") -> Floats:
    accuracies = np.asarray(values, dtype=float).ravel()
    where = f" in “{name}”" if name else ""
    if np.isnan(accuracies).any():
        raise ValueError(f"an accuracy{where} is missing; leave that worker out")
    if len(accuracies) < 2:
        raise ValueError(f"a test needs two workers or more{where}, not {len(accuracies)}")
    return accuracies


def _refuse_below_one(tests: int) -> None:
    if tests < 1:
        raise ValueError(f"the number of tests is 1 or more, not {tests}")


def _noncentral(t: float, df: float, level: float) -> tuple[float, float]:
    """The noncentrality parameters for which the observed t is the upper and the lower quantile."""
    reach = 10 + 4 * abs(t) / math.sqrt(df) + abs(t) * 0.5
    tail = (1 - level) / 2

    def chance(parameter: float) -> float:
        probability = float(scipy.stats.nct.cdf(t, df, parameter))
        # Far out in a tail, where the probability is 0 or 1, SciPy returns NaN.
        return float(parameter < t) if math.isnan(probability) else probability

    def parameter_at(probability: float) -> float:
        return float(scipy.optimize.brentq(lambda parameter: chance(parameter) - probability, t - reach, t + reach))

    return parameter_at(1 - tail), parameter_at(tail)
