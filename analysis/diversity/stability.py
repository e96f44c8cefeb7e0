"""How stable ρ and OCA are for fewer sets and fewer ratings per set, and the smallest study that is stable
enough.

Shapes: a pool of N sets with their ratings as a long frame, one row per rating, and one label per set.
Source: Tevet & Berant 2021, stability of HDS (subsampling without replacement); widths are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from analysis.diversity.association import Bools, Floats, Ints, oca_draws, spearman_draws
from analysis.diversity.checks import high_class, is_constant
from analysis.diversity.resampling import quantile_interval, subsample_indices
from analysis.estimate import Estimate, wilson

Statistic: TypeAlias = Literal["rho", "oca"]

# Random keys held at once when ratings are drawn: 4 million are 32 MB.
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class StabilityPoint:
    """ρ and OCA of studies with ``sets`` sets and ``ratings`` ratings of each; OCA only for labels of two
    classes.

    ``rho`` and ``oca`` hold the mean over subsamples and the band in which the middle 95% of them fall; ``n``
    is ``sets``. The band shrinks to nothing as the subsample nears the pool. ``rho_width`` and ``oca_width``
    do not: they are the widths of the interval that a study of that size would report, which is what to plan
    by. ``pool`` sets could be drawn from.
    """

    sets: int
    ratings: int
    pool: int
    rho: Estimate
    rho_width: float
    oca: Estimate | None
    oca_width: float | None


@dataclass(frozen=True, slots=True)
class Design:
    """A study of ``sets`` sets with ``ratings`` ratings of each, the width expected of its interval, and its
    cost."""

    sets: int
    ratings: int
    width: float
    cost: Decimal


@dataclass(frozen=True, slots=True)
class _Pool:
    """Ratings (N, m), NaN-padded on the right; how many each set has (N,); labels (N,)."""

    values: Floats
    counts: Ints
    labels: Floats


def stability(
    ratings: pd.DataFrame,
    labels: Mapping[str, float] | pd.Series,
    *,
    item: str = "item",
    value: str = "value",
    sets: Sequence[int] | None = None,
    ratings_per_set: Sequence[int] | None = None,
    draws: int = 200,
    seed: int = 0,
    level: float = 0.95,
) -> list[StabilityPoint]:
    """ρ and OCA with the label for every combination of ``sets`` and ``ratings_per_set``, in that order.

    ``ratings`` has one row per rating of a set; ``labels`` gives each set's label by the name in ``item``.
    Each point draws sets, and of each set ratings, ``draws`` times without replacement; sets with too few
    ratings do not enter it (see ``pool``). Width of ρ: spread of ρ over as many draws of sets *with*
    replacement, ratings without. Width of OCA: of Wilson's interval at the mean OCA. Missing ratings (NaN)
    are left out. Default grid: up to 8 numbers of sets, evenly spaced to N, and every number of ratings up to
    the median. Ties get average ranks.

    Raises ValueError for an empty frame, a set without a label, fewer than 3 sets, constant labels, or a
    point that asks for more sets or ratings than there are.
    """
    pool = _pool(ratings, labels, item, value)
    most = len(pool.counts)
    sizes = list(sets) if sets is not None else _spaced(most)
    median = int(np.median(pool.counts))
    per_set = list(ratings_per_set) if ratings_per_set is not None else list(range(1, median + 1))
    seeds = np.random.SeedSequence(seed).spawn(len(sizes) * len(per_set))
    grid = [(size, rated) for size in sizes for rated in per_set]
    return [
        _point(pool, size, rated, draws, level, np.random.default_rng(own))
        for (size, rated), own in zip(grid, seeds, strict=True)
    ]


def recommend(
    points: Iterable[StabilityPoint],
    *,
    width: float,
    reward: Decimal,
    fee: Decimal = Decimal(0),
    statistic: Statistic = "rho",
) -> Design:
    """The design of fewest ratings in all whose interval is no wider than ``width``, with its cost to the
    cent.

    ``reward`` and ``fee`` are per rating, in one currency; cost = sets × ratings × (reward + fee), rounded
    half up. Among designs of equally many ratings the one of narrower interval. The width of a point is
    itself estimated, to about a tenth from 200 draws: ask `stability` for more where it is close.

    Raises ValueError when no design is narrow enough (saying which comes nearest), for an empty list, a
    negative price, or OCA of labels that are not two classes.
    """
    if reward < 0 or fee < 0:
        raise ValueError("reward and fee must not be negative")
    designs = []
    for point in points:
        wide = point.rho_width if statistic == "rho" else point.oca_width
        if wide is None:
            raise ValueError("OCA needs labels of two classes; ask for rho")
        if not np.isnan(wide):
            cost = (point.sets * point.ratings * (reward + fee)).quantize(Decimal("0.01"), ROUND_HALF_UP)
            designs.append(Design(point.sets, point.ratings, wide, cost))
    if not designs:
        raise ValueError("there is no design with a known width to choose from")
    enough = [design for design in designs if design.width <= width]
    if not enough:
        best = min(designs, key=lambda design: design.width)
        raise ValueError(
            f"no design has an interval within {width:g}; the narrowest, {best.sets} sets with {best.ratings} "
            f"ratings each, has {best.width:.3f}"
        )
    return min(enough, key=lambda design: (design.sets * design.ratings, design.width))


def _pool(ratings: pd.DataFrame, labels: Mapping[str, float] | pd.Series, item: str, value: str) -> _Pool:
    for column in (item, value):
        if column not in ratings.columns:
            raise ValueError(f"the ratings have no column {column!r}")
    kept = ratings[ratings[value].notna()]
    place = kept.groupby(item, sort=False).cumcount()
    codes, names = pd.factorize(kept[item])
    if len(names) < 3:
        raise ValueError(f"needs rated sets, at least 3, not {len(names)}")
    given = pd.Series(labels).reindex(names).to_numpy(dtype=float)
    if not np.isfinite(given).all():
        raise ValueError(f"set {names[~np.isfinite(given)][0]!r} has no label")
    if is_constant(given):
        raise ValueError("all labels are the same, so there is nothing to correlate with")
    values = np.full((len(names), int(place.max()) + 1), np.nan)
    values[codes, place] = kept[value].to_numpy(dtype=float)
    return _Pool(values, np.bincount(codes), given)


def _point(pool: _Pool, size: int, rated: int, draws: int, level: float, rng: np.random.Generator) -> StabilityPoint:
    able = np.flatnonzero(pool.counts >= rated)
    if not (3 <= size <= len(able) and rated >= 1):
        raise ValueError(
            f"cannot draw {size} sets with {rated} ratings each: {len(able)} of {len(pool.counts)} sets have "
            "as many, and 3 sets are the least"
        )
    drawn = able[subsample_indices(len(able), size, draws, rng)]
    scores = _draw_scores(pool, drawn, rated, rng)
    binary = len(np.unique(pool.labels)) == 2
    high = high_class(pool.labels) if binary else None
    method = f"{draws} subsamples without replacement"

    def band(values: Floats) -> Estimate:
        low, top, lost = quantile_interval(values, level)
        note = f"undefined in {lost} of {draws} subsamples" if lost else ""
        mean = float("nan") if lost == len(values) else float(np.nanmean(values))
        return Estimate(mean, low, top, size, "sets", level, method, note)

    rho = band(_rho(pool, drawn, scores))
    again = able[rng.integers(len(able), size=(draws, size))]
    low, top, _ = quantile_interval(_rho(pool, again, _draw_scores(pool, again, rated, rng)), level)
    oca = None if high is None else band(_oca(high, drawn, scores))
    bounds = None if oca is None else wilson(oca.value, size, level)
    return StabilityPoint(
        size, rated, len(able), rho, top - low, oca, None if bounds is None else bounds[1] - bounds[0]
    )


def _draw_scores(pool: _Pool, drawn: Ints, rated: int, rng: np.random.Generator) -> Floats:
    """Mean of ``rated`` ratings without replacement for each drawn set, (draws, sets)."""
    cells = drawn.shape[1] * pool.values.shape[1]
    step = max(1, _CELLS // cells)
    parts = []
    for start in range(0, len(drawn), step):
        values = pool.values[drawn[start : start + step]]
        keys = np.where(np.isnan(values), np.inf, rng.random(values.shape))
        picked = np.argpartition(keys, rated - 1, axis=2)[:, :, :rated]
        parts.append(np.sort(np.take_along_axis(values, picked, axis=2), axis=2).mean(axis=2))
    return np.concatenate(parts)


def _rho(pool: _Pool, drawn: Ints, scores: Floats) -> Floats:
    return spearman_draws(scores, pool.labels[drawn], np.ones(drawn.shape))


def _oca(high: Bools, drawn: Ints, scores: Floats) -> Floats:
    return oca_draws(scores, high[drawn], np.ones(drawn.shape))


def _spaced(most: int) -> list[int]:
    return sorted({max(3, round(most * step / 8)) for step in range(1, 9)})
