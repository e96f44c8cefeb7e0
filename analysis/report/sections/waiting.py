"""The section on live suggestions: where their texts come from, how long they take, how long writers wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pandas as pd

from analysis import plots
from analysis.report.blocks import Figure, Figures, Fold, Highlight, Note, Section
from analysis.report.estimates import number
from analysis.report.figures import seconds_histogram
from analysis.report.source import Source
from analysis.report.stories import used_offers
from analysis.report.tables import Column, Table, keyed
from analysis.writing.waiting import SOURCES, Waits, waits

ALL = "all"
NAMES = {"live": "Written in time", "second_try": "Asked again", "pool": "From the pool", "none": "No text came"}


def make_section(source: Source) -> Section:
    """Sources of live suggestions, seconds until the text, and seconds until the page showed it."""
    section = Section(source.key("waiting"), "Waiting for suggestions")
    offers = used_offers(source)
    if offers.empty:
        section.add(Note("No page of a finished hit has shown a live suggestion yet."))
        return section
    shown_at, asked_at = (pd.to_datetime(offers[name], utc=True) for name in ("shown_at", "asked_at"))
    offers = offers.assign(seconds=(shown_at - asked_at).dt.total_seconds())
    overall = waits_of(offers)
    suggesters = [{"suggester": ALL, **asdict(overall)}]
    names = sorted(offers["suggester"].unique())
    if len(names) > 1:
        suggesters += [{"suggester": name, **asdict(waits_of(offers[offers["suggester"] == name]))} for name in names]
    title = "Seconds until the page showed a suggestion"
    figures = [
        sources_figure(source, overall),
        seconds_histogram(
            source.key("waiting-plot"), title, offers["seconds"], unit="suggestion", caption=title, beyond="above"
        ),
    ]
    section.add(waits_table(suggesters), Fold("How waiting times are distributed", [Figures(figures)]))
    section.data["suggesters"] = keyed(suggesters, "suggester")
    p50, p95 = (f"{number(seconds, 1)} s" for seconds in (overall.waited_50, overall.waited_95))
    section.highlights.append(Highlight("Suggestion shown after", p50, f"95%: {p95}"))
    return section


def waits_of(offers: pd.DataFrame) -> Waits:
    return waits(offers["source"].tolist(), offers["latency"].to_numpy(), offers["seconds"].to_numpy())


def sources_figure(source: Source, overall: Waits) -> Figure:
    title = "Where suggestions come from"
    rows = [(NAMES[name], overall.counts[name], overall.shares[name]) for name in SOURCES]
    described = "; ".join(f"{label}: {count:,}" for label, count, _ in rows) + "."
    words = plots.Words(source.key("waiting-plot"), title, described, "Suggestions")
    svg = plots.bars(words, [label for label, _, _ in rows], [count for _, count, _ in rows])
    columns = [Column("Source", "text"), Column("Suggestions"), Column("Share", digits=3)]
    return Figure(svg, f"{title}.", Table(title, columns, rows))


def waits_table(suggesters: list[dict[str, Any]]) -> Table:
    def share_of(name: str) -> Callable[[dict[str, Any]], object]:
        return lambda suggester: suggester["shares"][name]

    columns = [
        Column("Suggester", "name", shows="suggester"),
        Column("n", shows="n"),
        *(Column(NAMES[name], digits=3, shows=share_of(name)) for name in SOURCES),
        Column("Latency, p50", digits=1, shows="latency_50"),
        Column("Latency, p95", digits=1, shows="latency_95"),
        Column("Waited, p50", digits=1, shows="waited_50"),
        Column("Waited, p95", digits=1, shows="waited_95"),
    ]
    note = (
        "Shares of suggestions by source. Latency: seconds from asking to the text, of suggestions with a text. "
        "Waited: seconds from asking to the page that shows it. Suggestions are asked for when the page before is "
        "stored, so a writer who opens the next page late has a long wait here."
    )
    return Table("Live suggestions", columns, suggesters, note)
