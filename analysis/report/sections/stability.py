"""What studies of other sizes would find: ρ and OCA by numbers of sets and ratings, and the smallest design."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from analysis import plots
from analysis.diversity.resampling import Bootstrap
from analysis.diversity.stability import FEWEST, KEPT, StabilityPoint, Statistic, recommend, stability
from analysis.estimate import Estimate
from analysis.report.blocks import Figure, Figures, Note, Part
from analysis.report.figures import line_of
from analysis.report.sections.sets import Sets, groups_of
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted

SIZES = (10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000)
RATINGS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
#: Sizes in the figure and its table. The search for the smallest design uses all of SIZES.
MOST_SHOWN = 6
FEWEST_SETS = 10
#: The largest design, as a multiple of the sets of this study.
BEYOND = 4
DRAWS = 400
WIDTHS = (0.4, 0.3, 0.2, 0.15, 0.1)


def stability_parts(source: Source, sets: Sets, key: str, data: dict[str, Any]) -> list[Part]:
    """Intervals by numbers of sets and ratings, and the smallest design for a target interval."""
    introduction = Note(
        "What a study like this one would find with other numbers of sets and ratings: new sets and new ratings are "
        "drawn from those of this study.",
    )
    try:
        points = points_of(source, sets)
    except ValueError as error:
        return [introduction, Note(f"This cannot be computed: {error}.")]
    data["stability"] = points
    figures = [figure(points, "rho", "Spearman’s ρ", sets, key)]
    if sets.kind == "contest":
        figures.append(figure(points, "oca", "OCA", sets, key))
    designs = recommendation(source, points)
    data["recommendation"] = designs.records
    return [introduction, Figures(figures), designs]


def points_of(source: Source, sets: Sets) -> list[StabilityPoint]:
    """Points by size and ratings per set, with the study itself last. ValueError if there are too few data."""
    if sets.kind == "none":
        raise ValueError("there is nothing to test the scores against")
    usable = sets.usable
    ratings = sets.by_worker[sets.by_worker["item"].isin(usable.index)]
    counts = ratings["item"].value_counts()
    if len(counts) < FEWEST_SETS:
        raise ValueError(f"it needs at least {FEWEST_SETS} sets with a score and a parameter, not {len(counts)}")
    groups, middle = groups_of(usable), sets.middle or 0.0
    return stability(
        ratings.assign(value=ratings["value"] - middle),
        usable["parameter"],
        test=sets.kind,
        scores=usable["score"] - middle,
        groups=None if groups is None else dict(zip(usable.index.astype(str), groups, strict=True)),
        sets=sizes_up_to(len(counts)),
        ratings_per_set=steps(int(counts.median())),
        draws=DRAWS,
        plan=Bootstrap(draws=source.draws, seed=source.seed),
    )


def steps(most: int) -> list[int]:
    """Numbers of ratings per set to compute; ``most`` is the last."""
    return sorted({step for step in RATINGS if step < most} | {max(1, most)})


def sizes_up_to(most: int) -> list[int]:
    """Round numbers of sets up to BEYOND times the study's own number, and that number itself."""
    return sorted({size for size in SIZES if size <= max(BEYOND * most, SIZES[0])} | {most})


def shown_sizes(points: list[StabilityPoint]) -> list[int]:
    """A few sizes from the smallest to twice the study's own size, which is included."""
    study_size = points[-1].sets
    sizes = sorted({point.sets for point in points if point.sets <= 2 * study_size})
    picked = np.linspace(0, len(sizes) - 1, min(MOST_SHOWN, len(sizes))).round().astype(int)
    chosen = {sizes[index] for index in picked}
    nearest = min(chosen - {sizes[0], sizes[-1]} or chosen, key=lambda size: abs(math.log(size / study_size)))
    return sorted(chosen if study_size in chosen else (chosen - {nearest}) | {study_size})


