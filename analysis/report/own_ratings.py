"""The section on writers' ratings of their own texts against those by the workers of this study.

Source: Clark 2021, §2.6.4–5; the correlation is in `analysis.writing.own`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis import plots
from analysis.description import Score
from analysis.estimate import Estimate
from analysis.report.blocks import Column, Figure, Note, Section, Table, attempt, how, number
from analysis.report.source import NUMERIC, Source
from analysis.scores import item_scores
from analysis.writing.own import own_against_others


def own_ratings(source: Source) -> Section | None:
    """For each question that both rated: Pearson's r. None if no writer rated a text that is an item here."""
    if source.data.own_ratings.empty:
        return None
    section = Section(source.key("own_ratings"), "Writers and third parties")
    found = {topic: pairs for topic in topics(source) if not (pairs := paired(source, topic)).empty}
    if not found:
        section.blocks.append(Note("No text has both a rating by its writer and one by a worker of this study yet."))
        return section
    section.data = {topic: compare(source, topic, pairs) for topic, pairs in found.items()}
    section.blocks += [figure(source, section.data), table(section.data)]
    return section


def topics(source: Source) -> list[str]:
    """The questions on a scale that writers answered as well, in the order of this study."""
    own = set(source.data.own_ratings["question"])
    return [name for name, each in source.questions.items() if name in own and each.scale.level in NUMERIC]


def paired(source: Source, topic: str) -> pd.DataFrame:
    """One row per text with ``own``, ``others`` (the mean of this study's ratings) and ``writer``."""
    own = source.data.own_ratings
    mine = own[own["question"] == topic].drop_duplicates("item").set_index("item")
    others = item_scores(source.ratings_on(topic), Score(topic, topic))["score"]
    frame = pd.DataFrame({"own": mine["value"], "others": others, "writer": mine["writer"]})
    return frame.loc[frame.index.isin(source.items.index)].dropna()


def compare(source: Source, topic: str, pairs: pd.DataFrame) -> dict[str, Any]:
    """``r`` is about new writers and new workers."""
    ratings = source.ratings_on(topic)
    ratings = ratings[ratings["item"].isin(pairs.index)]
    texts = pairs.index.get_indexer(pd.Index(ratings["item"]))
    r = attempt(lambda: own_against_others(pairs["own"], pairs["writer"], texts, ratings["value"], ratings["worker"]))
    return {
        "r": r,
        "texts": len(pairs),
        "own_mean": float(pairs["own"].mean()),
        "others_mean": float(pairs["others"].mean()),
        "writers": int(pairs["writer"].nunique()),
    }


def figure(source: Source, found: dict[str, dict[str, Any]]) -> Figure:
    title = "Writers and third parties: Pearson’s r"
    rows: list[tuple[str, Estimate]] = [(topic, each["r"]) for topic, each in found.items()]
    described = "; ".join(f"{topic}: {number(each.value)}" for topic, each in rows) + "."
    words = plots.Words(source.key("own-ratings-plot"), title, described, "Pearson’s r")
    drawn = [(topic[:24], each.value, each.low, each.high) for topic, each in rows]
    svg = plots.intervals(words, drawn, limits=(-1.0, 1.0))
    body = [(topic, each.value, each.low, each.high) for topic, each in rows]
    columns = [Column("Question", "text"), *(Column(name) for name in ("r", "Low", "High"))]
    return Figure(svg, f"{title}, with 95% intervals.", Table(title, columns, body))


def table(found: dict[str, dict[str, Any]]) -> Table:
    rows = []
    for topic, each in found.items():
        r: Estimate = each["r"]
        rows.append((topic, each["texts"], each["writers"], each["own_mean"], each["others_mean"], r, how(r)))
    columns = [Column("Question", "text"), Column("Texts"), Column("Writers"), Column("Writers’ mean")]
    columns += [Column("Others’ mean"), Column("r"), Column("How", "how")]
    note = (
        "Each text has its writer’s own rating and the mean rating by workers of this study. Both are as given: the "
        "scales may differ. Intervals are about new writers and new workers."
    )
    return Table("Own ratings and those by others", columns, rows, note)
