"""Does quality rise with likelihood, or turn? Mean ratings in bins of log-probability, and tests of a turning point.

Source: the likelihood trap of Zhang et al. 2020, §2. Shapes: one row per rating, ``x`` (N,) the log-probability of the
sample that was rated, ``y`` (N,) the rating; ``dimensions`` (N,), which rows belong together, such as those about one
text and those of one worker (None: every row is independent); ``weights`` (N,), such as 1/n for a sample with n
ratings, so that all samples count alike (None: 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.estimate import Estimate
from analysis.inference import Bounds, Dimensions, Figures, figures_from_influence, ratios

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
    x: ArrayLike,
    y: ArrayLike,
    *,
    dimensions: Dimensions | None = None,
    weights: ArrayLike | None = None,
    bins: int = 10,
    bounds: Bounds | None = None,
    level: float = 0.95,
) -> list[Bin]:
    """Bins with about equally many rows (equal x stay together), from the lowest x up. Rows with NaN are left out.

    ``bounds`` are the ends of the ratings' scale. ValueError: fewer rows than bins, lengths differ.
    """
    data = _rows(x, y, dimensions, weights)
    if bins < 1 or len(data.x) < bins:
        raise ValueError(f"{len(data.x)} samples do not fill {bins} bins")
    edges = np.unique(np.quantile(data.x, np.linspace(0, 1, bins + 1)))
    bin_of = np.clip(np.searchsorted(edges, data.x, side="right") - 1, 0, max(0, len(edges) - 2))
    columns = (bin_of[:, None] == np.unique(bin_of)) * data.weights[:, None]
    means = ratios(columns * data.y[:, None], columns, data.dimensions, level=level)
    centres = ratios(columns * data.x[:, None], columns, data.dimensions).values
    inside = [data.x[column > 0] for column in columns.T]
    return [
        Bin(float(values.min()), float(values.max()), float(centre), means.estimate(index, bounds=bounds))
        for index, (values, centre) in enumerate(zip(inside, centres, strict=True))
    ]


def quadratic_turn(
    x: ArrayLike,
    y: ArrayLike,
    *,
    dimensions: Dimensions | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
) -> Quadratic:
    """Least squares with a squared term; standard errors are clustered by the ``dimensions``.

    The interval of the turning point is by the delta method; NaN unless the curvature differs from 0 at ``level``.
    ValueError: fewer than 10 rows, fewer than 3 different x.
    """
    data = _rows(x, y, dimensions, weights)
    _enough(data.x, 3)
    centre, scale = float(data.x.mean()), float(data.x.std())
    z = (data.x - centre) / scale
    fit = _fit(data, np.stack([np.ones(len(z)), z, z**2], axis=1), level)
    _, slope, bend = fit.values.tolist()
    ends = float(z.min()), float(z.max())
    curvature = fit.combined(bend / scale**2, [[0.0, 0.0, 1 / scale**2]]).estimate()
    slopes = [fit.combined((slope + 2 * bend * end) / scale, [[0.0, 1 / scale, 2 * end / scale]]) for end in ends]
    turn = Estimate(math.nan, n=len(data.x), n_of="answers", level=level, note="the curve is a straight line")
    if bend:
        gradient = [[0.0, -scale / (2 * bend), scale * slope / (2 * bend**2)]]
        turn = fit.combined(centre - scale * slope / (2 * bend), gradient).estimate()
    if bend and not (curvature.low > 0 or curvature.high < 0):
        turn = replace(turn, low=math.nan, high=math.nan, note="the curvature may be 0, so the turn may be anywhere")
    below, above = (figures.estimate() for figures in slopes)
    shape = _shape(below.value, above.value)
    # The test of Lind and Mehlum is one-sided: each slope has the sign of a turn.
    p = 1.0 if shape == "no turn" else max(figures.p() / 2 for figures in slopes)
    return Quadratic(curvature, turn, below, above, p, shape, len(data.x))


def two_lines(
    x: ArrayLike,
    y: ArrayLike,
    *,
    dimensions: Dimensions | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
) -> TwoLines:
    """Two lines with a break between them, set by Simonsohn's “Robin Hood” rule.

    A smooth curve (natural cubic spline with 5 knots at quantiles of x; Simonsohn uses a generalised additive model)
    finds the flat region around its most extreme inner value: fitted values within one standard error of it. Two lines
    broken at the region's median x give z values; the break moves within the region so that the line with less evidence
    gets more data. Errors as `quadratic_turn`, with at least 7 different x.
    """
    data = _rows(x, y, dimensions, weights)
    _enough(data.x, KNOTS + 2)
    flat = _flat_region(data, level)
    first = _lines(data, float(np.median(flat)), level)
    z_below, z_above = (abs(first.values[index]) / max(first.standard_error(index), 1e-300) for index in (1, 2))
    share = z_above / (z_below + z_above) if z_below + z_above > 0 else 0.5
    break_at = float(np.quantile(flat, share))
    fit = _lines(data, break_at, level)
    below, above = fit.estimate(1), fit.estimate(2)
    p_below, p_above = fit.p(1), fit.p(2)
    turned = max(p_below, p_above) < 1 - level
    shape = _shape(below.value, above.value) if turned else "no turn"
    return TwoLines(break_at, below, above, p_below, p_above, shape, len(data.x))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows without NaN."""

    x: Floats
    y: Floats
    weights: Floats
    dimensions: Dimensions