def figure(points: list[StabilityPoint], statistic: Statistic, name: str, sets: Sets, key: str) -> Figure:
    """Up to three numbers of ratings per set: the lowest, a middle one and the highest."""
    study, sizes = points[-1], shown_sizes(points)
    ratings = sorted({point.ratings for point in points})
    lines = []
    for n in sorted({ratings[0], ratings[len(ratings) // 2], ratings[-1]}):
        on_line = [point for point in points if point.ratings == n and point.sets in sizes]
        estimates = [value_of(point, statistic) for point in on_line]
        lines.append(line_of(counted(n, "rating"), [sizes.index(point.sets) for point in on_line], estimates))
    title = f"{name} by number of sets and of ratings per set"
    words = plots.Words(
        f"{key}-{statistic}",
        title,
        "One colour per number of ratings per set; bars are 95% intervals. "
        f"This study has {counted(study.sets, 'set')}.",
        "Sets",
        f"ρ with {sets.name}"[:36] if statistic == "rho" else name,
    )
    lows = [value_of(point, statistic).low for point in points if point.sets in sizes]
    lowest = min((low for low in lows if math.isfinite(low)), default=0.0)
    limits = (0.5, 1.0) if statistic == "oca" else (max(-1.0, min(0.0, math.floor(lowest * 5) / 5)), 1.0)
    svg = plots.ranges(words, [f"{size:,}" for size in sizes], lines, limits=limits)
    shown = sorted((point for point in points if point.sets in sizes), key=lambda point: (point.ratings, point.sets))
    return Figure(svg, f"{title}, with 95% intervals.", numbers_table(shown, statistic, name, title))


def numbers_table(points: list[StabilityPoint], statistic: Statistic, name: str, title: str) -> Table:
    columns = [
        Column("Ratings per set", shows="ratings"),
        Column("Sets", shows=lambda point: f"{point.sets:,} (this study)" if point.whole else point.sets),
        Column(f"{name}, 95% interval", shows=lambda point: value_of(point, statistic)),
        Column("Width", shows=lambda point: point.width(statistic)),
    ]
    note = (
        f"Intervals over sets from {DRAWS} studies drawn per design, as published. They take workers as they are, so "
        "an interval about new workers, as above, can be wider. "
    )
    if statistic == "rho":
        note += "Fewer ratings make scores noisier and ρ lower; more sets make the interval narrower."
    else:
        note += "OCA is the best of many thresholds, so it comes out higher the fewer the sets."
    return Table(title, columns, points, note)


def value_of(point: StabilityPoint, statistic: Statistic) -> Estimate:
    estimate = point.rho if statistic == "rho" else point.oca
    return estimate if estimate is not None else Estimate(math.nan)


def recommendation(source: Source, points: list[StabilityPoint]) -> Table:
    """For each target width of ρ's interval, the design with the fewest ratings, and the cost of its rewards."""
    reward = source.description.reward / source.description.items_per_hit
    most = max(point.sets for point in points)
    designs: list[dict[str, Any]] = []
    for width in WIDTHS:
        try:
            best = recommend(points, width=width, reward=reward)
        except ValueError:
            designs.append({"width": width, "sets": None, "ratings": None, "cost": None})
        else:
            numbers = {"sets": best.sets, "ratings": best.ratings, "cost": best.cost if reward else None}
            designs.append({"width": width, **numbers, "rho": best.value, "found": best.width})

    def ratings_in_all(design: dict[str, Any]) -> int | None:
        return None if design["sets"] is None else design["sets"] * design["ratings"]

    def remark(design: dict[str, Any]) -> str:
        if design["sets"] is None:
            return f"needs more than {most:,} sets like these"
        return "" if design["cost"] is None else f"${design['cost']:,} in rewards"

    columns = [
        Column("Interval no wider than", shows="width"),
        Column("Sets", shows="sets"),
        Column("Ratings per set", shows="ratings"),
        Column("Ratings in all", shows=ratings_in_all),
        Column("ρ", shows=lambda design: design.get("rho")),
        Column("Width", shows=lambda design: design.get("found")),
        Column("Remark", "text", shows=remark),
    ]
    note = (
        f"The fewest ratings in all for which the 95% interval of ρ is that narrow and ρ is at least {KEPT:.0%} of its "
        "value with all ratings of this study. Rewards at this study’s rate, without platform fees. Widths are "
        "estimated from draws, to about a tenth. More sets than this study has are assumed to be like its own. Designs "
        f"of fewer than {FEWEST} sets are left out, because their intervals come out too narrow."
    )
    return Table("The smallest design for a wanted interval of ρ", columns, designs, note)
