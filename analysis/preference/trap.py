"""Does quality rise with likelihood, or turn? Mean ratings in bins of log-probability, and tests of a turning point.

Source: the likelihood trap of Zhang et al. 2020, §2. Shapes: ``x`` (N,), a sample's log-probability, and ``y`` (N,),
its mean rating; ``groups`` (N,), what repeats, such as the context of several samples; None: samples are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from analysis.clusters import cluster_mean
from analysis.diversity.association import Floats
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate

#: Knots of the curve that finds the break of the two lines.
KNOTS = 5
FEWEST = 10
Shape = Literal["peak", "dip", "no turn"]


@dataclass(frozen=True, slots=True)
class Bin:
    """The samples with ``low`` ≤ x ≤ ``high``: their mean x and their mean rating."""

    low: float
    high: float
    x: float
    mean: Estimate


@dataclass(frozen=True, slots=True)
class Quadratic:
    """y = a + b·x + c·x²: the curvature c, the turning point −b/2c, and the slopes at both ends of the data.

    ``p`` tests for a turning point within the data (Lind & Mehlum 2010): both slopes have opposite signs, one-sided,
    and p is the larger one. ``shape``: of the fitted curve within the data, whatever p is.
    """

    curvature: Estimate
    turn: Estimate
    slope_low: Estimate
    slope_high: Estimate
    p: float
    shape: Shape
    n: int


@dataclass(frozen=True, slots=True)
class TwoLines:
    """Separate slopes below and above a break (Simonsohn 2018), each with its two-sided p. A turn: opposite signs, both
    p below 1 − level."""

    break_at: float
    below: Estimate
    above: Estimate
    p_below: float
    p_above: float
    shape: Shape
    n: int


def binned_means(
    x: ArrayLike, y: ArrayLike, *, plan: Bootstrap, groups: ArrayLike | None = None, bins: int = 10
) -> list[Bin]:
    """Bins with about equally many samples (equal x stay together), from the lowest x up. Rows with NaN are left out.

    Intervals resample groups. ValueError: fewer samples than bins, lengths differ.
    """
    one, two, names = _rows(x, y, groups)
    if bins < 1 or len(one) < bins:
        raise ValueError(f"{len(one)} samples do not fill {bins} bins")
    edges = np.unique(np.quantile(one, np.linspace(0, 1, bins + 1)))
    place = np.clip(np.searchsorted(edges, one, side="right") - 1, 0, max(0, len(edges) - 2))
    found = []
    for at in np.unique(place):
        mine = place == at
        mean = cluster_mean(two[mine], names[mine], plan=plan, n_of="samples" if groups is None else "groups")
        found.append(Bin(float(one[mine].min()), float(one[mine].max()), float(one[mine].mean()), mean))
    return found


def quadratic_turn(x: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None, level: float = 0.95) -> Quadratic:
    """Least squares with a squared term. Standard errors are HC3, or clustered by ``groups``.

    The interval of the turning point is by the delta method; NaN unless the curvature differs from 0 at ``level``.
    ValueError: fewer than 10 samples, fewer than 3 different x, fewer than 2 groups.
    """
    one, two, names = _rows(x, y, groups)
    _enough(one, 3)
    centre, scale = float(one.mean()), float(one.std())
    z = (one - centre) / scale
    fit = _fit(two, np.stack([np.ones(len(z)), z, z**2], axis=1), None if groups is None else names)
    beta, cov = np.asarray(fit.params), np.asarray(fit.cov_params())
    quantile = _quantile(fit, level)
    how = "least squares, HC3" if groups is None else "least squares, clustered by groups"

    def estimate(value: float, gradient: Floats, unit: float, shift: float = 0.0) -> Estimate:
        half = quantile * math.sqrt(max(0.0, float(gradient @ cov @ gradient)))
        low, high = sorted(((value - half) * unit + shift, (value + half) * unit + shift))
        return Estimate(value * unit + shift, low, high, len(one), "samples", level, how)

    curvature = estimate(float(beta[2]), np.array([0.0, 0, 1]), 1 / scale**2)
    ends = float(z.min()), float(z.max())
    slopes = [estimate(float(beta[1] + 2 * beta[2] * at), np.array([0.0, 1, 2 * at]), 1 / scale) for at in ends]
    clear = not curvature.low <= 0 <= curvature.high
    if beta[2]:
        at = float(-beta[1] / (2 * beta[2]))
        turn = estimate(at, np.array([0.0, -1 / (2 * beta[2]), beta[1] / (2 * beta[2] ** 2)]), scale, centre)
    else:
        turn = Estimate(math.nan, n=len(one), n_of="samples", level=level, note="the curve is a straight line")
    if not clear and beta[2]:
        turn = replace(turn, low=math.nan, high=math.nan, note="the curvature may be 0, so the turn may be anywhere")
    shape = _shape(slopes[0].value, slopes[1].value)
    return Quadratic(curvature, turn, slopes[0], slopes[1], _u_test(fit, ends, shape), shape, len(one))


def two_lines(x: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None, level: float = 0.95) -> TwoLines:
    """Two lines with a break between them, set by Simonsohn's “Robin Hood” rule.

    A smooth curve (natural cubic spline with 5 knots at quantiles of x; Simonsohn uses a generalised additive model)
    finds the flat region around its most extreme inner value: fitted values within one standard error of it. Two lines
    broken at the region's median x give z values; the break moves within the region so that the line with less evidence
    gets more data. Errors as `quadratic_turn`, with at least 7 different x.
    """
    one, two, names = _rows(x, y, groups)
    _enough(one, KNOTS + 2)
    clusters = None if groups is None else names
    flat = _flat_region(one, two, clusters)
    start = float(np.median(flat))
    first = _lines(one, two, start, clusters)
    z_below, z_above = (abs(float(first.tvalues[at])) for at in (1, 2))
    share = z_above / (z_below + z_above) if z_below + z_above > 0 else 0.5
    break_at = float(np.quantile(flat, share))
    fit = _lines(one, two, break_at, clusters)
    bounds = np.asarray(fit.conf_int(1 - level))
    how = f"two lines, {'HC3' if groups is None else 'clustered by groups'}"
    below, above = (
        Estimate(float(fit.params[at]), float(bounds[at, 0]), float(bounds[at, 1]), len(one), "samples", level, how)
        for at in (1, 2)
    )
    p_below, p_above = float(fit.pvalues[1]), float(fit.pvalues[2])
    turned = max(p_below, p_above) < 1 - level
    shape = _shape(below.value, above.value) if turned else "no turn"
    return TwoLines(break_at, below, above, p_below, p_above, shape, len(one))


def _rows(x: ArrayLike, y: ArrayLike, groups: ArrayLike | None) -> tuple[Floats, Floats, np.ndarray[Any, Any]]:
    one, two = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    names = np.arange(len(one)) if groups is None else pd.factorize(np.asarray(groups))[0]
    if not len(one) == len(two) == len(names):
        raise ValueError("x, y and groups must be of equal length")
    known = np.isfinite(one) & np.isfinite(two)
    return one[known], two[known], names[known]


def _enough(x: Floats, different: int) -> None:
    if len(x) < FEWEST:
        raise ValueError(f"{len(x)} samples are too few to find a turning point; at least {FEWEST} are needed")
    if len(np.unique(x)) < different:
        raise ValueError(f"a turning point needs {different} different values of x, not {len(np.unique(x))}")


def _fit(y: Floats, design: Floats, clusters: ArrayLike | None) -> Any:
    """Least squares; HC3 standard errors with Student's t, or clustered ones with t of C − 1."""
    from statsmodels.regression.linear_model import OLS

    if clusters is None:
        return OLS(y, design).fit(cov_type="HC3", use_t=True)
    codes = pd.factorize(np.asarray(clusters))[0]
    if codes.max() < 1:
        raise ValueError("all samples are in one group: standard errors need two or more")
    return OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": codes, "df_correction": True}, use_t=True)


