"""Cohen's κ, unweighted or weighted: for two raters, for two pools of raters, and averaged over all rater pairs.

Shapes: joint shares p_kl (V × V) of values given to the same unit, with margins a_k and b_l, and agreement weights
w_kl (1 on the diagonal). κ = (p_o − p_e)/(1 − p_e), p_o = Σ w_kl p_kl, p_e = Σ w_kl a_k b_l.

Intervals are analytic: the large-sample variance by linearisation over units (each unit's influence on κ, squared and
summed). For two raters this is exactly the variance of Fleiss, Cohen & Everitt; for pools and averages the influences
of a unit are added up first, so ratings of the same unit may depend on each other.

Sources: Cohen 1960 (κ), Cohen 1968 (weights), Fleiss, Cohen & Everitt 1969 (variance), Schouten 1982
(two pools), Light 1971 and Conger 1980 (average over pairs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from analysis.agreement.data import (
    Counts,
    Data,
    FloatArray,
    IntArray,
    Ratings,
    as_counts,
    as_ratings,
    ratings_from_matrix,
    refuse_unordered,
)
from analysis.agreement.resample import ratio, row_sums
from analysis.estimate import Estimate

Weighting = Literal["unweighted", "linear", "quadratic"]

#: The most pairs of ratings within units. Expanding more would take seconds and a gigabyte, and in such a crowd two
#: raters share only a unit or two.
MOST_PAIRS = 2_000_000
NO_VARIANCE = "units do not differ in their agreement: an interval without width does not show how uncertain it is"


def agreement_weights(categories: int, weighting: Weighting) -> FloatArray:
    """w_kl (V × V) from the positions of the categories: 1 − (|k − l| / (V − 1))^(1 or 2). ValueError: unknown name."""
    if weighting not in ("unweighted", "linear", "quadratic"):
        raise ValueError(f'the weighting is "unweighted", "linear" or "quadratic", not "{weighting}"')
    if weighting == "unweighted":
        return np.eye(categories)
    place = np.arange(categories)
    apart = np.abs(place[:, None] - place[None, :]) / max(categories - 1, 1)
    return cast(FloatArray, 1 - apart ** (1 if weighting == "linear" else 2))


def cohen_kappa(
    first: Data,
    second: Data,
    weighting: Weighting = "unweighted",
    *,
    categories: Sequence[Any] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """κ between two raters (1-D arrays, one value per unit) or two pools (2-D arrays units × raters, or `Counts`).

    Rows of both are the same units in the same order. NaN or None is missing; a unit without a rating on either side is
    left out. n counts the units used, and the note counts the others. In pools each unit has a weight of one: p_kl is
    the mean over units of the product of both pools' shares, so with one rater each it is Cohen's κ.

    Weights depend on the *position* of a category in the sorted list of values found on either side, as in statsmodels
    and psych. ``categories`` gives the whole scale instead, so that unused steps count. Range: 1 for full agreement, 0
    for chance agreement. Interval: normal, linearised over units, cut to [−1, 1]. NaN with a note if all values on both
    sides are the same. ValueError: sizes differ, no unit rated by both, values outside ``categories``, weights for text
    without categories.
    """
    left, right = _same_scale(first, second, categories)
    both = (left.ratings > 0) & (right.ratings > 0)
    if not both.any():
        raise ValueError("no unit has a rating from both sides")
    shares = []
    for side in (left, right):
        sums = side.ratings[both]
        shares.append((sparse.diags_array(1 / sums) @ side.table[both]).tocsr())
    if weighting != "unweighted":
        refuse_unordered(left)
    weights = agreement_weights(len(left.values), weighting)
    margins = [np.asarray(side.mean(axis=0)).ravel() for side in shares]
    agreement = row_sums(shares[0].multiply(np.asarray(shares[1] @ weights.T)).tocsr())
    chance = shares[0] @ (weights @ margins[1]) + shares[1] @ (weights.T @ margins[0])
    observed, expected = float(agreement.mean()), float(margins[0] @ weights @ margins[1])
    left_out = int((~both).sum())
    note = f"{left_out} of {len(both)} units lack a rating from one side" if left_out else ""
    if 1 - expected < 1e-12:
        undefined = "both sides use the same value throughout: kappa is undefined"
        return Estimate(math.nan, n=int(both.sum()), level=confidence, note="; ".join(filter(None, [undefined, note])))
    influence = _influence(agreement, np.asarray(chance), observed, expected) / len(agreement)
    return _normal_estimate((observed - expected) / (1 - expected), influence, int(both.sum()), confidence, note)


def mean_cohen_kappa(
    data: Data, weighting: Weighting = "unweighted", *, min_shared: int = 2, confidence: float = 0.95
) -> Estimate:
    """The mean of Cohen's κ over all pairs of raters who share at least ``min_shared`` units (Light's κ).

    data: units × raters matrix (NaN missing) or `Ratings`. Each pair is compared on the units that both rated. All
    pairs count the same. Weights depend on the position in the list of all values, or in the ``categories`` given to
    the converter. n counts units with two ratings or more. A pair whose ratings are all the same value has no κ and is
    left out. The note gives the number of pairs used, the pairs left out with the reason, and the median number of
    shared units. Prefer α for a crowd whose pairs share only a handful of units. Interval as in `cohen_kappa`;
    linearisation is rough if pairs share few units.

    NaN with a note if no pair has a κ. ValueError: only one rater, no unit with two ratings, more than ``MOST_PAIRS``
    pairs of ratings, weights for text without categories.
    """
    ratings = as_ratings(data)
    if weighting != "unweighted":
        refuse_unordered(ratings)
    pairs = pairs_within_units(ratings)
    weights = agreement_weights(len(ratings.values), weighting)
    ids, pair, shared = np.unique(pairs.pair, return_inverse=True, return_counts=True)
    kappa, per_pair = _kappa_of_pairs(pair, len(ids), shared.astype(np.float64), pairs, weights)
    enough = shared >= min_shared
    defined = enough & ~np.isnan(kappa)
    units = int((ratings.per_unit >= 2).sum())
    note = _pairs_note(ids.size, enough, defined, shared)
    if not defined.any():
        return Estimate(math.nan, n=units, level=confidence, note=f"no pair of raters has a kappa; {note}")
    entered = defined[pair]
    parts = per_pair[entered] / defined.sum()
    influence = np.bincount(pairs.unit[entered], parts, minlength=len(ratings.units)).astype(np.float64)
    return _normal_estimate(float(kappa[defined].mean()), influence, units, confidence, note)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every pair of ratings of one unit: its ``unit``, which two raters (``pair``), and both value codes, (P,) each."""

    unit: IntArray
    pair: IntArray
    first: IntArray
    second: IntArray


