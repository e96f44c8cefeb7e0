"""Workers, the time they took, what they wrote, and why someone should look."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis import plots
from analysis.agreement import worker_diagnostics
from analysis.estimate import Estimate
from analysis.reports.answers import NUMERIC
from analysis.reports.blocks import (
    Column,
    Facts,
    Figure,
    Heading,
    Highlight,
    Note,
    Section,
    Table,
    estimates_table,
    number,
)
from analysis.reports.source import Source

MOST_WORKERS = 200
SAMPLE = 12
BINS = 20


def workers(source: Source) -> Section:
    """Diagnostics per worker on each question that makes scores, those who agree least first; flags."""
    section = Section("workers", "Workers")
    used = source.frames.used
    section.blocks.append(Facts([("Workers", used["worker"].nunique()), ("Submissions per worker", per_worker(used))]))
    for topic in source.scored_topics:
        question = source.questions.get(topic)
        frame = source.ratings_on(topic)
        if question is None or frame.empty:
            section.blocks.append(Note(f"No ratings of “{topic}”: nothing to say about workers."))
            continue
        numeric = question.scale.level in NUMERIC
        found = worker_diagnostics(
            frame,
            unit="unit",
            rater="worker",
            seconds="seconds",
            scale="numeric" if numeric else "nominal",
        )
        found["synthetic"] = frame.groupby("worker")["synthetic"].first()
        found = found.sort_values("agreement", kind="stable", na_position="last")
        section.blocks.append(worker_table(topic, found, numeric=numeric))
        section.data[topic] = found.reset_index()
    add_flags(source, section)
    return section


def per_worker(used: pd.DataFrame) -> str:
    if used.empty:
        return "none"
    each = used["worker"].value_counts()
    return f"{number(float(each.median()), 1)} in the middle, from {each.min():,} to {each.max():,}"


def worker_table(topic: str, found: pd.DataFrame, *, numeric: bool) -> Table:
    columns = [Column("Worker", "code"), Column("Ratings"), Column("Median s", digits=1), Column("Compared")]
    columns.append(Column("r with the rest" if numeric else "Agrees with the rest"))
    if numeric:
        columns.append(Column("Bias"))
    columns += [Column("Commonest", digits=2), Column("Longest run"), Column("Simulated", "text")]
    rows = []
    for worker, row in found.head(MOST_WORKERS).iterrows():
        agreed = Estimate(row["agreement"], row["agreement_low"], row["agreement_high"])
        cells: list[object] = [worker, int(row["ratings"]), row["seconds_median"], int(row["compared"]), agreed]
        if numeric:
            cells.append(Estimate(row["bias"], row["bias_low"], row["bias_high"]))
        cells += [float(row["top_share"]), int(row["longest_run"]), "yes" if row["synthetic"] else ""]
        rows.append(cells)
    note = (
        ("Bias is the rating less the mean of the others on the same unit, in points of the scale. " if numeric else "")
        + "Compared: ratings of units that others rated too; the n of agreement. Commonest: share of the worker’s most "
        "frequent answer; longest run: most equal answers in a row. A single low figure is no proof of careless work."
    )
    if len(found) > MOST_WORKERS:
        note += f" The table shows {MOST_WORKERS} of {len(found):,} workers; report.json holds all."
    alone = int(found["agreement"].isna().sum())
    if alone:
        why = "fewer than three ratings to compare, or no variation" if numeric else "no unit that others rated too"
        note += f" For {alone:,} of {len(found):,} workers agreement is not defined ({why})."
    return Table(f"{topic}: workers, lowest agreement first", columns, rows, note, fold=len(found) > SAMPLE)


def add_flags(source: Source, section: Section) -> None:
    """Submissions by the reason of their flags, those left out too."""
    flags, submissions = source.frames.flags, source.frames.submissions
    section.blocks.append(Heading("Flags", "Reasons for a person to look at a submission. They exclude nothing."))
    section.data["flags"] = []
    if flags.empty:
        section.blocks.append(Note(f"Of {len(submissions):,} submissions no one was flagged."))
        return
    left_out = set(submissions["submission"]) - set(source.frames.used["submission"])
    rows = []
    for reason, group in flags.groupby("reason"):
        flagged = set(group["submission"])
        rows.append((str(reason), len(flagged), len(flagged) / len(submissions), len(flagged & left_out)))
    rows.sort(key=lambda row: (-row[1], row[0]))
    columns = [Column("Reason", "text"), Column("Submissions"), Column("Share"), Column("Of them left out")]
    section.blocks.append(Table(f"Flags among {len(submissions):,} submissions", columns, rows))
    names = ("reason", "submissions", "share", "left_out")
    section.data["flags"] = [dict(zip(names, row, strict=True)) for row in rows]


def times(source: Source) -> Section:
    """Seconds per rating and per submission, and what that pays per hour."""
    section = Section("time", "Time")
    topics = source.scored_topics
    rows: list[tuple[str, Estimate]] = []
    for topic in source.questions:
        seconds = source.frames.ratings.loc[source.frames.ratings["question"] == topic, "seconds"].dropna()
        rows.append((f"One rating of “{topic}”", median(seconds, "ratings")))
        if topic in topics and len(seconds):
            section.blocks.append(time_figure(f"time-{topics.index(topic)}", topic, seconds))
            section.highlights.append(Highlight("Median time", f"{number(float(seconds.median()), 1)} s", topic))
    whole = source.frames.used["seconds"]
    rows.append(("A whole submission", median(whole, "submissions")))
    note = (
        "Times of single ratings are measured in the worker’s browser; a submission runs from acceptance to its end. "
        "The intervals take every time as independent; those of one worker are alike, so they are too narrow where few "
        "workers gave many."
    )
    section.blocks.append(estimates_table("Median seconds", rows, digits=1, note=note))
    section.data = {"median_seconds": dict(rows)}
    real = source.frames.used.loc[~source.frames.used["synthetic"], "seconds"]
    if len(real) and source.study.reward and real.median() > 0:
        hourly = float(source.study.reward) * 3600 / float(real.median())
        section.data["usd_per_hour_at_median"] = hourly
        told = f"${number(hourly)} an hour ({len(real):,} submissions, none simulated)"
        section.blocks.append(Facts([("Pay at the median time", told)]))
    for block in section.blocks:
        if isinstance(block, Figure):
            section.data.setdefault("histograms", {})[block.table.caption] = block.table.rows
    return section


def median(values: pd.Series, n_of: str) -> Estimate:
    """The median with the interval of its order statistics, which needs no form of the distribution."""
    known = np.sort(values.to_numpy(dtype=np.float64))
    n = len(known)
    if not n:
        return Estimate(math.nan, n=0, n_of=n_of, note="no time was measured")
    middle = float(np.median(known))
    below = int(stats.binom.ppf(0.025, n, 0.5))
    if not below:
        return Estimate(middle, n=n, n_of=n_of, method="no interval", note="an interval needs six values or more")
    return Estimate(middle, float(known[below - 1]), float(known[n - below]), n, n_of, method="order statistics")


def time_figure(key: str, topic: str, seconds: pd.Series) -> Figure:
    """A histogram up to the 98th percentile: one worker's lunch must not squeeze everybody else into one bar."""
    top = plots.nice_ticks(0, max(1.0, float(seconds.quantile(0.98))), most=BINS, whole=False)
    edges = np.linspace(0, top[-1], BINS + 1)
    counts = np.histogram(seconds, edges)[0]
    beyond = int((seconds > top[-1]).sum())
    middle = float(seconds.median())
    words = plots.Words(
        key,
        f"Seconds per rating of {topic}",
        f"{len(seconds):,} ratings, median {number(middle, 1)} seconds.",
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
    caption += f"; {beyond:,} longer than {top[-1]:g} s not drawn." if beyond else "."
    note = f"{beyond:,} ratings took longer." if beyond else ""
    return Figure(svg, caption, Table(words.title, columns, rows, note))


def texts(source: Source) -> Section | None:
    """A seeded sample of what workers wrote, per question answered in words; None where there is no such question."""
    topics = [topic for topic, question in source.questions.items() if question.scale.level == "text"]
    if not topics:
        return None
    section = Section("texts", "Texts by workers")
    rng = np.random.default_rng(source.seed)
    for topic in topics:
        rows = source.texts_on(topic)
        section.blocks.append(Heading(topic, source.questions[topic].label))
        if rows.empty:
            section.blocks.append(Note("Nobody has written anything yet."))
            section.data[topic] = {"n": 0}
            continue
        words = pd.Series([len(text.split()) for text in rows["text"]])
        section.data[topic] = {
            "n": len(rows),
            "different": int(rows["text"].nunique()),
            "words_median": float(words.median()),
            "words_sd": float(words.std(ddof=1)),
        }
        section.blocks.append(
            Facts(
                [
                    ("Texts", f"{len(rows):,}, {section.data[topic]['different']:,} of them different"),
                    ("Words", f"median {number(float(words.median()), 1)}, s.d. {number(float(words.std(ddof=1)))}"),
                ]
            )
        )
        picked = np.sort(rng.choice(len(rows), min(SAMPLE, len(rows)), replace=False))
        sample = rows.iloc[picked]
        columns = [Column("Worker", "code"), Column("Item", "name"), Column("Text", "prose")]
        body = list(sample[["worker", "item", "text"]].itertuples(index=False, name=None))
        simulated = " Simulated workers choose from a short list." if rows["synthetic"].any() else ""
        note = f"{len(sample)} of {len(rows):,}, drawn with seed {source.seed}.{simulated}"
        section.blocks.append(Table(f"{topic}: a sample", columns, body, note))
    return section
