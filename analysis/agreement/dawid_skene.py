"""Dawid & Skene's model: estimates the true class of each unit and the errors of each rater from nominal ratings alone.

Shapes: posterior T_uk (U units × K values), class shares p_k (K,), confusion π_rkl (R × K × K): how often rater r
answers l for a unit of class k. EM: E-step T_uk ∝ p_k Π π_rk,l(u,r); M-step shares and confusions from T.

Source: Dawid & Skene 1979, "Maximum likelihood estimation of observer error-rates using the EM algorithm". Here EM
starts from each unit's shares of votes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.agreement.count_tables import ratio
from analysis.agreement.jackknife import LEAST, interval_inside
from analysis.agreement.ratings import Data, FloatArray, Labels, as_ratings
from analysis.estimate import SEED, Estimate

#: Classes whose posteriors differ by no more than this are tied.
TIE = 1e-9
#: Groups of units that are left out in turn.
GROUPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkene:
    """The fitted model. ``posterior`` (U × K), ``shares`` (K,), ``confusion`` (R × K × K, true × answered).

    A row of ``confusion`` is NaN if no unit that the rater saw can be of that class. ``converged`` is True if the
    log-likelihood settled within the allowed iterations.
    """

    units: Labels
    raters: Labels
    values: Labels
    posterior: FloatArray
    shares: FloatArray
    confusion: FloatArray
    log_likelihood: float
    iterations: int
    converged: bool

    def labels(self) -> pd.DataFrame:
        """Units × values: 1 for the most probable class, split between tied classes; NaN for a unit without ratings."""
        top = self.posterior.max(axis=1, keepdims=True)
        winners = (self.posterior >= top - TIE).astype(np.float64)
        shares = ratio(winners, winners.sum(axis=1, keepdims=True))
        shares[np.isnan(self.posterior).any(axis=1)] = np.nan
        return pd.DataFrame(shares, index=self.units, columns=self.values)


def dawid_skene(data: Data, *, iterations: int = 1000, tolerance: float = 1e-8, smoothing: float = 0.0) -> DawidSkene:
    """Fit the model by EM, starting from the shares of votes. There is no randomness.

    data: units × raters matrix (NaN missing) or `Ratings` (made with ``repeats=True`` if a rater rated a unit more than
    once); values nominal, numbers or text. Units with a single rating are used, as in the paper; units with none get a
    NaN posterior. ``smoothing`` is added to every cell of the confusions (0 is the paper's maximum likelihood). Stops
    when the log-likelihood gains less than ``tolerance`` per unit. EM finds a local maximum near the votes.

    ValueError: no ratings, only one rater, only one value, negative smoothing, fewer than one iteration.
    """
    ratings = as_ratings(data)
    sizes = ratings.per_unit
    if not sizes.sum():
        raise ValueError("there are no ratings: every cell is missing")
    if (ratings.rater == ratings.rater[0]).all():
        raise ValueError("there is only one rater: errors cannot be told from truth")
    shape = (len(ratings.units), len(ratings.raters), len(ratings.values))
    if shape[2] < 2:
        raise ValueError("every rating has the same value: there are no classes to tell apart")
    if smoothing < 0 or iterations < 1:
        raise ValueError("smoothing must be 0 or more and iterations 1 or more")
    columns = (ratings.unit, ratings.rater * shape[2] + ratings.code)
    votes = sparse.coo_array((np.ones(len(columns[0])), columns), shape=(shape[0], shape[1] * shape[2])).tocsr()
    rated = sizes > 0
    fit = _expectation_maximisation(
        votes[rated], ratings.counts().table[rated], shape, iterations, tolerance, smoothing
    )
    posterior = np.full((shape[0], shape[2]), np.nan)
    posterior[rated] = fit.posterior
    converged = fit.gain <= tolerance * int(rated.sum())
    return DawidSkene(
        ratings.units,
        ratings.raters,
        ratings.values,
        posterior,
        fit.shares,
        fit.confusion,
        fit.likelihood,
        fit.steps,
        converged,
    )


def class_shares(
    data: Data, *, groups: int = GROUPS, seed: int = SEED, confidence: float = 0.95, smoothing: float = 0.0
) -> dict[object, Estimate]:
    """The share of each class by `dawid_skene`, with intervals from fits without each of ``groups`` groups of units.

    The fits estimate the raters' errors anew, which the spread of the posteriors alone leaves out: with 100 to 200
    units such intervals held the truth in 60–80% of simulated studies, these in 95–99%. Units are grouped at random
    (``seed``). NaN bounds with a note for fewer than five units, or a share of 0 or 1. Errors as in `dawid_skene`, and
    ValueError for fewer than two groups. Source of the delete-a-group jackknife: Kott 2001.
    """
    if groups < 2:
        raise ValueError("a jackknife needs two groups or more")
    ratings = as_ratings(data)
    model = dawid_skene(ratings, smoothing=smoothing)
    rated = np.nonzero(ratings.per_unit)[0]
    count = min(groups, len(rated))
    group = np.full(len(ratings.units), -1)
    group[np.random.default_rng(seed).permutation(rated)] = np.arange(len(rated)) % count
    squared_deviations = np.zeros(len(ratings.values))
    for left_out in range(count):
        in_part = group[ratings.unit] != left_out
        part = replace(ratings, unit=ratings.unit[in_part], rater=ratings.rater[in_part], code=ratings.code[in_part])
        try:
            fit = dawid_skene(part, smoothing=smoothing)
        except ValueError:
            continue
        squared_deviations += (fit.shares - model.shares) ** 2
    variances = (count - 1) / count * squared_deviations
    estimates: dict[object, Estimate] = {}
    for value, share, variance in zip(model.values.tolist(), model.shares, variances, strict=True):
        low, high = math.nan, math.nan
        note = "" if model.converged else f"EM did not converge in {model.iterations} iterations"
        if len(rated) >= LEAST:
            low, high = interval_inside(float(share), float(variance), count - 1, (0.0, 1.0), confidence)
        if math.isnan(low):
            note = "; ".join(filter(None, ["too few units, or a share at its limit: no interval", note]))
        method = f"fits without each of {count} groups of units"
        estimates[value] = Estimate(float(share), low, high, len(rated), level=confidence, method=method, note=note)
    return estimates


@dataclass(slots=True)
class _Fit:
    posterior: FloatArray
    shares: FloatArray
    confusion: FloatArray
    likelihood: float = -math.inf
    gain: float = math.inf
    steps: int = 0


def _expectation_maximisation(
    votes: sparse.csr_array,
    table: sparse.csr_array,
    shape: tuple[int, int, int],
    iterations: int,
    tolerance: float,
    smoothing: float,
) -> _Fit:
    """``votes`` (U × R·K) and ``table`` (U × K) of the rated units. Returns the last step."""
    start = table.toarray()
    fit = _Fit(start / start.sum(axis=1, keepdims=True), np.empty(0), np.empty(0))
    for _ in range(iterations):
        fit.shares = fit.posterior.mean(axis=0)
        confusions = np.asarray(votes.T @ fit.posterior).reshape(shape[1], shape[2], shape[2]).transpose(0, 2, 1)
        confusions = confusions + smoothing
        fit.confusion = ratio(confusions, confusions.sum(axis=2, keepdims=True))
        # (R × true × answer) as (R·answer × true), the order of the columns of the votes.
        log_confusion = _log(fit.confusion).transpose(0, 2, 1).reshape(-1, shape[2])
        logs = _log(fit.shares) + np.asarray(votes @ log_confusion)
        top = logs.max(axis=1, keepdims=True)
        odds = np.exp(logs - top)
        total = odds.sum(axis=1, keepdims=True)
        likelihood = float((top + np.log(total)).sum())
        fit.posterior = odds / total
        fit.gain, fit.likelihood = likelihood - fit.likelihood, likelihood
        fit.steps += 1
        if fit.gain <= tolerance * len(start):
            break
    return fit


def _log(probability: FloatArray) -> FloatArray:
    """Logarithm with a floor for zero and for NaN, which means that the rater saw no unit of that class."""
    return cast(FloatArray, np.log(np.maximum(np.nan_to_num(probability), 1e-300)))
