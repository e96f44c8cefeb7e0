"""Cohen's κ, unweighted or weighted: for two raters, for two pools of raters, and averaged over all rater pairs.

Shapes: joint shares p_kl (V × V) of values given to the same unit, with margins a_k and b_l, and agreement weights
w_kl (1 on the diagonal). κ = (p_o − p_e)/(1 − p_e), p_o = Σ w_kl p_kl, p_e = Σ w_kl a_k b_l.

Intervals are jackknife intervals (`analysis.agreement.jackknife`): for two raters over units, about these two; for
pools of five raters or more together, over units and raters.

Sources: Cohen 1960 (κ), Cohen 1968 (weights), Schouten 1982 (two pools), Light 1971 and Conger 1980 (average over
pairs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.agreement.count_tables import ratio, row_sums
from analysis.agreement.jackknife import LEAST, Layout, Margins, Raters, estimate_from_table, interval_inside
from analysis.agreement.ratings import (
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
from analysis.estimate import Estimate

Weighting = Literal["unweighted", "linear", "quadratic"]

#: The most pairs of ratings within units. Expanding more would take seconds and a gigabyte, and in such a crowd two
#: raters share only a unit or two.
MOST_PAIRS = 2_000_000
#: The median number of units that pairs of raters must share for the mean of their κ to have an interval.
LEAST_SHARED = 20
#: How many intervals are right in simulated studies (docs/uncertainty.md), of two pools or raters and of the mean.
POOLS_RIGHT, PAIRS_RIGHT = "86 to 100%", "92 to 100%"


def agreement_weights(categories: int, weighting: Weighting) -> FloatArray:
    """w_kl (V × V) from the positions of the categories: 1 − (|k − l| / (V − 1))^(1 or 2). ValueError: unknown name."""
    if weighting not in ("unweighted", "linear", "quadratic"):
        raise ValueError(f'the weighting is "unweighted", "linear" or "quadratic", not "{weighting}"')
    if weighting == "unweighted":
        return np.eye(categories)
    positions = np.arange(categories)
    distances = np.abs(positions[:, None] - positions[None, :]) / max(categories - 1, 1)
    return cast(FloatArray, 1 - distances ** (1 if weighting == "linear" else 2))


def cohen_kappa(
    first: Data,
    second: Data,
    weighting: Weighting = "unweighted",
    *,
    categories: Sequence[Any] | None = None,
    raters: Raters = "any",
    confidence: float = 0.95,
) -> Estimate:
    """κ between two raters (1-D arrays, one value per unit) or two pools (2-D arrays units × raters, or `Counts`).

    Rows of both are the same units in the same order. NaN or None is missing; a unit without a rating on either side is
    left out. n counts the units used, and the note counts the others. In pools each unit has a weight of one: p_kl is
    the mean over units of the product of both pools' shares, so with one rater each it is Cohen's κ.

    Weights depend on the *position* of a category in the sorted list of values found on either side, as in statsmodels
    and psych. ``categories`` gives the whole scale instead, so that unused steps count. Range: 1 for full agreement, 0
    for chance agreement. ``raters`` as in `krippendorff_alpha`. NaN with a note if all values on both sides are the
    same. ValueError: sizes differ, no unit rated by both, values outside ``categories``, weights for text without
    categories.
    """
    left, right, ratings = _same_scale(first, second, categories)
    rated_by_both = (left.ratings > 0) & (right.ratings > 0)
    if not rated_by_both.any():
        raise ValueError("no unit has a rating from both sides")
    if weighting != "unweighted":
        refuse_unordered(left)
    left_out = int((~rated_by_both).sum())
    return estimate_from_table(
        Cohen(agreement_weights(len(left.values), weighting)),
        Layout(sparse.csr_array(sparse.hstack([left.table, right.table]))),
        ratings,
        units=int(rated_by_both.sum()),
        raters=raters,
        interval=True,
        level=confidence,
        notes=(
            "both sides use the same value throughout: kappa is undefined",
            f"{left_out} of {len(rated_by_both)} units lack a rating from one side" if left_out else "",
        ),
        share_right=POOLS_RIGHT,
    )


@dataclass(frozen=True)
class Cohen:
    """κ of two sides as a function of sums: of units' agreement, the number of units, and both sides' shares.

    A table has the counts of the first side in its left half and those of the second in its right.
    """

    weights: FloatArray
    least: float = -1.0

    def parts(self, table: sparse.csr_array) -> tuple[FloatArray, sparse.csr_array]:
        size = len(self.weights)
        sides = [table[:, :size], table[:, size:]]
        totals = [row_sums(side) for side in sides]
        used = ((totals[0] > 0) & (totals[1] > 0)).astype(np.float64)
        shares = [
            sparse.csr_array(sparse.diags_array(np.nan_to_num(ratio(used, total))) @ side)
            for side, total in zip(sides, totals, strict=True)
        ]
        agreement = row_sums(sparse.csr_array(shares[0].multiply(np.asarray(shares[1] @ self.weights.T))))
        return np.stack([agreement, used], axis=1), sparse.csr_array(sparse.hstack(shares))

    def figure(self, sums: FloatArray, margins: Margins) -> FloatArray:
        zeros = np.zeros_like(self.weights)
        form = np.block([[zeros, self.weights / 2], [self.weights.T / 2, zeros]])
        units = sums[:, 1]
        observed, expected = ratio(sums[:, 0], units), ratio(margins.products(form), units**2)
        return 1 - ratio(1 - observed, np.where(1 - expected > 1e-12, 1 - expected, 0.0))


def mean_cohen_kappa(
    data: Data,
    weighting: Weighting = "unweighted",
    *,
    min_shared: int = 2,
    raters: Raters = "any",
    confidence: float = 0.95,
) -> Estimate:
    """The mean of Cohen's κ over all pairs of raters who share at least ``min_shared`` units (Light's κ).

    data: units × raters matrix (NaN missing) or `Ratings`. Each pair is compared on the units that both rated. All
    pairs count the same. Weights depend on the position in the list of all values, or in the ``categories`` given to
    the converter. n counts units with two ratings or more. A pair whose ratings are all the same value has no κ and is
    left out. The note gives the number of pairs used, the pairs left out with the reason, and the median number of
    shared units. Prefer α for a crowd whose pairs share only a handful of units.

    The interval combines the linearised variance over units with a jackknife over raters, as in
    `analysis.agreement.jackknife`. There is none if pairs share fewer than ``LEAST_SHARED`` units (the median): κ of so
    few units is biased, and the bias does not shrink with the number of pairs.

    NaN with a note if no pair has a κ. ValueError: only one rater, no unit with two ratings, more than ``MOST_PAIRS``
    pairs of ratings, weights for text without categories.
    """
    ratings = as_ratings(data)
    if weighting != "unweighted":
        refuse_unordered(ratings)
    pairs = pairs_within_units(ratings)
    weights = agreement_weights(len(ratings.values), weighting)
    ids, pair, shared = np.unique(pairs.pair, return_inverse=True, return_counts=True)
    chance = _ChanceOfPairs(pair, shared.astype(np.float64), pairs, weights)
    kappa = chance.kappa
    enough = shared >= min_shared
    has_kappa = enough & ~np.isnan(kappa)
    units = int((ratings.per_unit >= 2).sum())
    note = _pairs_note(ids.size, enough, has_kappa, shared)
    if not has_kappa.any():
        return Estimate(math.nan, n=units, level=confidence, note=f"no pair of raters has a kappa; {note}")
    value = float(kappa[has_kappa].mean())
    if np.median(shared[has_kappa]) < LEAST_SHARED or units < LEAST:
        too_few = f"pairs share too few units: no interval below a median of {LEAST_SHARED}"
        return Estimate(value, n=units, level=confidence, note=f"{too_few}; {note}")
    in_mean = has_kappa[pair]
    parts = chance.influence()[in_mean] / has_kappa.sum()
    pairs_used = Pairs(pairs.unit[in_mean], pairs.pair[in_mean], pairs.first[in_mean], pairs.second[in_mean])
    variance, freedom, method = _variance_of_mean(kappa[has_kappa], ids[has_kappa], pairs_used, parts, ratings, raters)
    low, high = interval_inside(value, variance, min(freedom, units - 1), (-1.0, 1.0), confidence)
    return Estimate(value, low, high, units, level=confidence, method=method, note=note)


def _variance_of_mean(
    kappa: FloatArray, ids: IntArray, pairs: Pairs, influence: FloatArray, ratings: Ratings, raters: Raters
) -> tuple[float, float, str]:
    """The variance of the mean κ, its degrees of freedom over raters, and the method.

    ``kappa`` and ``ids`` belong to rater pairs, ``influence`` to pairs of ratings.
    """
    sums = np.bincount(pairs.unit, influence, minlength=len(ratings.units))
    units = int((np.bincount(pairs.unit, minlength=len(ratings.units)) > 0).sum())
    over_units = float((sums**2).sum()) * units / max(units - 1, 1)
    method = f"linearised over {units:,} units"
    sides = np.divmod(ids, len(ratings.raters))
    rater_codes = np.unique(np.concatenate(sides))
    pairs_without = [(sides[0] != rater) & (sides[1] != rater) for rater in rater_codes]
    # If one rater is in all pairs that have a kappa, nothing is left without them.
    if raters == "these" or len(rater_codes) < LEAST or not all(pairs_left.any() for pairs_left in pairs_without):
        return over_units, math.inf, f"{method}, for these {len(rater_codes):,} raters"
    means_without = np.array([kappa[pairs_left].mean() for pairs_left in pairs_without])
    over_raters = float(((means_without - kappa.mean()) ** 2).sum()) * (len(rater_codes) - 1) / len(rater_codes)
    cells = np.concatenate(
        [pairs.unit * len(ratings.raters) + side for side in np.divmod(pairs.pair, len(ratings.raters))]
    )
    _, cell = np.unique(cells, return_inverse=True)
    over_ratings = float((np.bincount(cell, np.tile(influence, 2)) ** 2).sum())
    variance = max(over_units + over_raters - over_ratings, over_units)
    method += f", jackknife over {len(rater_codes):,} raters"
    method += f"; {PAIRS_RIGHT} of such 95% intervals are right in simulations"
    return variance, len(rater_codes) - 1.0, method


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


class _ChanceOfPairs:
    """``kappa`` (Q,) of each rater pair, NaN if undefined. ``pair`` (P,) is the rater pair of each pair of ratings,
    ``shared`` (Q,) how many units the pair shares."""

    def __init__(self, pair: IntArray, shared: FloatArray, pairs: Pairs, weights: FloatArray) -> None:
        self._pair, self._shared, self._pairs, self._weights = pair, shared, pairs, weights
        first = self._margins(pairs.first)
        expected = (first * (self._margins(pairs.second) @ weights.T)).sum(axis=1)
        self._agreement = weights[pairs.first, pairs.second]
        self._observed = np.bincount(pair, self._agreement, minlength=len(shared)) / shared
        self._expected = expected
        kappa = 1 - ratio(1 - self._observed, np.where(1 - expected > 1e-12, 1 - expected, 0.0))
        self.kappa: FloatArray = kappa

    def _margins(self, code: IntArray) -> FloatArray:
        """The share of each value among the ratings of one side of each rater pair (Q × V)."""
        count, size = len(self._shared), len(self._weights)
        cells = np.bincount(self._pair * size + code, minlength=count * size).reshape(count, size)
        return np.asarray(cells / self._shared[:, None])

    def influence(self) -> FloatArray:
        """How much each pair of ratings (P,) moves κ of its rater pair."""
        pair, pairs = self._pair, self._pairs
        chance = (self._margins(pairs.second) @ self._weights.T)[pair, pairs.first]
        chance = chance + (self._margins(pairs.first) @ self._weights)[pair, pairs.second]
        # The derivative of κ with respect to a unit's weight, times n: d p_o = agreement − p_o, d p_e = chance − 2 p_e.
        by_chance = np.where(np.isnan(self.kappa), 0.0, self._expected)[pair]
        disagreement = 1 - self._observed[pair]
        slope = (self._agreement - self._observed[pair]) * (1 - by_chance) - disagreement * (chance - 2 * by_chance)
        return np.asarray(slope / (1 - by_chance) ** 2 / self._shared[pair])


def _same_scale(first: Data, second: Data, categories: Sequence[Any] | None) -> tuple[Counts, Counts, Ratings | None]:
    """Both sides as counts over the same list of values, in the same order; and the ratings of both, in the columns of
    both tables side by side, if the raters are known."""
    sides, ratings_by_side = [], []
    for side in (first, second):
        array: npt.ArrayLike | Data = side
        if not isinstance(side, Ratings | Counts):
            array = np.asarray(side)
            array = array[:, None] if array.ndim == 1 else array
            array = ratings_from_matrix(array)
        counts, rated = as_counts(array)
        sides.append(counts)
        ratings_by_side.append(rated)
    if sides[0].units != sides[1].units:
        raise ValueError(f"both sides need the same units, and have {sides[0].units} and {sides[1].units}")
    if not sides[0].units:
        raise ValueError("there are no units")
    values_by_side = [side.values.tolist() for side in sides]
    if len({type(value) for values in values_by_side for value in values}) > 1:
        raise ValueError("one side has numbers, the other text")
    scale = sorted(set(values_by_side[0]) | set(values_by_side[1]))
    if categories is not None:
        scale = [value if isinstance(value, str) else float(value) for value in categories]
        if outside := [value for values in values_by_side for value in values if value not in scale]:
            raise ValueError(f"these values are not among the categories: {', '.join(map(str, outside[:5]))}")
    position = {value: index for index, value in enumerate(scale)}
    numeric = bool(scale) and isinstance(scale[0], float)
    labels = np.asarray(scale, dtype=np.float64 if numeric else object)
    ordered = numeric or categories is not None
    counts_on_scale, codes_by_side = [], []
    for side in sides:
        codes = np.array([position[value] for value in side.values.tolist()], dtype=np.int64)
        codes_by_side.append(codes)
        cells = side.table.tocoo()
        entries = (cells.data, (cells.coords[0], codes[cells.coords[1]]))
        counts_on_scale.append(
            Counts(sparse.coo_array(entries, shape=(side.units, len(scale))).tocsr(), labels, ordered)
        )
    first_ratings, second_ratings = ratings_by_side
    if first_ratings is None or second_ratings is None:
        return counts_on_scale[0], counts_on_scale[1], None
    ratings_of_both = Ratings(
        np.concatenate([first_ratings.unit, second_ratings.unit]),
        np.concatenate([first_ratings.rater, second_ratings.rater + len(first_ratings.raters)]),
        np.concatenate([codes_by_side[0][first_ratings.code], codes_by_side[1][second_ratings.code] + len(scale)]),
        first_ratings.units,
        np.arange(len(first_ratings.raters) + len(second_ratings.raters)),
        np.concatenate([labels, labels]),
    )
    return counts_on_scale[0], counts_on_scale[1], ratings_of_both


def _pairs_note(total: int, enough: npt.NDArray[np.bool_], has_kappa: npt.NDArray[np.bool_], shared: IntArray) -> str:
    parts = [
        f"{int(has_kappa.sum())} of {total} rater pairs that share a unit, median {np.median(shared):g} units shared"
    ]
    if (too_few := int((~enough).sum())) > 0:
        parts.append(f"{too_few} pairs share too few units")
    if (constant := int((enough & ~has_kappa).sum())) > 0:
        parts.append(f"{constant} pairs gave one value throughout and have no kappa")
    if np.median(shared) < LEAST_SHARED:
        parts.append("kappa of so few units is biased: prefer alpha")
    return "; ".join(parts)
