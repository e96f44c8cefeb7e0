"""Strengths of systems from comparisons with ties: the Bradley–Terry model in Davidson's extension.

With strengths θ (log scale) and a tie parameter ν, i beats j with probability proportional to exp θ_i, j beats i to
exp θ_j, and they tie to ν·exp((θ_i + θ_j)/2). Sources: Bradley & Terry 1952; Davidson 1970. Without ties ν is 0, which
is the model of Bradley and Terry. The log-likelihood is concave and Newton's method with step halving finds its maximum
if there is one; `existence` checks that first. Strengths sum to 0. Shapes: S systems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import scipy

from analysis.diversity.association import Floats, Ints
from analysis.estimate import Estimate
from analysis.inference import Dimensions, Ranking, figures_from_influence, ranked_figures, ranking_of
from analysis.preference.comparisons import Comparisons, own_sides
from analysis.preference.existence import refuse_unless_finite

STEPS, TOLERANCE = 200, 1e-10


@dataclass(frozen=True)
class Strengths:
    """The fitted model. ``strengths``: θ of each system, on a log scale, summing to 0. ``ties``: ν, 0 without ties.

    ``ranks``: by system the rank and the best and worst rank that the data allow. ``p`` (S, S): two-sided p of every
    difference, corrected by Holm's method over all pairs. ``prior_sd``: of the normal prior of a regularised fit; None
    for maximum likelihood.
    """

    strengths: dict[str, Estimate]
    ties: Estimate
    ranks: dict[str, tuple[int, int, int]]
    p: Floats
    log_likelihood: float
    steps: int
    prior_sd: float | None

    def probabilities(self, first: str, second: str) -> tuple[float, float, float]:
        """The fitted probabilities that the first wins, that they tie, and that the second wins."""
        a, b = self.strengths[first].value, self.strengths[second].value
        parts = np.array([math.exp(a), self.ties.value * math.exp((a + b) / 2), math.exp(b)])
        win, tie, loss = (parts / parts.sum()).tolist()
        return win, tie, loss


@dataclass(frozen=True, slots=True)
class _Table:
    """Counts of the P pairs of systems that met, i < j: all (P,)."""

    i: Ints
    j: Ints
    wins: Floats
    losses: Floats
    ties: Floats
    systems: int


def bradley_terry(
    comparisons: Comparisons,
    *,
    dimensions: Dimensions | None = None,
    prior_sd: float | None = None,
    level: float = 0.95,
) -> Strengths:
    """Fit the model. With ``dimensions`` (M,), such as texts and workers, comparisons of one cluster may be alike:
    intervals and ranks are from the multiway sandwich, by the influence of every comparison on the strengths (see
    `comparison_dimensions`). Without, comparisons are independent, as the model's authors assume (Wald).

    ``prior_sd`` asks for a regularised fit: a normal prior with mean 0 and this standard deviation on every strength
    and on log ν, whose maximum always exists (intervals are then those of the penalised likelihood).

    The interval of a rank counts the systems whose strengths differ significantly, corrected by Holm's method over all
    pairs: if all systems are equal, any two get ranks apart in at most 1 − ``level`` of studies.

    ValueError: a system without comparisons, a graph of comparisons in parts, a group that never won or never lost
    against the others, or too many ties (without ``prior_sd``); ``prior_sd`` not above 0; ``dimensions`` of another
    length.
    """
    if prior_sd is not None and not prior_sd > 0:
        raise ValueError(f"prior_sd must be above 0, not {prior_sd:g}")
    if dimensions is not None and len(dimensions) != len(comparisons):
        raise ValueError(f"the dimensions must name the clusters of each of the {len(comparisons)} comparisons")
    table = _pair_counts(comparisons)
    if prior_sd is None:
        refuse_unless_finite(comparisons)
    tied = bool(table.ties.sum())
    theta, eta, steps = _maximum(table, tied, prior_sd)
    bread = _inverse(_information(table, theta, eta, tied, prior_sd), tied)
    log_likelihood = _likelihood(table, theta, eta, tied)
    if dimensions is None:
        errors, name = _wald(bread, np.append(theta, eta), level), "Wald, comparisons independent"
    else:
        errors, name = _sandwich(comparisons, dimensions, theta, eta, tied, bread, level), "sandwich"
    method = name if prior_sd is None else f"{name}, normal prior of s.d. {prior_sd:g}"
    methods = [f"{method}, {estimate.method}" if estimate.method else method for estimate in errors.estimates]
    estimates = [
        replace(estimate, n=len(comparisons), n_of="comparisons", method=full_method)
        for estimate, full_method in zip(errors.estimates, methods, strict=True)
    ]
    strengths = dict(zip(comparisons.systems, estimates[:-1], strict=True))
    ties = Estimate(0.0, n=len(comparisons), n_of="comparisons", level=level, note="there are no ties")
    if tied:
        log_ties = estimates[-1]
        ties = replace(log_ties, value=math.exp(eta), low=math.exp(log_ties.low), high=math.exp(log_ties.high))
    ranks = dict(zip(comparisons.systems, errors.ranking.ranks, strict=True))
    return Strengths(strengths, ties, ranks, errors.ranking.p, log_likelihood, steps, prior_sd)


@dataclass(frozen=True, slots=True)
class _Errors:
    """Estimates of (θ, η), and the ranking of θ."""

    estimates: list[Estimate]
    ranking: Ranking


def _wald(covariance: Floats, values: Floats, level: float) -> _Errors:
    """Normal intervals and tests from a covariance of (θ, η)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    half_widths = z * np.sqrt(np.maximum(np.diag(covariance), 0))
    estimates = [
        Estimate(value, value - half_width, value + half_width, level=level)
        for value, half_width in zip(values, half_widths, strict=True)
    ]
    variances = np.diag(covariance)
    standard_errors = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * covariance, 1e-300))[:-1, :-1]
    theta = values[:-1]
    return _Errors(
        estimates, ranking_of(theta, 2 * scipy.stats.norm.sf(np.abs(theta[:, None] - theta) / standard_errors), level)
    )


