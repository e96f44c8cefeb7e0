"""Findings from questions whose answers are categories: the share of each answer by level, and its differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.description import Factor
from analysis.estimate import p_equals
from analysis.factors import level_names, levels_in_order
from analysis.findings import Answers, Comparison, Difference, compare_levels, level_codes
from analysis.inference import holm
from analysis.report.blocks import Fold, Heading, Section
from analysis.report.estimates import with_interval
from analysis.report.sections.finding_sentences import larger_first
from analysis.report.source import MANY_POINTS, Source
from analysis.report.tables import Column, Table
from common.words import counted

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class AnswerShares:
    """One answer to a question, with its share by level. Holm's correction is over all answers and pairs."""

    answer: str
    comparison: Comparison
    differences: tuple[Difference, ...]


def add_shares(source: Source, section: Section, factor: Factor) -> list[tuple[str, str]]:
    """Add every question with categories whose answers have two levels or more. Returns topics with sentences."""
    sentences = []
    for topic, question in source.questions.items():
        points = question.ratings_scale.points
        if question.scale.level != "nominal" or question.targets or not 2 <= len(points) <= MANY_POINTS:
            continue
        shares = shares_of(source, factor, topic)
        if not shares:
            continue
        levels = [
            {"answer": of.answer, "level": level, "answers": level.answers}
            for of in shares
            for level in of.comparison.levels
        ]
        pairs = [{"answer": of.answer, "pair": pair} for of in shares for pair in of.differences]
        section.add(Heading(f"{topic} by {factor.name}"))
        section.add_named(f"shares of {topic} by {factor.name}", levels_table(topic, factor, levels))
        table = differences_table(topic, factor, pairs)
        section.data[f"differences of {topic} by {factor.name}"] = table.records
        section.add(Fold(f"Differences in {topic} by {factor.name}", [table]))
        sentences.append((f"{topic} by {factor.name}", sentence(pairs)))
    return sentences


def shares_of(source: Source, factor: Factor, topic: str) -> list[AnswerShares]:
    """The answers that anybody gave; none if fewer than two levels have answers, or too many."""
    rows = source.ratings_on(topic)
    if rows.empty:
        return []
    codes, names = level_codes(level_names(source.data, factor, rows), levels_in_order(source.data, factor))
    own = source.description.own_work or source.about_no_item(rows)
    shares = []
    for point in source.questions[topic].ratings_scale.points:
        chosen = (rows["value"] == point.value).to_numpy(dtype=float)
        if not chosen.any():
            continue
        answers = Answers.of(
            chosen,
            items=None if own else rows["item"],
            workers=rows["worker"],
            parts=rows["target"],
            contexts=None if own else rows["item"].map(source.items["context"]),
            bounds=(0.0, 1.0),
        )
        try:
            comparison = compare_levels(answers, codes, names)
        except ValueError:
            return []
        shares.append(AnswerShares(point.label or point.key, comparison, comparison.differences))
    corrected = iter(holm([pair.p for of in shares for pair in of.differences]).tolist() if shares else [])
    return [
        replace(of, differences=tuple(replace(pair, p_corrected=next(corrected)) for pair in of.differences))
        for of in shares
    ]


def levels_table(topic: str, factor: Factor, records: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column("Answer", "text", shows="answer"),
        Column(factor.name, "name", shows=lambda record: record["level"].name),
        Column("Share", shows=lambda record: record["level"].mean),
        Column("Answers", shows="answers"),
        Column("Workers", shows=lambda record: record["level"].workers),
    ]
    note = "Share of a level’s answers. Every item counts the same."
    return Table(f"{topic}: share of each answer by {factor.name}", columns, records, note)


def differences_table(topic: str, factor: Factor, records: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column("Answer", "text", shows="answer"),
        Column("Levels", "text", shows=lambda record: f"{record['pair'].first} − {record['pair'].second}"),
        Column("Difference", shows=lambda record: record["pair"].difference),
        Column("p", "p", shows=lambda record: record["pair"].p),
        Column("p, Holm", "p", shows=lambda record: record["pair"].p_corrected),
    ]
    note = f"Holm’s correction is over {counted(len(records), 'row')}: all answers and pairs of levels."
    return Table(f"{topic}: differences by {factor.name}", columns, records, note)


def sentence(records: Sequence[dict[str, Any]]) -> str:
    """The difference that the data show best."""
    tested = [record for record in records if not math.isnan(record["pair"].p)]
    if tested:
        record = min(tested, key=lambda record: record["pair"].p)
    else:
        record = max(records, key=lambda record: np.nan_to_num(abs(record["pair"].difference.value)))
    pair: Difference = record["pair"]
    names, difference = larger_first(pair.first, pair.second, pair.difference)
    largest = f"“{record['answer']}”, {names}: {with_interval(difference)}"
    if not tested:
        return f"The largest difference: {largest}. No test: {difference.note or 'the answers do not vary enough'}."
    largest += f", p {p_equals(pair.p_corrected)} (Holm)"
    return (
        f"The data show no difference. The clearest: {largest}." if pair.p_corrected >= SIGNIFICANT else f"{largest}."
    )