def pairs_within_units(ratings: Ratings) -> Pairs:
    """Expand the ratings to `Pairs`, with the lower-numbered rater first.

    ValueError: only one rater, no unit with two ratings, or more than ``MOST_PAIRS`` pairs.
    """
    sizes = ratings.per_unit
    total = int((sizes * (sizes - 1) // 2).sum())
    if len(np.unique(ratings.rater)) < 2:
        raise ValueError("there is only one rater: agreement needs two")
    if not total:
        raise ValueError("no unit has two ratings: agreement cannot be estimated")
    if max(total, total * len(ratings.values) // 10) > MOST_PAIRS:
        raise ValueError(f"{total:,} pairs of ratings are too many to average over rater pairs; use alpha")
    order = np.lexsort((ratings.rater, ratings.unit))
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    left, right = [], []
    for size in np.unique(sizes[sizes > 1]):
        first, second = np.triu_indices(int(size), 1)
        base = starts[sizes == size][:, None]
        left.append((base + first).ravel())
        right.append((base + second).ravel())
    a, b = order[np.concatenate(left)], order[np.concatenate(right)]
    pair = ratings.rater[a] * len(ratings.raters) + ratings.rater[b]
    return Pairs(ratings.unit[a], pair, ratings.code[a], ratings.code[b])


def _kappa_of_pairs(
    pair: IntArray, count: int, shared: FloatArray, pairs: Pairs, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """κ of each rater pair (count,), NaN if undefined, and the influence of each pair of ratings on its κ."""
    size = len(weights)
    margins = []
    for code in (pairs.first, pairs.second):
        cells = np.bincount(pair * size + code, minlength=count * size).reshape(count, size)
        margins.append(cells / shared[:, None])
    by_second = margins[1] @ weights.T  # chance agreement of the first rater's value k
    by_first = margins[0] @ weights
    agreement = weights[pairs.first, pairs.second]
    observed = np.bincount(pair, agreement, minlength=count) / shared
    expected = (margins[0] * by_second).sum(axis=1)
    kappa = 1 - ratio(1 - observed, np.where(1 - expected > 1e-12, 1 - expected, 0.0))
    chance = by_second[pair, pairs.first] + by_first[pair, pairs.second]
    spread = np.where(np.isnan(kappa), 0.0, expected)
    influence = _influence(agreement, chance, observed[pair], spread[pair]) / shared[pair]
    return kappa, influence


def _influence(
    agreement: FloatArray, chance: FloatArray, observed: FloatArray | float, expected: FloatArray | float
) -> FloatArray:
    """n × the derivative of κ with respect to a unit's weight: d p_o = agreement − p_o, d p_e = chance − 2 p_e."""
    rest = 1 - expected
    return ((agreement - observed) * rest - (1 - observed) * (chance - 2 * expected)) / rest**2


def _normal_estimate(value: float, influence: FloatArray, n: int, confidence: float, note: str) -> Estimate:
    error = math.sqrt(float((influence**2).sum()))
    half = float(stats.norm.ppf((1 + confidence) / 2)) * error
    if error < 1e-12:
        note = "; ".join(filter(None, [NO_VARIANCE, note]))
    return Estimate(
        value,
        low=max(-1.0, value - half),
        high=min(1.0, value + half),
        n=n,
        level=confidence,
        method="normal, linearised over units",
        note=note,
    )


def _same_scale(first: Data, second: Data, categories: Sequence[Any] | None) -> tuple[Counts, Counts]:
    """Both sides as counts over the same list of values, in the same order."""
    sides = []
    for side in (first, second):
        array: npt.ArrayLike | Data = side
        if not isinstance(side, Ratings | Counts):
            array = np.asarray(side)
            array = array[:, None] if array.ndim == 1 else array
            array = ratings_from_matrix(array)
        sides.append(as_counts(array)[0])
    if sides[0].units != sides[1].units:
        raise ValueError(f"both sides need the same units, and have {sides[0].units} and {sides[1].units}")
    if not sides[0].units:
        raise ValueError("there are no units")
    found = [side.values.tolist() for side in sides]
    if len({type(value) for values in found for value in values}) > 1:
        raise ValueError("one side has numbers, the other text")
    scale = sorted(set(found[0]) | set(found[1])) if categories is None else _listed(categories, found)
    position = {value: index for index, value in enumerate(scale)}
    numeric = bool(scale) and isinstance(scale[0], float)
    labels = np.asarray(scale, dtype=np.float64 if numeric else object)
    ordered = numeric or categories is not None
    placed = []
    for side in sides:
        where = np.array([position[value] for value in side.values.tolist()], dtype=np.int64)
        cells = side.table.tocoo()
        moved = (cells.data, (cells.coords[0], where[cells.coords[1]]))
        placed.append(Counts(sparse.coo_array(moved, shape=(side.units, len(scale))).tocsr(), labels, ordered))
    return placed[0], placed[1]


def _listed(categories: Sequence[Any], found: list[list[Any]]) -> list[Any]:
    scale = [value if isinstance(value, str) else float(value) for value in categories]
    outside = [value for values in found for value in values if value not in scale]
    if outside:
        raise ValueError(f"these values are not among the categories: {', '.join(map(str, outside[:5]))}")
    return scale


def _pairs_note(total: int, enough: npt.NDArray[np.bool_], defined: npt.NDArray[np.bool_], shared: IntArray) -> str:
    parts = [
        f"{int(defined.sum())} of {total} rater pairs that share a unit, median {np.median(shared):g} units shared"
    ]
    if (few := int((~enough).sum())) > 0:
        parts.append(f"{few} pairs share too few units")
    if (flat := int((enough & ~defined).sum())) > 0:
        parts.append(f"{flat} pairs gave one value throughout and have no kappa")
    if np.median(shared) < 10:
        parts.append("kappa of so few units is biased and its interval rough: prefer alpha")
    return "; ".join(parts)
