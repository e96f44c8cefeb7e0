"""Marks in texts: how many of each severity and label, by system, and how far markers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from analysis.description import Factor
from analysis.factors import level_names
from analysis.report.blocks import Fold, Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from analysis.spans.agreement import Count, by_severity, characters, whole
from analysis.spans.marks import Span, spans_in
from analysis.spans.pooled import pooled_f1

#: The level of all texts where no factor tells them apart.
ALL = "all texts"


def make_section(source: Source, *, topic: str) -> Section:
    """Tables of marks by the most important factor, and the agreement of markers on where and how bad."""
    question = source.questions[topic]
    section = Section(source.key("spans"), f"Marks: {question.label}")
    rows = source.ratings_on(topic)
    rows = rows[rows["text"] != ""]
    if rows.empty:
        section.add(Note("Nobody has marked anything or said that there is nothing to mark."))
        return section
    rows = rows.assign(spans=pd.Series([spans_in(text) for text in rows["text"]], index=rows.index, dtype=object))
    factor = next((factor for factor in source.factors if factor.of in ("item", "part")), None)
    name = factor.name if factor else "text"
    levels = _levels(source, factor, rows)
    records = [_marks_of(level, rows[levels == level]) for level in sorted(set(levels))]
    labels = [record for level in sorted(set(levels)) for record in _labels_of(level, rows[levels == level])]
    section.data |= {"levels": records, "labels": labels}
    section.add(_level_table(name, records))
    if labels:
        section.add(Fold("Marks by label", [_label_table(name, labels)]))
    agreement = _agreement(rows)
    section.data["agreement"] = agreement
    section.add(_agreement_table(agreement))
    return section


def _levels(source: Source, factor: Factor | None, rows: pd.DataFrame) -> pd.Series:
    if factor is None:
        return pd.Series(ALL, index=rows.index)
    return level_names(source.data, factor, rows).replace("", ALL)


def _marks_of(level: str, rows: pd.DataFrame) -> dict[str, Any]:
    """What was marked in the texts of one level, per answer. Every answer counts the same."""
    spans = [span for marks in rows["spans"] for span in marks]
    severities = Counter(span.severity for span in spans)
    return {
        "level": level,
        "answers": len(rows),
        "without": float((rows["spans"].map(len) == 0).mean()),
        "marks": len(spans) / len(rows),
        "weight": float(rows["value"].mean()),
        "severities": {severity: severities[severity] / len(rows) for severity in sorted(severities)},
    }


def _labels_of(level: str, rows: pd.DataFrame) -> list[dict[str, Any]]:
    counts = Counter((span.label, span.severity) for marks in rows["spans"] for span in marks if span.label)
    return [
        {"level": level, "label": label, "severity": severity, "marks": count, "per_100": 100 * count / len(rows)}
        for (label, severity), count in counts.most_common()
    ]


def _level_table(name: str, records: Sequence[dict[str, Any]]) -> Table:
    severities = sorted({severity for record in records for severity in record["severities"]})
    columns = [
        Column(name, "name", shows="level"),
        Column("Answers", shows="answers"),
        Column("Without marks", shows="without"),
        Column("Marks per answer", shows="marks"),
        *(Column(f"{severity} per answer", shows=partial(_per_answer, severity)) for severity in severities),
        Column("Mean weight", shows="weight"),
    ]
    note = (
        "Without marks: the share of answers that say that there is nothing to mark. The mean weight of the marks, "
        "with the sign changed, is the score that the findings compare."
    )
    return Table(f"Marks by {name}", columns, records, note)


def _per_answer(severity: str, record: dict[str, Any]) -> float:
    return float(record["severities"].get(severity, 0.0))


def _label_table(name: str, labels: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column(name, "name", shows="level"),
        Column("Label", "code", shows="label"),
        Column("Severity", "code", shows="severity"),
        Column("Marks", shows="marks"),
        Column("Per 100 answers", shows="per_100", digits=1),
    ]
    return Table(f"Marks by label and {name}", columns, labels)


def _agreement(rows: pd.DataFrame) -> list[dict[str, Any]]:
    answers: dict[tuple[Hashable, str], list[tuple[str, Sequence[Span]]]] = {}
    columns = rows[["item", "target", "worker", "spans"]]
    for item, target, worker, spans in columns.itertuples(index=False, name=None):
        answers.setdefault((item, target), []).append((worker, spans))
    figures: dict[str, Count] = {
        "Marked characters": characters,
        "Marked characters with the same severity": partial(characters, same=by_severity),
        "Whole marks": whole,
        "Whole marks with the same severity": partial(whole, same=by_severity),
    }
    return [{"figure": name, "f1": pooled_f1(answers, count)} for name, count in figures.items()]


def _agreement_table(agreement: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column("Agreement on", "prose", shows="figure"),
        Column("F1", shows="f1"),
        Column("Texts", shows=lambda record: record["f1"].n),
        Column("How", "how", shows="f1"),
    ]
    note = (
        "F1 of every pair of workers who marked the same text, all texts together: 1 if they marked the same, 0 if "
        "nothing is marked by both. Texts that neither marked do not count."
    )
    return Table("Agreement on marks", columns, agreement, note)
