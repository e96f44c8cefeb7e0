"""The section of studies that ask which of two texts is better: +1 for text 1, −1 for text 2, 0 for no difference.

Source: Clark 2021, ch. 3.7 and app. B.7; the computations are in `analysis.preference`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from analysis import plots
from analysis.agreement import fleiss_kappa, ratings_from_frame
from analysis.estimate import Estimate, p_equals
from analysis.inference import Dimensions, holm
from analysis.preference import (
    Choices,
    Majorities,
    binomial_test,
    count_choices,
    majorities,
    win_share,
)
from analysis.preference import preference as preferred
from analysis.report.blocks import Figure, Fold, Heading, Highlight, Note, Section
from analysis.report.estimates import attempt, interval, number, with_interval
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted

FIRST, SECOND = "first text", "second text"
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class SystemPair:
    """Two systems on one criterion. Shares are of the first system.

    ``share`` and ``p`` are about new items and new workers; ``p_corrected`` by Holm's method over all pairs and
    criteria of the page. The paper's: ``share_wilson`` and ``share_ties_split`` with Wilson's interval, ``p_ties_…`` by
    the exact binomial test, two-sided.
    """

    first: str
    second: str
    counts: Choices
    share: Estimate
    p: float
    p_corrected: float
    share_wilson: Estimate
    share_ties_split: Estimate
    p_ties_dropped: float
    p_ties_split: float
    majorities: Majorities


def make_section(source: Source, *, systems: Sequence[str] = (), topics: Sequence[str] = ()) -> Section:
    """For each criterion and pair of systems: wins, ties, losses, shares, tests, majorities; agreement.

    ``systems``: the two columns of the items' file that name the systems of text 1 and text 2. Without names, the
    first text of every item is compared with the second. ``topics``: the criteria (all on a pairwise scale).
    """
    section = Section(source.key("preference"), "Preference")
    pairwise = [topic for topic, question in source.questions.items() if question.scale.level == "pairwise"]
    choices = {topic: oriented(source, source.ratings_on(topic), systems) for topic in topics or pairwise}
    named = any(factor.of == "part" for factor in source.factors)  # then findings compare systems
    pairs: dict[str, list[SystemPair]] = {}
    errors: dict[str, ValueError] = {}
    for topic, rows in choices.items():
        try:
            pairs[topic] = compared_pairs(rows)
        except ValueError as error:
            errors[topic] = error
    pairs = corrected(pairs)
    for topic, rows in choices.items():
        if rows.empty:
            section.add(Note(f"Nobody has chosen on “{topic}” yet."))
            continue
        label = source.questions[topic].label
        section.add(Heading(topic, label if label != topic else ""))
        if topic in errors:
            section.add(Note(f"The choices on “{topic}” cannot be counted: {errors[topic]}.", "warning"))
            continue
        section.data[topic] = {"n": len(rows), "pairs": pairs[topic], "fleiss_kappa": agreement(source, topic)}
        if same := int((rows["first"] == rows["second"]).sum()):
            section.add(Note(f"{counted(same, 'choice')} between two texts by one system, left out."))
        if not pairs[topic]:
            continue
        if pairs[topic][0].first == FIRST:
            section.add(
                Note("The items do not name systems, so the first text of every item is set against the second.")
            )
        folded = [tests_table(topic, pairs[topic]), majority_table(topic, pairs[topic])]
        section.add(
            choices_figure(source, topic, pairs[topic]),
            shares_table(topic, pairs[topic]),
            Fold(f"{topic}: the paper’s test, and what most choices about an item say", folded),
        )
        if not named:
            section.answers.append((topic, pairs_in_words(pairs[topic])))
        if len(pairs[topic]) == 1:  # with more pairs, no single one is the result
            section.highlights.append(headline(topic, pairs[topic][0]))
    if not section.blocks:
        section.add(Note("No question of this study asks which of two is better."))
    return section


def pairs_in_words(pairs: Sequence[SystemPair]) -> str:
    """Who is preferred: the pair that the data tell apart best."""
    defined = [pair for pair in pairs if not math.isnan(pair.p_corrected)]
    pair = min(defined or pairs, key=lambda pair: pair.p_corrected)
    ahead, behind, share = pair.first, pair.second, pair.share
    if share.value < 0.5:
        share = replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)
        ahead, behind = behind, ahead
    verdict = "" if pair.p_corrected < SIGNIFICANT else ", so the data do not show which one people prefer"
    start = f"{ahead} is preferred to {behind} in {with_interval(share)} of choices that are no tie"
    if not defined:
        return f"{start}. There is no test: {share.note or 'the choices do not vary enough'}."
    more = f" {len(pairs)} pairs in all." if len(pairs) > 1 else ""
    return f"{start}; p {p_equals(pair.p_corrected)} (Holm){verdict}.{more}"


def compared_pairs(choices: pd.DataFrame) -> list[SystemPair]:
    """ValueError: a rating that is not a choice."""
    if choices.empty:
        return []
    choices = choices[choices["first"] != choices["second"]]
    groups = choices.groupby(["first", "second"], sort=False)
    return [compare(str(first), str(second), rows) for (first, second), rows in groups]


def corrected(pairs: dict[str, list[SystemPair]]) -> dict[str, list[SystemPair]]:
    """The same with Holm's correction over all pairs and criteria."""
    p_corrected = iter(holm([pair.p for pairs_on_topic in pairs.values() for pair in pairs_on_topic]).tolist())
    return {
        topic: [replace(pair, p_corrected=next(p_corrected)) for pair in pairs_on_topic]
        for topic, pairs_on_topic in pairs.items()
    }