def _sandwich(
    comparisons: Comparisons, dimensions: Dimensions, theta: Floats, eta: float, tied: bool, bread: Floats, level: float
) -> _Errors:
    """The influence of a comparison is its score times the inverse information (Liang & Zeger 1986)."""
    rows, ones = np.arange(len(comparisons)), np.ones(len(comparisons))
    single_comparisons = _Table(comparisons.first, comparisons.second, ones, ones, ones, len(theta))
    win, loss, tie = _probabilities(single_comparisons, theta, eta, tied)
    won, lost, even = (comparisons.outcome == value for value in (1, -1, 0))
    scores = np.zeros((len(comparisons), len(theta) + 1))
    used = np.zeros(scores.shape, dtype=bool)
    for side, observed, chance in ((comparisons.first, won, win), (comparisons.second, lost, loss)):
        scores[rows, side] += observed + even / 2 - chance - tie / 2
        used[rows, side] = True
    if tied:
        scores[:, -1], used[:, -1] = even - tie, True
    figures = figures_from_influence(np.append(theta, eta), scores @ bread, dimensions, used=used, level=level)
    own_side = np.append(own_sides(comparisons), np.zeros((len(comparisons), 1), dtype=np.int64), axis=1)
    figures = replace(figures, own_side=own_side)
    strengths = replace(
        figures, values=theta, influence=figures.influence[:, :-1], used=used[:, :-1], own_side=own_side[:, :-1]
    )
    return _Errors([figures.estimate(index) for index in range(len(theta) + 1)], ranked_figures(strengths))


