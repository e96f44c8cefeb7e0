"""The section of studies with arms: how the arms' scores differ. Source of the method: `analysis.arms`."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pandas as pd

from analysis import plots
from analysis.arms import arm_difference, arm_estimate, arm_mean
from analysis.description import Score
from analysis.estimate import Estimate
from analysis.report.blocks import Block, Column, Figure, Heading, Note, Section, Table, estimates_table, number
from analysis.report.source import Source

MOST_SHOWN = 12


def arms(source: Source) -> Section:
    """Participants, submissions and times by arm. For each score: each arm's mean over items, and all differences."""
    section = Section(source.key("arms"), "Arms")
    section.blocks.append(participation(source, section.data))
    section.data["scores"] = {}
    for score in source.scores:
        ratings = source.ratings_on(score.topic)
        if ratings.empty:
            section.blocks.append(Note(f"Nobody has answered “{score.topic}”: the arms cannot be compared on it."))
            continue
        blocks, section.data["scores"][score.topic] = one_score(source, score, ratings)
        section.blocks += blocks
    return section


def participation(source: Source, data: dict[str, Any]) -> Table:
    used = source.data.used
    rows = []
    for arm in source.description.arms:
        mine = used[used["arm"] == arm.name]
        middle = float(mine["seconds"].median())
        rows.append((arm.name, int(mine["worker"].nunique()), arm.wanted, len(mine), middle))
    names = ("arm", "participants", "wanted", "submissions", "median_seconds")
    data["arms"] = [dict(zip(names, row, strict=True)) for row in rows]
    columns = [
        Column("Arm", "name"),
        *map(Column, ("Participants", "Wanted", "Submissions")),
        Column("Median s", digits=1),
    ]
    return Table("Participation by arm", columns, rows, "Submissions that count; median time of a whole submission.")


def one_score(source: Source, score: Score, ratings: pd.DataFrame) -> tuple[list[Block], dict[str, Any]]:
    """Every arm is resampled separately, with a different seed."""
    plan = source.plan
    found = {
        arm: arm_mean(ratings[ratings["arm"] == arm], score, plan=replace(plan, seed=plan.seed + place))
        for place, arm in enumerate(source.arms)
    }
    means = {arm: arm_estimate(mean, plan=plan) for arm, mean in found.items()}
    differences = [
        (first, second, arm_difference(found[first], found[second], plan=plan))
        for first, second in combinations(found, 2)
    ]
    note = (
        "An arm’s mean is that over the items it rated; resamples draw its workers. Arms that rated different items "
        "differ by these too. The intervals are not corrected for the number of differences."
    )
    rows = [(f"{first} − {second}", difference) for first, second, difference in differences]
    fold = len(rows) > MOST_SHOWN
    table = estimates_table(f"{score.title}: differences between arms", rows, digits=2, note=note)
    blocks: list[Block] = [Heading(score.title), figure(source, score, means), replace(table, fold=fold)]
    told = [{"first": first, "second": second, "difference": each} for first, second, each in differences]
    items = {arm: mean.items for arm, mean in found.items()}
    return blocks, {"title": score.title, "means": means, "items": items, "differences": told}


def figure(source: Source, score: Score, means: dict[str, Estimate]) -> Figure:
    rows = list(means.items())
    title = f"{score.title} by arm"
    described = "; ".join(f"{arm}: {number(each.value)}" for arm, each in rows) + "."
    words = plots.Words(source.key("arms-plot"), title, described, f"Mean {score.title}")
    drawn = [(arm[:28], each.value, each.low, each.high) for arm, each in rows]
    known = [value for _, *values in drawn for value in values]
    svg = plots.intervals(words, drawn, limits=plots.padded(known))
    table = estimates_table(title, rows, digits=2)
    return Figure(svg, f"{title}: mean over items with 95% intervals over workers.", table)
