"""The section of studies that ask which of two texts is better: +1 for text 1, −1 for text 2, 0 for no difference.

Source: Clark 2021, ch. 3.7 and app. B.7; the computations are in `analysis.preference`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis import plots
from analysis.agreement import fleiss_kappa, ratings_from_frame
from analysis.estimate import Estimate
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
from analysis.report.blocks import (
    Block,
    Column,
    Figure,
    Heading,
    Highlight,
    Note,
    Section,
    Table,
    attempt,
    how,
    interval,
    number,
)
from analysis.report.source import Source

FIRST, SECOND = "text 1", "text 2"


@dataclass(frozen=True, slots=True)
class Compared:
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


def preference(source: Source, *, systems: Sequence[str] = (), topics: Sequence[str] = ()) -> Section:
    """For each criterion and pair of systems: wins, ties, losses, shares, tests, majorities; agreement.

    ``systems``: the two columns of the items' file that name the systems of text 1 and text 2. Without names, the
    systems are called text 1 and text 2. ``topics``: the criteria (all on a pairwise scale).
    """
    section = Section(source.key("preference"), "Preference")
    pairwise = [topic for topic, question in source.questions.items() if question.scale.level == "pairwise"]
    chosen: dict[str, pd.DataFrame] = {}
    pairs: dict[str, list[Compared] | str] = {}
    for topic in topics or pairwise:
        ratings = source.ratings_on(topic)
        chosen[topic] = ratings if ratings.empty else oriented(source, ratings, systems)
        try:
            pairs[topic] = compared_pairs(chosen[topic])
        except ValueError as error:
            pairs[topic] = str(error)
    pairs = corrected(pairs)
    for topic, compared in pairs.items():
        if chosen[topic].empty:
            section.blocks.append(Note(f"Nobody has chosen on “{topic}” yet."))
            continue
        label = source.questions[topic].label
        section.blocks.append(Heading(topic, label if label != topic else ""))
        if isinstance(compared, str):
            section.blocks.append(Note(f"The choices on “{topic}” cannot be counted: {compared}.", "warning"))
            continue
        blocks, section.data[topic] = one_criterion(source, topic, chosen[topic], compared)
        section.blocks += blocks
        section.highlights += headline(topic, compared)
    if not section.blocks:
        section.blocks.append(Note("No question of this study asks which of two is better."))
    return section


def compared_pairs(ratings: pd.DataFrame) -> list[Compared]:
    """ValueError: a rating that is not a choice."""
    if ratings.empty:
        return []
    groups = ratings.groupby(["first", "second"], sort=False)
    return [compare(str(first), str(second), rows) for (first, second), rows in groups]


def corrected(pairs: dict[str, list[Compared] | str]) -> dict[str, list[Compared] | str]:
    """The same with Holm's correction over all pairs and criteria."""
    tests = iter(holm([each.p for compared in pairs.values() if isinstance(compared, list) for each in compared]))
    return {
        topic: compared
        if isinstance(compared, str)
        else [replace(each, p_corrected=float(next(tests))) for each in compared]
        for topic, compared in pairs.items()
    }


def oriented(source: Source, ratings: pd.DataFrame, systems: Sequence[str]) -> pd.DataFrame:
    """Choices with their systems, reversed where necessary so that each pair of systems always has the same order."""
    names = source.items["cells"].map(lambda cells: system_names(cells, systems))
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for first, second in names:
        pairs.setdefault(frozenset((first, second)), (first, second))
    shown = ratings["item"].map(names)
    order = [pairs[frozenset(pair)] for pair in shown]
    sign = [1.0 if pair == kept else -1.0 for pair, kept in zip(shown, order, strict=True)]
    return ratings.assign(
        first=[pair[0] for pair in order],
        second=[pair[1] for pair in order],
        value=ratings["value"] * sign,
    )


def in_order_of_names(source: Source, ratings: pd.DataFrame) -> pd.DataFrame:
    """Choices turned so that the systems of every pair are in the order of their names, for agreement.

    Then it does not matter which of two systems the items' file calls text 1. The systems are those that the study's
    section “preference” names.
    """
    declared = [each.parameters.get("systems", ()) for each in source.description.sections if each.name == "preference"]
    names = source.items["cells"].map(lambda cells: system_names(cells, declared[0] if declared else ()))
    turned = ratings["item"].map(names.map(lambda pair: -1.0 if pair[0] > pair[1] else 1.0))
    return ratings.assign(value=ratings["value"] * turned)


def system_names(cells: dict[str, str], systems: Sequence[str]) -> tuple[str, str]:
    """The two systems of an item. If both have the same name, each is followed by its place."""
    if len(systems) != 2 or not all(cells.get(column, "").strip() for column in systems):
        return FIRST, SECOND
    first, second = (cells[column].strip() for column in systems)
    return (first, second) if first != second else (f"{first}, {FIRST}", f"{second}, {SECOND}")


