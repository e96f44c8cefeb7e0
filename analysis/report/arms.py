"""The section of studies with arms: how the arms' scores differ. Source of the method: `analysis.arms`."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from analysis import plots
from analysis.arms import ArmMeans, arm_means
from analysis.description import Score
from analysis.estimate import Estimate
from analysis.inference import holm
from analysis.report.blocks import Block, Column, Figure, Heading, Note, Section, Table, estimates_table, how, number
from analysis.report.source import Source, of_people

MOST_SHOWN = 12


def arms(source: Source) -> Section:
    """Participants, submissions and times by arm. For each score: each arm's mean over items, and all differences."""
    section = Section(source.key("arms"), "Arms")
    section.blocks.append(participation(source, section.data))
    section.data["scores"] = {}
    means: dict[str, ArmMeans] = {}
    rated = {score.topic: source.ratings_on(score.topic) for score in source.scores}
    for score in source.scores:
        ratings = rated[score.topic]
        if not ratings.empty:
            about_items = "items" in source.dimensions_of(ratings).codes
            ends = source.ends_of(score.topic)
            bounds = None
            if ends is not None:
                low, high = sorted(score.sign * end for end in ends)
                bounds = (low, high)
            means[score.topic] = arm_means(ratings, score, arms=source.arms, about_items=about_items, bounds=bounds)
    pairs = list(combinations(source.arms, 2))
    tests = [(topic, *pair, found.p(*pair)) for topic, found in means.items() for pair in pairs]
    corrected = holm([p for *_, p in tests]).tolist()
    for score in source.scores:
        if score.topic not in means:
            section.blocks.append(Note(f"Nobody has answered “{score.topic}”: the arms cannot be compared on it."))
            continue
        mine = [(*test[1:], p) for test, p in zip(tests, corrected, strict=True) if test[0] == score.topic]
        blocks, data = one_score(source, score, means[score.topic], mine)
        section.data["scores"][score.topic] = data
        section.blocks += blocks
    return section


def participation(source: Source, data: dict[str, Any]) -> Table:
    used = source.data.used
    rows = []
    for arm in source.description.arms:
        mine = used[used["arm"] == arm.name]
        middle = float(of_people(mine)["seconds"].median())
        rows.append((arm.name, int(mine["worker"].nunique()), arm.wanted, len(mine), middle))
    names = ("arm", "participants", "wanted", "submissions", "median_seconds")
    data["arms"] = [dict(zip(names, row, strict=True)) for row in rows]
    columns = [
        Column("Arm", "name"),
        *map(Column, ("Participants", "Wanted", "Submissions")),
        Column("Median s", digits=1),
    ]
    return Table("Participation by arm", columns, rows, "Submissions that count; median time of a whole submission.")


def one_score(
    source: Source, score: Score, found: ArmMeans, tests: list[tuple[str, str, float, float]]
) -> tuple[list[Block], dict[str, Any]]:
    """``tests``: the differences' arms, p and corrected p."""
    means = {arm: found.estimate(arm) for arm in source.arms}
    rows, told = [], []
    for first, second, p, p_corrected in tests:
        apart = found.difference(first, second)
        rows.append((f"{first} − {second}", apart, p, p_corrected, how(apart)))
        told.append({"first": first, "second": second, "difference": apart, "p": p, "p_corrected": p_corrected})
    about = "new items and new workers" if "items" in found.figures.dimensions.codes else "new workers"
    note = (
        f"An arm’s mean is that over the items it rated. Intervals and p are about {about}; what an item does in one "
        "arm alone counts. Arms that rated different items differ by these too. Holm’s correction is over all scores "
        "and pairs of arms of this section."
    )
    columns = [Column("Arms", "text"), Column("Difference"), Column("p", "p"), Column("p, Holm", "p")]
    columns.append(Column("How", "how"))
    table = Table(f"{score.title}: differences between arms", columns, rows, note, fold=len(rows) > MOST_SHOWN)
    blocks: list[Block] = [Heading(score.title), figure(source, score, means), table]
    return blocks, {"title": score.title, "means": means, "items": found.items, "differences": told}


def figure(source: Source, score: Score, means: dict[str, Estimate]) -> Figure:
    rows = list(means.items())
    title = f"{score.title} by arm"
    described = "; ".join(f"{arm}: {number(each.value)}" for arm, each in rows) + "."
    words = plots.Words(source.key("arms-plot"), title, described, f"Mean {score.title}")
    drawn = [(arm[:28], each.value, each.low, each.high) for arm, each in rows]
    known = [value for _, *values in drawn for value in values]
    svg = plots.intervals(words, drawn, limits=plots.padded(known))
    table = estimates_table(title, rows, digits=2)
    return Figure(svg, f"{title}: mean over items with 95% intervals.", table)
