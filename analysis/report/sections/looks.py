"""While ratings still arrive: differences with intervals and p that hold however often somebody opens the report.

Source of the method: `analysis.sequential`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analysis.estimate import Estimate
from analysis.findings import Comparison
from analysis.inference import bounds_of_difference, holm
from analysis.report.blocks import Section
from analysis.report.sections.finding_sentences import larger_first
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from analysis.sequential import always_valid_level, always_valid_p
from common.words import counted


def share_done(source: Source) -> float:
    """How much of the planned ratings have arrived, from 0 to 1; NaN if nothing was planned here."""
    wanted = source.items["wanted"].to_numpy(dtype=float)
    if source.description.imported_from or not wanted.sum():
        return math.nan
    return float(source.items["n"].clip(upper=source.items["wanted"]).sum() / wanted.sum())


def add_looks(
    source: Source,
    section: Section,
    factor: str,
    comparisons: Mapping[str, tuple[Comparison, tuple[float, float] | None]],
) -> list[tuple[str, str]]:
    """For a study that is not complete: a table of all differences by the factor, and a sentence on what is decided.

    ``comparisons``: of each criterion, with the ends of its scale.
    """
    done = share_done(source)
    if not 0 < done < 1:
        return []
    looks = [
        look for topic, (comparison, ends) in comparisons.items() for look in looks_at(topic, comparison, ends, done)
    ]
    tested = [look for look in looks if not math.isnan(look["p"])]
    if not tested:
        return []
    columns = [
        Column("Criterion", "name", shows="criterion"),
        Column("Levels", "text", shows="levels"),
        Column("Difference", shows="difference"),
        Column("p, Holm", "p", shows="p"),
        Column("Decided", "text", shows=lambda look: "yes" if look["decided"] else ""),
    ]
    note = (
        "Unlike all other intervals of this page, these hold at all times at once (confidence sequences), so a study "
        "may be stopped because of them. They are wider: see the docs on comparisons. Holm’s correction is over the "
        "pairs of a criterion."
    )
    title = f"At all times, by {factor}: {done:.0%} of the ratings are there"
    section.add_named(f"looks by {factor}", Table(title, columns, looks, note, fold=True))
    decided = sum(look["decided"] for look in looks)
    verb = "is" if decided == 1 else "are"
    sentence = (
        f"By {factor}, {decided} of {counted(len(looks), 'difference')} {verb} decided, however often you look. "
        f"{done:.0%} of the ratings are there; the other figures hold only if you look once, at the end."
    )
    return [("so far", sentence)]


def looks_at(topic: str, comparison: Comparison, ends: tuple[float, float] | None, done: float) -> list[dict[str, Any]]:
    figures, planned = comparison.figures, 1_000_000
    now = max(1, round(done * planned))
    level, bounds = always_valid_level(now, planned), bounds_of_difference(ends)
    corrected = holm([always_valid_p(pair.p, now, planned) for pair in comparison.differences]).tolist()
    looks = []
    for pair, p in zip(comparison.differences, corrected, strict=True):
        weights = figures.weights_of(comparison.names.index(pair.first), comparison.names.index(pair.second))
        difference: Estimate = figures.contrast(weights, level=level, bounds=bounds)
        way = f"confidence sequence at {done:.0%} of the plan" if difference.method else ""
        levels, difference = larger_first(pair.first, pair.second, replace(difference, method=way))
        looks.append(
            {"criterion": topic, "levels": levels, "difference": difference, "p": p, "decided": bool(p < 0.05)}
        )
    return looks
