"""Figures and tables of the section on variability: people's, decoders' fit, and the contexts that fit worst.

Source: Giulianelli et al. 2023, §4–6: the distribution over contexts of how far people's texts differ (Figure 2), of
how far decoders are from that (Figures 3 to 5), and single contexts (Table 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.report.blocks import Figure
from analysis.report.estimates import number
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table
from analysis.variability import CONTROL, KINDS, DecoderDifference, Productions, worst_fit
from analysis.variability.views import PEOPLE
from common.words import counted

MOST_WORST = 10
BINS = 20
#: The kind of distance in plots and in the table of the worst contexts.
SHOWN = "lexical-1"
#: The kinds of distance that stand for their family where one is enough.
FAMILIES = (SHOWN, "syntactic-2", "semantic")


def people_histograms(source: Source, table: pd.DataFrame) -> list[Figure]:
    """Over contexts, how far people's texts differ, on one distance of every family."""
    figures = []
    for kind in [kind for kind in FAMILIES if (table["kind"] == kind).any()]:
        values = table.loc[(table["kind"] == kind) & (table["decoder"] == PEOPLE), "mu_human"].dropna()
        title = f"Distance between people’s texts: {KINDS[kind].lower()}"
        figures.append(histogram(source, values, title, "Mean distance of a context’s texts"))
    return figures


def misfit_histograms(source: Source, table: pd.DataFrame, decoders: Sequence[str]) -> list[Figure]:
    """Over contexts, how badly each decoder fits, on one distance of every family."""
    figures = []
    for decoder, kind in product(decoders, FAMILIES):
        values = table.loc[(table["kind"] == kind) & (table["decoder"] == decoder), "w1_cross"].dropna()
        if len(values):
            name = KINDS[kind].lower()
            figures.append(histogram(source, values, f"Misfit of {decoder}: {name}", f"W₁ of C from H, {name}"))
    return figures


def fit_figures(source: Source, decoders: Sequence[dict[str, Any]], kind: str = SHOWN) -> list[Figure]:
    """Means over contexts by decoder, on one kind of distance: how much more its texts vary than people's, how much
    further they are from people's than people's from each other, and how badly it fits."""
    rows, name = [row for row in decoders if row["kind"] == kind], KINDS[kind].lower()
    titles = {
        "model_minus_human": (f"Variability of models less that of people: {name}", "μM − μH"),
        "cross_minus_human": (f"Distance of models from people less that of people: {name}", "μC − μH"),
        "w1_cross": (f"Misfit by decoder: {name}", "W₁ of C from H"),
    }
    figures = []
    for field, (title, x) in titles.items():
        estimates = [(row["decoder"], row[field]) for row in rows if row[field].n]
        if not estimates:
            continue
        words = plots.Words(source.key("variability-plot"), title, values_in_words(estimates), x)
        bars = interval_bars(estimates, longest=24)
        ends = [end for _, *values in bars for end in values if np.isfinite(end)]
        svg = plots.intervals(words, bars, limits=plots.padded([0.0, *ends]))
        caption = f"{title}: means over contexts, with 95% intervals about new contexts."
        figures.append(Figure(svg, caption, estimates_table(title, estimates)))
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
        "one random half of people’s texts with the other half, in contexts with more than five. W₁ is larger where "
        "there are fewer texts, and halves are small, so a decoder that fits worse than the control fits badly indeed."
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


def differences_table(kind: str, differences: Sequence[DecoderDifference]) -> Table:
    columns = [
        Column("Texts by", "text", shows=lambda pair: f"{pair.first} − {pair.second}"),
        Column("Contexts", shows=lambda pair: pair.difference.n),
        Column("Difference of W₁(C, H)", digits=3, shows="difference"),
        Column("p", "p", shows="p"),
        Column("p, Holm", "p", shows="p_corrected"),
    ]
    note = (
        "Above 0: the first fits people’s variability worse. Over the contexts that have both, and about new contexts. "
        f"Holm’s correction is over {counted(len(differences), 'pair')}."
    )
    return Table(f"Differences in fit: {KINDS[kind]}", columns, differences, note)


def worst_table(source: Source, table: pd.DataFrame, texts: Sequence[Productions]) -> list[Table]:
    """For every decoder, or else the control group, the contexts in which it is furthest from people, with texts."""
    production_of = {context.context: context for context in texts}
    decoders = [name for name in dict.fromkeys(table["decoder"]) if name not in (PEOPLE, CONTROL)] or [CONTROL]

    def text_of(decoder: str) -> Callable[[dict[str, Any]], str]:
        return lambda row: next(iter(production_of[row["context"]].models.get(decoder, [])), "")

    tables = []
    for decoder in decoders:
        contexts = worst_fit(table, decoder=decoder, kind=SHOWN, most=MOST_WORST)
        columns = [
            Column("Context", "name", shows="context"),
            Column("Its text", "prose", shows=lambda row: source.items["context"].get(row["context"], "")),
            Column("μH", digits=3, shows="mu_human"),
            Column("μM", digits=3, shows="mu_model"),
            Column("μC", digits=3, shows="mu_cross"),
            Column("W₁(M, H)", digits=3, shows="w1_model"),
            Column("W₁(C, H)", digits=3, shows="w1_cross"),
            Column("A text by people", "prose", shows=lambda row: next(iter(production_of[row["context"]].human), "")),
            *([Column(f"One by {decoder}", "prose", shows=text_of(decoder))] if decoder != CONTROL else []),
        ]
        note = "On single words, the largest W₁(C, H) first."
        if len(contexts):
            tables.append(Table(f"Contexts where {decoder} fits worst", columns, contexts.to_dict("records"), note))
    return tables
