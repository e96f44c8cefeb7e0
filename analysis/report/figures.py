"""What the plots of several sections share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.report.blocks import Figure
from analysis.report.estimates import number
from analysis.report.tables import Column, Table
from common.words import counted

BINS = 20


def interval_bars(
    estimates: Iterable[tuple[str, Estimate]], *, longest: int | None = None
) -> list[tuple[str, float, float, float]]:
    """Rows of `plots.intervals`, with names of at most ``longest`` characters."""
    return [(name[:longest], estimate.value, estimate.low, estimate.high) for name, estimate in estimates]


def line_of(label: str, x: Sequence[float], estimates: Sequence[Estimate]) -> plots.Line:
    return plots.Line(
        label,
        x,
        [estimate.value for estimate in estimates],
        [estimate.low for estimate in estimates],
        [estimate.high for estimate in estimates],
    )


def values_in_words(estimates: Iterable[tuple[str, Estimate]]) -> str:
    return "; ".join(f"{name}: {number(estimate.value)}" for name, estimate in estimates) + "."


def seconds_histogram(
    key: str, title: str, seconds: pd.Series, *, unit: str, caption: str, beyond: str, note: str = ""
) -> Figure:
    """A histogram up to the 98th percentile, so that one very long time does not put all others into one bar.

    ``unit`` is what took the time (a “rating”). The caption ends with how many are not shown: those ``beyond`` the last
    bar (“above”); ``note`` says the same below the table (“took longer”).
    """
    *_, top = plots.nice_ticks(0, max(1.0, float(seconds.quantile(0.98))), most=BINS, whole_numbers=False)
    edges = np.linspace(0, top, BINS + 1)
    counts = np.histogram(seconds, edges)[0].tolist()
    hidden = int((seconds > top).sum())
    median = number(float(seconds.median()), 1)
    units = f"{unit}s".capitalize()
    words = plots.Words(key, title, f"{counted(len(seconds), unit)}, median {median} seconds.", "Seconds", units)
    mark = plots.Mark(float(seconds.median()), f"median {median} s")
    columns = [Column("From, s", digits=1), Column("To, s", digits=1), Column(units)]
    rows = list(zip(edges.tolist(), edges[1:].tolist(), counts, strict=False))
    caption += f"; {hidden:,} {beyond} {top:g} s not shown." if hidden else "."
    below = f"{counted(hidden, unit)} {note}." if hidden and note else ""
    svg = plots.histogram(words, edges.tolist(), counts, mark=mark)
    return Figure(svg, caption, Table(title, columns, rows, below))
