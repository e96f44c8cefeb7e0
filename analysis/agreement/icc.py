"""Intraclass correlations: how much of the variance of ratings lies between units.

Shapes: units × raters matrix (U × R). Mean squares: between units (MSB), within units (MSW), between raters (MSJ),
residual (MSE). Six forms, named as Shrout & Fleiss do:

| form | raters | a rating | the mean of k | McGraw & Wong |
|---|---|---|---|---|
| 1 | other raters for each unit (a crowd) | ``"1,1"`` | ``"1,k"`` | ICC(1), ICC(k) |
| 2 | the same for all, a sample of raters | ``"2,1"`` | ``"2,k"`` | ICC(A,1), ICC(A,k) |
| 3 | the same for all, these raters only | ``"3,1"`` | ``"3,k"`` | ICC(C,1), ICC(C,k) |

Source: Shrout & Fleiss 1979, "Intraclass correlations" (intervals by the F distribution); McGraw & Wong 1996.
Unequal numbers of ratings in form 1: Donner 1986.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.agreement.count_tables import check_pairable, unit_note
from analysis.agreement.mean_ratings import single_rating
from analysis.agreement.ratings import Data, FloatArray, Ratings, as_ratings
from analysis.distributions import f_quantile
from analysis.estimate import Estimate

Form = Literal["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"]
FORMS: tuple[Form, ...] = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Mean squares ``between`` units, ``within`` them, of ``raters``, ``residual``; counts of ``units`` and
    ``ratings``.

    ``k`` is the number of ratings per unit (k₀ if the numbers are not ``equal``), ``free`` the degrees of freedom
    between units.
    """

    between: float
    within: float
    raters: float
    residual: float
    units: int
    k: float
    ratings: int
    equal: bool
    free: int


def icc(
    data: Data,
    form: Form = "1,k",
    *,
    confidence: float = 0.95,
    centre: float | None = None,
    crossed: bool = False,
) -> Estimate:
    """The intraclass correlation ``form`` with its interval from the F distribution, or as ``crossed`` says.

    data: units × raters matrix (NaN missing) or `Ratings`, of numbers. Range: up to 1; negative if units differ less
    than the ratings within them.

    Missing: form 1 uses every unit with two or more ratings; with unequal numbers k is k₀ = (N − Σ n_i²/N)/(U − 1), and
    the interval is approximate. Forms 2 and 3 use the units that every rater rated. n counts the units used; the note
    counts the others. Assumes normal ratings of equal variance.

    ``centre``, in form 1: the middle of a scale on which a unit compares two things of which either may be the first.
    A unit turned around, 2 · centre − its ratings, then changes nothing: the mean of all units is known to be the
    centre, and the units have U degrees of freedom.

    ``crossed``, in form 1: the interval is about new units and new raters, each of whom rates several units (a
    jackknife, see `mean_ratings`). The F distribution takes raters as drawn anew for every unit.

    NaN with a note if all ratings are equal; the interval is NaN if raters agree fully. ValueError: text values, one
    rater, no unit with two ratings, fewer than two usable units, an unknown form, a centre in another form than 1.
    """
    if form not in FORMS:
        raise ValueError(f'the form is one of {" ".join(FORMS)}, not "{form}"')
    if form[0] != "1" and (crossed or centre is not None):
        raise ValueError(f"crossed raters, and comparisons in both orders, have form 1, not {form}")
    check_pairable((ratings := as_ratings(data)).counts(), ratings)
    squares, note = one_way(ratings, centre=centre) if form[0] == "1" else two_way(ratings)
    largest = max(squares.between, squares.within)
    if largest <= 1e-20 * max(1.0, float(np.abs(ratings.numbers()).max()) ** 2):
        return Estimate(math.nan, n=squares.units, level=confidence, note="all ratings are equal: no variance")
    method = "F distribution"
    if form[0] == "2":
        value, low, high = _form_two(squares, 1 - confidence)
        method = "F distribution, Satterthwaite's degrees of freedom"
    else:
        value, low, high = _form_one_or_three(squares, form, 1 - confidence)
    if form[0] == "1" and not squares.equal:
        method = "F distribution, approximate for unequal numbers"
    if crossed:
        both = single_rating(ratings, centre, confidence)
        low, high, method, note = both.low, both.high, both.method, both.note
    if form[2] == "k":
        value, low, high = (of_mean(single, squares.k) for single in (value, low, high))
    if math.isnan(value):
        note = "; ".join(filter(None, ["the means of units do not differ: no reliability of the mean", note]))
    elif math.isnan(low) and not crossed:
        note = "; ".join(filter(None, ["these mean squares give no lower limit", note]))
    how = f"{method}, k = {squares.k:g}".removeprefix(", ")
    return Estimate(value, low, high, squares.units, level=confidence, method=how, note=note)


