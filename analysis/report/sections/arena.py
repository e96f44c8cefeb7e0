"""The section of studies in which two assistants answer the same messages: strengths, ties, and what length does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate, merged_methods
from analysis.inference import LEAST_CLUSTERS, Dimensions
from analysis.preference import bradley_terry, comparisons_from_choices, ranked, system_scores
from analysis.preference.style_control import odds, relative_differences, style_control
from analysis.report.blocks import Figure, Heading, Highlight, Note, Section
from analysis.report.estimates import how, number, with_interval
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.sections.findings_of_pairs import share_of
from analysis.report.source import Source
from analysis.report.stories import used_offers
from analysis.report.tables import Column, Table, estimates_table
from common.text_length import count_words
from common.words import counted

BETWEEN, BOTH_BAD = ":", "_both_bad"


@dataclass(frozen=True, slots=True)
class Result:
    """What one comparison found. ``records``: a row for each system, best first. ``why_not``: why there are no
    strengths at equal length. ``p_ahead``: p that the first two systems are equally good, corrected. ``about``: what
    the intervals are about."""

    records: Sequence[dict[str, Any]]
    ties: Estimate
    length: Estimate
    spread: float
    why_not: str
    p_ahead: float
    about: str


def make_section(source: Source, *, topics: Sequence[str]) -> Section:
    """For each of ``topics``, whose ratings have the two systems as their target, ``FIRST:SECOND``: strengths."""
    section = Section(source.key("arena"), "Strengths of the assistants")
    for topic in topics:
        rows = source.ratings_on(topic)
        if rows.empty:
            section.add(Note(f"Nobody has compared two assistants on “{topic}” yet."))
            continue
        label = source.questions[topic].label
        try:
            result = results_of(source, rows)
        except ValueError as error:
            section.add(Heading(topic, label if label != topic else ""))
            section.add(Note(f"The comparisons on “{topic}” cannot be turned into strengths: {error}.", "warning"))
            continue
        words = in_words(result)
        section.add(Heading(topic, label if label != topic else ""), Note(words))
        section.answers.append((topic, words))
        section.add(strengths_figure(source, topic, result))
        section.add_named(f"strengths on {topic}", strengths_table(result))
        section.add(Note(ties_in_words(source, topic, rows, result)))
        section.add(Note(length_in_words(result)))
        section.data[topic] = {"length": result.length, "spread": result.spread, "ties": result.ties}
        best = result.records[0]
        if not math.isnan(best["strength"].value):
            section.highlights.append(Highlight("Strongest assistant", best["system"], f"on {topic}"))
    return section


def results_of(source: Source, rows: pd.DataFrame) -> Result:
    """ValueError: no two systems were compared."""
    first, second = (rows["target"].str.split(BETWEEN).str[index].to_numpy(dtype=str) for index in (0, 1))
    comparisons = comparisons_from_choices(first, second, np.sign(rows["value"]))
    scenarios = {"scenarios": rows["item"]} if rows["item"].nunique() >= LEAST_CLUSTERS else {}
    dimensions = Dimensions.of(**scenarios, workers=rows["worker"]).chosen(comparisons.left)
    scores = system_scores(comparisons, dimensions)
    try:
        fitted = bradley_terry(comparisons, dimensions=dimensions)
        strengths, ties, ranks, why = fitted.strengths, fitted.ties, fitted.ranks, ""
    except ValueError as error:
        strengths, ties, ranks, why = {}, Estimate(math.nan, note=str(error)), {}, str(error)
    words = words_of(source)
    lengths = [
        np.array([words.get((int(row["submission"]), str(row["item"]), name), 0) for (_, row), name in pairs])
        for pairs in (list(zip(rows.iterrows(), names, strict=True)) for names in (first, second))
    ]
    differences = relative_differences(*lengths)[comparisons.left]
    why_not, spread = "", math.nan
    length = Estimate(math.nan)
    at_equal_length: dict[str, Estimate] = {}
    try:
        styled = style_control(comparisons, differences, dimensions=dimensions)
        length, spread, at_equal_length = styled.length, styled.spread, styled.strengths
    except ValueError as error:
        why_not = str(error)
    order = ranked(scores.estimates)
    p = scores.ranking.p
    places = [scores.systems.index(name) for name in order[:2]]
    records = [
        {
            "system": name,
            "strength": strengths.get(name, Estimate(math.nan, note=why)),
            "at_equal_length": at_equal_length.get(name, Estimate(math.nan, note=why_not)),
            "rank": ranks.get(name),
            "share": share_of(scores.estimates[name]),
            "comparisons": scores.pairs[name],
        }
        for name in order
    ]
    about = "new scenarios and new people" if scenarios else "new people in these scenarios"
    return Result(records, ties, length, spread, why_not, float(p[places[0], places[1]]), about)


def words_of(source: Source) -> dict[tuple[int, str, str], int]:
    """The words of all answers by one system in one conversation."""
    totals: dict[tuple[int, str, str], int] = {}
    for submission, item, system, text in used_offers(source)[["submission", "item", "suggester", "text"]].itertuples(
        index=False
    ):
        key = int(submission), str(item), str(system)
        totals[key] = totals.get(key, 0) + count_words(str(text))
    return totals


def in_words(result: Result) -> str:
    """Which assistant is ahead."""
    best, second = result.records[:2]
    wins = f"{best['system']} won {with_interval(best['share'])} of its comparisons, a tie counted as half"
    if math.isnan(result.p_ahead):
        return f"{wins}. There is no test: {best['share'].note or 'the choices do not vary enough'}."
    if result.p_ahead < 0.05:
        return f"{best['system']} is ahead of {second['system']}: {wins}."
    return f"The data do not show which assistant is better: {wins}."


def ties_in_words(source: Source, topic: str, rows: pd.DataFrame, result: Result) -> str:
    tied = int((rows["value"] == 0).sum())
    sentence = f"{counted(tied, 'comparison')} of {len(rows):,} ended in a tie"
    bad = source.ratings_on(f"{topic}{BOTH_BAD}")
    if not bad.empty:
        sentence += f", {int((bad['value'] == 1).sum()):,} of these because both were bad"
    if math.isnan(result.ties.value) or not tied:
        return f"{sentence}."
    return f"{sentence}. Davidson’s ν, which is 0 without ties, is {with_interval(result.ties)}."


def length_in_words(result: Result) -> str:
    """What longer answers do to the odds, and whether the strengths stay as they are."""
    if result.why_not:
        return f"The effect of length cannot be told: {result.why_not}."
    ratio = odds(result.length)
    start = (
        f"With answers longer by a usual difference (a relative difference of {number(result.spread)}), the odds of "
        f"winning are {with_interval(ratio)} times as high, whatever the assistant"
    )
    if math.isnan(result.length.low):
        return f"{start}. There is no interval: {result.length.note}."
    if result.length.low <= 0 <= result.length.high:
        return f"{start}. The data do not show that length matters."
    liked = "longer" if result.length.value > 0 else "shorter"
    return f"{start}: people preferred {liked} answers. “At equal length” has the strengths without this."


def strengths_figure(source: Source, topic: str, result: Result) -> Figure:
    estimates = [(record["system"][:24], record["strength"]) for record in result.records]
    title = f"Strengths on {topic}"
    words = plots.Words(source.key("arena-plot"), title, values_in_words(estimates), "Strength, log scale")
    svg = plots.intervals(words, interval_bars(estimates))
    return Figure(svg, f"{title}, with 95% intervals.", estimates_table(title, estimates))


def strengths_table(result: Result) -> Table:
    def ranks(record: dict[str, Any]) -> str:
        if record["rank"] is None:
            return ""
        _, best, worst = record["rank"]
        return str(best) if best == worst else f"{best} to {worst}"

    columns = [
        Column("Assistant", "name", shows="system"),
        Column("Strength", shows="strength"),
        Column("At equal length", shows="at_equal_length"),
        Column("Rank", "code", shows=ranks),
        Column("Share of wins", shows="share"),
        Column("Comparisons", shows="comparisons"),
    ]
    methods = merged_methods(how(record["strength"]) for record in result.records)
    note = (
        f"{''.join(f'{way} ' for way in methods)}Strength: Bradley–Terry with Davidson’s ties, log scale, mean 0. At "
        "equal length: a logistic Bradley–Terry model in which a tie is half a win, with the relative difference of "
        "the words of both assistants, (a − b) / (a + b), as a covariate. Share: ties as halves. Intervals are about "
        f"{result.about}."
    )
    return Table("Strengths of the assistants", columns, result.records, note)