def one_criterion(
    source: Source, topic: str, ratings: pd.DataFrame, pairs: list[Compared]
) -> tuple[list[Block], dict[str, Any]]:
    kappa = agreement(source, topic)
    data = {"n": len(ratings), "pairs": pairs, "fleiss_kappa": kappa}
    blocks: list[Block] = [figure(source, topic, pairs), shares_table(topic, pairs)]
    return [*blocks, tests_table(topic, pairs, kappa), majority_table(topic, pairs)], data


def compare(first: str, second: str, rows: pd.DataFrame) -> Compared:
    counts = count_choices(rows["value"])
    found = preferred(rows["value"], Dimensions.of(items=rows["item"], workers=rows["worker"]))
    return Compared(
        first,
        second,
        counts,
        found.share,
        found.p,
        found.p,
        win_share(counts),
        win_share(counts, ties="split"),
        binomial_test(counts),
        binomial_test(counts, ties="split"),
        majorities(rows["value"], rows["item"]),
    )


def agreement(source: Source, topic: str) -> Estimate:
    """Fleiss' κ over items, on the three possible categories of a choice: that of the section on answers."""
    ratings = in_order_of_names(source, source.ratings_on(topic))
    found = ratings_from_frame(ratings, unit="unit", rater="worker", categories=[-1.0, 0.0, 1.0])
    return attempt(lambda: fleiss_kappa(found), n=ratings["unit"].nunique())


def figure(source: Source, topic: str, pairs: Sequence[Compared]) -> Figure:
    several = len(pairs) > 1
    ends = ("second preferred", "first preferred") if several else (pairs[0].second, pairs[0].first)
    rows = [(pair_name(each), [each.counts.losses, each.counts.ties, each.counts.wins]) for each in pairs]
    title = f"Choices on {topic}"
    described = "; ".join(f"{name}: {c[2]:,} to {c[0]:,}, {c[1]:,} without difference" for name, c in rows) + "."
    words = plots.Words(source.key("preference-plot"), title, described, "Share of choices on either side")
    svg = plots.diverging(words, rows, ["second", "neither", "first"], ends=ends)
    columns = [Column("First", "name"), Column("Second", "name"), Column("Wins"), Column("Ties"), Column("Losses")]
    body = [(each.first, each.second, each.counts.wins, each.counts.ties, each.counts.losses) for each in pairs]
    return Figure(svg, f"{title}: who was preferred, on the right the first.", Table(title, columns, body))


def pair_name(each: Compared) -> str:
    return f"{each.first} against {each.second}"


def shares_table(topic: str, pairs: Sequence[Compared]) -> Table:
    columns = [Column("Pair", "text"), *map(Column, ("Wins", "Ties", "Losses"))]
    columns += [Column("Share of wins", digits=3), Column("p", "p"), Column("p, Holm", "p"), Column("How", "how")]
    rows = [
        (
            pair_name(each),
            each.counts.wins,
            each.counts.ties,
            each.counts.losses,
            each.share,
            each.p,
            each.p_corrected,
            how(each.share),
        )
        for each in pairs
    ]
    note = (
        "Wins are of the first. Share of wins: among choices that are no tie. Its interval, and p against one half, "
        "are about new items and new workers: choices about one item may be alike, and those of one worker. Holm’s "
        "correction is over all pairs and criteria of this section."
    )
    return Table(f"{topic}: wins, ties, losses", columns, rows, note)


def tests_table(topic: str, pairs: Sequence[Compared], kappa: Estimate) -> Table:
    columns = [Column("Pair", "text"), Column("Share of wins, Wilson", digits=3)]
    columns += [Column("p, ties dropped", "p"), Column("p, ties split", "p"), Column("Share, ties split", digits=3)]
    rows = [
        (pair_name(each), each.share_wilson, each.p_ties_dropped, each.p_ties_split, each.share_ties_split)
        for each in pairs
    ]
    agreed = f" ({kappa.note})" if math.isnan(kappa.value) else f" {interval(kappa)}"
    note = (
        "The paper’s test: exact binomial test of wins against one half, two-sided; ties are dropped, or split evenly. "
        "It and Wilson’s interval take all choices as independent, and are too sure if items or workers differ. "
        f"Fleiss’ κ over items, three categories: {number(kappa.value, 3)}{agreed}."
    )
    return Table(f"{topic}: the paper’s test", columns, rows, note)


def majority_table(topic: str, pairs: Sequence[Compared]) -> Table:
    rows = [
        (
            pair_name(each),
            f"{m.first} of {m.n} items",
            f"{m.second} of {m.n}",
            f"{m.neither} of {m.n}",
        )
        for each in pairs
        for m in [each.majorities]
    ]
    columns = [Column("Pair", "text"), *(Column(name, "text") for name in ("First", "Second", "Neither"))]
    return Table(f"{topic}: what most choices about an item say", columns, rows)


def headline(topic: str, pairs: Sequence[Compared]) -> list[Highlight]:
    """The headline for a single pair of systems. With more pairs, no single one is the result."""
    if len(pairs) != 1:
        return []
    (each,) = pairs
    share = each.share
    known = share.note if math.isnan(share.low) else f"{interval(share, 2)}"
    return [Highlight(f"{each.first} preferred", number(share.value), f"{known} {topic}")]
