"""Figures of scored sets: the score and every metric by class or parameter, and against each other."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.report.blocks import Figure
from analysis.report.estimates import number, with_interval
from analysis.report.sections.sets import Sets, Tested
from analysis.report.tables import Column, Table
from common.words import counted

#: More dots than this are hard to distinguish and make the page slow.
MOST_DOTS = 1500
MOST_ROWS = 500
#: The most columns of a strip plot. A parameter with more values gets a scatter plot.
MOST_COLUMNS = 6
#: Classes with different colours and shapes.
MOST_CLASSES = 3


def title_of(sets: Sets, measure: str) -> str:
    """The name that people read for the score ("score") or a metric."""
    return sets.score.title if measure == "score" else measure


def by_parameter(sets: Sets, test: Tested, key: str) -> Figure:
    """The score or a metric by class, or against the parameter if it has many values."""
    few = sets.usable["parameter"].nunique() <= MOST_COLUMNS
    return strip_figure(sets, test, key) if few else parameter_figure(sets, test, key)


def score_histogram(sets: Sets, key: str) -> Figure:
    scores = sets.rated["score"].to_numpy()
    low, high = sets.scale or plots.padded(scores.tolist())
    edges = plots.nice_ticks(low, high, most=16)
    counts = np.histogram(scores, edges)[0].tolist()
    words = plots.Words(
        f"{key}-scores",
        f"Distribution of {sets.score.title} scores",
        f"{counted(len(scores), 'item')}.",
        sets.score.title,
        "Items",
    )
    rows = list(zip(edges, edges[1:], counts, strict=False))
    table = Table(words.title, [Column("From"), Column("To"), Column("Items")], rows)
    return Figure(
        plots.histogram(words, edges, counts), f"{sets.score.title} scores of {counted(len(scores), 'item')}.", table
    )


def strip_figure(sets: Sets, test: Tested, key: str) -> Figure:
    """A column of dots per label, with the best threshold or the middle of a comparison."""
    measure = test.measure
    name = title_of(sets, measure)
    table = sets.usable[sets.usable[measure].notna()]
    drawn, omitted = thinned(table)
    groups, rows = [], []
    for value in sorted(table["parameter"].unique()):
        values = table.loc[table["parameter"] == value, measure]
        label = str(as_entered(value))
        dots = drawn.loc[drawn["parameter"] == value, measure].tolist()
        groups.append(plots.Group(f"{label} (n = {len(values):,})", dots))
        spread = values.std(ddof=1) if len(values) > 1 else math.nan
        rows.append((label, len(values), values.mean(), spread, values.min(), values.median(), values.max()))
    title = f"{name} by {sets.name}"
    means = "; ".join(f"{row[0]}: mean {number(row[2])} of {counted(row[1], 'item')}" for row in rows)
    words = plots.Words(f"{key}-{slug(measure)}-label", title, means + ".", sets.name, name)
    digits = 2 if measure == "score" else 3
    columns = [
        Column(sets.name),
        Column("Items"),
        *(Column(statistic, digits=digits) for statistic in ("Mean", "s.d.", "Least", "Median", "Most")),
    ]
    what = "item’s score" if measure == "score" else "item"
    caption = f"{title}: a dot is an {what}, the short line the mean of its column.{omitted}"
    svg = plots.strip(words, groups, mark=mark_of(sets, test), limits=sets.limits(measure))
    return Figure(svg, caption, Table(title, columns, rows))


def mark_of(sets: Sets, test: Tested) -> plots.Mark | None:
    """The middle of a comparison, or the best threshold."""
    if test.measure == "score" and sets.middle is not None:
        return plots.Mark(sets.middle, "no difference")
    best = test.threshold
    if best is None or not math.isfinite(best.value):
        return None
    return plots.Mark(best.value, f"best threshold {number(best.value)}: {number(best.accuracy)} right")


def parameter_figure(sets: Sets, test: Tested, key: str) -> Figure:
    """The score or a metric against the parameter; the score also shows one standard deviation over workers."""
    measure = test.measure
    name = title_of(sets, measure)
    table = sets.usable[sets.usable[measure].notna()].sort_values("parameter", kind="stable")
    drawn, omitted = thinned(table)
    x = np.log10(drawn["parameter"]) if sets.log10 else drawn["parameter"]
    title = f"{name} against {sets.name}"
    words = plots.Words(
        f"{key}-{slug(measure)}-parameter",
        title,
        described(table, sets.name, "parameter", name, measure),
        f"log10 {sets.name}" if sets.log10 else sets.name,
        name,
    )
    people = measure == "score"
    svg = plots.scatter(
        words,
        x.tolist(),
        drawn[measure].tolist(),
        drawn["sd"].where(drawn["workers"] > 1).tolist() if people else None,
        mark=mark_of(sets, test) if sets.middle is not None else None,
        note=rho_note(test.spearman),
        up=sets.limits(measure),
    )
    bars = " Bars: ± one standard deviation over workers." if people else ""
    return Figure(
        svg, f"{title}: a dot is an item.{bars}{omitted}", dots_table(table, title, "parameter", sets.name, measure)
    )


def metric_figure(sets: Sets, test: Tested, key: str) -> Figure:
    """The score against a metric, each class in its colour, with ρ."""
    metric = test.measure
    table = sets.rated[sets.rated[metric].notna()].sort_values(metric, kind="stable")
    drawn, omitted = thinned(table)
    title = f"{sets.score.title} against {metric}"
    words = plots.Words(
        f"{key}-{slug(metric)}",
        title,
        described(table, metric, metric, sets.score.title, "score"),
        metric,
        sets.score.title,
    )
    svg = plots.scatter(
        words,
        drawn[metric].tolist(),
        drawn["score"].tolist(),
        mark=plots.Mark(sets.middle, "no difference") if sets.middle is not None else None,
        classes=classes_of(sets, drawn),
        note=rho_note(test.spearman),
        across=sets.limits(metric),
        up=sets.limits("score"),
    )
    return Figure(svg, f"{title}: a dot is an item.{omitted}", dots_table(table, title, metric, metric, "score"))


def classes_of(sets: Sets, drawn: pd.DataFrame) -> plots.Classes | None:
    """Colours by the value of the parameter, if there are two or three and every drawn item has one."""
    values = sorted(drawn["parameter"].dropna().unique())
    if not 2 <= len(values) <= MOST_CLASSES or drawn["parameter"].isna().any():
        return None
    names = [
        f"{sets.name[:18]} {as_entered(value)}" if position == 0 else str(as_entered(value))
        for position, value in enumerate(values)
    ]
    return plots.Classes([values.index(value) for value in drawn["parameter"]], names)


def rho_note(rho: Estimate) -> str:
    return "" if math.isnan(rho.value) else f"ρ = {with_interval(rho)}"


def described(table: pd.DataFrame, across: str, x: str, up: str, y: str) -> str:
    spans = f"{across} from {number(table[x].min())} to {number(table[x].max())}"
    n = counted(len(table), "item")
    return f"{n}, {spans}, {up} from {number(table[y].min())} to {number(table[y].max())}."


def dots_table(table: pd.DataFrame, title: str, across: str, name: str, measure: str) -> Table:
    """The dots of a scatter plot as rows, ordered by the horizontal axis."""
    score = measure == "score"
    columns = [
        Column("Item", "name"),
        Column(name, digits=3),
        Column("Score" if score else measure, digits=2 if score else 3),
    ]
    names = ["item", across, measure]
    if score:
        columns += [Column("s.d."), Column("n")]
        names += ["sd", "n"]
    rows = list(table.reset_index()[names].head(MOST_ROWS).itertuples(index=False, name=None))
    cut = f"The first {MOST_ROWS} of {len(table):,}; report.json has all." if len(table) > MOST_ROWS else ""
    return Table(title, columns, rows, cut)


def thinned(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """At most MOST_DOTS rows, evenly spaced, and a sentence about the omitted rows."""
    if len(table) <= MOST_DOTS:
        return table, ""
    drawn = np.linspace(0, len(table) - 1, MOST_DOTS).round().astype(int)
    return table.iloc[drawn], f" {MOST_DOTS:,} of {len(table):,} items are drawn; the figures use all."


def slug(name: str) -> str:
    """A name as part of an id."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)


def as_entered(parameter: float) -> str | None:
    """A label as entered: 1, not 1.00."""
    return None if math.isnan(parameter) else f"{parameter:g}".replace("-", "−")