def of_mean(single: float, k: float) -> float:
    """The reliability of the mean of k ratings from that of a single rating (Spearman–Brown)."""
    denominator = 1 + (k - 1) * single
    return k * single / denominator if denominator > 1e-12 else math.nan


def one_way(ratings: Ratings, *, centre: float | None = None) -> tuple[MeanSquares, str]:
    """Mean squares of the one-way layout over units with two or more ratings, and a note on the others.

    ``centre``: the mean of all units, if it is known.

    ValueError: fewer than two such units.
    """
    sizes = ratings.per_unit
    enough = sizes >= 2
    if enough.sum() < 2:
        raise ValueError("fewer than two units have two ratings: variance between units cannot be estimated")
    row = enough[ratings.unit]
    positions = np.cumsum(enough) - 1
    unit, value, n = positions[ratings.unit[row]], ratings.numbers()[row], sizes[enough].astype(np.float64)
    value = value - (value.mean() if centre is None else centre)
    mean = np.bincount(unit, value) / n
    units, total = len(n), float(n.sum())
    free = units - 1 if centre is None else units
    between = float((n * mean**2).sum()) / free
    within = float(((value - mean[unit]) ** 2).sum()) / (total - units)
    k = (total - float((n**2).sum()) / total) / free if centre is None else total / units
    equal = bool(np.ptp(n) == 0)
    squares = MeanSquares(between, within, math.nan, math.nan, units, k, int(total), equal, free)
    return squares, unit_note(sizes.astype(np.float64))


def two_way(ratings: Ratings) -> tuple[MeanSquares, str]:
    """Mean squares of the two-way layout over the units that all raters rated, and a note on the others.

    ValueError: fewer than two such units.
    """
    present = np.flatnonzero(np.bincount(ratings.rater))
    complete = ratings.per_unit == len(present)
    if complete.sum() < 2:
        raise ValueError(
            "ICC forms 2 and 3 need at least two units rated by every rater; with other raters for each unit use form 1"
        )
    rows = complete[ratings.unit]
    order = np.lexsort((ratings.rater[rows], ratings.unit[rows]))
    matrix = ratings.numbers()[rows][order].reshape(-1, len(present))
    units, k = matrix.shape
    matrix = matrix - matrix.mean()
    by_unit, by_rater = matrix.mean(axis=1, keepdims=True), matrix.mean(axis=0, keepdims=True)
    squares = MeanSquares(
        between=_mean_square(by_unit, units - 1) * k,
        within=_mean_square(matrix - by_unit, units * (k - 1)),
        raters=_mean_square(by_rater, k - 1) * units,
        residual=_mean_square(matrix - by_unit - by_rater, (units - 1) * (k - 1)),
        units=units,
        k=float(k),
        ratings=matrix.size,
        equal=True,
        free=units - 1,
    )
    left_out = int((~complete).sum())
    note = f"{left_out} of {len(complete)} units lack some rater and do not enter" if left_out else ""
    return squares, note


def _mean_square(parts: FloatArray, freedom: int) -> float:
    return float((parts**2).sum()) / freedom


def _form_one_or_three(s: MeanSquares, form: Form, alpha: float) -> Triple:
    if form[0] == "1":
        error, freedom = s.within, (s.free, s.ratings - s.units)
    else:
        error, freedom = s.residual, (s.free, s.free * (int(s.k) - 1))
    value = (s.between - error) / (s.between + (s.k - 1) * error)
    if error <= 1e-12 * s.between:
        return value, math.nan, math.nan
    f = s.between / error
    low = f / float(f_quantile(1 - alpha / 2, *freedom))
    high = f * float(f_quantile(1 - alpha / 2, freedom[1], freedom[0]))
    return value, (low - 1) / (low + s.k - 1), (high - 1) / (high + s.k - 1)


def _form_two(s: MeanSquares, alpha: float) -> Triple:
    """Absolute agreement; Satterthwaite's degrees of freedom v for k·MSJ against MSE (Shrout & Fleiss p. 424)."""
    n, k, msb, msj, mse = s.units, s.k, s.between, s.raters, s.residual
    value = (msb - mse) / (msb + (k - 1) * mse + k * (msj - mse) / n)
    if msj + mse <= 1e-12 * msb or 1 - value <= 1e-12:
        return value, math.nan, math.nan
    a = k * value / (n * (1 - value))
    b = 1 + k * value * (n - 1) / (n * (1 - value))
    v = (a * msj + b * mse) ** 2 / ((a * msj) ** 2 / (k - 1) + (b * mse) ** 2 / ((n - 1) * (k - 1)))
    rater_variance = k * msj + (k * n - k - n) * mse
    lower_f = float(f_quantile(1 - alpha / 2, n - 1, v))
    upper_f = float(f_quantile(1 - alpha / 2, v, n - 1))
    low = n * (msb - lower_f * mse) / (lower_f * rater_variance + n * msb)
    high = n * (upper_f * msb - mse) / (rater_variance + n * upper_f * msb)
    return value, low, high
