"""The section that compares suggestions with the lines that writers wrote alone.

Source: Clark 2021, ch. 4.5; the measures are in `analysis.writing`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis import plots
from analysis.estimate import Estimate
from analysis.report.blocks import Figure, Note, Section
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.source import Source
from analysis.report.stories import lines_of
from analysis.report.tables import Column, Table, keyed
from analysis.tables import InputError
from analysis.tagging import NoTagger, Tagger, load_tagger
from analysis.writing.story_texts import read_concreteness
from analysis.writing.summary import CONCRETE, TEXTS, mean_texts, story_table
from common.words import counted

#: The environment variable that names the file with ratings of words: once, for all reports on a machine.
RATINGS = "HITSERVER_CONCRETENESS"
NO_RATINGS = (
    "How concrete nouns and verbs are is left out: it needs a file of ratings of words, such as that of Brysbaert et "
    f"al. 2014. Name it in the setting {RATINGS} of the server, or in the environment of “python -m analysis report”."
)


@dataclass(frozen=True, slots=True)
class RatedWords:
    """Ratings of concreteness by word and the tagger, or a sentence that says why there are none."""

    ratings: dict[str, float] = field(default_factory=dict)
    tagger: Tagger | None = None
    lacks: str = ""

    @property
    def origin(self) -> str:
        return f"Concreteness is by the ratings of {counted(len(self.ratings), 'word')} in {Path(rated_file()).name}."


def rated_file() -> str:
    return os.environ.get(RATINGS, "").strip()


def rated_words() -> RatedWords:
    """From the file that RATINGS names. Messages leave out its folder, which readers need not know."""
    if not rated_file():
        return RatedWords(lacks=NO_RATINGS)
    path = Path(rated_file()).expanduser()
    try:
        return RatedWords(read_concreteness(path), load_tagger())
    except InputError as error:
        what = ", ".join(filter(None, (path.name, error.where))) + f": {error.what}"
        return RatedWords(
            lacks=f"How concrete nouns and verbs are is left out: {RATINGS} names no usable file. {what}."
        )
    except NoTagger as error:
        return RatedWords(lacks=f"How concrete nouns and verbs are is left out: {error}.")


def make_section(source: Source, *, topic: str = "turn", every: int = 2) -> Section:
    """Suggestions of each suggester and lines written alone. Parameters as in `analysis.report.stories.lines_of`."""
    section = Section(source.key("story_texts"), "Suggestions and lines written alone")
    words = rated_words()
    ratings = words.ratings if words.tagger else None
    texts = story_table(lines_of(source, topic=topic, every=every), ratings=ratings, tagger=words.tagger)
    if texts.empty:
        section.add(Note("No story is finished yet."))
        return section
    sources: list[dict[str, Any]] = [
        {"source": name, "stories": int((texts["source"] == name).sum()), **means}
        for name, means in mean_texts(texts).items()
    ]
    section.data["sources"] = keyed(sources, "source")
    lengths = [(record["source"], record["sentence_length"]) for record in sources]
    section.add(lengths_figure(source, lengths), sources_table(sources, words))
    if words.lacks:
        section.add(Note(words.lacks, "note" if words.lacks == NO_RATINGS else "warning"))
    return section


def lengths_figure(source: Source, lengths: list[tuple[str, Estimate]]) -> Figure:
    title = "Words per sentence"
    words = plots.Words(source.key("story-texts-plot"), title, values_in_words(lengths), title)
    bars = interval_bars(lengths, longest=24)
    svg = plots.intervals(words, bars, limits=plots.padded([end for _, *ends in bars for end in ends]))
    table = Table(title, [Column("Source", "name"), Column(title)], lengths)
    return Figure(svg, f"{title}: means with 95% intervals over writers.", table)


def sources_table(sources: list[dict[str, Any]], words: RatedWords) -> Table:
    measures = TEXTS | (CONCRETE if words.tagger else {})
    columns = [
        Column("Source", "name", shows="source"),
        Column("Stories", shows="stories"),
        *(
            Column(title, digits=2 if key in ("sentence_length", "nouns", "verbs") else 3, shows=key)
            for key, title in measures.items()
        ),
    ]
    note = (
        "A story counts once for each source, with all its lines; all suggestions count, chosen or not. Means over "
        "stories; intervals are about new writers, and the prompts are a fixed condition. Texts "
        "with more words repeat more of them, so compare distinct-n only "
        "between sources with about as many words."
    )
    return Table("Texts by source", columns, sources, f"{note} {words.origin}" if words.tagger else note)
