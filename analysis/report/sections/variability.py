"""The section on how far texts for the same context differ: by people, and by models if the items carry their texts.

Source: Giulianelli et al. 2023, §3; the distances and fits are in `analysis.variability`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.diversity.association import Floats
from analysis.report.blocks import Figure, Figures, Note, Section
from analysis.report.estimates import number
from analysis.report.source import Source
from analysis.report.tables import Column, Table, keyed
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


def make_section(source: Source, *, topics: Sequence[str] = (), model: str = "model") -> Section:
    """Distances of the answers in words to each item. ``topics``: which answers (all questions with texts).

    The responses of an item, if any, are taken as texts by one decoder, called ``model``. What this machine cannot
    measure is left out, and the section says so.
    """
    section = Section(source.key("variability"), "Variability of texts")
    texts = productions(source, topics, model)
    if not any(len(context.human) > 1 for context in texts):
        section.add(Note("No context has two texts by people yet."))
        return section
    distances, missing = measured(texts)
    section.add(*(Note(why) for why in missing))
    section.data["missing"] = missing
    table = fit_table(distances, seed=source.seed)
    corpus = [{"decoder": decoder, "kind": kind, **means} for (decoder, kind), means in corpus_view(table).items()]
    section.data["corpus"] = corpus
    section.add(Figures(histograms(source, table)), people_table([row for row in corpus if row["decoder"] == PEOPLE]))
    if decoders := [row for row in corpus if row["decoder"] != PEOPLE]:
        section.add(fits_table(decoders))
    writers = [{"kind": kind, **means} for kind, means in within_and_between(distances).items() if means["within"].n]
    if writers:
        section.data["writers"] = keyed(writers, "kind")
        section.add(writers_table(writers))
    if worst := worst_table(table, model):
        section.add(worst)
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
    text_topics = list(topics) or [
        topic for topic, question in source.questions.items() if question.scale.level == "text"
    ]
    ratings = source.ratings
    texts = ratings[ratings["question"].isin(text_topics) & (ratings["text"] != "") & (ratings["item"] != "")]
    contexts = []
    for item, rows in texts.groupby("item", sort=False):
        responses = list(source.items["responses"][item])
        models = {model: responses} if responses else {}
        contexts.append(Productions(str(item), rows["text"].tolist(), rows["worker"].tolist(), models))
    position = {item: index for index, item in enumerate(source.items.index)}
    return sorted(contexts, key=lambda context: position[context.context])


def histograms(source: Source, table: pd.DataFrame) -> list[Figure]:
    """Over contexts: how far people's texts differ, and how badly each decoder fits."""
    shown = table[table["kind"] == SHOWN]
    people = shown.loc[shown["decoder"] == PEOPLE, "mu_human"].dropna()
    figures = [histogram(source, people, "Distance between people’s texts", "Mean lexical distance, words")]
    for decoder in dict.fromkeys(shown["decoder"]):
        values = shown.loc[shown["decoder"] == decoder, "w1_cross"].dropna()
        if decoder != PEOPLE and len(values):
            figures.append(histogram(source, values, f"Misfit of {decoder}", "W₁ of C from H, words"))
    return figures


def histogram(source: Source, values: pd.Series, title: str, x: str) -> Figure:
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


DISTANCE = Column("Distance", "text", shows=lambda row: KINDS[row["kind"]])


def people_table(people: list[dict[str, Any]]) -> Table:
    columns = [
        DISTANCE,
        Column("Contexts", shows=lambda row: row["mu_human"].n),
        Column("Mean", digits=3, shows="mu_human"),
    ]
    note = (
        "Distance of two texts for one context, from 0 (alike) to 1. Lexical: the share of words, or of sequences of 2 "
        "or 3 words, that only one of the two texts has. Syntactic: the same for parts of speech. Semantic: 1 − cosine "
        "of sentence embeddings (all-MiniLM-L6-v2). Means over contexts of the mean over pairs; intervals are "
        "about new contexts, and take the writers as they are."
    )
    return Table("How far people’s texts differ", columns, people, note)


def fits_table(decoders: list[dict[str, Any]]) -> Table:
    columns = [
        Column("Texts by", "name", shows="decoder"),
        DISTANCE,
        Column("μM − μH", digits=3, shows="model_minus_human"),
        Column("μC − μH", digits=3, shows="cross_minus_human"),
        Column("W₁(M, H)", digits=3, shows="w1_model"),
        Column("W₁(C, H)", digits=3, shows="w1_cross"),
    ]
    note = (
        "H: distances between two texts by people, M: by the model, C: of one by each. W₁ is the Wasserstein distance "
        f"of their distributions. Means over contexts, with intervals about new contexts. The {CONTROL} compares "
        "one random half of people’s texts with the other half, in contexts with more than five."
    )
    return Table("How texts fit people’s variability", columns, decoders, note)


def writers_table(writers: list[dict[str, Any]]) -> Table:
    """Within and between writers, where somebody wrote twice for one context."""
    columns = [
        DISTANCE,
        Column("Contexts", shows=lambda row: row["within"].n),
        Column("Within", digits=3, shows="within"),
        Column("Between", digits=3, shows="between"),
        Column("Difference", digits=3, shows="difference"),
    ]
    note = "Pairs by one writer and by two, for the same context. The difference uses contexts that have both."
    return Table("Within and between writers", columns, writers, note)


def worst_table(table: pd.DataFrame, model: str) -> Table | None:
    """The contexts in which the model, or else the control group, is furthest from people."""
    for decoder in (model, CONTROL):
        contexts = worst_fit(table, decoder=decoder, kind=SHOWN, most=MOST_WORST)
        if len(contexts):
            columns = [
                Column("Context", "name", shows="context"),
                Column("μH", digits=3, shows="mu_human"),
                Column("μM", digits=3, shows="mu_model"),
                Column("μC", digits=3, shows="mu_cross"),
                Column("W₁(M, H)", digits=3, shows="w1_model"),
                Column("W₁(C, H)", digits=3, shows="w1_cross"),
            ]
            note = "On single words, the largest W₁(C, H) first."
            return Table(f"Contexts where {decoder} fits worst", columns, contexts.to_dict("records"), note)
    return None
