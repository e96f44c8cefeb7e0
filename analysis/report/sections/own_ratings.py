"""The section on writers' ratings of their own texts against those by the workers of this study.

Source: Clark 2021, §2.6.4–5; the correlation is in `analysis.writing.own_ratings`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis import plots
from analysis.description import Score
from analysis.report.blocks import Figure, Note, Section
from analysis.report.estimates import attempt
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.source import NUMERIC, Source
from analysis.report.tables import Column, Table, keyed
from analysis.scores import item_scores
from analysis.writing.own_ratings import own_against_others


def make_section(source: Source) -> Section | None:
    """For each question that both rated: Pearson's r. None if no writer rated a text that is an item here."""
    by_writers = source.data.own_ratings
    if by_writers.empty:
        return None
    section = Section(source.key("own_ratings"), "Writers and third parties")
    topics = [
        topic
        for topic, question in source.questions.items()
        if topic in set(by_writers["question"]) and question.scale.level in NUMERIC
    ]
    pairs = {topic: paired(source, topic) for topic in topics}
    comparisons = [compared(source, topic, texts) for topic, texts in pairs.items() if not texts.empty]
    if not comparisons:
        section.add(Note("No text has both a rating by its writer and one by a worker of this study yet."))
        return section
    section.data = keyed(comparisons, "topic")
    section.add(correlations_figure(source, comparisons), comparisons_table(comparisons))
    return section


def paired(source: Source, topic: str) -> pd.DataFrame:
    """One row per text with ``own``, ``others`` (the mean of this study's ratings) and ``writer``."""
    by_writers = source.data.own_ratings
    by_writers = by_writers[by_writers["question"] == topic].drop_duplicates("item").set_index("item")
    others = item_scores(source.ratings_on(topic), Score(topic, topic))["score"]
    pairs = pd.DataFrame({"own": by_writers["value"], "others": others, "writer": by_writers["writer"]})
    return pairs.loc[pairs.index.isin(source.items.index)].dropna()


def compared(source: Source, topic: str, pairs: pd.DataFrame) -> dict[str, Any]:
    """``r`` is about new writers and new workers."""
    ratings = source.ratings_on(topic)
    ratings = ratings[ratings["item"].isin(pairs.index)]
    texts = pairs.index.get_indexer(pd.Index(ratings["item"]))
    r = attempt(lambda: own_against_others(pairs["own"], pairs["writer"], texts, ratings["value"], ratings["worker"]))
    return {
        "topic": topic,
        "r": r,
        "texts": len(pairs),
        "own_mean": float(pairs["own"].mean()),
        "others_mean": float(pairs["others"].mean()),
        "writers": int(pairs["writer"].nunique()),
    }


def correlations_figure(source: Source, comparisons: list[dict[str, Any]]) -> Figure:
    title = "Writers and third parties: Pearson’s r"
    correlations = [(comparison["topic"], comparison["r"]) for comparison in comparisons]
    words = plots.Words(source.key("own-ratings-plot"), title, values_in_words(correlations), "Pearson’s r")
    svg = plots.intervals(words, interval_bars(correlations, longest=24), limits=(-1.0, 1.0))
    columns = [Column("Question", "text"), Column("r"), Column("Low"), Column("High")]
    return Figure(svg, f"{title}, with 95% intervals.", Table(title, columns, interval_bars(correlations)))


def comparisons_table(comparisons: list[dict[str, Any]]) -> Table:
    columns = [
        Column("Question", "text", shows="topic"),
        Column("Texts", shows="texts"),
        Column("Writers", shows="writers"),
        Column("Writers’ mean", shows="own_mean"),
        Column("Others’ mean", shows="others_mean"),
        Column("r", shows="r"),
        Column("How", "how", shows="r"),
    ]
    note = (
        "Each text has its writer’s own rating and the mean rating by workers of this study. Both are as given: the "
        "scales may differ. Intervals are about new writers and new workers."
    )
    return Table("Own ratings and those by others", columns, comparisons, note)
