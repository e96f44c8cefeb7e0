"""The section of studies in which coders give comments any number of labels (Clark 2021, app. C.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis import plots
from analysis.detection import adjudicated_shares, final_labels, in_categories, label_agreement
from analysis.detection.coding import Coded
from analysis.estimate import Estimate
from analysis.report.blocks import Figure, Note, Section
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.source import Source
from analysis.report.tables import Column, Table, keyed
from common.words import counted


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
    section.add(shares_figure(source, named_shares, dropped), labels_table(coded, names))
    if categories:
        table = categories_table(source, decisions, final, null_labels, categories)
        section.data["categories"] = keyed(table.records, "category")
        section.add(table)
    return section


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