def oriented(source: Source, ratings: pd.DataFrame, systems: Sequence[str]) -> pd.DataFrame:
    """Choices with their systems, reversed where necessary so that each pair of systems always has the same order."""
    if ratings.empty:
        return ratings
    names = source.items["cells"].map(lambda cells: system_names(cells, systems))
    order_of: dict[frozenset[str], tuple[str, str]] = {}
    for first, second in names:
        order_of.setdefault(frozenset((first, second)), (first, second))
    shown = ratings["item"].map(names)
    ordered = [order_of[frozenset(pair)] for pair in shown]
    sign = [1.0 if pair == order else -1.0 for pair, order in zip(shown, ordered, strict=True)]
    return ratings.assign(
        first=[first for first, _ in ordered],
        second=[second for _, second in ordered],
        value=ratings["value"] * sign,
    )


def for_agreement(source: Source, ratings: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Choices turned so that the systems of every pair are in the order of their names, and whether both orders count.

    So it does not matter which of two texts the items' file calls text 1. The systems are those that the section
    “preference” of the study names. Where they have no names, or one name for both, every choice counts in both orders.
    """
    columns = system_columns(source)
    pairs = source.items["cells"].map(lambda cells: tuple(cells.get(column, "").strip() for column in columns))
    if not pairs[pairs.index.isin(ratings["item"])].map(lambda pair: len(set(pair)) == 2 and all(pair)).all():
        return ratings, True
    sign = ratings["item"].map(pairs.map(lambda pair: -1.0 if pair[0] > pair[-1] else 1.0))
    return ratings.assign(value=ratings["value"] * sign), False


def system_columns(source: Source) -> Sequence[str]:
    """The columns with the systems of text 1 and text 2, as the study's section “preference” names them; or none."""
    sections = source.description.sections
    declared = [section.parameters.get("systems", ()) for section in sections if section.name == "preference"]
    return tuple(declared[0]) if declared else ()


def one_pair(source: Source, choices: pd.DataFrame) -> pd.DataFrame | None:
    """Choices between two systems, as `oriented` turns them: 1 for the first, 0 for the second, 0.5 for neither.

    None if the items name no systems, or more than two.
    """
    shares = oriented(source, choices, system_columns(source))
    pairs = set(zip(shares["first"], shares["second"], strict=True))
    if len(pairs) != 1 or (FIRST, SECOND) in pairs or len(set(*pairs)) < 2:
        return None
    return shares.assign(value=(shares["value"] + 1) / 2)


def system_names(cells: dict[str, str], systems: Sequence[str]) -> tuple[str, str]:
    """The two systems of an item."""
    if len(systems) != 2 or not all(cells.get(column, "").strip() for column in systems):
        return FIRST, SECOND
    first, second = (cells[column].strip() for column in systems)
    return first, second


def compare(first: str, second: str, choices: pd.DataFrame) -> SystemPair:
    counts = count_choices(choices["value"])
    shares = preferred(choices["value"], Dimensions.of(items=choices["item"], workers=choices["worker"]))
    return SystemPair(
        first,
        second,
        counts,
        shares.share,
        shares.p,
        shares.p,
        win_share(counts),
        win_share(counts, ties="split"),
        binomial_test(counts),
        binomial_test(counts, ties="split"),
        majorities(choices["value"], choices["item"]),
    )


def agreement(source: Source, topic: str) -> Estimate:
    """Fleiss' κ over items, on the three possible categories of a choice: that of the section on answers."""
    choices, both_orders = for_agreement(source, source.ratings_on(topic))
    ratings = ratings_from_frame(choices, unit="unit", rater="worker", categories=[-1.0, 0.0, 1.0])
    return attempt(lambda: fleiss_kappa(ratings, both_orders=both_orders), n=choices["unit"].nunique())


def pair_name(pair: SystemPair) -> str:
    return f"{pair.first} against {pair.second}"


PAIR = Column("Pair", "text", shows=pair_name)
COUNTS = (
    Column("Wins", shows=lambda pair: pair.counts.wins),
    Column("Ties", shows=lambda pair: pair.counts.ties),
    Column("Losses", shows=lambda pair: pair.counts.losses),
)


def choices_figure(source: Source, topic: str, pairs: Sequence[SystemPair]) -> Figure:
    several = len(pairs) > 1
    ends = ("second preferred", "first preferred") if several else (pairs[0].second, pairs[0].first)
    counts = [(pair_name(pair), [pair.counts.losses, pair.counts.ties, pair.counts.wins]) for pair in pairs]
    title = f"Choices on {topic}"
    described = "; ".join(
        f"{name}: {wins:,} to {losses:,}, {ties:,} without difference" for name, (losses, ties, wins) in counts
    )
    words = plots.Words(source.key("preference-plot"), title, f"{described}.", "Share of choices on either side")
    sides = ("second", "first") if several else (pairs[0].second[:14], pairs[0].first[:14])
    svg = plots.diverging(words, counts, [sides[0], "neither", sides[1]], ends=ends)
    columns = [Column("First", "name", shows="first"), Column("Second", "name", shows="second"), *COUNTS]
    return Figure(svg, f"{title}: who was preferred, on the right the first.", Table(title, columns, pairs))


def shares_table(topic: str, pairs: Sequence[SystemPair]) -> Table:
    columns = [
        PAIR,
        *COUNTS,
        Column("Share of wins", digits=3, shows="share"),
        Column("p", "p", shows="p"),
        Column("p, Holm", "p", shows="p_corrected"),
        Column("How", "how", shows="share"),
    ]
    note = (
        "Wins are of the first. Share of wins: among choices that are no tie. Its interval, and p against one half, "
        "are about new items and new workers: choices about one item may be alike, and those of one worker. Holm’s "
        "correction is over all pairs and criteria of this section."
    )
    return Table(f"{topic}: wins, ties, losses", columns, pairs, note)


def tests_table(topic: str, pairs: Sequence[SystemPair]) -> Table:
    columns = [
        PAIR,
        Column("Share of wins, Wilson", digits=3, shows="share_wilson"),
        Column("p, ties dropped", "p", shows="p_ties_dropped"),
        Column("p, ties split", "p", shows="p_ties_split"),
        Column("Share, ties split", digits=3, shows="share_ties_split"),
    ]
    note = (
        "The paper’s test: exact binomial test of wins against one half, two-sided; ties are dropped, or split evenly. "
        "It and Wilson’s interval take all choices as independent, and are too sure if items or workers differ."
    )
    return Table(f"{topic}: the paper’s test", columns, pairs, note)


def majority_table(topic: str, pairs: Sequence[SystemPair]) -> Table:
    columns = [
        PAIR,
        Column("First", "text", shows=lambda pair: f"{pair.majorities.first} of {pair.majorities.n} items"),
        Column("Second", "text", shows=lambda pair: f"{pair.majorities.second} of {pair.majorities.n}"),
        Column("Neither", "text", shows=lambda pair: f"{pair.majorities.neither} of {pair.majorities.n}"),
    ]
    return Table(f"{topic}: what most choices about an item say", columns, pairs)


def headline(topic: str, pair: SystemPair) -> Highlight:
    share = pair.share
    detail = share.note if math.isnan(share.low) else interval(share, 2)
    return Highlight(f"{pair.first} preferred", number(share.value), f"{detail} {topic}")
