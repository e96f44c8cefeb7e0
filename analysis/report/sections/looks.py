"""While ratings still arrive: differences with intervals and p that hold however often somebody opens the report.

For a study with a rule by which it stops early, this is what to report. Source of the method: `analysis.sequential`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.description import Factor, StoppingRule
from analysis.factors import item_levels, level_names
from analysis.findings import Comparison
from analysis.findings.looks import OpenDifference, differences_so_far, look_at
from analysis.inference import Bounds
from analysis.report.blocks import Section
from analysis.report.sections.finding_sentences import larger_first
from analysis.report.sections.findings_of_pairs import choices_so_far, topics_of_pairs
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted


def share_done(source: Source) -> float:
    """How much of the planned ratings have arrived, from 0 to 1; NaN if nothing was planned here."""
    return math.nan if source.description.imported_from else _share(source.items)


def _share(items: pd.DataFrame) -> float:
    wanted = items["wanted"].to_numpy(dtype=float)
    return float(items["n"].clip(upper=items["wanted"]).sum() / wanted.sum()) if wanted.sum() else math.nan


def shares_by_level(source: Source, factor: Factor) -> Callable[[str], float]:
    """How much of the planned ratings of a level have arrived, from 0 to 1. Less than in truth where that is not known:
    then intervals are wider than they need to be."""
    whole = share_done(source)
    items = source.items.reset_index()
    if factor.of == "item" or (factor.of == "part" and factor.parts):
        columns = list(factor.parts.values()) or [factor.name]
        levels = [item_levels(items, column).to_numpy() for column in columns]

        def of_items(name: str) -> float:
            chosen = [any(level == name for level in of_item) for of_item in zip(*levels, strict=True)]
            return _share(items[chosen])

        return of_items
    if factor.of == "part":
        return lambda name: whole
    submissions = source.ratings.drop_duplicates("submission")
    counts = level_names(source.data, factor, submissions).value_counts()
    counts = counts[counts.index != ""]
    mean = counts.sum() / max(1, len(counts))
    return lambda name: whole * min(1.0, float(counts.get(name, 0)) / mean)


def rule_for(source: Source, factor: Factor) -> StoppingRule | None:
    """The study's rule for stopping early, if it is about this factor."""
    rule = source.description.stopping
    return rule if rule is not None and rule.factor == factor.name else None


def differences_on(
    source: Source, factor: Factor, comparisons: Mapping[str, tuple[Comparison, Bounds | None]]
) -> dict[str, list[OpenDifference]]:
    """By criterion, from comparisons with the ends of their scales, and from choices between two parts."""
    shares = shares_by_level(source, factor)
    so_far: dict[str, list[OpenDifference]] = {}
    for topic in topics_of_pairs(source, factor):
        with suppress(ValueError):  # the section on choices says what is wrong with them
            so_far[topic] = choices_so_far(source, factor, topic, shares)
    of_means = {
        topic: differences_so_far(comparison, ends, shares) for topic, (comparison, ends) in comparisons.items()
    }
    return {topic: differences for topic, differences in (so_far | of_means).items() if differences}


def add_looks(
    source: Source,
    section: Section,
    factor: Factor,
    comparisons: Mapping[str, tuple[Comparison, Bounds | None]],
) -> list[tuple[str, str]]:
    """For a study that is not complete, or could have stopped early: a table of all differences by the factor, and a
    sentence on what is settled.

    ``comparisons``: of each criterion, with the ends of its scale.
    """
    done, rule = share_done(source), rule_for(source, factor)
    if not 0 < done < 1 and (rule is None or not done > 0):
        return []
    so_far = differences_on(source, factor, comparisons)
    rows = [row for topic, differences in so_far.items() for row in _rows(topic, differences, rule)]
    if all(math.isnan(row["p"]) for row in rows):
        return []
    columns = [
        Column("Criterion", "name", shows="criterion"),
        Column("Levels", "text", shows="levels"),
        Column("Difference", shows="difference"),
        Column("p, Holm", "p", shows="p"),
        Column("Settled", "text", shows="settled"),
    ]
    note = (
        "Unlike all other intervals of this page, these hold at all times at once (confidence sequences) and for all "
        "pairs of a criterion at once, so a study may be stopped because of them. They are wider: see the docs on "
        "comparisons. Holm’s correction is over the pairs of a criterion."
    )
    if rule is not None and rule.smallest is not None:
        note += f" Alike: the interval on {rule.criterion} lies within ±{rule.smallest:g}."
    title = f"At all times, by {factor.name}: {done:.0%} of the ratings are there"
    section.add_named(f"looks by {factor.name}", Table(title, columns, rows, note, fold=rule is None))
    if rule is not None and any(row["criterion"] == rule.criterion for row in rows):
        return [("so far", _sentence_of_rule(source, rule, rows, done))]
    settled = sum(row["settled"] != "" for row in rows)
    sentence = (
        f"By {factor.name}, {settled} of {counted(len(rows), 'difference')} {'is' if settled == 1 else 'are'} settled, "
        f"however often you look. {done:.0%} of the ratings are there; the other figures hold only if you look once, "
        "at the end."
    )
    return [("so far", sentence)]


def _rows(topic: str, differences: Sequence[OpenDifference], rule: StoppingRule | None) -> list[dict[str, Any]]:
    rows = []
    of_rule = rule is not None and rule.criterion == topic
    for difference, look in zip(
        differences, look_at(differences, smallest=rule.smallest if rule and of_rule else None), strict=True
    ):
        way = f"confidence sequence at {difference.share:.0%} of the plan" if look.difference.method else ""
        levels, estimate = larger_first(look.first, look.second, replace(look.difference, method=way))
        rows.append(
            {"criterion": topic, "levels": levels, "difference": estimate, "p": look.p, "settled": look.settled}
        )
    return rows


def _sentence_of_rule(source: Source, rule: StoppingRule, rows: Sequence[Mapping[str, Any]], done: float) -> str:
    """Whether the rule's differences are settled, and which figures to report because the study could stop early."""
    of_rule = [row for row in rows if row["criterion"] == rule.criterion]
    settled = sum(row["settled"] != "" for row in of_rule)
    verb = "is" if settled == 1 else "are"
    state = (
        f"By {rule.factor}, {settled} of {counted(len(of_rule), 'difference')} on {rule.criterion} {verb} settled with "
        f"{done:.0%} of the planned ratings."
    )
    if source.description.status == "closed" or done >= 1:
        return (
            f"{state} Because the study could stop early by a rule, report the intervals and p values that hold at all "
            "times: the others are too sure."
        )
    return f"{state} The study stops when all of them are."
