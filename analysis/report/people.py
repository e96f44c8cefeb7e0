"""Workers: how much each agrees with the rest, their flags, and what they wrote."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.agreement import worker_diagnostics
from analysis.estimate import Estimate
from analysis.quality_control.exclusion import label_of
from analysis.report.blocks import (
    Column,
    Facts,
    Heading,
    Note,
    Section,
    Table,
    number,
)
from analysis.report.matrix import matrix
from analysis.report.source import NUMERIC, Source
from common.text_length import count_words
from common.words import counted

MOST_WORKERS = 200
SAMPLE = 12


def workers(source: Source) -> Section:
    """For each question that gives scores, who rated what and how much each worker agrees with the rest; flags."""
    section = Section(source.key("workers"), "Workers")
    used = source.data.used
    section.blocks.append(Facts([("Workers", used["worker"].nunique()), ("Submissions per worker", per_worker(used))]))
    for topic in [] if source.description.own_work else source.scored_topics:
        question = source.questions.get(topic)
        frame = source.ratings_on(topic)
        if question is None or frame.empty:
            section.blocks.append(Note(f"There are no ratings of “{topic}” to compare workers on."))
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
        if numeric and (figure := matrix(source, topic, question, frame, section.data)) is not None:
            section.blocks.append(figure)
        section.blocks.append(worker_table(topic, found, numeric=numeric))
        section.data[topic] = found.reset_index()
    add_flags(source, section)
    return section


def per_worker(used: pd.DataFrame) -> str:
    if used.empty:
        return "none"
    each = used["worker"].value_counts()
    middle = float(each.median())
    return f"median {number(middle, 0 if middle.is_integer() else 1)}, from {each.min():,} to {each.max():,}"


def worker_table(topic: str, found: pd.DataFrame, *, numeric: bool) -> Table:
    columns = [Column("Worker", "code"), Column("Ratings"), Column("Median s", digits=1), Column("Compared")]
    columns.append(Column("r with the rest" if numeric else "Agrees with the rest"))
    if numeric:
        columns.append(Column("Bias"))
    columns += [
        Column("Share of the most frequent answer", digits=2),
        Column("Longest run"),
        Column("Simulated", "text"),
    ]
    rows = []
    for worker, row in found.head(MOST_WORKERS).iterrows():
        agreed = Estimate(row["agreement"], row["agreement_low"], row["agreement_high"])
        cells: list[object] = [worker, int(row["ratings"]), row["seconds_median"], int(row["compared"]), agreed]
        if numeric:
            cells.append(Estimate(row["bias"], row["bias_low"], row["bias_high"]))
        cells += [float(row["top_share"]), int(row["longest_run"]), "yes" if row["synthetic"] else ""]
        rows.append(cells)
    note = (
        ("Bias: the rating less the mean of the others on the same unit, in points of the scale. " if numeric else "")
        + "Compared: ratings of units that others rated too; the n of agreement. Longest run: "
        "the most equal answers in a row. One low figure does not prove careless work."
    )
    if len(found) > MOST_WORKERS:
        note += f" The table shows {MOST_WORKERS} of {len(found):,} workers; report.json has all."
    alone = int(found["agreement"].isna().sum())
    if alone:
        why = "fewer than three ratings to compare, or no variation" if numeric else "no unit that others also rated"
        note += f" Agreement is not defined for {alone:,} of {counted(len(found), 'worker')} ({why})."
    return Table(f"{topic}: workers, lowest agreement first", columns, rows, note, fold=len(found) > SAMPLE)


def add_flags(source: Source, section: Section) -> None:
    """Submissions by the reason for their flags, including excluded submissions."""
    flags, submissions = source.data.flags, source.data.submissions
    section.blocks.append(
        Heading(
            "Flags",
            "Reasons for a person to look at a submission. A flag excludes a submission only if an exclusion rule "
            "names it.",
        )
    )
    section.data["flags"] = []
    if flags.empty:
        section.blocks.append(Note(f"Of {counted(len(submissions), 'submission')}, none was flagged."))
        return
    left_out = set(submissions["submission"]) - set(source.data.used["submission"])
    rows = []
    for reason, group in flags.groupby("reason"):
        flagged = set(group["submission"])
        rows.append((str(reason), len(flagged), len(flagged) / len(submissions), len(flagged & left_out)))
    rows.sort(key=lambda row: (-row[1], row[0]))
    columns = [Column("Reason", "text"), Column("Submissions"), Column("Share"), Column("Of them left out")]
    named = [(label_of(reason), *rest) for reason, *rest in rows]
    section.blocks.append(Table(f"Flags among {counted(len(submissions), 'submission')}", columns, named))
    names = ("reason", "submissions", "share", "left_out")
    section.data["flags"] = [dict(zip(names, row, strict=True)) for row in rows]


def texts(source: Source) -> Section | None:
    """A seeded sample of what workers wrote, per question answered in words; None if there is no such question."""
    topics = [topic for topic, question in source.questions.items() if question.scale.level == "text"]
    if not topics:
        return None
    section = Section(source.key("texts"), "Texts by workers")
    rng = np.random.default_rng(source.seed)
    for topic in topics:
        rows = source.texts_on(topic)
        section.blocks.append(Heading(topic, source.questions[topic].label))
        if rows.empty:
            section.blocks.append(Note("Nobody has written anything yet."))
            section.data[topic] = {"n": 0}
            continue
        words = pd.Series([count_words(text) for text in rows["text"]])
        section.data[topic] = {
            "n": len(rows),
            "different": int(rows["text"].nunique()),
            "words_median": float(words.median()),
            "words_sd": float(words.std(ddof=1)),
        }
        section.blocks.append(
            Facts(
                [
                    ("Texts", f"{len(rows):,}, of which {section.data[topic]['different']:,} different"),
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
