"""How precise ρ and OCA are in studies of other sizes: what they would find, with what interval, at what cost.

The question is about a study like this one, with ``sets`` new sets and ``ratings`` new ratings of each. Its result is
uncertain because its sets are a sample, and so are the ratings of each set. Both are resampled here: whole groups of
sets (the contexts that several sets share, or else single sets) with replacement, and the ratings of every drawn set
*without* replacement. A few random ratings of a set vary as the same number of new ratings would. Drawn with
replacement, they would add their noise a second time.

The same method gives every figure. The value of a design is the mean of ρ over all sets with that number of drawn
ratings; its interval is the percentile interval of the resamples. With all sets and all ratings, that is the interval
of `con_test`, `dec_test` and `ranking_test`, draw for draw. Fewer ratings make scores noisier and ρ lower at any number
of sets. A design with a narrow interval is still wrong if it loses too much of ρ, so `recommend` checks both.

Shapes: a pool of N sets with their ratings as a long frame, one row per rating, and one label per set. Source: Tevet
& Berant 2021, stability of HDS (numbers of sets and of ratings); the resampling of a design is ours, checked by
simulation (docs/statistics-diversity.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from analysis.diversity.association import Floats
from analysis.diversity.checks import is_constant
from analysis.diversity.drawn_studies import Pool, oca_at, points_of_ratings, rho_at
from analysis.diversity.evaluation import con_test, dec_test
from analysis.diversity.ranking import ranking_test
from analysis.diversity.resampling import Bootstrap, group_codes
from analysis.estimate import Estimate

Statistic: TypeAlias = Literal["rho", "oca"]
Test: TypeAlias = Literal["contest", "dectest", "ranking"]

#: The least share of ρ with all ratings that a recommended design reaches.
KEPT = 0.95
#: The fewest sets of a recommended design: with fewer, percentile intervals are too narrow for planning.
FEWEST = 30


@dataclass(frozen=True, slots=True)
class StabilityPoint:
    """What a study of ``sets`` sets with ``ratings`` ratings each would find, with the interval that it would report.

    ``oca`` only for labels with two classes. ``whole`` marks the study itself, with all its sets and ratings.
    """

    sets: int
    ratings: int
    rho: Estimate
    oca: Estimate | None
    whole: bool = False

    def width(self, statistic: Statistic = "rho") -> float:
        """The width of the interval; NaN if there is none."""
        estimate = self.rho if statistic == "rho" else self.oca
        return math.nan if estimate is None else estimate.high - estimate.low

    def cost(self, price: Decimal) -> Decimal:
        """Of all ratings, to the cent, rounded half up."""
        return (self.sets * self.ratings * price).quantize(Decimal("0.01"), ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class Design:
    """``sets`` sets with ``ratings`` ratings each: the result (``value``), the interval's width, the cost."""

    sets: int
    ratings: int
    value: float
    width: float
    cost: Decimal


def stability(
    ratings: pd.DataFrame,
    labels: Mapping[str, float] | pd.Series,
    *,
    test: Test = "contest",
    item: str = "item",
    value: str = "value",
    scores: Mapping[str, float] | pd.Series | None = None,
    groups: Mapping[str, str] | pd.Series | None = None,
    sets: Sequence[int] | None = None,
    ratings_per_set: Sequence[int] | None = None,
    draws: int = 400,
    plan: Bootstrap | None = None,
) -> list[StabilityPoint]:
    """ρ and OCA with the label for every combination of ``sets`` and ``ratings_per_set``; last, the study itself.

    ``ratings`` has one row per rating of a set; ``labels`` maps the name of each set in ``item`` to its label.
    ``scores`` are the sets' scores if these are not the plain means of their ratings; ``groups`` names what is
    resampled whole, such as contexts. ``test`` is the kind of labels: two classes, a parameter, or differences of
    pairs, whose scores are also differences.

    A set with fewer ratings than a design needs uses all of them. More ``sets`` than the data have is an extrapolation
    that assumes similar new sets. Each design is drawn ``draws`` times; ``plan`` gives the interval of the study
    itself. Missing ratings (NaN) are left out. By default up to 8 numbers of sets, evenly spaced to N, and every number
    of ratings up to the median. Ties get average ranks.

    ValueError: an empty frame, a set without a label, fewer than 3 sets, constant labels, a design without sets or
    ratings.
    """
    plan = plan or Bootstrap()
    pool = _pool(ratings, labels, item, value, scores, groups)
    most = len(pool.scores)
    sizes = list(sets) if sets is not None else sorted({max(3, round(most * step / 8)) for step in range(1, 9)})
    median = int(np.median(pool.counts))
    per_set = list(ratings_per_set) if ratings_per_set is not None else list(range(1, median + 1))
    if min([3, *sizes]) < 3 or min([1, *per_set]) < 1:
        raise ValueError("a design has 3 sets or more with a rating or more each")
    study_point = _study_point(pool, test, plan)
    points = []
    for index, rated in enumerate(per_set):
        drawn = points_of_ratings(pool, rated, sizes, draws, np.random.default_rng([plan.seed, index]), test)
        for size in sizes:
            if size == most and rated >= pool.counts.max():
                continue  # the study itself, which comes last
            rho = rho_at(drawn, size, plan.level)
            oca = None if study_point.oca is None else oca_at(drawn, size, most, pool, plan.level)
            points.append(StabilityPoint(size, rated, rho, oca))
    return [*points, replace(study_point, ratings=median)]


