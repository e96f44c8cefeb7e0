"""How long ratings and submissions took, and the resulting pay per hour."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.inference import Dimensions, median_estimate
from analysis.report.blocks import (
    Column,
    Facts,
    Figure,
    Highlight,
    Note,
    Section,
    Table,
    attempt,
    estimates_table,
    number,
)
from analysis.report.source import Source, of_people
from common.words import counted, money

BINS = 20


def times(source: Source) -> Section:
    """Seconds per rating and per submission, and the resulting pay per hour."""
    section = Section(source.key("time"), "Time")
    topics = source.scored_topics
    rows: list[tuple[str, Estimate]] = []
    for topic in source.questions:
        timed = source.ratings[(source.ratings["question"] == topic) & source.ratings["seconds"].notna()]
        timed = of_people(timed)
        seconds = timed["seconds"]
        dimensions = source.dimensions_of(timed)
        median = attempt(partial(median_estimate, seconds, dimensions), n_of="ratings")
        rows.append((f"One rating of “{topic}”", replace(median, n_of="ratings")))
        if topic in topics and len(seconds):
            section.blocks.append(time_figure(f"time-{topics.index(topic)}", topic, seconds))
            section.highlights.append(Highlight("Median time", f"{number(float(seconds.median()), 1)} s", topic))
    whole = of_people(source.data.used.dropna(subset="seconds"))
    by_worker = Dimensions.of(workers=whole["worker"])
    median = attempt(lambda: median_estimate(whole["seconds"], by_worker), n_of="submissions")
    rows.append(("A whole submission", replace(median, n_of="submissions")))
    note = (
        "Times of single ratings are measured in the worker’s browser; a submission lasts from acceptance to its end. "
        "The intervals are about new workers, and about new items where a question is about items. "
        "Times of simulated workers are left out where people took part."
    )
    section.blocks.append(estimates_table("Median seconds", rows, digits=1, note=note))
    section.data = {"median_seconds": dict(rows)}
    add_pay(source, section)
    for block in section.blocks:
        if isinstance(block, Figure):
            section.data.setdefault("histograms", {})[block.table.caption] = block.table.rows
    return section


def add_pay(source: Source, section: Section) -> None:
    """Reward divided by the median time of submissions by people; by arm in a study with arms.

    Exclusion rules do not change pay, so what they leave out of the analysis counts here.
    """
    reviewed = source.data.reviewed
    real = reviewed[~reviewed["synthetic"]]
    groups = [("", real)]
    if source.description.has_arms:
        groups = [(arm, real[real["arm"] == arm]) for arm in source.arms]
    rows, hourly_by_arm = [], {}
    for arm, mine in groups:
        middle = mine["seconds"].median()
        reward = source.reward_of(arm)
        if mine.empty or not reward or not middle > 0:
            continue
        hourly = float(reward) * 3600 / float(middle)
        hourly_by_arm[arm] = hourly
        told = f"{money(Decimal(f'{hourly:.2f}'))} an hour ({counted(len(mine), 'submission')} by people)"
        rows.append((f"Pay at the median time, arm {arm}" if arm else "Pay at the median time", told))
    if rows:
        section.blocks.append(Facts(rows))
        section.blocks.append(
            Note(
                "Pay counts all submissions by people that no person excluded, also those that an exclusion rule "
                "leaves out of the analysis, because they are paid like all others."
            )
        )
        section.data["usd_per_hour_at_median"] = hourly_by_arm if source.description.has_arms else hourly_by_arm[""]


def time_figure(key: str, topic: str, seconds: pd.Series) -> Figure:
    """A histogram up to the 98th percentile, so that one very long time does not put all others into one bar."""
    top = plots.nice_ticks(0, max(1.0, float(seconds.quantile(0.98))), most=BINS, whole=False)
    edges = np.linspace(0, top[-1], BINS + 1)
    counts = np.histogram(seconds, edges)[0]
    beyond = int((seconds > top[-1]).sum())
    middle = float(seconds.median())
    words = plots.Words(
        key,
        f"Seconds per rating of {topic}",
        f"{counted(len(seconds), 'rating')}, median {number(middle, 1)} seconds.",
        x="Seconds",
        y="Ratings",
    )
    svg = plots.histogram(
        words, edges.tolist(), counts.tolist(), mark=plots.Mark(middle, f"median {number(middle, 1)} s")
    )
    rows: list[tuple[Any, ...]] = [
        (float(left), float(right), int(count)) for left, right, count in zip(edges, edges[1:], counts, strict=False)
    ]
    columns = [Column("From, s", digits=1), Column("To, s", digits=1), Column("Ratings")]
    caption = f"Time per rating of “{topic}”"
    caption += f"; {beyond:,} longer than {top[-1]:g} s not shown." if beyond else "."
    note = f"{counted(beyond, 'rating')} took longer." if beyond else ""
    return Figure(svg, caption, Table(words.title, columns, rows, note))
