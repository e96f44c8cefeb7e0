"""The section of studies that score sets of texts: do the scores follow what was varied, and do metrics follow them?

Source: Tevet & Berant 2021: decTest, conTest and OCA, human scores, metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.reports.blocks import (
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
    number,
)
from analysis.reports.sets import Sets, Tested, groups_of, sets_of, tested, texts_of, with_people
from analysis.reports.source import Source
from analysis.reports.stability import stability_blocks

#: More dots than this cannot be told apart, and would make the page heavy.
MOST_DOTS = 1500
MOST_ROWS = 500
#: Of a strip plot; more values of the parameter make a scatter plot.
MOST_COLUMNS = 6
ENDS = 5
SECOND = {"contest": "OCA", "dectest": "Pearson’s r", "ranking": "Accuracy of the sign"}


def diversity(source: Source) -> Section:
    """One part per score of the type."""
    section = Section("diversity", "Diversity")
    scores = source.instrument.task.scores()
    for place, score in enumerate(scores):
        sets = sets_of(source, score)
        if len(scores) > 1:
            section.blocks.append(Heading(score.title))
        if sets.rated.empty:
            section.blocks.append(Note(f"No item has a rating of “{score.topic}”: there are no scores."))
            section.data[score.topic] = {"rated": 0}
            continue
        section.data[score.topic] = one_score(source, sets, f"d{place}", section)
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
        data["tests"] = {label(sets, each): each for each in measures}
        section.highlights += headlines(sets, measures[0])
        section.blocks += test_blocks(sets, measures, key)
    section.blocks += metric_blocks(source, sets, key, data)
    if sets.kind != "none":
        section.blocks += stability_blocks(source, sets, key, data)
    section.blocks += set_tables(source, sets)
    return data


def summary(sets: Sets) -> str:
    """What a score is, over how many sets, and what they were made with."""
    sign = "minus the mean" if sets.score.sign < 0 else "the mean"
    told = f"The {sets.score.title} score of an item is {sign} of its ratings; {len(sets.rated):,} items have one."
    missing = len(sets.rated) - len(sets.usable)
    if not sets.name:
        return f"{told} The items carry no parameter (label), so there is nothing to test the scores against."
    different = sets.usable["parameter"].nunique()
    if sets.kind == "none":
        return f"{told} All of them have the same {sets.name}: there is nothing to test the scores against."
    values = f"{different:,} value{'s' * (different != 1)} of {sets.name}"
    should = "a set should be" if sets.middle is None else "the first set should be than the second"
    told += f" They were made with {values}; the larger it is, the more diverse {should}."
    return told + (f" {missing:,} scored items have no {sets.name} and enter no test." if missing else "")


def headlines(sets: Sets, human: Tested) -> list[Highlight]:
    rows = [(f"ρ with {sets.name}", human.spearman), (SECOND[sets.kind], human.second)]
    return [
        Highlight(
            name, number(each.value), "" if math.isnan(each.low) else f"[{number(each.low)}, {number(each.high)}]"
        )
        for name, each in rows
    ]


def test_blocks(sets: Sets, measures: list[Tested], key: str) -> list[Block]:
    """Human score (the first of the measures) and metrics against the parameter."""
    few = sets.usable["parameter"].nunique() <= MOST_COLUMNS
    scores = strip_figure(sets, measures[0], key) if few else scatter_figure(sets, "parameter", key)
    second = SECOND[sets.kind]
    rows = [(f"{label(sets, each)}: Spearman’s ρ", each.spearman) for each in measures]
    rows += [(f"{label(sets, each)}: {second}", each.second) for each in measures]
    note = {
        "contest": "OCA is the best accuracy that one threshold on the score can reach; half is what chance gives to "
        "classes of one size. "
        + " ".join(threshold_text(label(sets, each), each) for each in measures if each.threshold is not None),
        "dectest": f"r is taken with log10 of {sets.name}." if sets.log10 else "",
        "ranking": f"The difference of a pair is its mean rating less {sets.middle or 0:g}, the middle of the scale.",
    }[sets.kind]
    shared = "Items that share a context are resampled together." if groups_of(sets.usable) is not None else ""
    title = f"Scores against {sets.name}"
    table = estimates_table(title, rows, note=" ".join(part for part in (note, shared) if part))
    return [Figures([scores, test_figure(sets, measures, key)]), table]


def test_figure(sets: Sets, measures: list[Tested], key: str) -> Figure:
    """ρ of people and metrics with the parameter, on one axis."""
    rows = [(label(sets, each), each.spearman) for each in measures]
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


def label(sets: Sets, each: Tested) -> str:
    return sets.score.title if each.measure == "score" else each.measure


def threshold_text(name: str, found: Tested) -> str:
    cut = found.threshold
    if cut is None:
        return ""
    if math.isinf(cut.value):
        return f"{name}: no threshold does better than calling all sets the same."
    side = "at or above" if cut.direction == "above" else "below"
    return f"{name}: high when {side} {number(cut.value, 3)}."


def score_histogram(sets: Sets, key: str) -> Figure:
    scores = sets.rated["score"].to_numpy()
    low, high = plots.padded(scores.tolist())
    edges = plots.nice_ticks(low, high, most=16)
    counts = np.histogram(scores, edges)[0].tolist()
    words = plots.Words(
        f"{key}-scores",
        f"Distribution of {sets.score.title} scores",
        f"{len(scores):,} items.",
        sets.score.title,
        "Items",
    )
    rows = list(zip(edges, edges[1:], counts, strict=False))
    table = Table(words.title, [Column("From"), Column("To"), Column("Items")], rows)
    return Figure(plots.histogram(words, edges, counts), f"{sets.score.title} scores of {len(scores):,} items.", table)


def strip_figure(sets: Sets, human: Tested, key: str) -> Figure:
    """Scores by label, with the best threshold or the middle of a comparison."""
    drawn, said = thinned(sets.usable)
    groups, rows = [], []
    for value in sorted(sets.usable["parameter"].unique()):
        group = sets.usable[sets.usable["parameter"] == value]
        name = str(shown(value))
        groups.append(
            plots.Group(f"{name} (n = {len(group):,})", drawn.loc[drawn["parameter"] == value, "score"].tolist())
        )
        scores = group["score"]
        rows.append((name, len(group), scores.mean(), scores.std(ddof=1), scores.min(), scores.median(), scores.max()))
    mark = None
    if sets.middle is not None:
        mark = plots.Mark(sets.middle, "no difference")
    elif human.threshold is not None and math.isfinite(human.threshold.value):
        cut = human.threshold
        mark = plots.Mark(cut.value, f"best threshold {number(cut.value)}: {number(cut.accuracy)} right")
    title = f"{sets.score.title} by {sets.name}"
    means = "; ".join(f"{row[0]}: mean {number(row[2])} of {row[1]} items" for row in rows)
    words = plots.Words(f"{key}-label", title, means + ".", sets.name, sets.score.title)
    columns = [
        Column(sets.name),
        Column("Items"),
        *(Column(name) for name in ("Mean", "s.d.", "Least", "Median", "Most")),
    ]
    caption = f"{title}: a dot is an item’s score, the short line the mean of its column.{said}"
    return Figure(plots.strip(words, groups, mark=mark), caption, Table(title, columns, rows))


def scatter_figure(sets: Sets, across: str, key: str) -> Figure:
    """Score against the parameter or a metric, with bars of one standard deviation over workers."""
    table = sets.usable if across == "parameter" else sets.rated[sets.rated[across].notna()]
    table = table.sort_values(across, kind="stable")
    drawn, said = thinned(table)
    log10 = across == "parameter" and sets.log10
    name = sets.name if across == "parameter" else across
    at = np.log10(drawn[across]) if log10 else drawn[across]
    title = f"{sets.score.title} against {name}"
    spans = f"{name} from {number(table[across].min())} to {number(table[across].max())}"
    words = plots.Words(
        f"{key}-{across}",
        title,
        f"{len(table):,} items, {spans}, scores from {number(table['score'].min())} to {number(table['score'].max())}.",
        f"log10 {name}" if log10 else name,
        sets.score.title,
    )
    mark = plots.Mark(sets.middle, "no difference") if sets.middle is not None else None
    errors = drawn["sd"].where(drawn["workers"] > 1).tolist() if across == "parameter" else None
    svg = plots.scatter(words, at.tolist(), drawn["score"].tolist(), errors, mark=mark)
    bars = " Bars: ± one standard deviation over workers." if errors else ""
    columns = [Column("Item", "name"), Column(name, digits=3), Column("Score"), Column("s.d."), Column("n")]
    rows = list(
        table.reset_index()[["item", across, "score", "sd", "n"]].head(MOST_ROWS).itertuples(index=False, name=None)
    )
    cut = f"The first {MOST_ROWS} of {len(table):,}; report.json holds all." if len(table) > MOST_ROWS else ""
    return Figure(svg, f"{title}: a dot is an item.{bars}{said}", Table(title, columns, rows, cut))


def thinned(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """At most MOST_DOTS rows, evenly spaced, and the sentence that says so."""
    if len(table) <= MOST_DOTS:
        return table, ""
    places = np.linspace(0, len(table) - 1, MOST_DOTS).round().astype(int)
    return table.iloc[places], f" {MOST_DOTS:,} of {len(table):,} items are drawn; the figures use all."


def metric_blocks(source: Source, sets: Sets, key: str, data: dict[str, Any]) -> list[Block]:
    """Automatic metrics beside the human score."""
    if not sets.metrics:
        return (
            [Note("No automatic metric of a single set can be put beside this score.")] if sets.middle is None else []
        )
    found = [with_people(sets, source, metric) for metric in sets.metrics]
    data["metrics_with_human"] = {each.measure: each for each in found}
    rows = [(f"{each.measure}: {name}", estimate_of(each)) for name, estimate_of in CORRELATIONS for each in found]
    blocks: list[Block] = [
        Heading("Automatic metrics", "Larger means more diverse, computed from the very texts that were judged."),
        Figures([scatter_figure(sets, metric, key) for metric in sets.metrics]),
        estimates_table(f"Metrics against the {sets.score.title} score", rows),
    ]
    return blocks


CORRELATIONS: tuple[tuple[str, Callable[[Tested], Estimate]], ...] = (
    ("Spearman’s ρ", lambda found: found.spearman),
    ("Pearson’s r", lambda found: found.second),
)


def shown(parameter: float) -> str | None:
    """A label as it was given: 1, not 1.00."""
    return None if math.isnan(parameter) else f"{parameter:g}".replace("-", "−")


def set_tables(source: Source, sets: Sets) -> list[Block]:
    """Those that score highest and lowest with their texts, and all scores."""
    ordered = sets.rated.sort_values("score", ascending=False, kind="stable")
    items = source.frames.items
    payloads = dict(zip(items["item"], items["payload"], strict=True))
    named = [Column(sets.name)] if sets.name else []
    columns = [Column("Item", "name"), Column("Score"), Column("s.d."), Column("n"), *named]

    def row(item: object, each: Any) -> list[object]:
        cells: list[object] = [str(item), float(each["score"]), float(each["sd"]), int(each["n"])]
        return [*cells, shown(each["parameter"])] if sets.name else cells

    def with_texts(part: pd.DataFrame) -> list[list[object]]:
        task = source.instrument.task
        return [
            [*row(item, each), each["context"], texts_of(task, payloads[str(item)])] for item, each in part.iterrows()
        ]

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
    cut = f" The {MOST_ROWS} highest of {len(ordered):,}; report.json holds all." if len(ordered) > MOST_ROWS else ""
    note = f"s.d. over workers, with n in its denominator; interval of the mean by Student’s t over workers.{cut}"
    return [
        Heading("Items"),
        Table(f"The {ENDS} items that score highest", told, with_texts(ordered.head(ENDS))),
        Table(f"The {ENDS} items that score lowest", told, with_texts(ordered.tail(ENDS)[::-1])),
        Table("All scores", [*columns, Column("Score with interval"), *metrics], every, note, fold=True),
    ]
