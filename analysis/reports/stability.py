"""How many sets and ratings would have been enough: ρ and OCA of smaller studies drawn from this one."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from analysis import plots
from analysis.diversity.stability import StabilityPoint, recommend, stability
from analysis.estimate import Estimate
from analysis.reports.blocks import Block, Column, Figure, Figures, Heading, Note, Table
from analysis.reports.sets import Sets, groups_of
from analysis.reports.source import Source

SIZES = (10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)
RATINGS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
MOST_SIZES = 7
FEWEST_SETS = 10
SUBSAMPLES = 200
WIDTHS = (0.4, 0.3, 0.2, 0.15, 0.1)


def stability_blocks(source: Source, sets: Sets, key: str, data: dict[str, Any]) -> list[Block]:
    """Curves, their numbers, and the smallest design within a wanted interval."""
    heading = Heading(
        "Stability",
        "What smaller studies would have found: sets, and ratings of each, drawn from these without replacement.",
    )
    try:
        points = points_of(source, sets)
    except ValueError as error:
        return [heading, Note(f"Stability cannot be computed: {error}.")]
    data["stability"] = points
    figures = [curve(points, "rho", "Spearman’s ρ", sets, key)]
    if sets.kind == "contest":
        figures.append(curve(points, "oca", "OCA", sets, key))
    table, designs = recommendation(source, points, shared=groups_of(sets.usable) is not None)
    data["recommendation"] = designs
    return [heading, Figures(figures), table]


def points_of(source: Source, sets: Sets) -> list[StabilityPoint]:
    """Points over sizes and ratings per set that the data can fill. ValueError where they are too few."""
    labels = sets.usable["parameter"]
    ratings = sets.own[sets.own["item"].isin(labels.index)]
    counts = ratings["item"].value_counts()
    if len(counts) < FEWEST_SETS:
        raise ValueError(f"it needs at least {FEWEST_SETS} sets with a score and a parameter, not {len(counts)}")
    points = []
    for place, rated in enumerate(steps(int(counts.median()))):
        sizes = sizes_up_to(int((counts >= rated).sum()))
        points += stability(
            ratings, labels, sets=sizes, ratings_per_set=[rated], draws=SUBSAMPLES, seed=source.seed + place
        )
    return points


def steps(most: int) -> list[int]:
    """Numbers of ratings per set to look at, ``most`` the last of them."""
    return sorted({step for step in RATINGS if step < most} | {max(1, most)})


def sizes_up_to(most: int) -> list[int]:
    """Round numbers of sets, at most MOST_SIZES of them, and all the sets there are, as far as SIZES go."""
    sizes = [size for size in SIZES if size < 0.9 * most or most > SIZES[-1]] + ([most] if most <= SIZES[-1] else [])
    if len(sizes) <= MOST_SIZES:
        return sizes
    chosen = np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int)
    return [sizes[place] for place in chosen]


def curve(points: list[StabilityPoint], statistic: str, name: str, sets: Sets, key: str) -> Figure:
    """Up to three numbers of ratings per set: the fewest, one in the middle, the most."""
    found = sorted({point.ratings for point in points})
    shown = sorted({found[0], found[len(found) // 2], found[-1]})
    lines = []
    for rated in shown:
        mine = [(point.sets, value_of(point, statistic)) for point in points if point.ratings == rated]
        lines.append(
            plots.Line(
                f"{rated} rating{'s' * (rated != 1)}",
                [size for size, _ in mine],
                [each.value for _, each in mine],
                [each.low for _, each in mine],
                [each.high for _, each in mine],
            )
        )
    title = f"{name} by number of sets and of ratings per set"
    words = plots.Words(
        f"{key}-{statistic}",
        title,
        "One curve per number of ratings; the band holds the middle 95% of the studies drawn.",
        "Sets",
        f"ρ with {sets.name}"[:36] if statistic == "rho" else name,
    )
    rows = [
        (point.ratings, point.sets, value_of(point, statistic), width_of(point, statistic))
        for point in sorted(points, key=lambda point: (point.ratings, point.sets))
    ]
    columns = [Column("Ratings per set"), Column("Sets"), Column(f"{name}, middle 95%"), Column("Interval’s width")]
    note = (
        f"Mean over {SUBSAMPLES} studies drawn. The band narrows as a study nears the whole pool; the width, that of "
        "the interval which a study of this size would report, does not."
    )
    if statistic == "oca":
        note += " OCA is the best of many thresholds, so that it comes out higher the fewer the sets."
    return Figure(
        plots.curves(words, lines), f"{title}, with the middle 95% of studies.", Table(title, columns, rows, note)
    )


def value_of(point: StabilityPoint, statistic: str) -> Estimate:
    found = point.rho if statistic == "rho" else point.oca
    return found if found is not None else Estimate(math.nan)


def width_of(point: StabilityPoint, statistic: str) -> float:
    found = point.rho_width if statistic == "rho" else point.oca_width
    return found if found is not None else math.nan


def recommendation(source: Source, points: list[StabilityPoint], *, shared: bool) -> tuple[Table, list[dict[str, Any]]]:
    """Per wanted width of ρ's interval the design of fewest ratings, with what its rewards cost."""
    reward = source.study.reward / source.study.items_per_hit
    designs: list[dict[str, Any]] = []
    rows: list[tuple[object, ...]] = []
    for width in WIDTHS:
        try:
            found = recommend(points, width=width, reward=reward)
        except ValueError:
            rows.append((width, None, None, None, None, "needs more data than this study has"))
            designs.append({"width": width, "sets": None, "ratings": None, "cost": None})
            continue
        cost: Decimal | None = found.cost if reward else None
        total = found.sets * found.ratings
        rows.append(
            (width, found.sets, found.ratings, total, found.width, f"${cost:,} in rewards" if cost is not None else "")
        )
        designs.append(
            {"width": width, "sets": found.sets, "ratings": found.ratings, "cost": cost, "found": found.width}
        )
    columns = [
        Column("Interval no wider than"),
        Column("Sets"),
        Column("Ratings per set"),
        Column("Ratings in all"),
        Column("Its width"),
        Column("Remark", "text"),
    ]
    note = (
        "Rewards at this study’s rate, without platform fees. Widths are estimated from draws and may come out beyond."
    )
    if shared:
        note += (
            " Sets are drawn singly here, while the tests above resample those that share a context together: their "
            "intervals may be wider or narrower than these."
        )
    return Table("The smallest design for a wanted interval of ρ", columns, rows, note), designs