def _quantile(fit: Any, level: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, _freedom(fit)))


def _freedom(fit: Any) -> float:
    return float(getattr(fit, "df_resid_inference", fit.df_resid) or fit.df_resid)


def _u_test(fit: Any, ends: tuple[float, float], shape: Shape) -> float:
    """The larger one-sided p of the slopes at both ends having the signs of a turn; 1 if they do not have them."""
    if shape == "no turn":
        return 1.0
    values = []
    for at, sign in zip(ends, (1, -1) if shape == "peak" else (-1, 1), strict=True):
        gradient = np.array([0.0, 1, 2 * at])
        error = math.sqrt(float(gradient @ np.asarray(fit.cov_params()) @ gradient))
        values.append(float(stats.t.sf(sign * float(gradient @ np.asarray(fit.params)) / error, _freedom(fit))))
    return max(values)


def _shape(below: float, above: float) -> Shape:
    if below > 0 > above:
        return "peak"
    return "dip" if below < 0 < above else "no turn"


def _lines(x: Floats, y: Floats, break_at: float, clusters: ArrayLike | None) -> Any:
    """Both slopes and a jump at the break."""
    high = (x >= break_at).astype(float)
    design = np.stack([np.ones(len(x)), (x - break_at) * (1 - high), (x - break_at) * high, high], axis=1)
    return _fit(y, design, clusters)


def _flat_region(x: Floats, y: Floats, clusters: ArrayLike | None) -> Floats:
    """The x whose fitted value is within a standard error of the most extreme inner one, contiguous with it."""
    order = np.argsort(x)
    knots = np.unique(np.quantile(x, np.linspace(0.05, 0.95, KNOTS)))
    design = _natural_spline(x[order], knots)
    fit = _fit(y[order], design, None if clusters is None else np.asarray(clusters)[order])
    fitted = design @ np.asarray(fit.params)
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", design, np.asarray(fit.cov_params()), design), 0))
    inner = slice(max(1, len(x) // 10), len(x) - max(1, len(x) // 10))
    bent = float(np.polyfit(x, y, 2)[0])
    at = inner.start + int(np.argmax(-np.sign(bent or 1) * fitted[inner]))
    near = np.abs(fitted - fitted[at]) <= errors[at]
    low = at
    while low > 0 and near[low - 1]:
        low -= 1
    high = at
    while high < len(x) - 1 and near[high + 1]:
        high += 1
    return np.asarray(x[order][low : high + 1])


def _natural_spline(x: Floats, knots: Floats) -> Floats:
    """The basis of a natural cubic spline: constant, x, and K − 2 cubics that are linear beyond the outer knots."""
    span = knots[-1] - knots[0]

    def cubic(at: float) -> Floats:
        return np.asarray((np.maximum(x - at, 0) ** 3 - np.maximum(x - knots[-1], 0) ** 3) / ((knots[-1] - at) * span))

    last = cubic(float(knots[-2]))
    return np.stack([np.ones(len(x)), x - knots[0], *(cubic(float(at)) - last for at in knots[:-2])], axis=1)
