"""The section on how far texts for the same context differ: by people, and by models if the items carry their texts.

Source: Giulianelli et al. 2023, §3; the distances and fits are in `analysis.variability`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from analysis import plots
from analysis.diversity.association import Floats
from analysis.estimate import Estimate
from analysis.report.blocks import Block, Column, Figure, Figures, Note, Section, Table, number
from analysis.report.source import Source
from analysis.similarity.embedding import NoEmbedder, load_embedder
from analysis.tagging import NoTagger, load_tagger
from analysis.variability import (
    CONTROL,
    KINDS,
    Productions,
    corpus_view,
    embedded,
    fit_table,
    matrices,
    within_and_between,
    worst_fit,
)
from analysis.variability.views import PEOPLE

MOST_WORST = 10
BINS = 20
#: The kind of distance in plots and in the table of the worst contexts.
SHOWN = "lexical-1"


def variability(source: Source, *, topics: Sequence[str] = (), model: str = "model") -> Section:
    """Distances of the answers in words to each item. ``topics``: which answers (all questions with texts).

    The responses of an item, if any, are taken as texts by one decoder, called ``model``. What this machine cannot
    measure is left out, and the section says so.
    """
    section = Section(source.key("variability"), "Variability of texts")
    texts = productions(source, topics, model)
    if not any(len(each.human) > 1 for each in texts):
        section.blocks.append(Note("No context has two texts by people yet."))
        return section
    found, missing = measured(texts)
    section.blocks += [Note(why) for why in missing]
    section.data["missing"] = missing
    table = fit_table(found, seed=source.seed)
    views = corpus_view(table)
    section.blocks.append(Figures(figures(source, table)))
    section.blocks.append(people_table(views))
    section.blocks += fits_table(views)
    section.data["corpus"] = [
        {"decoder": decoder, "kind": kind, **figures_} for (decoder, kind), figures_ in views.items()
    ]
    section.blocks += writers_table(within_and_between(found), section)
    section.blocks += worst(table, model)
    section.data["contexts"] = table
    return section


def measured(texts: Sequence[Productions]) -> tuple[list[tuple[Productions, dict[str, Floats]]], list[str]]:
    """All distances that this machine can measure, and sentences on those that it cannot."""
    tagger, vectors, missing = None, None, []
    try:
        tagger = load_tagger()
    except NoTagger as error:
        missing.append(f"Syntactic distances are left out: {error}.")
    try:
        vectors = embedded(texts, load_embedder())
    except NoEmbedder as error:
        missing.append(f"Semantic distances are left out: {error}.")
    return list(matrices(texts, tagger=tagger, vectors=vectors)), missing


def productions(source: Source, topics: Sequence[str], model: str) -> list[Productions]:
    """The texts of each item with their writers, in the order of the file."""
    wanted = list(topics) or [name for name, each in source.questions.items() if each.scale.level == "text"]
    ratings = source.ratings
    texts = ratings[ratings["question"].isin(wanted) & (ratings["text"] != "") & (ratings["item"] != "")]
    found = []
    for item, rows in texts.groupby("item", sort=False):
        responses = list(source.items["responses"][item])
        models = {model: responses} if responses else {}
        found.append(Productions(str(item), rows["text"].tolist(), rows["worker"].tolist(), models))
    order = {item: place for place, item in enumerate(source.items.index)}
    return sorted(found, key=lambda each: order[each.context])


def figures(source: Source, table: pd.DataFrame) -> list[Figure]:
    """Over contexts: how far people's texts differ, and how badly each decoder fits."""
    shown = table[table["kind"] == SHOWN]
    people = shown.loc[shown["decoder"] == PEOPLE, "mu_human"].dropna()
    found = [figure(source, people, "Distance between people’s texts", "Mean lexical distance, words")]
    for decoder in dict.fromkeys(shown["decoder"]):
        values = shown.loc[shown["decoder"] == decoder, "w1_cross"].dropna()
        if decoder != PEOPLE and len(values):
            found.append(figure(source, values, f"Misfit of {decoder}", "W₁ of C from H, words"))
    return found


