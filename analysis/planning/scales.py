"""Scales of answers, and the normal variable behind the points of a scale.

An answer on a scale of points is a normal variable that is cut half-way between the points, so the lowest point holds
everything below, the highest everything above. Researchers know variances of answers, not of that variable. So its mean
and standard deviation are set such that the points have the wanted mean and variance, and its components such that
points of the same item, text or worker covary as wanted: for a correlation ρ of two normal variables, the covariance of
their points is Σ_n a_n² ρⁿ with the Hermite coefficients a_n of the cut (Mehler's expansion; Kendall & Stuart, vol. 2,
§26.27, the tetrachoric series).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from analysis.inference import Bounds
from analysis.inference.cluster_sums import Floats
from analysis.planning.components import Components

MOST_POINTS = 101
#: Terms of the expansion. Correlations of answers are well below 1, where it converges fast.
TERMS = 120
#: Standard deviations of the normal variable, in units of the scale's range, between which the right one is sought.
NARROW, WIDE = 1e-3, 1e3


@dataclass(frozen=True)
class Scale:
    """From ``low`` to ``high``. ``points``: how many points it has; None: any number, without ends.

    ValueError: a scale with one point or too many, or ends in the wrong order.
    """

    low: float
    high: float
    points: int | None = None

    def __post_init__(self) -> None:
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"a scale needs a low end below its high end, not {self.low:g} and {self.high:g}")
        if self.points is not None and not 2 <= self.points <= MOST_POINTS:
            raise ValueError(f"a scale has 2 to {MOST_POINTS} points, not {self.points:,}")

    @property
    def range(self) -> float:
        return self.high - self.low

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def bounds(self) -> Bounds | None:
        """What intervals stay within."""
        return None if self.points is None else (self.low, self.high)

    @cached_property
    def values(self) -> Floats:
        return np.linspace(self.low, self.high, self.points or 2)

    @cached_property
    def cuts(self) -> Floats:
        return np.asarray((self.values[1:] + self.values[:-1]) / 2)

    def cut(self, normal: Floats) -> Floats:
        """The point that a value of the normal variable becomes."""
        if self.points is None:
            return normal
        return np.asarray(self.values[np.searchsorted(self.cuts, normal)])

    def moments(self, mean: float, sd: float) -> tuple[float, float]:
        """Mean and variance of the points of a normal variable."""
        above = scipy.stats.norm.sf((self.cuts - mean) / sd)
        shares = -np.diff(np.concatenate([[1.0], above, [0.0]]))
        centre = float(shares @ self.values)
        return centre, float(shares @ (self.values - centre) ** 2)

    def normal_mean(self, mean: float, sd: float) -> float:
        """The mean of a normal variable with this standard deviation whose points have that ``mean``.

        ValueError: the mean is no mean of answers on this scale.
        """
        if self.points is None:
            return mean
        if not self.low < mean < self.high:
            raise ValueError(
                f"a mean of {mean:.4g} is impossible on a scale from {self.low:g} to {self.high:g}: choose a smaller "
                "difference, or another mean"
            )
        reach = 40 * sd + self.range
        return float(
            scipy.optimize.brentq(lambda at: self.moments(at, sd)[0] - mean, self.low - reach, self.high + reach)
        )

    def normal_sd(self, mean: float, variance: float) -> float:
        """The standard deviation of a normal variable whose points have this mean and variance. ValueError: none."""

        def too_wide(log_sd: float) -> float:
            sd = math.exp(log_sd)
            return self.moments(self.normal_mean(mean, sd), sd)[1] - variance

        ends = math.log(NARROW * self.range), math.log(WIDE * self.range)
        least, most = (too_wide(end) + variance for end in ends)
        if not least < variance < most:
            raise ValueError(
                f"answers from {self.low:g} to {self.high:g} in steps of {self.values[1] - self.values[0]:g} with a "
                f"mean of {mean:.4g} have a variance between {least:.2g} and {most:.2g}, and the variances add up to "
                f"{variance:.3g}: choose other variances, or another mean"
            )
        return math.exp(float(scipy.optimize.brentq(too_wide, *ends)))

    def correlation_for(self, covariance: float, mean: float, sd: float) -> float:
        """The correlation of two normal variables whose points covary like this. ValueError: more than is possible."""
        weights = self._covariance_weights(mean, sd)
        if covariance <= 0:
            return 0.0
        powers = np.arange(1, TERMS + 1)
        if covariance >= float(weights @ 0.98**powers):
            raise ValueError(
                f"items or workers cannot have a variance of {covariance:.3g} on this scale: hardly anything is left "
                "for single answers"
            )
        return float(scipy.optimize.brentq(lambda rho: float(weights @ rho**powers) - covariance, 0, 0.98))

    def _covariance_weights(self, mean: float, sd: float) -> Floats:
        """The a_n² for n = 1 … TERMS, by the recurrence of normalised Hermite polynomials."""
        at = (self.cuts - mean) / sd
        before, here = np.zeros(len(at)), np.ones(len(at))
        steps = np.diff(self.values) * scipy.stats.norm.pdf(at)
        weights = []
        for n in range(1, TERMS + 1):
            weights.append(float(steps @ here) ** 2 / n)
            before, here = here, (at * here - math.sqrt(n - 1) * before) / math.sqrt(n)
        return np.array(weights)


@dataclass(frozen=True)
class AnswerModel:
    """How answers come about: a normal variable with ``latent`` components and a mean for each system, cut into points.

    ``components`` are those of the answers. On a scale of any number, both are the same.
    """

    scale: Scale
    components: Components
    latent: Components
    means: tuple[float, ...]


def answer_model(scale: Scale, components: Components, means: tuple[float, ...]) -> AnswerModel:
    """The model whose answers have these ``components`` around the mean of all ``means``, which are the systems'.

    On a scale of two points a mean has only one possible variance, so the residual is what the others leave of it.
    ValueError: means, variances or covariances that are impossible on the scale.
    """
    if scale.points is None:
        return AnswerModel(scale, components, replace(components, latent=False), means)
    centre = sum(means) / len(means)
    if components.latent:
        sd = math.sqrt(components.total)
        return AnswerModel(scale, components, components, tuple(scale.normal_mean(mean, sd) for mean in means))
    if scale.points == 2:
        total = (centre - scale.low) * (scale.high - centre)
        residual = total - (components.total - components.residual)
        if residual <= 0:
            raise ValueError(
                f"answers of two kinds with a mean of {centre:.3g} have a variance of {total:.3g}, and items and "
                f"workers alone would have {total - residual:.3g}: choose smaller variances"
            )
        components, sd = replace(components, residual=residual), scale.range
    else:
        sd = scale.normal_sd(centre, components.total)
    normal_centre = scale.normal_mean(centre, sd)

    def shared(covariance: float) -> float:
        return scale.correlation_for(covariance, normal_centre, sd)

    item, text = shared(components.items), shared(components.items + components.item_system)
    worker, liking = shared(components.workers), shared(components.workers + components.worker_system)
    if text + liking >= 1:
        raise ValueError("these variances leave nothing for single answers on this scale: the residual is too small")
    latent = Components(item, worker, text - item, liking - worker, 1 - text - liking, latent=True).times(sd**2)
    return AnswerModel(scale, components, latent, tuple(scale.normal_mean(mean, sd) for mean in means))
