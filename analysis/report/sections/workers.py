"""Workers: who rated what, how much each agrees with the rest, and their flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from analysis.agreement import worker_diagnostics
from analysis.estimate import Estimate
from analysis.quality_control.exclusion import label_of
from analysis.report.blocks import Facts, Fold, Heading, Note, Section
from analysis.report.estimates import number
from analysis.report.sections.matrix import add_matrix
from analysis.report.source import NUMERIC, Source
from analysis.report.tables import Column, Table
from common.words import counted

MOST_WORKERS = 200


def make_section(source: Source) -> Section:
    """For each question that gives scores or puts items into categories, who rated what and how much each worker agrees
    with the rest; flags."""
    section = Section(source.key("workers"), "Workers")
    used = source.data.used
    section.add(Facts([("Workers", used["worker"].nunique()), ("Submissions per worker", per_worker(used))]))
    evidence = Section("", "")
    for topic in [] if source.description.own_work else source.compared_topics:
        question = source.questions.get(topic)
        frame = source.ratings_on(topic)
        if question is None or frame.empty:
            section.add(Note(f"There are no ratings of “{topic}” to compare workers on."))
            continue
        numeric = question.scale.level in NUMERIC
        workers = worker_diagnostics(
            frame,
            unit="unit",
            rater="worker_code",
            seconds="seconds",
            scale="numeric" if numeric else "nominal",
        )
        workers["synthetic"] = frame.groupby("worker_code")["synthetic"].first()
        workers.index = pd.Index([source.worker_names[code] for code in workers.index], name="worker")
        workers = workers.sort_values("agreement", kind="stable", na_position="last").reset_index()
        if numeric:
            add_matrix(source, evidence, topic, question, frame)
        evidence.add(workers_table(topic, workers, numeric=numeric))
        section.data[topic] = workers
    section.data |= evidence.data
    add_flags(source, section)
    if evidence.blocks:
        section.add(Fold("Who rated what, and how far each worker agrees with the rest", list(evidence.parts)))
    return section


def per_worker(used: pd.DataFrame) -> str:
    if used.empty:
        return "none"
    counts = used["worker"].value_counts()
    median = float(counts.median())
    return f"median {number(median, 0 if median.is_integer() else 1)}, from {counts.min():,} to {counts.max():,}"


def workers_table(topic: str, workers: pd.DataFrame, *, numeric: bool) -> Table:
    def with_limits(name: str) -> Callable[[dict[str, Any]], Estimate]:
        return lambda worker: Estimate(worker[name], worker[f"{name}_low"], worker[f"{name}_high"])

    columns = [
        Column("Worker", "code", shows="worker"),
        Column("Ratings", shows="ratings"),
        Column("Median s", digits=1, shows="seconds_median"),
        Column("Compared", shows="compared"),
        Column("r with the rest" if numeric else "Agrees with the rest", shows=with_limits("agreement")),
        *([Column("Bias", shows=with_limits("bias"))] if numeric else []),
        Column("Share of the most frequent answer", shows="top_share"),
        Column("Longest run", shows="longest_run"),
        Column("Simulated", "text", shows=lambda worker: "yes" if worker["synthetic"] else ""),
    ]
    note = (
        ("Bias: the rating less the mean of the others on the same unit, in points of the scale. " if numeric else "")
        + "Compared: ratings of units that others rated too; the n of agreement. Longest run: "
        "the most equal answers in a row. One low figure does not prove careless work."
    )
    if len(workers) > MOST_WORKERS:
        note += f" The table shows {MOST_WORKERS} of {len(workers):,} workers; report.json has all."
    undefined = int(workers["agreement"].isna().sum())
    if undefined:
        why = "fewer than three ratings to compare, or no variation" if numeric else "no unit that others also rated"
        note += f" Agreement is not defined for {undefined:,} of {counted(len(workers), 'worker')} ({why})."
    shown = workers.head(MOST_WORKERS).to_dict("records")
    caption = f"{topic}: workers, lowest agreement first"
    return Table(caption, columns, shown, note)


def add_flags(source: Source, section: Section) -> None:
    """Submissions by the reason for their flags, including excluded submissions."""
    flags, submissions = source.data.flags, source.data.submissions
    text = (
        "Reasons for a person to look at a submission. A flag excludes a submission only if an exclusion rule names it."
    )
    section.add(Heading("Flags", text))
    section.data["flags"] = []
    if flags.empty:
        section.add(Note(f"Of {counted(len(submissions), 'submission')}, none was flagged."))
        return
    left_out = set(submissions["submission"]) - set(source.data.used["submission"])
    reasons: list[dict[str, Any]] = []
    for reason, rows in flags.groupby("reason"):
        flagged = set(rows["submission"])
        reasons.append(
            {
                "reason": str(reason),
                "submissions": len(flagged),
                "share": len(flagged) / len(submissions),
                "left_out": len(flagged & left_out),
            }
        )
    reasons.sort(key=lambda reason: (-reason["submissions"], reason["reason"]))
    columns = [
        Column("Reason", "text", shows=lambda reason: label_of(reason["reason"])),
        Column("Submissions", shows="submissions"),
        Column("Share", shows="share"),
        Column("Of them left out", shows="left_out"),
    ]
    section.add_named("flags", Table(f"Flags among {counted(len(submissions), 'submission')}", columns, reasons))
