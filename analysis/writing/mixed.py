"""The share of choices for the first of two, if choices of one writer are alike: a logit with a random intercept.

Writer i chooses the first with probability logistic(b + s·u_i), where u_i is standard normal: b is the log odds of a
typical writer, s how far writers differ. The likelihood integrates u_i out by adaptive Gauss–Hermite quadrature
(Pinheiro & Bates 1995, §2.4; with one node it would be Laplace's approximation). The test compares b with 0 by the
ratio of likelihoods, and the interval contains every b that the same test does not reject.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.estimate import Estimate
from analysis.writing.suggestion_choices import known_choices

NODES = 30
#: Largest spread between writers that is searched, in log odds: at 12, nearly every writer always chooses the same.
MOST_SPREAD = 12.0
#: Largest log odds of a typical writer that is searched.
MOST_ODDS = 30.0
_X, _W = np.polynomial.hermite.hermgauss(NODES)


@dataclass(frozen=True, slots=True)
class MixedLogit:
    """The fitted model. ``share``: how likely a typical writer (u = 0) chooses the first; its ``n`` counts writers.

    ``log_odds`` and ``spread`` are b and s; ``p`` is two-sided, of b = 0 (one half). ``log_likelihood`` leaves out the
    binomial coefficients. All NaN where there is no estimate; ``share.note`` has the reason.
    """

    share: Estimate
    log_odds: float
    spread: float
    p: float
    log_likelihood: float


@dataclass(frozen=True, slots=True)
class _Writers:
    """Writers with equal counts together: ``wins`` of ``n`` choices by each of ``times`` writers, all (m,)."""

    wins: Floats
    n: Floats
    times: Floats


def mixed_logit(chosen: ArrayLike, writers: ArrayLike, *, level: float = 0.95) -> MixedLogit:
    """Fit the model to choices (1 or 0, NaN left out) of ``writers``, both (N,).

    No estimate, with the reason in the note: fewer than two writers, only one choice by each (s is then unknown), or
    all choices for the same side. ValueError: a value other than 0 or 1.
    """
    values = np.asarray(chosen, dtype=float)
    choices, names = known_choices(values), np.asarray(writers)[~np.isnan(values)]
    _, codes = np.unique(names.astype(str), return_inverse=True)
    n = np.asarray(np.bincount(codes, np.ones(len(choices))), dtype=float)
    wins = np.asarray(np.bincount(codes, choices), dtype=float)
    reason = ""
    if len(n) < 2:
        reason = "a model of several writers needs two or more"
    elif n.max() < 2:
        reason = "every writer chose once, so that writers cannot be compared: use the binomial test"
    elif wins.sum() in (0, n.sum()):
        reason = "all choices are for the same side"
    if reason:
        share = Estimate(math.nan, n=len(n), n_of="writers", level=level, note=reason)
        return MixedLogit(share, math.nan, math.nan, math.nan, math.nan)
    pairs, times = np.unique(np.stack([wins, n]), axis=1, return_counts=True)
    data = _Writers(pairs[0], pairs[1], times.astype(float))
    overall = float((data.times @ data.wins) / (data.times @ data.n))
    start = math.log(overall / (1 - overall))
    best = scipy.optimize.minimize_scalar(
        lambda odds: -profile(data, float(odds))[0], bracket=(start, 1.2 * start + 0.1)
    )
    odds = min(MOST_ODDS, max(-MOST_ODDS, float(best.x)))
    top, spread = profile(data, odds)
    p = float(scipy.stats.chi2.sf(max(0.0, 2 * (top - profile(data, 0.0)[0])), 1))
    low, high = (_bound(data, odds, top, level, side) for side in (-1, 1))
    note = "writers do not differ more than by chance" if not spread else ""
    if spread > 0.99 * MOST_SPREAD:
        note = "nearly every writer always chooses the same side, so the spread is only known to be large"
    method = "logit with a random intercept for each writer, profile likelihood"
    shares = [float(1 / (1 + math.exp(-log_odds))) for log_odds in (odds, low, high)]
    share = Estimate(shares[0], shares[1], shares[2], len(n), "writers", level, method, note)
    return MixedLogit(share, odds, spread, p, top)


def log_likelihood(data: _Writers, odds: float, spread: float) -> float:
    """Σ log ∫ exp(wins·η − n·log(1 + e^η)) φ(u) du with η = odds + spread·u, over all writers."""
    wins, n = data.wins[:, None], data.n[:, None]
    centre = np.zeros((len(data.n), 1))
    for _ in range(60):  # Newton's steps to the mode of each integrand, which is log-concave
        share = 1 / (1 + np.exp(-(odds + spread * centre)))
        slope = spread * (wins - n * share) - centre
        bend = 1 + spread**2 * n * share * (1 - share)
        step = slope / bend
        centre = centre + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-10:
            break
    share = 1 / (1 + np.exp(-(odds + spread * centre)))
    width = 1 / np.sqrt(1 + spread**2 * n * share * (1 - share))
    u = centre + math.sqrt(2) * width * _X
    eta = odds + spread * u
    inside = wins * eta - n * np.logaddexp(0, eta) - u**2 / 2 + _X**2
    top = inside.max(axis=1, keepdims=True)
    sums = (np.exp(inside - top) * _W).sum(axis=1)
    likelihoods = top[:, 0] + np.log(sums) + np.log(width[:, 0]) - math.log(math.pi) / 2
    return float(data.times @ likelihoods)


def profile(data: _Writers, odds: float) -> tuple[float, float]:
    """The log-likelihood at ``odds``, maximised over the spread, and that spread (0 if none fits better)."""
    maximum = scipy.optimize.minimize_scalar(
        lambda spread: -log_likelihood(data, odds, float(spread)),
        bounds=(0.0, MOST_SPREAD),
        method="bounded",
        options={"xatol": 1e-7},
    )
    without = log_likelihood(data, odds, 0.0)
    # Near 0 the likelihood is flat: its derivative by the spread is 0 there.
    return (without, 0.0) if without >= -maximum.fun - 1e-9 else (-float(maximum.fun), float(maximum.x))


def _bound(data: _Writers, odds: float, top: float, level: float, side: int) -> float:
    """Where the profile falls to the limit of the likelihood ratio test, or infinity if it does not within reach."""
    limit = top - float(scipy.stats.chi2.ppf(level, 1)) / 2
    step = 0.5
    while profile(data, odds + side * step)[0] > limit:
        step *= 2
        if step > 2 * MOST_ODDS:
            return side * math.inf
    distance = scipy.optimize.brentq(
        lambda offset: profile(data, odds + side * offset)[0] - limit, 0.0, step, xtol=1e-7
    )
    return odds + side * float(distance)
