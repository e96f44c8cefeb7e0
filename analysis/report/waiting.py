"""The section on live suggestions: where their texts come from, how long they take, how long writers wait."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from analysis import plots
from analysis.report.blocks import Column, Figure, Figures, Highlight, Note, Section, Table, number
from analysis.report.source import Source
from analysis.report.stories import used_offers
from analysis.writing.waiting import SOURCES, Waits, waits
from common.words import counted

ALL = "all"
NAMES = {"live": "Written in time", "second_try": "Asked again", "pool": "From the pool", "none": "No text came"}
BINS = 20


def waiting(source: Source) -> Section:
    """Sources of live suggestions, seconds until the text, and seconds until the page showed it."""
    section = Section(source.key("waiting"), "Waiting for suggestions")
    offers = used_offers(source)
    if offers.empty:
        section.blocks.append(Note("No page of a finished hit has shown a live suggestion yet."))
        return section
    seconds = seconds_waited(offers)
    found = {ALL: summary(offers, seconds)}
    names = list(dict.fromkeys(sorted(offers["suggester"])))
    if len(names) > 1:
        found |= {
            name: summary(offers[mine], seconds[mine]) for name in names for mine in [offers["suggester"] == name]
        }
    section.blocks += [Figures([sources_figure(source, found[ALL]), waits_figure(source, seconds)]), table(found)]
    section.data["suggesters"] = {name: asdict(each) for name, each in found.items()}
    middle = found[ALL]
    section.highlights.append(
        Highlight("Suggestion shown after", f"{number(middle.waited_50, 1)} s", f"95%: {number(middle.waited_95, 1)} s")
    )
    return section


def seconds_waited(offers: pd.DataFrame) -> pd.Series:
    """From asking to showing."""
    shown, asked = (pd.to_datetime(offers[name], utc=True) for name in ("shown_at", "asked_at"))
    return (shown - asked).dt.total_seconds()


def summary(offers: pd.DataFrame, seconds: pd.Series) -> Waits:
    return waits(offers["source"].tolist(), offers["latency"].to_numpy(), seconds.to_numpy())


def sources_figure(source: Source, found: Waits) -> Figure:
    title = "Where suggestions come from"
    counts = [found.counts[name] for name in SOURCES]
    labels = [NAMES[name] for name in SOURCES]
    described = "; ".join(f"{label}: {count:,}" for label, count in zip(labels, counts, strict=True)) + "."
    words = plots.Words(source.key("waiting-plot"), title, described, "Suggestions")
    columns = [Column("Source", "text"), Column("Suggestions"), Column("Share", digits=3)]
    rows = [(NAMES[name], found.counts[name], found.shares[name]) for name in SOURCES]
    return Figure(plots.bars(words, labels, counts), f"{title}.", Table(title, columns, rows))


def waits_figure(source: Source, seconds: pd.Series) -> Figure:
    """A histogram up to the 98th percentile, so that one very long wait does not put all others into one bar."""
    title = "Seconds until the page showed a suggestion"
    top = plots.nice_ticks(0, max(1.0, float(seconds.quantile(0.98))), most=BINS, whole=False)
    edges = np.linspace(0, top[-1], BINS + 1)
    counts = np.histogram(seconds, edges)[0]
    beyond = int((seconds > top[-1]).sum())
    middle = float(seconds.median())
    described = f"{counted(len(seconds), 'suggestion')}, median {number(middle, 1)} seconds."
    words = plots.Words(source.key("waiting-plot"), title, described, "Seconds", "Suggestions")
    mark = plots.Mark(middle, f"median {number(middle, 1)} s")
    svg = plots.histogram(words, edges.tolist(), counts.tolist(), mark=mark)
    rows = [(float(a), float(b), int(n)) for a, b, n in zip(edges, edges[1:], counts, strict=False)]
    columns = [Column("From, s", digits=1), Column("To, s", digits=1), Column("Suggestions")]
    caption = f"{title}; {beyond:,} above {top[-1]:g} s not shown." if beyond else f"{title}."
    return Figure(svg, caption, Table(title, columns, rows))


def table(found: dict[str, Waits]) -> Table:
    rows = [
        (
            name,
            each.n,
            *(each.shares[source] for source in SOURCES),
            each.latency_50,
            each.latency_95,
            each.waited_50,
            each.waited_95,
        )
        for name, each in found.items()
    ]
    columns = [Column("Suggester", "name"), Column("n"), *(Column(NAMES[name], digits=3) for name in SOURCES)]
    columns += [Column(title, digits=1) for title in ("Latency, p50", "Latency, p95", "Waited, p50", "Waited, p95")]
    note = (
        "Shares of suggestions by source. Latency: seconds from asking to the text, of suggestions with a text. "
        "Waited: seconds from asking to the page that shows it. Suggestions are asked for when the page before is "
        "stored, so a writer who opens the next page late has a long wait here."
    )
    return Table("Live suggestions", columns, rows, note)
