"""What the study's exclusion rules leave out: how many submissions before and after, by rule, and what that changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from analysis.quality_control.exclusion import Exclusion
from analysis.report.blocks import Column, Facts, Note, Section, Table
from analysis.report.source import Source
from analysis.scores import item_scores
from common.words import counted

Results = Callable[[Source], Sequence[Section]]


def exclusions(source: Source, with_rules: Sequence[Section], results: Results) -> Section | None:
    """None if the study has no exclusion rules. ``with_rules`` are the sections with the study's results, and
    ``results`` makes them again from the data without rules, which is only needed if the rules exclude something."""
    rules = Exclusion.of(source.description.exclude)
    if not rules:
        return None
    reviewed, used = source.data.reviewed, source.data.used
    left_out = len(reviewed) - len(used)
    section = Section(source.key("exclusions"), "Exclusion rules")
    section.data = {"before": len(reviewed), "after": len(used), "excluded": left_out}
    section.blocks.append(
        Facts(
            [
                ("Submissions before the rules", f"{len(reviewed):,}, without those that a person excluded"),
                ("Excluded by a rule", f"{left_out:,}"),
                ("Submissions in the analysis", f"{len(used):,}"),
            ]
        )
    )
    section.blocks.append(_by_rule(source, rules, section.data))
    if not left_out:
        section.blocks.append(Note("The rules exclude nothing, so all figures are the same with and without them."))
        return section
    if not len(used):
        section.blocks.append(Note("The rules exclude every submission, so nothing is left to analyse.", "warning"))
    without = Source(source.data.without_rules(), source.draws, source.seed, source.stops)
    section.blocks.append(_scores(source, without, section.data))
    before = results(without)
    if (table := _figures(with_rules, before, section.data)) is not None:
        section.blocks.append(table)
    lost = [result.title for result in before if result.error is not None]
    if lost:
        text = f"Because of an error, these sections could not be made without the rules: {', '.join(lost)}."
        section.blocks.append(Note(text, "warning"))
    return section


def _by_rule(source: Source, rules: Exclusion, data: dict[str, Any]) -> Table:
    """How many submissions each rule excludes. One submission may be counted in several rows."""
    reviewed = source.data.reviewed
    worker_of = dict(zip(reviewed["submission"], reviewed["worker"], strict=True))
    why = {pk: found for pk, found in source.data.excluded_by_rule.items() if pk in worker_of}
    rows, told = [], []
    for key, words in rules.in_words():
        mine = [pk for pk, found in why.items() if key in found]
        alone = sum(why[pk] == [key] for pk in mine)
        workers = len({worker_of[pk] for pk in mine})
        rows.append((words, len(mine), alone, workers))
        told.append({"rule": key, "submissions": len(mine), "only_this_rule": alone, "workers": workers})
    data["rules"] = told
    columns = [Column("Rule", "text"), Column("Submissions"), Column("By this rule only"), Column("Workers")]
    note = "The rules were fixed at the launch. They exclude nothing from pay."
    return Table("By rule", columns, rows, note)


def _scores(source: Source, without: Source, data: dict[str, Any]) -> Table:
    """The mean of the items' scores with and without the rules."""
    rows = []
    for score in source.scores:
        after, before = (item_scores(each.ratings_on(score.topic), score) for each in (source, without))
        rows.append(
            (score.title, before["score"].mean(), int(before["n"].sum()), after["score"].mean(), int(after["n"].sum()))
        )
    names = ("score", "without_rules", "ratings_without_rules", "with_rules", "ratings_with_rules")
    data["scores"] = [dict(zip(names, row, strict=True)) for row in rows]
    columns = [
        Column("Score", "text"),
        Column("Without rules"),
        Column("Ratings"),
        Column("With rules"),
        Column("Ratings"),
    ]
    return Table("Mean score of the items, without and with the rules", columns, rows)


def _figures(with_rules: Sequence[Section], without: Sequence[Section], data: dict[str, Any]) -> Table | None:
    """The headline figures of each section that has results, without and with the rules."""
    rows = []
    for after, before in zip_longest(_headlines(with_rules), _headlines(without)):
        told = after or before
        rows.append((*told[:2], before[2] if before else "none", after[2] if after else "none"))
    if not rows:
        return None
    names = ("section", "figure", "without_rules", "with_rules")
    data["results"] = [dict(zip(names, row, strict=True)) for row in rows]
    columns = [Column("Section", "text"), Column("Figure", "text"), Column("Without rules", "text")]
    columns.append(Column("With rules", "text"))
    return Table(f"{counted(len(rows), 'main result')}, without and with the rules", columns, rows)


def _headlines(sections: Sequence[Section]) -> list[tuple[str, str, str]]:
    """Section, name and value with its note of every headline figure."""
    return [
        (section.title, each.label, f"{each.value} {each.detail}".strip())
        for section in sections
        for each in section.highlights
    ]
