"""The section on how far texts for the same context differ: by people, and by models if the items carry their texts.

Source: Giulianelli et al. 2023, §3; the distances and fits are in `analysis.variability`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.diversity.association import Floats
from analysis.report.blocks import Figures, Fold, Heading, Note, Part, Section
from analysis.report.estimates import with_interval
from analysis.report.sections.variability_tables import (
    FAMILIES,
    SHOWN,
    differences_table,
    fit_figures,
    fits_table,
    misfit_histograms,
    people_histograms,
    people_table,
    worst_table,
    writers_table,
)
from analysis.report.source import Source
from analysis.report.tables import keyed
from analysis.similarity.embedding import NoEmbedder, load_embedder
from analysis.tagging import NoTagger, load_tagger
from analysis.variability import (
    CONTROL,
    KINDS,
    DecoderDifference,
    Productions,
    corpus_view,
    decoder_differences,
    embedded,
    fit_table,
    matrices,
    within_and_between,
)
from analysis.variability.views import PEOPLE
from common.words import counted

#: Columns of texts by decoders begin with it.
TEXT_OF = "text:"
MOST_NAMED = 4
SIGNIFICANT = 0.05


def make_section(source: Source, *, topics: Sequence[str] = (), model: str = "model") -> Section:
    """Distances of the answers in words to each item. ``topics``: which answers (all questions with texts).

    The responses of an item, if any, are taken as texts by one decoder, called ``model``. Columns of the items' file
    called ``text:DECODER``, or ``text:DECODER:1`` and so on, have texts by that decoder. What this machine cannot
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
    people = [row for row in corpus if row["decoder"] == PEOPLE]
    section.answers.append(("people’s texts", people_in_words(people)))
    section.add(Figures(people_histograms(source, table)), people_table(people))
    if decoders := [row for row in corpus if row["decoder"] != PEOPLE]:
        add_decoders(source, section, table, decoders)
    writers = [{"kind": kind, **means} for kind, means in within_and_between(distances).items() if means["within"].n]
    if writers:
        section.data["writers"] = keyed(writers, "kind")
        section.add(writers_table(writers))
    if worst := worst_table(source, table, texts):
        section.add(Fold("The contexts that fit worst, with their texts", worst))
    section.data["contexts"] = table
    return section


def people_in_words(people: Sequence[dict[str, Any]]) -> str:
    """How far two texts by people for one context differ, by the kinds of distance that stand for their family."""
    shown = [row for row in people if row["kind"] in FAMILIES and row["mu_human"].n]
    means = "; ".join(f"{KINDS[row['kind']].lower()}: {with_interval(row['mu_human'])}" for row in shown)
    return f"Mean distance of two texts for one context, from 0 to 1: {means}."


def add_decoders(source: Source, section: Section, table: pd.DataFrame, decoders: Sequence[dict[str, Any]]) -> None:
    """How far every decoder, and the control group, is from people's variability: means, differences, distributions."""
    names = list(dict.fromkeys(row["decoder"] for row in decoders))
    differences = {kind: decoder_differences(table, kind) for kind in dict.fromkeys(table["kind"])}
    section.data["differences"] = differences
    shown = differences[SHOWN]
    if set(names) - {CONTROL}:
        section.answers.append(("fit of models", decoders_in_words(decoders, shown)))
    section.add(Heading("How models’ texts fit people’s variability"), Figures(fit_figures(source, decoders)))
    section.add(fits_table(list(decoders)))
    if shown:
        section.add(differences_table(SHOWN, shown))
    others = [differences_table(kind, pairs) for kind, pairs in differences.items() if kind != SHOWN and pairs]
    more = [figure for kind in FAMILIES if kind != SHOWN for figure in fit_figures(source, decoders, kind)]
    parts: list[Part] = [Figures(figures) for figures in (more, misfit_histograms(source, table, names)) if figures]
    section.add(Fold("Other distances, and distributions over contexts", [*parts, *others]))


def decoders_in_words(decoders: Sequence[dict[str, Any]], differences: Sequence[DecoderDifference]) -> str:
    """Which decoder fits people best, and whether people fit themselves better."""
    fits = sorted(
        ((row["decoder"], row["w1_cross"]) for row in decoders if row["kind"] == SHOWN and row["w1_cross"].n),
        key=lambda fit: fit[1].value,
    )
    if not fits:
        return "No context has texts by a model beside two by people."
    values = ", ".join(f"{name} {with_interval(misfit)}" for name, misfit in fits[:MOST_NAMED])
    of_control = [pair for pair in differences if CONTROL in (pair.first, pair.second)]
    worse = [pair.first for pair in of_control if pair.difference.value > 0 and pair.p_corrected < SIGNIFICANT]
    sentence = f"W₁ of C from H, words, the best fit first: {values}."
    if not of_control:
        return f"{sentence} There is no human control group: it needs more than five texts by people for a context."
    return (
        f"{sentence} {len(worse)} of {counted(len(of_control), 'decoder')} fit worse than people fit themselves (Holm)."
    )


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
        models = ({model: responses} if responses else {}) | texts_by_decoder(source.items["cells"][item])
        contexts.append(Productions(str(item), rows["text"].tolist(), rows["worker"].tolist(), models))
    position = {item: index for index, item in enumerate(source.items.index)}
    return sorted(contexts, key=lambda context: position[context.context])


def texts_by_decoder(cells: Mapping[str, str]) -> dict[str, list[str]]:
    """The texts in an item's columns ``text:DECODER`` and ``text:DECODER:NUMBER``, in the order of the file."""
    texts: dict[str, list[str]] = {}
    for column, text in cells.items():
        if not column.startswith(TEXT_OF) or not str(text).strip():
            continue
        decoder, _, number_of_text = column.removeprefix(TEXT_OF).rpartition(":")
        name = decoder if decoder and number_of_text.isdecimal() else column.removeprefix(TEXT_OF)
        texts.setdefault(name.strip(), []).append(str(text))
    return texts