def _pair_counts(comparisons: Comparisons) -> _Table:
    count = len(comparisons.systems)
    swap = comparisons.first > comparisons.second
    low = np.where(swap, comparisons.second, comparisons.first)
    high = np.where(swap, comparisons.first, comparisons.second)
    outcome = np.where(swap, -comparisons.outcome, comparisons.outcome).astype(int)
    table = (
        np.bincount((low * count + high) * 3 + outcome + 1, minlength=count * count * 3).reshape(-1, 3).astype(float)
    )
    met = np.nonzero(table.sum(axis=1))[0].astype(np.int64)
    losses, ties, wins = table[met].T
    return _Table(met // count, met % count, wins, losses, ties, count)


def _probabilities(table: _Table, theta: Floats, eta: float, tied: bool) -> tuple[Floats, Floats, Floats]:
    """Probabilities of a win, a loss and a tie of every pair, (P,) each, computed without overflow."""
    a, b = theta[table.i], theta[table.j]
    tie = eta + (a + b) / 2 if tied else np.full(len(a), -np.inf)
    utilities = np.stack([a, b, tie])
    parts = np.exp(utilities - utilities.max(axis=0))
    win, loss, equal = parts / parts.sum(axis=0)
    return win, loss, equal


def _likelihood(table: _Table, theta: Floats, eta: float, tied: bool) -> float:
    total = 0.0
    for counts, chance in zip(
        (table.wins, table.losses, table.ties), _probabilities(table, theta, eta, tied), strict=True
    ):
        observed = counts > 0
        total += float(counts[observed] @ np.log(np.maximum(chance[observed], 1e-300)))
    return total


def _objective(table: _Table, theta: Floats, eta: float, tied: bool, prior_sd: float | None) -> float:
    penalty = 0.0 if prior_sd is None else float(theta @ theta + eta**2 * tied) / (2 * prior_sd**2)
    return _likelihood(table, theta, eta, tied) - penalty


def _gradient(table: _Table, theta: Floats, eta: float, tied: bool, prior_sd: float | None) -> Floats:
    win, loss, tie = _probabilities(table, theta, eta, tied)
    n = table.wins + table.losses + table.ties
    gradient = np.zeros(table.systems + 1)
    np.add.at(gradient, table.i, table.wins + table.ties / 2 - n * (win + tie / 2))
    np.add.at(gradient, table.j, table.losses + table.ties / 2 - n * (loss + tie / 2))
    gradient[-1] = float(table.ties.sum() - n @ tie) if tied else 0.0
    if prior_sd is not None:
        gradient -= np.append(theta, eta * tied) / prior_sd**2
    return gradient


def _information(table: _Table, theta: Floats, eta: float, tied: bool, prior_sd: float | None) -> Floats:
    """Minus the Hessian, (S + 1, S + 1); the last row and column belong to η = log ν."""
    win, loss, tie = _probabilities(table, theta, eta, tied)
    n = table.wins + table.losses + table.ties
    up, down = win + tie / 2, loss + tie / 2
    information = np.zeros((table.systems + 1, table.systems + 1))
    np.add.at(information, (table.i, table.i), n * (win + tie / 4 - up**2))
    np.add.at(information, (table.j, table.j), n * (loss + tie / 4 - down**2))
    for rows, columns in ((table.i, table.j), (table.j, table.i)):
        np.add.at(information, (rows, columns), n * (tie / 4 - up * down))
    for side, share in ((table.i, up), (table.j, down)):
        np.add.at(information[-1], side, n * tie * (0.5 - share))
    information[:-1, -1] = information[-1, :-1]
    information[-1, -1] = float(n @ (tie - tie**2))
    if prior_sd is not None:
        information[np.diag_indices_from(information)] += 1 / prior_sd**2
    return information


def _inverse(information: Floats, tied: bool) -> Floats:
    """The covariance of (θ, η) with Σθ = 0: a generalised inverse, 0 for η without ties."""
    size = len(information) - 1
    inverse = np.zeros_like(information)
    used = slice(0, size + tied)
    gauge = np.zeros_like(information)
    gauge[:size, :size] = 1.0
    centre = np.eye(len(information))
    centre[:size, :size] -= 1 / size
    inverse[used, used] = np.linalg.inv((information + gauge)[used, used])
    return np.asarray(centre @ inverse @ centre.T)


def _maximum(table: _Table, tied: bool, prior_sd: float | None) -> tuple[Floats, float, int]:
    theta, eta = np.zeros(table.systems), 0.0
    best = _objective(table, theta, eta, tied, prior_sd)
    for step in range(1, STEPS + 1):
        gradient = _gradient(table, theta, eta, tied, prior_sd)
        move = _inverse(_information(table, theta, eta, tied, prior_sd), tied) @ gradient
        decrement = float(gradient @ move)
        size = 1.0
        while size > 1e-12:
            trial = theta + size * move[:-1], eta + size * float(move[-1])
            reached = _objective(table, *trial, tied, prior_sd)
            if reached >= best:
                break
            size /= 2
        else:
            return theta, eta, step
        theta, eta, best = trial[0], trial[1], reached
        if decrement < TOLERANCE:
            return theta, eta, step
    raise ValueError(f"the strengths did not converge in {STEPS} steps; ask for a regularised fit with a prior")
