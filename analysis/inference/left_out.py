"""Intervals of figures that are no means, from the figure without each item, each worker and each answer.

On a scale without ends, where the figure is nearer to normal, leaving out each cluster of one kind gives

    V_G = (G − 1)/G · Σ_g (z without g − z)²,    b_G = (G − 1) · (mean of z without g − z)

V = V_items + V_workers − V_answers, and not below V_items; the centre is z − (b_items + b_workers − b_answers): what
the first two count twice is taken off once. Student's t with min(G) − 1 degrees of freedom.

A coefficient of agreement or a variance is biased where the same few workers answer about everything, because workers
are then compared with themselves; the figure that is printed is the published one, its interval is about new workers.
The scale is Fisher's for intraclass correlations, log((1 + (k − 1) r)/(1 − r)) (Fisher 1925, §40): the logit of the
place between the least value that k answers to an item allow, −1/(k − 1), and 1.

Sources: Miller 1968, "Jackknifing variances" (bias-corrected, on a scale of logarithms); Cameron, Gelbach & Miller 2011
(two-way clusters); MacKinnon, Nielsen & Webb 2024 (their jackknife). Shapes: D distinct values of the figure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.distributions import logistic, t_quantile
from analysis.inference.cluster_sums import Floats

#: A figure without a cluster counts as no nearer to an end than this share of the figure's own distance.
NEAREST = 0.05


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The figure without each cluster (D,), NaN where it is undefined, and how many clusters give this value (D,)."""

    figures: Floats
    times: Floats

    @property
    def undefined(self) -> int:
        return int(self.times[np.isnan(self.figures)].sum())

    def spread(self, line: _Line) -> tuple[float, float, float]:
        """V_G, b_G and G of the clusters without which the figure is defined."""
        defined = ~np.isnan(self.figures)
        times, count = self.times[defined], float(self.times[defined].sum())
        if count < 2:
            return 0.0, 0.0, count
        away = line.places(self.figures[defined]) - line.place
        return (count - 1) / count * float(times @ away**2), (count - 1) / count * float(times @ away), count


@dataclass(frozen=True, slots=True)
class _Line:
    """A scale without ends for figures between ``low`` and ``high``, one of which may be infinite, around ``value``."""

    value: float
    low: float
    high: float

    @property
    def place(self) -> float:
        return float(self.places(np.array([self.value]))[0])

    def places(self, figures: Floats) -> Floats:
        place = np.zeros(len(figures))
        if not math.isinf(self.high):
            place = place - np.log(np.maximum(self.high - figures, NEAREST * (self.high - self.value)))
        if not math.isinf(self.low):
            place = place + np.log(np.maximum(figures - self.low, NEAREST * (self.value - self.low)))
        return place

    def figure(self, place: float) -> float:
        if math.isinf(self.low):
            return self.high - math.exp(min(-place, 700.0))
        if math.isinf(self.high):
            return self.low + math.exp(min(place, 700.0))
        return float(self.low + (self.high - self.low) * logistic(place))


def interval_from_left_out(
    value: float,
    items: LeftOut,
    workers: LeftOut | None,
    answers: LeftOut | None,
    *,
    ends: tuple[float, float],
    level: float,
) -> tuple[float, float]:
    """The interval of ``value``, which lies inside ``ends``; NaN at an end, or if nothing varies.

    Without ``workers`` it is about new items and the same workers.
    """
    low, high = ends
    if not (value - low > 1e-12 and high - value > 1e-12):
        return math.nan, math.nan
    line = _Line(value, low, high)
    variance, bias, count = items.spread(line)
    if workers is not None and answers is not None:
        of_workers, of_answers = workers.spread(line), answers.spread(line)
        variance = max(variance + of_workers[0] - of_answers[0], variance)
        bias += of_workers[1] - of_answers[1]
        count = min(count, of_workers[2])
    if count < 2 or not (variance > 0 and math.isfinite(variance)):
        return math.nan, math.nan
    half = float(t_quantile((1 + level) / 2, count - 1)) * math.sqrt(variance)
    centre = line.place - bias
    return line.figure(centre - half), line.figure(centre + half)
