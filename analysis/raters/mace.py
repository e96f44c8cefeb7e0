"""MACE: how often each rater knows the answer, and how often the rater guesses.

The model: every unit has a true class, each with the same probability. On each unit, rater r knows it with probability
c_r (the competence) and answers it; otherwise the rater guesses answer k with probability g_rk, whatever the unit is.

Shapes: competence (R,), guesses (R × K), posterior (U × K).

Source: Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013, "Learning whom to trust with MACE" (NAACL-HLT), section 3; EM with
restarts and smoothing 0.01/K as in section 3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.agreement.ratings import Data, FloatArray, Labels, Ratings, as_ratings
from analysis.estimate import SEED, Estimate
from analysis.raters.without_units import GROUPS, shares_without_units

RESTARTS = 10
STEPS = 500
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Mace:
    """The fitted model; NaN for raters and units without ratings. ``log_likelihood`` is without the smoothing."""

    units: Labels
    raters: Labels
    values: Labels
    competence: FloatArray
    guesses: FloatArray
    posterior: FloatArray
    log_likelihood: float
    converged: bool


@dataclass(slots=True)
class _Step:
    known: FloatArray
    posterior: FloatArray
    log_likelihood: float


def mace(
    data: Data,
    *,
    smoothing: float | None = None,
    restarts: int = RESTARTS,
    steps: int = STEPS,
    seed: int = SEED,
    tolerance: float = TOLERANCE,
) -> Mace:
    """Fit by EM: once from equal competences, then from ``restarts`` random ones; the best likelihood is kept.

    data: units × raters matrix (NaN missing) or `Ratings`; values nominal. ``smoothing`` is added to every expected
    count (0.01/K unless given). A start ends when a step gains less than ``tolerance`` per rating.

    ValueError: no ratings, only one rater, only one value, negative smoothing.
    """
    ratings = as_ratings(data)
    values = len(ratings.values)
    if not len(ratings.code):
        raise ValueError("there are no ratings: every cell is missing")
    if (ratings.rater == ratings.rater[0]).all():
        raise ValueError("there is only one rater: guesses cannot be told from knowledge")
    if values < 2:
        raise ValueError("every rating has the same value: guesses cannot be told from knowledge")
    smoothing = 0.01 / values if smoothing is None else smoothing
    if smoothing < 0:
        raise ValueError("smoothing must be 0 or more")
    random = np.random.default_rng(seed)
    raters = len(ratings.raters)
    starts = [(np.full(raters, 0.5), np.full((raters, values), 1 / values))]
    starts += [(random.uniform(size=raters), random.dirichlet(np.ones(values), size=raters)) for _ in range(restarts)]
    fits = [_climb(ratings, competence, guesses, smoothing, steps, tolerance) for competence, guesses in starts]
    best = max(fits, key=lambda fit: fit.log_likelihood)
    rated = np.bincount(ratings.rater, minlength=raters) > 0
    best.competence[~rated], best.guesses[~rated] = np.nan, np.nan
    best.posterior[ratings.per_unit == 0] = np.nan
    return best


def competences(
    data: Data, *, groups: int = GROUPS, seed: int = SEED, confidence: float = 0.95, restarts: int = RESTARTS
) -> dict[object, Estimate]:
    """Each rater's competence with an interval; fits without some units start from that of all. Errors as in `mace`."""
    ratings = as_ratings(data)
    model = mace(ratings, restarts=restarts, seed=seed)
    start = np.nan_to_num(model.competence, nan=0.5), np.nan_to_num(model.guesses, nan=1 / len(model.values))

    def competence_in(part: Ratings) -> FloatArray:
        if part is ratings:
            return model.competence
        fit = _climb(part, *start, 0.01 / len(model.values), STEPS, TOLERANCE).competence
        fit[np.bincount(part.rater, minlength=len(fit)) == 0] = np.nan
        return fit

    estimates = shares_without_units(
        ratings,
        competence_in,
        name="MACE",
        groups=groups,
        seed=seed,
        confidence=confidence,
    )
    return dict(zip(ratings.raters.tolist(), estimates, strict=True))


def _climb(
    ratings: Ratings, competence: FloatArray, guesses: FloatArray, smoothing: float, steps: int, tolerance: float
) -> Mace:
    """EM from one start."""
    raters, values = guesses.shape
    cells = ratings.rater * values + ratings.code
    answers = np.bincount(cells, minlength=raters * values).reshape(raters, values)
    step, gain = _expectation(ratings, competence, guesses), math.inf
    for _ in range(steps):
        known = np.bincount(ratings.rater, weights=step.known, minlength=raters)
        guessed = np.bincount(cells, weights=1 - step.known, minlength=raters * values).reshape(raters, values)
        totals = answers.sum(axis=1)
        competence = (known + smoothing) / (totals + 2 * smoothing)
        guesses = (guessed + smoothing) / (guessed.sum(axis=1, keepdims=True) + values * smoothing)
        last, step = step, _expectation(ratings, competence, guesses)
        gain = step.log_likelihood - last.log_likelihood
        if gain <= tolerance * len(ratings.code):
            break
    return Mace(
        ratings.units,
        ratings.raters,
        ratings.values,
        competence,
        guesses,
        step.posterior,
        step.log_likelihood,
        gain <= tolerance * len(ratings.code),
    )


def _expectation(ratings: Ratings, competence: FloatArray, guesses: FloatArray) -> _Step:
    """The posterior of the classes, and of each rating (N,) how probably the rater knew."""
    values = guesses.shape[1]
    of_rating = competence[ratings.rater]
    guessed = np.maximum((1 - of_rating) * guesses[ratings.rater, ratings.code], 1e-300)
    units = len(ratings.units)
    base = np.bincount(ratings.unit, weights=np.log(guessed), minlength=units)
    more = np.bincount(
        ratings.unit * values + ratings.code,
        weights=np.log1p(of_rating / guessed),
        minlength=units * values,
    ).reshape(units, values)
    logs = base[:, None] + more - math.log(values)
    top = logs.max(axis=1, keepdims=True)
    odds = np.exp(logs - top)
    totals = odds.sum(axis=1, keepdims=True)
    posterior = odds / totals
    # A unit without ratings has likelihood 1, so it adds nothing.
    likelihood = float((top + np.log(totals)).sum())
    known = posterior[ratings.unit, ratings.code] * of_rating / (of_rating + guessed)
    return _Step(known, posterior, likelihood)
