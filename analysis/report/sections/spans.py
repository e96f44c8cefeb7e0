"""Marks in texts: how many of each severity and label, by system, and how far markers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from analysis.factors import level_names
from analysis.report.blocks import Fold, Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from analysis.spans.answers import ALL, answers_of_study
from analysis.spans.figures import AgreementFigure, LevelScores, agreement_by, agreement_figures, scores_by
from analysis.spans.marks import spans_in


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
    levels = pd.Series(ALL, index=rows.index)
    if factor is not None:
        levels = level_names(source.data, factor, rows).replace("", ALL)
    records = [_marks_of(level, rows[levels == level]) for level in sorted(set(levels))]
    labels = [record for level in sorted(set(levels)) for record in _labels_of(level, rows[levels == level])]
    section.data |= {"levels": records, "labels": labels}
    section.add(_level_table(name, records))
    if labels:
        section.add(Fold("Marks by label", [_label_table(name, labels)]))
    answers = answers_of_study(source.data, rows, factor)
    systems, workers = (
        _score_records(scores)
        for scores in (
            scores_by(answers, lambda answer: answer.system),
            scores_by(answers, lambda answer: answer.worker),
        )
    )
    section.data |= {"systems": systems, "workers": workers}
    section.add(_score_table(name, systems))
    section.add(Fold("Scores by worker", [_score_table("worker", workers)]))
    agreement = _agreement_records(agreement_figures(answers, seed=source.seed))
    single = [
        record
        for _, of, figures in agreement_by(answers, seed=source.seed)
        for record in _agreement_records(figures, of)
    ]
    section.data |= {"agreement": agreement, "agreement_by": single}
    section.add(_agreement_table("Agreement on marks", agreement))
    if single:
        section.add(
            Fold("Agreement by severity and label", [_agreement_table("Agreement on some marks", single, of="Marks")])
        )
    return section


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


def _agreement_records(figures: Sequence[AgreementFigure], name: str = "") -> list[dict[str, Any]]:
    return [{"of": name, "key": figure.key, "figure": figure.title, "estimate": figure.estimate} for figure in figures]


def _agreement_table(title: str, records: Sequence[dict[str, Any]], *, of: str = "") -> Table:
    columns = [
        *([Column(of, "code", shows="of")] if of else []),
        Column("Agreement", "prose", shows="figure"),
        Column("Estimate", shows="estimate"),
        Column("Texts", shows=lambda record: record["estimate"].n),
        Column("How", "how", shows="estimate"),
    ]
    note = (
        "Every pair of workers who marked the same text, all texts together. F1: 1 if they marked the same, 0 if no "
        "place is marked by both; texts that neither marked do not count. α (Krippendorff 2011): each character is a "
        "unit; 0 is chance. γ (Mathet, Widlöcher & Métivier 2015): marks that nearly agree count in part; 0 is chance."
    )
    return Table(title, columns, records, "" if of else note)


def _score_records(scores: Sequence[LevelScores]) -> list[dict[str, Any]]:
    return [
        {
            "level": level.level,
            "answers": level.answers,
            "marks": level.marks,
            "score": level.score,
            "z": level.z,
            "errors": level.errors,
        }
        for level in scores
    ]


def _score_table(name: str, records: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column(name, "name", shows="level"),
        Column("Answers", shows="answers"),
        Column("Score", shows="score"),
        Column("z", shows="z"),
        Column("Marks per 100 words", shows="errors"),
        Column("How", "how", shows="score"),
    ]
    note = (
        "Score: minus the weights of the marks of a text, so that more is better; every answer counts the same, where "
        "“What the study found” counts every item the same. z: after each worker’s scores were given the mean 0 and "
        "the standard deviation 1."
    )
    return Table(f"Scores from marks by {name}", columns, records, note)
