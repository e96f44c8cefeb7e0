"""The section that compares suggestions with the lines that writers wrote alone.

Source: Clark 2021, ch. 4.5; the measures are in `analysis.writing`.
"""

from __future__ import annotations

import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.report.blocks import Column, Figure, Note, Section, Table, number
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.writing.summary import TEXTS, mean_texts, story_table


def story_texts(source: Source, *, topic: str = "turn", every: int = 2) -> Section:
    """Suggestions of each suggester and lines written alone. Parameters as in `analysis.report.stories.lines_of`."""
    section = Section(source.key("story_texts"), "Suggestions and lines written alone")
    found = story_table(lines_of(source, topic=topic, every=every))
    if found.empty:
        section.blocks.append(Note("No story is finished yet."))
        return section
    means = mean_texts(found)
    section.data["sources"] = {
        name: {"stories": int((found["source"] == name).sum()), **each} for name, each in means.items()
    }
    section.blocks += [figure(source, means), table(found, means)]
    return section


def figure(source: Source, means: dict[str, dict[str, Estimate]]) -> Figure:
    title = "Words per sentence"
    rows = [(name, each["sentence_length"]) for name, each in means.items()]
    described = "; ".join(f"{name}: {number(each.value)}" for name, each in rows) + "."
    words = plots.Words(source.key("story-texts-plot"), title, described, title)
    drawn = [(name[:24], each.value, each.low, each.high) for name, each in rows]
    svg = plots.intervals(words, drawn, limits=plots.padded([value for _, *values in drawn for value in values]))
    table = Table(title, [Column("Source", "name"), Column(title)], rows)
    return Figure(svg, f"{title}: means with 95% intervals over writers.", table)


def table(found: pd.DataFrame, means: dict[str, dict[str, Estimate]]) -> Table:
    rows = [
        (name, int((found["source"] == name).sum()), *(each[measure] for measure in TEXTS))
        for name, each in means.items()
    ]
    columns = [Column("Source", "name"), Column("Stories"), Column("Words per sentence")]
    columns += [Column(title, digits=3) for name, title in TEXTS.items() if name != "sentence_length"]
    note = (
        "A story counts once for each source, with all its lines; all suggestions count, chosen or not. Means over "
        "stories; intervals are about new writers, and the prompts are a fixed condition. Texts "
        "with more words repeat more of them, so compare distinct-n only "
        "between sources with about as many words. With a file of ratings, “python -m analysis writing” adds how "
        "concrete nouns and verbs are."
    )
    return Table("Texts by source", columns, rows, note)
