"""The section of studies that score sets of texts: do scores and metrics follow what varies between the sets?

Source: Tevet & Berant 2021: decTest, conTest and OCA, human scores, metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from analysis import plots
from analysis.diversity.metrics import METRICS
from analysis.estimate import Estimate
from analysis.report.blocks import (
    Block,
    Column,
    Figure,
    Figures,
    Heading,
    Highlight,
    Note,
    Section,
    Table,
    estimates_table,
    interval,
    number,
)
from analysis.report.set_figures import MOST_ROWS, by_parameter, metric_figure, score_histogram, shown, title_of
from analysis.report.sets import Sets, Tested, groups_of, numbered, sets_of, tested, with_people
from analysis.report.source import Source
from analysis.report.stability import stability_blocks
from common.words import counted

ENDS = 5
SECOND = {"contest": "OCA", "dectest": "Pearson’s r", "ranking": "Accuracy of the sign"}


#: What intervals are about, by test.
ABOUT = {
    "contest": "The interval of ρ of the score is about new items and new workers; those of OCA and of metrics are the "
    "published bootstrap over items, which takes the workers as they are.",
    "dectest": "The intervals of the score are about new items and new workers; those of metrics are the published "
    "bootstrap over items.",
    "ranking": "The interval of ρ of the score is about new items and new workers; those of accuracy and of metrics "
    "are over items, and take the workers as they are.",
}


def diversity(source: Source, *, metrics: Sequence[str] = ()) -> Section:
    """One part per score that the type declares.

    ``metrics``: columns of the items' file to compare with the scores; without it, all columns named ``metric_…``.
    """
    section = Section(source.key("diversity"), "Diversity")
    scores = source.description.scores
    for score in scores:
        sets = sets_of(source, score, metrics)
        if len(scores) > 1:
            section.blocks.append(Heading(score.title))
        if sets.rated.empty:
            section.blocks.append(Note(f"No item has a rating of “{score.topic}”: there are no scores."))
            section.data[score.topic] = {"rated": 0}
            continue
        section.data[score.topic] = one_score(source, sets, source.key("d"), section)
    if not scores:
        section.blocks.append(Note("This type of task gives no scores of items."))
    return section


def one_score(source: Source, sets: Sets, key: str, section: Section) -> dict[str, Any]:
    data: dict[str, Any] = {
        "title": sets.score.title,
        "rated": len(sets.rated),
        "with_parameter": len(sets.usable),
        "parameter": sets.name,
        "test": sets.kind,
        "sets": sets.table.drop(columns="context").reset_index(),
    }
    section.blocks.append(Note(summary(sets)))
    if sets.kind == "none":
        section.blocks.append(score_histogram(sets, key))
    else:
        measures = [tested(sets, source, measure) for measure in ("score", *sets.metrics)]
        data["tests"] = {title_of(sets, each.measure): each for each in measures}
        section.highlights += headlines(sets, measures[0])
        section.blocks += test_blocks(sets, measures, key)
    section.blocks += metric_blocks(source, sets, key, data)
    if sets.kind != "none":
        section.blocks += stability_blocks(source, sets, key, data)
    section.blocks += set_tables(source, sets)
    return data


def summary(sets: Sets) -> str:
    """The meaning of a score, the number of sets, and their parameter."""
    sign = "minus the mean" if sets.score.sign < 0 else "the mean"
    told = f"The {sets.score.title} score of an item is {sign} of its ratings; {counted(len(sets.rated), 'item')} "
    told += "has one." if len(sets.rated) == 1 else "have one."
    missing = len(sets.rated) - len(sets.usable)
    if not sets.name:
        return f"{told} The items carry no parameter (label), so there is nothing to test the scores against."
    different = sets.usable["parameter"].nunique()
    if sets.kind == "none":
        return f"{told} All of them have the same {sets.name}, so there is nothing to test the scores against."
    should = "a set should be" if sets.middle is None else "the first set should be than the second"
    values = f"{counted(different, 'value')} of {sets.name}"
    told += f" They were made with {values}; the larger it is, the more diverse {should}."
    verbs = "has" if missing == 1 else "have"
    return told + (
        f" {counted(missing, 'scored item')} {verbs} no {sets.name} and cannot be tested." if missing else ""
    )


def headlines(sets: Sets, human: Tested) -> list[Highlight]:
    rows = [(f"ρ with {sets.name}", human.spearman), (SECOND[sets.kind], human.second)]
    return [
        Highlight(name, number(each.value), each.note if math.isnan(each.low) else interval(each, 2))
        for name, each in rows
    ]


def test_blocks(sets: Sets, measures: list[Tested], key: str) -> list[Block]:
    """Human score (the first of the measures) and metrics against the parameter."""
    plots_of = [by_parameter(sets, each, key) for each in measures if sets.usable[each.measure].notna().any()]
    second = SECOND[sets.kind]
    rows = [(f"{title_of(sets, each.measure)}: Spearman’s ρ", each.spearman) for each in measures]
    rows += [(f"{title_of(sets, each.measure)}: {second}", each.second) for each in measures]
    note = {
        "contest": "OCA is the best accuracy that a single threshold on the score can reach; chance gives half for two "
        "classes of the same size. "
        + " ".join(
            threshold_text(title_of(sets, each.measure), each) for each in measures if each.threshold is not None
        ),
        "dectest": f"r is taken with log10 of {sets.name}." if sets.log10 else "",
        "ranking": f"The difference of a pair is its mean rating less {sets.middle or 0:g}, the middle of the scale. "
        "ρ takes every pair in both orders, because which set is the first is arbitrary.",
    }[sets.kind]
    shared = "Items that share a context belong together." if groups_of(sets.usable) is not None else ""
    shared = f"{ABOUT[sets.kind]} {shared}".strip()
    title = f"Scores against {sets.name}"
    table = estimates_table(title, rows, note=" ".join(part for part in (note, shared) if part))
    return [Figures([plots_of[0], test_figure(sets, measures, key), *plots_of[1:]]), table]


def test_figure(sets: Sets, measures: list[Tested], key: str) -> Figure:
    """ρ of people and metrics with the parameter, on one axis."""
    rows = [(title_of(sets, each.measure), each.spearman) for each in measures]
    words = plots.Words(
        f"{key}-tests",
        f"Spearman’s ρ with {sets.name}",
        "; ".join(f"{name}: {number(each.value)}" for name, each in rows) + ".",
        f"ρ with {sets.name}",
    )
    drawn = [(name, each.value, each.low, each.high) for name, each in rows]
    low = min((value for row in drawn for value in row[1:] if math.isfinite(value)), default=0.0)
    svg = plots.intervals(words, drawn, limits=(min(0.0, max(-1.0, math.floor(low * 10) / 10)), 1.0))
    return Figure(svg, f"{words.title}, with 95% intervals.", estimates_table(words.title, rows))


def threshold_text(name: str, found: Tested) -> str:
    cut = found.threshold
    if cut is None:
        return ""
    if math.isinf(cut.value):
        return f"{name}: no threshold does better than calling all sets the same."
    side = "at or above" if cut.direction == "above" else "below"
    return f"{name}: high when {side} {number(cut.value, 3)}."


def metric_blocks(source: Source, sets: Sets, key: str, data: dict[str, Any]) -> list[Block]:
    """Automatic metrics with the human score."""
    notes: list[Block] = []
    if sets.not_metrics:
        listed = ", ".join(sets.not_metrics)
        notes.append(Note(f"Not shown as metrics, because they hold scores by people: {listed}."))
    if not sets.metrics:
        none = Note("There is no automatic metric of a single set to compare with this score.")
        return [*notes, none] if sets.middle is None else notes
    found = [with_people(sets, source, metric) for metric in sets.metrics]
    data["metrics_with_human"] = {each.measure: each for each in found}
    rows = [(f"{each.measure}: {name}", estimate_of(each)) for name, estimate_of in CORRELATIONS for each in found]
    own = [metric for metric in sets.metrics if metric in METRICS]
    came = [metric for metric in sets.metrics if metric not in METRICS]
    told = [f"{', '.join(own)}: computed from the texts that were judged; larger means more diverse."] if own else []
    told += [f"{', '.join(came)}: from the items’ file."] if came else []
    return [
        Heading("Automatic metrics", " ".join(told)),
        *notes,
        Figures([metric_figure(sets, each, key) for each in found]),
        estimates_table(
            f"Metrics against the {sets.score.title} score", rows, note="Intervals are about new items and new workers."
        ),
    ]


CORRELATIONS: tuple[tuple[str, Callable[[Tested], Estimate]], ...] = (
    ("Spearman’s ρ", lambda found: found.spearman),
    ("Pearson’s r", lambda found: found.second),
)


def set_tables(source: Source, sets: Sets) -> list[Block]:
    """The items with the highest and lowest scores, with their texts, and all scores."""
    ordered = sets.rated.sort_values("score", ascending=False, kind="stable")
    groups = source.items["texts"]
    named = [Column(sets.name)] if sets.name else []
    columns = [Column("Item", "name"), Column("Score"), Column("s.d."), Column("n"), *named]

    def row(item: object, each: Any) -> list[object]:
        cells: list[object] = [str(item), float(each["score"]), float(each["sd"]), int(each["n"])]
        return [*cells, shown(each["parameter"])] if sets.name else cells

    def with_texts(part: pd.DataFrame) -> list[list[object]]:
        return [[*row(item, each), each["context"], numbered(groups[str(item)])] for item, each in part.iterrows()]

    told = [*columns, Column("Context", "prose"), Column("Texts", "texts")]
    if len(ordered) <= 2 * ENDS:
        return [Heading("Items"), Table("All items, highest score first", told, with_texts(ordered))]
    metrics = [Column(metric, digits=3) for metric in sets.metrics]
    every = [
        [
            *row(item, each),
            Estimate(each["score"], each["low"], each["high"]),
            *(float(each[name]) for name in sets.metrics),
        ]
        for item, each in ordered.head(MOST_ROWS).iterrows()
    ]
    cut = f" The {MOST_ROWS} highest of {len(ordered):,}; report.json has all." if len(ordered) > MOST_ROWS else ""
    note = (
        f"s.d. is over workers, with n in the denominator; the interval of the mean is Student’s t over workers.{cut}"
    )
    return [
        Heading("Items"),
        Table(f"The {ENDS} items that score highest", told, with_texts(ordered.head(ENDS))),
        Table(f"The {ENDS} items that score lowest", told, with_texts(ordered.tail(ENDS)[::-1])),
        Table("All scores", [*columns, Column("Score with interval"), *metrics], every, note, fold=True),
    ]
