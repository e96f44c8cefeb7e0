"""How severe and how consistent each rater is on an ordinal scale: the many-facet Rasch model with a slope per rater.

The model: log P(x = k) / P(x = k − 1) = a_r (θ_u − s_r − t_k) for the points k = 2 … K of the scale. θ_u is the
quality of unit u, normal over units; s_r the severity of rater r, 0 on average; a_r the consistency, 1 as geometric
mean; t_k the scale's thresholds. A severe rater gives lower ratings to the same units; one with a_r below 1 follows
their quality less.

Units' qualities are integrated out (marginal likelihood, a grid of nodes). Weak normal priors on severity (s.d. 3) and
log consistency (s.d. 0.75) keep raters finite who gave one answer only. Intervals are by the sandwich over units, so
that they also hold if units vary otherwise than the model says.

Sources: Linacre 1989, "Many-facet Rasch measurement"; Muraki 1992 (a slope for each; generalised partial credit);
Uto & Ueno 2020 (slopes of raters), Behaviormetrika 47.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from analysis.agreement.ratings import Data, FloatArray, Ratings, as_ratings, refuse_unordered
from analysis.distributions import t_quantile
from analysis.estimate import Estimate

MOST_POINTS = 12
FEWEST_UNITS = 20
_NODES = np.linspace(-6.0, 6.0, 81)
_PRIOR_SD = (3.0, 0.75)


@dataclass(frozen=True, slots=True)
class RaterSeverity:
    """``severity`` in logits, 0 for the average rater, above 0 for lower ratings; ``consistency`` as a ratio to the
    average rater's; ``points``: how much higher (negative: lower) this rater's answers are expected to be than the
    average rater's on the same units, in points of the scale."""

    severity: Estimate
    consistency: Estimate
    points: float


@dataclass(frozen=True, slots=True)
class Severities:
    """The fitted model: each rater's figures by name, the thresholds (K − 1,), and the s.d. of units' qualities."""

    raters: dict[object, RaterSeverity]
    thresholds: FloatArray
    spread: float
    converged: bool


def severities(data: Data, *, confidence: float = 0.95) -> Severities:
    """Fit the model. data: units × raters matrix (NaN missing) or `Ratings` with ordered values.

    Points of the scale that nobody used are left out: the data say nothing about them. Severities can be compared only
    between raters who are linked by units that both, or a chain of others, rated.

    ValueError: text without an order, fewer than two raters, fewer than 20 units, one value only or more than 12,
    raters who are not linked.
    """
    ratings = as_ratings(data)
    refuse_unordered(ratings)
    model = _Model(ratings)
    # The thresholds start at the logits of neighbouring points' shares, as if all units were alike.
    counts = np.bincount(np.unique(ratings.code, return_inverse=True)[1]) + 0.5
    start = np.concatenate([np.zeros(2 * model.raters), np.log(counts[:-1] / counts[1:]), [0.0]])
    best = minimize(model.loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-12})
    covariance = model.covariance(best.x)
    severity, slope, thresholds, spread = model.parts(best.x)
    free = model.units - 1
    points = model.points(best.x)
    centring = np.eye(model.raters) - 1 / model.raters
    blocks = [slice(0, model.raters), slice(model.raters, 2 * model.raters)]
    errors = [np.sqrt(np.diag(centring @ covariance[block, block] @ centring.T)) for block in blocks]
    half = float(t_quantile((1 + confidence) / 2, free))
    sizes = np.bincount(ratings.rater, minlength=len(ratings.raters))[model.seen]
    method = (
        f"marginal likelihood, sandwich over {model.units:,} units; t with {free} degrees of freedom; 90 to 97% of "
        "such 95% intervals are right in simulations"
    )
    figures: dict[object, RaterSeverity] = {}
    for at, name in enumerate(np.asarray(ratings.raters)[model.seen].tolist()):
        size = int(sizes[at])
        note = "" if size >= FEWEST_UNITS else f"only {size} ratings: the interval leans on the prior"
        logits, ratio = float(severity[at]), float(np.log(slope[at]))
        ends = [(logits - half * errors[0][at], logits + half * errors[0][at])]
        ends.append((math.exp(ratio - half * errors[1][at]), math.exp(ratio + half * errors[1][at])))
        estimates = [
            Estimate(value, *limits, size, "ratings", confidence, method, note)
            for value, limits in zip((logits, math.exp(ratio)), ends, strict=True)
        ]
        figures[name] = RaterSeverity(estimates[0], estimates[1], float(points[at]))
    return Severities(figures, thresholds, spread, bool(best.success))