def figure(source: Source, values: pd.Series, title: str, x: str) -> Figure:
    edges = np.linspace(0, 1, BINS + 1)
    counts = np.histogram(values, edges)[0]
    mean = float(values.mean())
    words = plots.Words(
        source.key("variability-plot"), title, f"{len(values):,} contexts, mean {number(mean)}.", x, "Contexts"
    )
    mark = plots.Mark(mean, f"mean {number(mean)}")
    svg = plots.histogram(words, edges.tolist(), counts.tolist(), mark=mark)
    rows = [(low, high, int(count)) for (low, high), count in zip(pairwise(edges.tolist()), counts, strict=True)]
    columns = [Column("From"), Column("To"), Column("Contexts")]
    return Figure(svg, f"{title}, over contexts.", Table(title, columns, rows))


def people_table(views: dict[tuple[str, str], dict[str, Estimate]]) -> Table:
    rows = [
        (KINDS[kind], found["mu_human"].n, found["mu_human"]) for (name, kind), found in views.items() if name == PEOPLE
    ]
    columns = [Column("Distance", "text"), Column("Contexts"), Column("Mean", digits=3)]
    note = (
        "Distance of two texts for one context, from 0 (alike) to 1. Lexical: the share of words, or of sequences of 2 "
        "or 3 words, that only one of the two texts has. Syntactic: the same for parts of speech. Semantic: 1 − cosine "
        "of sentence embeddings (all-MiniLM-L6-v2). Means over contexts of the mean over pairs; intervals are "
        "about new contexts, and take the writers as they are."
    )
    return Table("How far people’s texts differ", columns, rows, note)


def fits_table(views: dict[tuple[str, str], dict[str, Estimate]]) -> list[Block]:
    rows = [(decoder, KINDS[kind], *found.values()) for (decoder, kind), found in views.items() if decoder != PEOPLE]
    if not rows:
        return []
    columns = [Column("Texts by", "name"), Column("Distance", "text")]
    columns += [Column(title, digits=3) for title in ("μM − μH", "μC − μH", "W₁(M, H)", "W₁(C, H)")]
    note = (
        "H: distances between two texts by people, M: by the model, C: of one by each. W₁ is the Wasserstein distance "
        f"of their distributions. Means over contexts, with intervals about new contexts. The {CONTROL} compares "
        "one random half of people’s texts with the other half, in contexts with more than five."
    )
    return [Table("How texts fit people’s variability", columns, rows, note)]


def writers_table(found: dict[str, dict[str, Estimate]], section: Section) -> list[Block]:
    """Within and between writers; nothing if nobody wrote twice for one context."""
    known = {kind: each for kind, each in found.items() if each["within"].n}
    if not known:
        return []
    section.data["writers"] = known
    rows = [(KINDS[kind], each["within"].n, *each.values()) for kind, each in known.items()]
    columns = [
        Column("Distance", "text"),
        Column("Contexts"),
        *(Column(name, digits=3) for name in ("Within", "Between")),
    ]
    columns.append(Column("Difference", digits=3))
    note = "Pairs by one writer and by two, for the same context. The difference uses contexts that have both."
    return [Table("Within and between writers", columns, rows, note)]


def worst(table: pd.DataFrame, model: str) -> list[Block]:
    """The contexts in which the model, or else the control group, is furthest from people."""
    for decoder in (model, CONTROL):
        rows = worst_fit(table, decoder=decoder, kind=SHOWN, most=MOST_WORST)
        if len(rows):
            break
    else:
        return []
    body = [
        (row.context, row.mu_human, row.mu_model, row.mu_cross, row.w1_model, row.w1_cross) for row in rows.itertuples()
    ]
    columns = [Column("Context", "name"), *(Column(name, digits=3) for name in ("μH", "μM", "μC"))]
    columns += [Column("W₁(M, H)", digits=3), Column("W₁(C, H)", digits=3)]
    title = f"Contexts where {decoder} fits worst"
    return [Table(title, columns, body, "On single words, the largest W₁(C, H) first.")]
