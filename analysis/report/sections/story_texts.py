"""The section that compares suggestions with the lines that writers wrote alone.

Source: Clark 2021, ch. 4.5; the measures are in `analysis.writing`.
"""

from __future__ import annotations

from typing import Any

from analysis import plots
from analysis.estimate import Estimate
from analysis.report.blocks import Figure, Note, Section
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.report.tables import Column, Table, keyed
from analysis.writing.summary import TEXTS, mean_texts, story_table


def make_section(source: Source, *, topic: str = "turn", every: int = 2) -> Section:
    """Suggestions of each suggester and lines written alone. Parameters as in `analysis.report.stories.lines_of`."""
    section = Section(source.key("story_texts"), "Suggestions and lines written alone")
    texts = story_table(lines_of(source, topic=topic, every=every))
    if texts.empty:
        section.add(Note("No story is finished yet."))
        return section
    sources: list[dict[str, Any]] = [
        {"source": name, "stories": int((texts["source"] == name).sum()), **means}
        for name, means in mean_texts(texts).items()
    ]
    section.data["sources"] = keyed(sources, "source")
    lengths = [(record["source"], record["sentence_length"]) for record in sources]
    section.add(lengths_figure(source, lengths), sources_table(sources))
    return section


def lengths_figure(source: Source, lengths: list[tuple[str, Estimate]]) -> Figure:
    title = "Words per sentence"
    words = plots.Words(source.key("story-texts-plot"), title, values_in_words(lengths), title)
    bars = interval_bars(lengths, longest=24)
    svg = plots.intervals(words, bars, limits=plots.padded([end for _, *ends in bars for end in ends]))
    table = Table(title, [Column("Source", "name"), Column(title)], lengths)
    return Figure(svg, f"{title}: means with 95% intervals over writers.", table)


def sources_table(sources: list[dict[str, Any]]) -> Table:
    columns = [
        Column("Source", "name", shows="source"),
        Column("Stories", shows="stories"),
        *(Column(title, digits=2 if key == "sentence_length" else 3, shows=key) for key, title in TEXTS.items()),
    ]
    note = (
        "A story counts once for each source, with all its lines; all suggestions count, chosen or not. Means over "
        "stories; intervals are about new writers, and the prompts are a fixed condition. Texts "
        "with more words repeat more of them, so compare distinct-n only "
        "between sources with about as many words. With a file of ratings, “python -m analysis writing” adds how "
        "concrete nouns and verbs are."
    )
    return Table("Texts by source", columns, sources, note)