class _Model:
    """The likelihood over parameters: severities (R), log slopes (R), thresholds (K − 1), log s.d. of qualities."""

    def __init__(self, ratings: Ratings) -> None:
        used, code = np.unique(ratings.code, return_inverse=True)
        self.seen, rater = np.unique(ratings.rater, return_inverse=True)
        units, unit = np.unique(ratings.unit, return_inverse=True)
        self.raters, self.values, self.units = len(self.seen), len(used), len(units)
        if self.raters < 2:
            raise ValueError("there is only one rater: nobody to be more severe than")
        if not 2 <= self.values <= MOST_POINTS:
            raise ValueError(f"severity needs 2 to {MOST_POINTS} different answers, and there are {self.values}")
        if self.units < FEWEST_UNITS:
            raise ValueError(f"severity needs at least {FEWEST_UNITS} units, and there are {self.units}")
        self.unit, self.rater, self.code = unit, rater, code
        nodes = self.units + self.raters
        links = coo_array((np.ones(len(unit)), (unit, self.units + rater)), shape=(nodes, nodes))
        if (parts := int(connected_components(links, directed=False)[0])) > 1:
            raise ValueError(f"raters fall into {parts} groups that rated no unit in common: they cannot be compared")
        cells = (unit, rater * self.values + code)
        shape = (self.units, self.raters * self.values)
        self.votes = coo_array((np.ones(len(unit)), cells), shape=shape).tocsr()
        weights = np.exp(-(_NODES**2) / 2)
        self.log_weights = np.log(weights / weights.sum())

    def parts(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Severities and slopes relative to the average rater, thresholds, s.d. of qualities."""
        severity, slope, thresholds, spread = self._split(parameters)
        mean, scale = severity.mean(), math.exp(np.log(slope).mean())
        return severity - mean, slope / scale, thresholds + mean, spread

    def _split(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        severity, log_slope = parameters[: self.raters], parameters[self.raters : 2 * self.raters]
        return severity, np.exp(log_slope), parameters[2 * self.raters : -1], math.exp(parameters[-1])

    def _log_probabilities(self, parameters: FloatArray) -> FloatArray:
        """Of every answer, by rater and node (R × Q × K)."""
        severity, slope, thresholds, spread = self._split(parameters)
        steps = np.arange(self.values)
        advantage = spread * _NODES[None, :] - severity[:, None]
        cumulated = np.concatenate([[0.0], np.cumsum(thresholds)])
        logits = slope[:, None, None] * (advantage[:, :, None] * steps - cumulated)
        top = logits.max(axis=2, keepdims=True)
        return np.asarray(logits - top - np.log(np.exp(logits - top).sum(axis=2, keepdims=True)))

    def _posterior(self, logs: FloatArray) -> tuple[FloatArray, float]:
        """The weight of each node for each unit (U × Q), and the log-likelihood."""
        sums = self.log_weights + self.votes @ logs.transpose(0, 2, 1).reshape(-1, len(_NODES))
        top = sums.max(axis=1, keepdims=True)
        odds = np.exp(sums - top)
        totals = odds.sum(axis=1, keepdims=True)
        return odds / totals, float((top + np.log(totals)).sum())

    def _slopes(self, parameters: FloatArray, logs: FloatArray) -> list[FloatArray]:
        """Derivatives of the log-probabilities (R × Q × K) by severity, log slope, each threshold, log s.d."""
        severity, slope, thresholds, spread = self._split(parameters)
        probabilities, steps = np.exp(logs), np.arange(self.values)
        advantage = spread * _NODES[None, :] - severity[:, None]
        cumulated = np.concatenate([[0.0], np.cumsum(thresholds)])
        scale = slope[:, None, None]

        def centred(of_logit: FloatArray) -> FloatArray:
            return np.asarray(of_logit - (probabilities * of_logit).sum(axis=2, keepdims=True))

        by_step = centred(np.broadcast_to(scale * steps, logs.shape))
        by_slope = centred(scale * (advantage[:, :, None] * steps - cumulated))
        passed = [centred(np.broadcast_to(-scale * (steps > at), logs.shape)) for at in range(self.values - 1)]
        return [-by_step, by_slope, *passed, by_step * (spread * _NODES)[None, :, None]]

    def loss(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log posterior, and its gradient."""
        logs = self._log_probabilities(parameters)
        posterior, likelihood = self._posterior(logs)
        expected = (self.votes.T @ posterior).reshape(self.raters, self.values, len(_NODES)).transpose(0, 2, 1)
        of_severity, of_slope, *others = self._slopes(parameters, logs)
        gradient = np.concatenate(
            [
                (expected * of_severity).sum(axis=(1, 2)),
                (expected * of_slope).sum(axis=(1, 2)),
                [float((expected * derivative).sum()) for derivative in others],
            ]
        )
        # Of the priors, 0 where there is none. It also keeps the averages of severities and slopes near 0.
        precision = np.zeros(2 * self.raters + self.values)
        precision[: self.raters], precision[self.raters : 2 * self.raters] = (1 / sd**2 for sd in _PRIOR_SD)
        prior = float((precision * parameters**2).sum()) / 2
        return prior - likelihood, precision * parameters - gradient

    def covariance(self, parameters: FloatArray) -> FloatArray:
        """The sandwich: curvature by differences of the gradient, spread of the units' own gradients."""
        size = len(parameters)
        curvature = np.empty((size, size))
        for at in range(size):
            step = np.zeros(size)
            step[at] = 1e-4
            ahead, behind = self.loss(parameters + step)[1], self.loss(parameters - step)[1]
            curvature[at] = (ahead - behind) / 2e-4
        bread = np.linalg.pinv((curvature + curvature.T) / 2)
        scores = self._unit_scores(parameters)
        return np.asarray(bread @ (scores.T @ scores) @ bread * self.units / (self.units - 1))

    def _unit_scores(self, parameters: FloatArray) -> FloatArray:
        """The gradient of each unit's log-likelihood (U × P)."""
        logs = self._log_probabilities(parameters)
        posterior, _ = self._posterior(logs)
        of_severity, of_slope, *others = self._slopes(parameters, logs)
        weights = posterior[self.unit]
        scores = np.zeros((self.units, len(parameters)))

        def expected(derivative: FloatArray) -> FloatArray:
            return np.asarray((weights * derivative[self.rater, :, self.code]).sum(axis=1))

        np.add.at(scores, (self.unit, self.rater), expected(of_severity))
        np.add.at(scores, (self.unit, self.raters + self.rater), expected(of_slope))
        for at, derivative in enumerate(others):
            np.add.at(scores, (self.unit, np.full(len(self.unit), 2 * self.raters + at)), expected(derivative))
        return scores

    def points(self, parameters: FloatArray) -> FloatArray:
        """How far each rater's expected answer lies above the average rater's, over units (R,)."""
        severity, slope, thresholds, spread = self.parts(parameters)
        average = np.concatenate([[0.0], [0.0], thresholds, [math.log(spread)]])
        everybody = np.concatenate([severity, np.log(slope), thresholds, [math.log(spread)]])
        means = []
        for whose, count in ((everybody, self.raters), (average, 1)):
            raters, self.raters = self.raters, count
            probabilities = np.exp(self._log_probabilities(whose))
            self.raters = raters
            means.append((probabilities * np.arange(self.values)).sum(axis=2) @ np.exp(self.log_weights))
        return np.asarray(means[0] - means[1])