def recommend(
    points: Iterable[StabilityPoint],
    *,
    width: float,
    reward: Decimal,
    fee: Decimal = Decimal(0),
    statistic: Statistic = "rho",
    keep: float = KEPT,
    fewest: int = FEWEST,
) -> Design:
    """The design with the fewest total ratings whose interval is no wider than ``width`` and that keeps ``keep`` of ρ.

    ρ (or OCA) with all ratings is that of the point marked ``whole``; a design with less than ``keep`` times that
    value has too few ratings per set, however many sets it has. ``reward`` and ``fee`` are per rating, in one currency;
    cost = sets × ratings × (reward + fee). If designs have equally many ratings, the narrowest interval wins. A width
    is itself an estimate, accurate to about a tenth with 400 draws. Designs with fewer than ``fewest`` sets are left
    out.

    ValueError: no design is narrow enough (names the closest), no point is whole, a negative price, or OCA of labels
    without two classes.
    """
    if reward < 0 or fee < 0:
        raise ValueError("reward and fee must not be negative")
    points = list(points)
    if statistic == "oca" and any(point.oca is None for point in points):
        raise ValueError("OCA needs labels of two classes; ask for rho")
    full = next((_value(point, statistic) for point in points if point.whole), math.nan)
    if math.isnan(full):
        raise ValueError("there is no figure of the whole study to compare designs with")
    points = [point for point in points if point.sets >= fewest]
    enough = [point for point in points if abs(_value(point, statistic)) >= keep * abs(full)]
    designs = [
        Design(point.sets, point.ratings, _value(point, statistic), point.width(statistic), point.cost(reward + fee))
        for point in enough
        if not math.isnan(point.width(statistic))
    ]
    if not designs:
        raise ValueError("there is no design with a known width to choose from")
    narrow = [design for design in designs if design.width <= width]
    if not narrow:
        best = min(designs, key=lambda design: design.width)
        raise ValueError(
            f"no design has an interval within {width:g}; the narrowest, {best.sets} sets with {best.ratings} "
            f"ratings each, has {best.width:.3f}"
        )
    return min(narrow, key=lambda design: (design.sets * design.ratings, design.width))


def _value(point: StabilityPoint, statistic: Statistic) -> float:
    estimate = point.rho if statistic == "rho" else point.oca
    return math.nan if estimate is None else estimate.value


def _study_point(pool: Pool, test: Test, plan: Bootstrap) -> StabilityPoint:
    """The study itself, with the same tests that it reports."""
    groups = None if pool.groups is None else [f"{code:09d}" for code in pool.groups]  # sorted as their names are
    most = int(np.median(pool.counts))
    n = len(pool.scores)
    if test == "contest":
        test_result = con_test(pool.scores, pool.labels, plan=plan, groups=groups)
        return StabilityPoint(n, most, test_result.rho, test_result.oca, whole=True)
    if test == "ranking":
        return StabilityPoint(n, most, ranking_test(pool.scores, pool.labels, plan=plan, groups=groups).rho, None, True)
    return StabilityPoint(n, most, dec_test(pool.scores, pool.labels, plan=plan, groups=groups).spearman, None, True)


def _pool(
    ratings: pd.DataFrame,
    labels: Mapping[str, float] | pd.Series,
    item: str,
    value: str,
    scores: Mapping[str, float] | pd.Series | None,
    groups: Mapping[str, str] | pd.Series | None,
) -> Pool:
    for column in (item, value):
        if column not in ratings.columns:
            raise ValueError(f"the ratings have no column {column!r}")
    rated = ratings[ratings[value].notna()]
    rating_number = rated.groupby(item, sort=False).cumcount()
    codes, names = pd.factorize(rated[item])
    if len(names) < 3:
        raise ValueError(f"needs rated sets, at least 3, not {len(names)}")
    label_values = pd.Series(labels).reindex(names).to_numpy(dtype=float)
    if not np.isfinite(label_values).all():
        raise ValueError(f"set {names[~np.isfinite(label_values)][0]!r} has no label")
    if is_constant(label_values):
        raise ValueError("all labels are the same, so there is nothing to correlate with")
    values = np.full((len(names), int(rating_number.max()) + 1), np.nan)
    values[codes, rating_number] = rated[value].to_numpy(dtype=float)
    counts = np.bincount(codes)
    means: Floats = np.nansum(values, axis=1) / counts
    if scores is not None:
        means = pd.Series(scores).reindex(names).to_numpy(dtype=float)
    by_group = None if groups is None else group_codes(pd.Series(groups).reindex(names).astype(str), len(names))
    return Pool(values, counts, label_values, means, by_group)
