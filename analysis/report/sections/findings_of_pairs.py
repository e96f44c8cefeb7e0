"""Findings from questions that compare two parts of an item, such as two texts: shares and strengths by level.

The levels are named, never “text 1”: which of two parts a file lists first makes no difference. Source: Clark 2021,
§3.7; Davidson 1970; the computations are in `analysis.preference`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from analysis import plots
from analysis.description import Factor
from analysis.estimate import Estimate, merged_methods, p_equals
from analysis.factors import part_levels
from analysis.findings.letters import letters_of_tests
from analysis.findings.looks import OpenDifference
from analysis.inference import Dimensions
from analysis.preference import Comparisons, bradley_terry, comparisons_from_choices, ranked, system_scores
from analysis.report.blocks import Figure, Figures, Heading, Note, Section
from analysis.report.estimates import how, with_interval
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.sections.finding_sentences import letters_in_words
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table
from common.words import counted


def add_pairs(source: Source, section: Section, factor: Factor) -> list[tuple[str, str]]:
    """Add every criterion whose answers compare two parts of an item. Returns criteria with their sentences."""
    records: list[dict[str, Any]] = []
    figures: list[Figure] = []
    sentences: list[tuple[str, str]] = []
    for topic in topics_of_pairs(source, factor):
        try:
            of_topic = level_records(source, factor, topic)
        except ValueError as error:
            section.add(Note(f"By {factor.name}, on {topic}: {error}.", "warning"))
            continue
        if not of_topic:
            continue
        records += of_topic
        figures.append(shares_figure(source, factor, topic, of_topic))
        sentences.append((topic, sentence(factor.name, of_topic)))
    if records:
        section.add(Heading(f"By {factor.name}, from choices between two"), Figures(figures))
        section.add_named(f"choices by {factor.name}", levels_table(factor, records))
    return sentences


def topics_of_pairs(source: Source, factor: Factor) -> list[str]:
    """The criteria whose answers compare the two parts that the factor is about."""
    if len(factor.parts) != 2:
        return []
    topics = [topic for topic, question in source.questions.items() if question.scale.level == "pairwise"]
    return topics + [score.topic for score in source.scores if score.middle is not None and score.topic not in topics]


@dataclass(frozen=True)
class Choices:
    """The choices on a topic between parts of different levels. ``same``: how many were between parts of one level."""

    comparisons: Comparisons
    dimensions: Dimensions
    same: int


def choices_on(source: Source, factor: Factor, topic: str) -> Choices | None:
    """None if nobody compared two levels. ValueError: the choices cannot be compared."""
    rows = source.ratings_on(topic)
    first, second = part_levels(source.data, factor, rows)
    between = (first != "") & (second != "") & (first != second)
    if not between.any():
        return None
    same = int(((first != "") & (first == second)).sum())
    rows, first, second = rows[between], first[between], second[between]
    # Only the direction counts: how much better one part is, is on a scale that ranks cannot use.
    middle = next((score.middle for score in source.scores if score.topic == topic and score.middle is not None), 0.0)
    comparisons = comparisons_from_choices(first, second, np.sign(rows["value"] - middle))
    return Choices(
        comparisons, Dimensions.of(items=rows["item"], workers=rows["worker"]).chosen(comparisons.left), same
    )


def choices_so_far(
    source: Source, factor: Factor, topic: str, share_of: Callable[[str], float]
) -> list[OpenDifference]:
    """The differences between levels' shares of choices. ``share_of`` the plan that a level has.

    ValueError: the choices cannot be compared.
    """
    choices = choices_on(source, factor, topic)
    if choices is None:
        return []
    scores = system_scores(choices.comparisons, choices.dimensions)
    names = ranked(scores.estimates)
    pairs = list(combinations(names, 2))
    if factor.reference in names:
        pairs = [(name, factor.reference) for name in names if name != factor.reference]

    def interval(first: str, second: str) -> Callable[[float], Estimate]:
        def of_shares(level: float) -> Estimate:
            """From a difference of mean outcomes between −1 and 1."""
            apart = scores.difference(first, second, level=level)
            return replace(apart, value=apart.value / 2, low=apart.low / 2, high=apart.high / 2)

        return of_shares

    return [
        OpenDifference(
            first,
            second,
            scores.p_difference(first, second),
            interval(first, second),
            min(share_of(first), share_of(second)),
        )
        for first, second in pairs
    ]


def level_records(source: Source, factor: Factor, topic: str) -> list[dict[str, Any]]:
    """The levels, best first; none if nobody compared two. ValueError: the choices cannot be compared."""
    choices = choices_on(source, factor, topic)
    if choices is None:
        return []
    scores = system_scores(choices.comparisons, choices.dimensions)
    try:
        strengths = bradley_terry(choices.comparisons, dimensions=choices.dimensions).strengths
        why = ""
    except ValueError as error:
        strengths, why = {}, str(error)
    order = [scores.systems.index(name) for name in ranked(scores.estimates)]
    letters = letters_of_tests(order, scores.ranking.p, 0.05)
    best = order[0]
    return [
        {
            "criterion": topic,
            "level": scores.systems[index],
            "share": share_of(scores.estimates[scores.systems[index]]),
            "strength": strengths.get(scores.systems[index], Estimate(math.nan, note=why)),
            "rank": scores.ranking.ranks[index],
            "letters": letters[index],
            "choices": scores.pairs[scores.systems[index]],
            "same": choices.same,
            "p_from_best": float(scores.ranking.p[best, index]) if index != best else math.nan,
        }
        for index in order
    ]


def share_of(score: Estimate) -> Estimate:
    """The share of choices for a level, ties as halves, from its mean outcome between −1 and 1."""
    value, low, high = ((end + 1) / 2 for end in (score.value, score.low, score.high))
    return replace(score, value=value, low=low, high=high)


def shares_figure(source: Source, factor: Factor, topic: str, records: list[dict[str, Any]]) -> Figure:
    estimates = [(f"{record['level'][:24]}  {record['letters']}", record["share"]) for record in records]
    title = f"{topic} by {factor.name}: share of choices"
    words = plots.Words(
        source.key("findings-plot"), title, values_in_words(estimates), "Share of choices, ties as halves"
    )
    svg = plots.intervals(words, interval_bars(estimates), limits=(0.0, 1.0))
    caption = f"{title}, with 95% intervals. {letters_in_words([record['letters'] for record in records])}"
    return Figure(svg, caption, estimates_table(title, estimates))


def levels_table(factor: Factor, records: list[dict[str, Any]]) -> Table:
    def ranks(record: dict[str, Any]) -> str:
        _, best, worst = record["rank"]
        return str(best) if best == worst else f"{best} to {worst}"

    columns = [
        Column("Criterion", "name", shows="criterion"),
        Column(factor.name, "name", shows="level"),
        Column("Share of choices", shows="share"),
        Column("Strength", shows="strength"),
        Column("Rank", "code", shows=ranks),
        Column("Letters", "code", shows="letters"),
        Column("Choices", shows="choices"),
        Column("p from the best, Holm", "p", shows="p_from_best"),
    ]
    note = (
        f"{''.join(f'{way} ' for way in merged_methods(how(record['share']) for record in records))}"
        "Share: how often a level was chosen where it met another, ties as halves. Strength: Bradley–Terry with "
        "Davidson’s ties, log scale, mean 0. About new items and new workers. Holm’s correction is over all pairs of "
        "levels of a criterion."
    )
    same = {record["criterion"]: record["same"] for record in records}
    left_out = [f"{counted(count, 'choice')} on {topic}" for topic, count in same.items() if count]
    if left_out:
        note += f" Left out, because both texts have the same {factor.name}: {', '.join(left_out)}."
    return Table(f"Levels of {factor.name}, from choices between two", columns, records, note)


def sentence(factor: str, records: list[dict[str, Any]]) -> str:
    """Which level is chosen most, and whether it differs from the next."""
    best, second = records[:2]
    wins = f"was chosen in {with_interval(best['share'])} of its comparisons"
    shares = f"{wins}, {second['level']} in {with_interval(second['share'])}"
    p = second["p_from_best"]
    if math.isnan(p):
        why = best["share"].note or "the data do not show how uncertain the difference is"
        return f"By {factor}, {best['level']} {shares}. There is no test: {why}."
    if p < 0.05:
        return f"{best['level']} is ahead by {factor}: it {shares}, p {p_equals(p)} (Holm)."
    return f"The data do not show which {factor} is ahead: {best['level']} {shares}, p {p_equals(p)} (Holm)."
