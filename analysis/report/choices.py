"""The section of writing studies in which writers choose between suggestions: whose, in all and in each round.

Source: Clark 2021, ch. 4.5; the computations are in `analysis.writing`.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pandas as pd

from analysis import plots
from analysis.report.blocks import (
    Block,
    Column,
    Figure,
    Heading,
    Highlight,
    Note,
    Section,
    Table,
    estimates_table,
    number,
)
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.writing.lines import authors_of
from analysis.writing.summary import Compared, compared_choices


def choices(source: Source, *, topic: str = "turn", every: int = 2) -> Section:
    """For every pair of suggesters, whose text was chosen. Parameters as in `analysis.report.stories.lines_of`."""
    section = Section(source.key("choices"), "Choices of suggestions")
    lines = lines_of(source, topic=topic, every=every)
    if not authors_of(lines):
        section.blocks.append(Note("No finished story has a suggestion yet."))
        return section
    section.blocks.append(counts_table(lines, section.data))
    found = compared_choices(lines)
    if not found:
        section.blocks.append(Note("Writers never chose between suggestions of two suggesters."))
    section.data["pairs"] = []
    for compared in found:
        if len(found) > 1:
            section.blocks.append(Heading(f"{compared.first} or {compared.second}"))
        section.blocks += blocks(source, compared)
        section.data["pairs"].append(as_data(compared))
    section.highlights += headline(section.data["pairs"])
    return section


def counts_table(lines: pd.DataFrame, data: dict[str, Any]) -> Table:
    """For each suggester, how often pages showed its text beside another one, and how often writers chose it there.

    A text that was shown alone was no choice, so it is counted apart.
    """
    suggested = lines[lines["author"] != ""]
    shown = suggested.groupby(["story", "turn"])["text"].transform("size")
    together = suggested.assign(alone=shown < 2)
    data["suggesters"] = {}
    for name, lines_of_one in together.groupby("author"):
        chosen = lines_of_one.loc[~lines_of_one["alone"], "chosen"]
        data["suggesters"][name] = {
            "shown": len(chosen),
            "chosen": int(chosen.sum()),
            "share": float(chosen.mean()) if len(chosen) else None,
            "alone": int(lines_of_one["alone"].sum()),
        }
    rows = [(name, *each.values()) for name, each in data["suggesters"].items()]
    columns = [Column("Suggester", "name"), Column("Suggestions shown"), Column("Chosen"), Column("Share", digits=3)]
    note = "Only suggestions with a text, shown beside another one. Shown alone: there was nothing to choose from."
    return Table("Suggestions shown and chosen", [*columns, Column("Shown alone")], rows, note)


def blocks(source: Source, found: Compared) -> list[Block]:
    name = f"Share of choices for {found.first}"
    rows = [
        (f"{name}, over writers", found.share_by_writer),
        (f"{name}, typical writer", found.mixed.share),
        (f"{name}, all choices (the paper’s)", found.share),
    ]
    note = (
        f"Of choices between {found.first} and {found.second}. The first two rows are about new writers: choices of "
        "one writer may be alike. The prompts are a fixed condition. Wilson’s interval takes all choices as "
        "independent, and is too sure if writers differ."
    )
    return [figure(source, found), estimates_table(name, rows, note=note), tests_table(found)]


def figure(source: Source, found: Compared) -> Figure:
    title = f"Choices of {found.first} by round"
    places = [f"{each.round}" for each in found.rounds]
    shares = [each.share for each in found.rounds]
    described = "; ".join(f"round {each.round}: {each.wins} of {each.n}" for each in found.rounds) + "."
    words = plots.Words(source.key("choices-plot"), title, described, "Round", f"Share for {found.first}"[:30])
    line = plots.Line(
        f"{found.first}, not {found.second}"[:44],
        list(range(len(places))),
        [each.value for each in shares],
        [each.low for each in shares],
        [each.high for each in shares],
    )
    svg = plots.ranges(words, places, [line], limits=(0.0, 1.0))
    columns = [Column("Round"), Column(found.first), Column(found.second), Column(f"Share for {found.first}", digits=3)]
    body = [(each.round, each.wins, each.n - each.wins, each.share) for each in found.rounds]
    return Figure(svg, f"{title}, with 95% intervals about new writers.", Table(title, columns, body))


def tests_table(found: Compared) -> Table:
    tests, mixed = found.tests, found.mixed
    favoured = found.first if tests.wins * 2 >= tests.n else found.second
    unknown = f"; not defined: {mixed.share.note}" if math.isnan(mixed.p) else ""
    rows = [
        ("Share of one half, clustered by writer, two-sided", found.p_by_writer, "about new writers"),
        ("Logit with a random intercept per writer, two-sided", mixed.p, f"about a typical writer{unknown}"),
        ("Exact binomial test, two-sided", tests.two_sided, "the paper’s test; too sure if writers differ"),
        (
            f"Exact binomial test, one-sided: more for {favoured}",
            tests.one_sided,
            "the paper’s test; only if predicted beforehand",
        ),
    ]
    note = f"Of one half: {tests.wins:,} of {tests.n:,} choices are for {found.first}."
    if not math.isnan(mixed.spread):
        note += f" Writers’ log odds have an s.d. of {number(mixed.spread)}."
    columns = [Column("Test", "text"), Column("p", "p"), Column("Remark", "how")]
    return Table(f"{found.first} or {found.second}: tests", columns, rows, note)


def as_data(found: Compared) -> dict[str, Any]:
    return {
        "first": found.first,
        "second": found.second,
        "share": found.share,
        "share_by_writer": found.share_by_writer,
        "typical_writer": found.mixed.share,
        "log_odds": found.mixed.log_odds,
        "spread": found.mixed.spread,
        "tests": asdict(found.tests) | {"mixed_logit": found.mixed.p, "by_writer": found.p_by_writer},
        "rounds": found.rounds,
    }


def headline(pairs: list[dict[str, Any]]) -> list[Highlight]:
    """The headline for a single pair of suggesters. With more pairs, no single one is the result."""
    if len(pairs) != 1:
        return []
    share = pairs[0]["share_by_writer"]
    detail = share.note if math.isnan(share.low) else f"[{number(share.low)}, {number(share.high)}] over writers"
    return [Highlight(f"{pairs[0]['first']} chosen", number(share.value), detail)]
