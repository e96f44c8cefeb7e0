"""The scores of items, or of their parts, one by one: for types whose scores are made of several questions.

Source of the figures: `analysis.scores`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.description import Score
from analysis.estimate import Estimate
from analysis.report.blocks import Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from analysis.scores import FEWEST_WORKERS, item_scores

#: The page shows this many rows of a table; report.json holds all.
MOST_ROWS = 50


def make_section(source: Source, *, topics: Sequence[str] = (), title: str = "Scores of items") -> Section:
    """A table for each of the type's scores, or those on ``topics``: means, intervals and s.d. over workers."""
    section = Section(source.key("item-scores"), title)
    declared = {score.topic for score in source.description.scores}
    for score in source.scores:
        if score.topic not in (topics or declared):
            continue
        records = score_records(source, score)
        if records:
            section.data[score.topic] = records
            section.add(scores_table(score, records))
        else:
            section.add(Note(f"Nobody has answered “{score.topic}”."))
    return section


def score_records(source: Source, score: Score) -> list[dict[str, Any]]:
    """One per item, or per part of an item, in the order of the file."""
    scores = item_scores(source.ratings_on(score.topic), score).dropna(subset="score")
    position = {item: number for number, item in enumerate(source.items.index)}
    method = "t interval for new workers"
    records = []
    for key, row in scores.iterrows():
        item, part = key if isinstance(key, tuple) else (key, "")
        if item in position:
            figure = Estimate(row["score"], row["low"], row["high"], int(row["n"]), "answers", method=method)
            workers = int(row["workers"])
            records.append({"item": item, "part": part, "score": figure, "sd": row["sd"], "workers": workers})
    return sorted(records, key=lambda record: position[record["item"]])


def scores_table(score: Score, records: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column("Item", "name", shows="item"),
        *([Column("Part", "code", shows="part")] if score.over == "part" else []),
        Column("Score", shows="score"),
        Column("s.d. over workers", shows="sd"),
        Column("Answers", shows=lambda record: record["score"].n),
        Column("Workers", shows="workers"),
    ]
    note = (
        f"Intervals are about new workers who rate the same item. None with fewer than {FEWEST_WORKERS} workers, or if "
    )
    note += "all agree."
    if len(records) > MOST_ROWS:
        note += f" The first {MOST_ROWS} of {len(records):,} rows; report.json holds all."
    return Table(score.title, columns, records[:MOST_ROWS], note, fold=len(records) > 12)
