"""The section of writing studies in which writers choose between suggestions: whose, in all and in each round.

Source: Clark 2021, ch. 4.5; the computations are in `analysis.writing`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from analysis import plots
from analysis.estimate import p_equals
from analysis.report.blocks import Figure, Heading, Highlight, Note, Section
from analysis.report.estimates import number, with_interval
from analysis.report.figures import line_of
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.report.tables import Column, Table, estimates_table, keyed
from analysis.writing.story_lines import authors_of
from analysis.writing.summary import Compared, compared_choices

SIGNIFICANT = 0.05


def make_section(source: Source, *, topic: str = "turn", every: int = 2) -> Section:
    """For every pair of suggesters, whose text was chosen. Parameters as in `analysis.report.stories.lines_of`."""
    section = Section(source.key("choices"), "Choices of suggestions")
    lines = lines_of(source, topic=topic, every=every)
    if not authors_of(lines):
        section.add(Note("No finished story has a suggestion yet."))
        return section
    suggesters = counts_table(lines)
    section.data["suggesters"] = keyed(suggesters.records, "suggester")
    section.add(suggesters)
    pairs = compared_choices(lines)
    if not pairs:
        section.add(Note("Writers never chose between suggestions of two suggesters."))
    section.data["pairs"] = [pair_json(pair) for pair in pairs]
    for pair in pairs:
        if len(pairs) > 1:
            section.add(Heading(f"{pair.first} or {pair.second}"))
        add_pair(source, section, pair)
        section.answers.append(("choices", pair_in_words(pair)))
    if len(pairs) == 1:  # with more pairs, no single one is the result
        section.highlights.append(headline(pairs[0]))
    return section


def pair_in_words(pair: Compared) -> str:
    """Whose suggestions writers choose, and whether other writers would."""
    share = pair.share_by_writer
    ahead, behind = (pair.first, pair.second) if share.value >= 0.5 else (pair.second, pair.first)
    if ahead != pair.first:
        share = replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)
    where = f"Suggestions of {ahead} are chosen in {with_interval(share)} of choices between them and {behind}’s"
    if math.isnan(pair.p_by_writer):
        return f"{where}. There is no test: {share.note or 'the choices do not vary enough'}."
    verdict = "" if pair.p_by_writer < SIGNIFICANT else ", so the data do not show which one writers prefer"
    return f"{where}; p {p_equals(pair.p_by_writer)} against one half, about new writers{verdict}."


def counts_table(lines: pd.DataFrame) -> Table:
    """For each suggester, how often pages showed its text beside another one, and how often writers chose it there.

    A text that was shown alone was no choice, so it is counted apart.
    """
    suggested = lines[lines["author"] != ""]
    shown = suggested.groupby(["story", "turn"])["text"].transform("size")
    counts = []
    for name, suggestions in suggested.assign(alone=shown < 2).groupby("author"):
        chosen = suggestions.loc[~suggestions["alone"], "chosen"]
        counts.append(
            {
                "suggester": name,
                "shown": len(chosen),
                "chosen": int(chosen.sum()),
                "share": float(chosen.mean()) if len(chosen) else None,
                "alone": int(suggestions["alone"].sum()),
            }
        )
    columns = [
        Column("Suggester", "name", shows="suggester"),
        Column("Suggestions shown", shows="shown"),
        Column("Chosen", shows="chosen"),
        Column("Share", digits=3, shows="share"),
        Column("Shown alone", shows="alone"),
    ]
    note = "Only suggestions with a text, shown beside another one. Shown alone: there was nothing to choose from."
    return Table("Suggestions shown and chosen", columns, counts, note)


def add_pair(source: Source, section: Section, pair: Compared) -> None:
    name = f"Share of choices for {pair.first}"
    shares = {
        f"{name}, over writers": pair.share_by_writer,
        f"{name}, typical writer": pair.mixed.share,
        f"{name}, all choices (the paper’s)": pair.share,
    }
    note = (
        f"Of choices between {pair.first} and {pair.second}. The first two rows are about new writers: choices of "
        "one writer may be alike. The prompts are a fixed condition. Wilson’s interval takes all choices as "
        "independent, and is too sure if writers differ."
    )
    section.add(rounds_figure(source, pair), estimates_table(name, shares, note=note), tests_table(pair))


def rounds_figure(source: Source, pair: Compared) -> Figure:
    title = f"Choices of {pair.first} by round"
    described = "; ".join(f"round {choices.round}: {choices.wins} of {choices.n}" for choices in pair.rounds) + "."
    words = plots.Words(source.key("choices-plot"), title, described, "Round", f"Share for {pair.first}"[:30])
    shares = [choices.share for choices in pair.rounds]
    line = line_of(f"{pair.first}, not {pair.second}"[:44], range(len(shares)), shares)
    svg = plots.ranges(words, [f"{choices.round}" for choices in pair.rounds], [line], limits=(0.0, 1.0))
    columns = [
        Column("Round", shows="round"),
        Column(pair.first, shows="wins"),
        Column(pair.second, shows=lambda choices: choices.n - choices.wins),
        Column(f"Share for {pair.first}", digits=3, shows="share"),
    ]
    caption = f"{title}, with 95% intervals about new writers."
    return Figure(svg, caption, Table(title, columns, pair.rounds))


def tests_table(pair: Compared) -> Table:
    tests, mixed = pair.tests, pair.mixed
    favoured = pair.first if tests.wins * 2 >= tests.n else pair.second
    unknown = f"; not defined: {mixed.share.note}" if math.isnan(mixed.p) else ""
    rows = [
        ("Share of one half, clustered by writer, two-sided", pair.p_by_writer, "about new writers"),
        ("Logit with a random intercept per writer, two-sided", mixed.p, f"about a typical writer{unknown}"),
        ("Exact binomial test, two-sided", tests.two_sided, "the paper’s test; too sure if writers differ"),
        (
            f"Exact binomial test, one-sided: more for {favoured}",
            tests.one_sided,
            "the paper’s test; only if predicted beforehand",
        ),
    ]
    note = f"Of one half: {tests.wins:,} of {tests.n:,} choices are for {pair.first}."
    if not math.isnan(mixed.spread):
        note += f" Writers’ log odds have an s.d. of {number(mixed.spread)}."
    columns = [Column("Test", "text"), Column("p", "p"), Column("Remark", "how")]
    return Table(f"{pair.first} or {pair.second}: tests", columns, rows, note)


def pair_json(pair: Compared) -> dict[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "share": pair.share,
        "share_by_writer": pair.share_by_writer,
        "typical_writer": pair.mixed.share,
        "log_odds": pair.mixed.log_odds,
        "spread": pair.mixed.spread,
        "tests": asdict(pair.tests) | {"mixed_logit": pair.mixed.p, "by_writer": pair.p_by_writer},
        "rounds": pair.rounds,
    }


def headline(pair: Compared) -> Highlight:
    share = pair.share_by_writer
    detail = share.note if math.isnan(share.low) else f"[{number(share.low)}, {number(share.high)}] over writers"
    return Highlight(f"{pair.first} chosen", number(share.value), detail)
