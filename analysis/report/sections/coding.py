"""The section of studies in which coders give comments any number of labels (Clark 2021, app. C.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis import plots
from analysis.detection import (
    LevelShare,
    ShareDifference,
    adjudicated_shares,
    final_labels,
    in_categories,
    label_agreement,
    shares_by_level,
)
from analysis.detection.coding import Coded
from analysis.estimate import Estimate, p_equals
from analysis.factors import item_levels
from analysis.report.blocks import Figure, Fold, Heading, Note, Part, Section
from analysis.report.estimates import number, with_interval
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.sections.finding_sentences import larger_first
from analysis.report.source import Source
from analysis.report.tables import Column, Table, keyed
from common.words import counted

#: The beginning of the names of columns that say where a comment comes from.
FROM = "from:"
MOST_LEVELS = 12
SIGNIFICANT = 0.05


def make_section(
    source: Source,
    *,
    topic: str = "labels",
    null_labels: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
) -> Section:
    """Agreement of the coders on each label and category, and the share of comments that have each in the end.

    ``topic``: a question with several choices; each rating is 1 or 0 about the label that its target names.
    ``null_labels`` (targets) mark a comment as uninformative: comments that end with no other label are counted and
    left out of the shares. ``categories`` has the labels of each category by its name. Final labels: see
    `analysis.detection.final_labels`.
    """
    section = Section(source.key("coding"), "Labels of comments")
    ratings = source.ratings_on(topic)
    if ratings.empty:
        section.add(Note(f"Nobody has answered “{topic}” yet."))
        return section
    decisions = ratings.rename(columns={"item": "comment", "worker": "coder", "target": "label", "value": "chosen"})
    decisions = decisions[["comment", "coder", "label", "chosen"]].reset_index(drop=True)
    targets = source.questions[topic].targets
    names = {label: targets.get(label, label) for label in decisions["label"].unique()}
    try:
        coded = coders_agreement(source, decisions)
    except ValueError as error:
        section.add(Note(f"The labels cannot be counted: {error}.", "warning"))
        return section
    adjudications = source.data.adjudications
    adjudications = adjudications[
        (adjudications["question"] == topic) & adjudications["item"].isin(source.items.index)
    ].rename(columns={"item": "comment", "target": "label", "value": "chosen"})
    final, differing = final_labels(decisions, adjudications)
    section.data |= {"labels": coded, "unsettled": differing}
    if decisions["coder"].nunique() < 2:
        section.add(Note("There is only one coder, so the agreement is not known.", "warning"))
    if differing:
        text = f"Coders differ about {counted(differing, 'comment')} that nobody has settled yet."
        section.add(Note(f"{text} There, a label counts if any coder gave it.", "warning"))
    shares, dropped = shares_of(source, final, null_labels)
    section.data |= {"shares": shares, "dropped": dropped}
    named_shares = {names.get(label, label): share for label, share in shares.items()}
    section.add(shares_figure(source, named_shares, dropped))
    if categories:
        table = categories_table(source, decisions, final, null_labels, categories)
        section.data["categories"] = keyed(table.records, "category")
        section.add(table)
        named_shares = {name: record["share"] for name, record in section.data["categories"].items() if record["share"]}
    section.answers.append(("labels", labels_in_words(named_shares, coded, names)))
    add_factors(source, section, informative(final, null_labels), names, categories or {})
    section.add(Fold("Every label, and how far coders agree on it", [labels_table(coded, names)]))
    return section


def labels_in_words(shares: Mapping[str, Estimate], coded: Sequence[Coded], names: Mapping[str, str]) -> str:
    """What comments mention most, and how far coders agree."""
    defined = {name: share for name, share in shares.items() if not math.isnan(share.value)}
    if not defined:
        return "No comment has a label that says something."
    most = sorted(defined, key=lambda name: -defined[name].value)[:3]
    mentioned = ", ".join(f"{name} in {with_interval(defined[name])}" for name in most)
    agreed = sorted((label.alpha.value, names[label.label]) for label in coded if not math.isnan(label.alpha.value))
    if not agreed:
        return f"Share of comments: {mentioned}. How far coders agree is not known."
    (low, low_label), (high, high_label) = agreed[0], agreed[-1]
    return (
        f"Share of comments: {mentioned}. Coders’ α goes from {number(low)} ({low_label}) to {number(high)} "
        f"({high_label})."
    )


def informative(final: pd.DataFrame, null_labels: Sequence[str]) -> pd.DataFrame:
    """The final decisions on comments that have a label that says something, without the null labels."""
    telling = final[~final["label"].isin(list(null_labels))]
    return telling[telling["comment"].isin(set(telling.loc[telling["chosen"] == 1, "comment"]))]


def factors_of_comments(source: Source) -> dict[str, dict[str, str]]:
    """By factor, the level of every comment: the study's factors, and what is known of where comments come from.

    A column with the same levels as an earlier one, under any names, is left out.
    """
    items = source.items
    origins = dict.fromkeys(name for cells in items["cells"] for name in cells if name.startswith(FROM))
    if len(origins) > 1:  # the factors of arms say the same, in fewer levels
        origins.pop(f"{FROM}arm", None)
    names = [factor.name for factor in source.factors if factor.of == "item" and not factor.name.startswith(FROM)]
    columns: dict[str, dict[str, str]] = {}
    partitions: list[tuple[int, ...]] = []
    for name in dict.fromkeys([*names, *origins]):
        levels = item_levels(items.reset_index(), name)
        partition = tuple(pd.factorize(levels)[0].tolist())
        if 2 <= levels[levels != ""].nunique() <= MOST_LEVELS and partition not in partitions:
            columns[f"writer’s {name.removeprefix(FROM)}" if name.startswith(FROM) else name] = {
                str(comment): str(level) for comment, level in levels.items()
            }
            partitions.append(partition)
    return columns


def add_factors(
    source: Source,
    section: Section,
    final: pd.DataFrame,
    names: Mapping[str, str],
    categories: Mapping[str, Sequence[str]],
) -> None:
    """Shares of categories, and of labels folded, by every factor of the comments (Clark 2021, Table 6.3)."""
    if final.empty:
        return
    labels = final.assign(label=final["label"].map(names))
    frames = {"category": in_categories(final, categories)} if categories else {}
    frames["label"] = labels
    for factor, level_of in factors_of_comments(source).items():
        parts: list[Part] = []
        for number_of_table, (what, frame) in enumerate(frames.items()):
            try:
                shares, differences = shares_by_level(frame, level_of, level=source.plan.level)
            except ValueError:
                continue
            tables = [shares_table(factor, what, shares), differences_table(factor, what, differences)]
            section.data[f"{what} by {factor}"] = {"shares": shares, "differences": differences}
            if number_of_table:
                parts += tables
                continue
            section.answers.append((f"{what} by {factor}", differences_in_words(differences)))
            section.add(Heading(f"By {factor}"), printed_table(factor, what, shares), tables[0])
            parts.append(tables[1])
        if parts:
            section.add(Fold(f"Differences by {factor}, and every label", parts))


def shares_table(factor: str, what: str, shares: Sequence[LevelShare]) -> Table:
    columns = [
        Column(what.capitalize(), "text", shows="label"),
        Column(factor, "name", shows="level"),
        Column("Comments", shows="comments"),
        Column("% of comments", digits=1, shows=lambda share: in_percent(share.share)),
        Column("% of labels", digits=1, shows=lambda share: in_percent(share.of_labels)),
    ]
    note = (
        "Final labels. A comment can have several, so percentages of comments add up to more than 100. Percentages of "
        f"labels count every {what} of a comment, and add up to 100. Intervals are about new comments."
    )
    return Table(f"{what.capitalize()} by {factor}", columns, shares, note)


def printed_table(factor: str, what: str, shares: Sequence[LevelShare]) -> Table:
    """A row per category and a column per level, in percent of labels, as Clark 2021 prints them (Table 6.3)."""
    levels = list(dict.fromkeys(share.level for share in shares))
    rows = {label: {share.level: share for share in shares if share.label == label} for label in labels_of(shares)}

    def percent(level: str) -> Callable[[str], float]:
        return lambda label: 100 * rows[label][level].of_labels.value

    columns = [Column(what.capitalize(), "text", shows=str)]
    columns += [Column(level, digits=1, shows=percent(level)) for level in levels]
    comments = {share.level: share.comments for share in shares}
    note = (
        f"Percent of all labels of a column’s comments: {', '.join(f'{name} {n:,}' for name, n in comments.items())}."
    )
    return Table(f"{what.capitalize()} by {factor} in percent of labels, as published", columns, list(rows), note)


def labels_of(shares: Sequence[LevelShare]) -> list[str]:
    return list(dict.fromkeys(share.label for share in shares))


def in_percent(share: Estimate) -> Estimate:
    return replace(share, value=100 * share.value, low=100 * share.low, high=100 * share.high)


def differences_table(factor: str, what: str, differences: Sequence[ShareDifference]) -> Table:
    columns = [
        Column(what.capitalize(), "text", shows="label"),
        Column("Levels", "text", shows=lambda pair: f"{pair.first} − {pair.second}"),
        Column("Difference", shows="difference"),
        Column("p", "p", shows="p"),
        Column("p, Holm", "p", shows="p_corrected"),
    ]
    note = f"Of shares of comments, about new comments. Holm’s correction is over {counted(len(differences), 'row')}."
    return Table(f"{what.capitalize()}: differences by {factor}", columns, differences, note)


def differences_in_words(differences: Sequence[ShareDifference]) -> str:
    """The difference that the data show best."""
    tested = [pair for pair in differences if not math.isnan(pair.p)]
    if not tested:
        pair = max(differences, key=lambda pair: np.nan_to_num(abs(pair.difference.value)))
        names, difference = larger_first(pair.first, pair.second, pair.difference)
        why = difference.note or "the comments do not vary enough"
        return f"The largest difference: {pair.label}, {names}: {number(difference.value)}. No test: {why}."
    pair = min(tested, key=lambda pair: pair.p)
    names, difference = larger_first(pair.first, pair.second, pair.difference)
    largest = f"{pair.label}, {names}: {with_interval(difference)}, p {p_equals(pair.p_corrected)} (Holm)"
    significant = sum(pair.p_corrected < SIGNIFICANT for pair in tested)
    if not significant:
        return f"The data show no difference. The clearest: {largest}."
    return f"{counted(significant, 'difference')} of {len(tested)}. The clearest: {largest}."


def coders_agreement(source: Source, decisions: pd.DataFrame) -> list[Coded]:
    arrays = [decisions[name] for name in ("comment", "coder", "label", "chosen")]
    return label_agreement(*arrays, level=source.plan.level)


def shares_of(source: Source, final: pd.DataFrame, null_labels: Sequence[str] = ()) -> tuple[dict[str, Estimate], int]:
    """The share of comments with each label, and how many comments are left out because they have null labels only."""
    arrays = [final[name] for name in ("comment", "label", "chosen")]
    return adjudicated_shares(*arrays, null_labels=null_labels, level=source.plan.level)


def labels_table(coded: Sequence[Coded], names: Mapping[str, str]) -> Table:
    columns = [
        Column("Label", "text", shows=lambda label: names[label.label]),
        Column("Given", shows="chosen"),
        Column("Share of decisions", digits=3, shows="share"),
        Column("Krippendorff’s α", shows="alpha"),
        Column("Cohen’s κ", shows="kappa"),
        Column("Same decision", shows="percent"),
    ]
    note = (
        "A label not given is a decision too. α is nominal; κ is averaged over pairs of coders, each on what both "
        "coded. Intervals resample comments. Where nearly all decisions are the same, α and κ are low even if coders "
        "agree."
    )
    return Table("Labels and agreement", columns, coded, note)


def categories_table(
    source: Source,
    decisions: pd.DataFrame,
    final: pd.DataFrame,
    null_labels: Sequence[str],
    categories: Mapping[str, Sequence[str]],
) -> Table:
    """Comments with only null labels are left out of the shares here too."""
    informative = final.loc[(final["chosen"] == 1) & ~final["label"].isin(list(null_labels)), "comment"]
    shares, _ = shares_of(source, in_categories(final[final["comment"].isin(set(informative))], categories))
    agreement = {coded.label: coded for coded in coders_agreement(source, in_categories(decisions, categories))}
    records = [
        {"category": name, "share": shares.get(name), "agreement": agreement[name]}
        for name in categories
        if name in agreement
    ]
    columns = [
        Column("Category", "text", shows="category"),
        Column("Share of comments", digits=3, shows="share"),
        Column("Krippendorff’s α", shows=lambda record: record["agreement"].alpha),
        Column("Cohen’s κ", shows=lambda record: record["agreement"].kappa),
        Column("Same decision", shows=lambda record: record["agreement"].percent),
    ]
    note = "A comment is in a category if it has any of its labels in the end; agreement is on whether it has."
    return Table("Categories", columns, records, note)


def shares_figure(source: Source, shares: dict[str, Estimate], dropped: int) -> Figure:
    title = "Share of comments with each label"
    words = plots.Words(source.key("coding-plot"), title, values_in_words(shares.items()), "Share of comments")
    svg = plots.intervals(words, interval_bars(shares.items(), longest=28))
    caption = f"{title}, in the end. Comments that say nothing and are left out: {dropped:,}."
    columns = [Column("Label", "text"), Column("Share", digits=3)]
    return Figure(svg, caption, Table(title, columns, list(shares.items())))