def _rows(x: ArrayLike, y: ArrayLike, dimensions: Dimensions | None, weights: ArrayLike | None) -> _Rows:
    x_values, y_values = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    row_dimensions = Dimensions.of(samples=np.arange(len(x_values))) if dimensions is None else dimensions
    weight_values = np.ones(len(x_values)) if weights is None else np.asarray(weights, dtype=float)
    if not len(x_values) == len(y_values) == len(row_dimensions) == len(weight_values):
        raise ValueError("x, y, the dimensions and the weights must be of equal length")
    finite = np.nonzero(np.isfinite(x_values) & np.isfinite(y_values))[0]
    return _Rows(x_values[finite], y_values[finite], weight_values[finite], row_dimensions.chosen(finite))


def _enough(x: Floats, different: int) -> None:
    if len(x) < FEWEST:
        raise ValueError(f"{len(x)} samples are too few to find a turning point; at least {FEWEST} are needed")
    if len(np.unique(x)) < different:
        raise ValueError(f"a turning point needs {different} different values of x, not {len(np.unique(x))}")


def _fit(data: _Rows, design: Floats, level: float) -> Figures:
    """Weighted least squares: the K coefficients and the influence of each row on them.

    The factor (N − 1)/(N − K) of the variance is that of Stata and statsmodels.
    """
    weighted = design * data.weights[:, None]
    inverse = np.linalg.pinv(weighted.T @ design)
    beta = inverse @ (weighted.T @ data.y)
    rows, columns = design.shape
    factor = math.sqrt((rows - 1) / max(1, rows - columns))
    influence = (weighted * (data.y - design @ beta)[:, None]) @ inverse * factor
    return figures_from_influence(beta, influence, data.dimensions, level=level)


def _shape(below: float, above: float) -> Shape:
    if below > 0 > above:
        return "peak"
    return "dip" if below < 0 < above else "no turn"


def _lines(data: _Rows, break_at: float, level: float) -> Figures:
    """Both slopes and a jump at the break."""
    high = (data.x >= break_at).astype(float)
    off = data.x - break_at
    return _fit(data, np.stack([np.ones(len(off)), off * (1 - high), off * high, high], axis=1), level)


def _flat_region(data: _Rows, level: float) -> Floats:
    """The x whose fitted value is within a standard error of the most extreme inner one, contiguous with it."""
    order = np.argsort(data.x)
    knots = np.unique(np.quantile(data.x, np.linspace(0.05, 0.95, KNOTS)))
    fit = _fit(data, _natural_spline(data.x, knots), level)
    design = _natural_spline(data.x[order], knots)
    fitted = design @ fit.values
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", design, fit.covariance(), design), 0))
    n = len(order)
    inner = slice(max(1, n // 10), n - max(1, n // 10))
    bent = float(np.polyfit(data.x, data.y, 2)[0])
    extreme = inner.start + int(np.argmax(-np.sign(bent or 1) * fitted[inner]))
    near = np.abs(fitted - fitted[extreme]) <= errors[extreme]
    low = extreme
    while low > 0 and near[low - 1]:
        low -= 1
    high = extreme
    while high < n - 1 and near[high + 1]:
        high += 1
    return np.asarray(data.x[order][low : high + 1])


def _natural_spline(x: Floats, knots: Floats) -> Floats:
    """The basis of a natural cubic spline: constant, x, and K − 2 cubics that are linear beyond the outer knots."""
    span = knots[-1] - knots[0]

    def cubic(knot: float) -> Floats:
        return np.asarray(
            (np.maximum(x - knot, 0) ** 3 - np.maximum(x - knots[-1], 0) ** 3) / ((knots[-1] - knot) * span)
        )

    last = cubic(float(knots[-2]))
    return np.stack([np.ones(len(x)), x - knots[0], *(cubic(float(knot)) - last for knot in knots[:-2])], axis=1)
