"""The section of studies in which coders give comments any number of labels (Clark 2021, app. C.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis import plots
from analysis.detection import adjudicated_shares, final_labels, in_categories, label_agreement
from analysis.detection.coding import Coded
from analysis.estimate import Estimate
from analysis.report.blocks import Block, Column, Figure, Note, Section, Table, number
from analysis.report.source import Source
from common.words import counted

COLUMNS = (Column("Given"), Column("Share of decisions", digits=3))
AGREEMENT = (Column("Krippendorff’s α"), Column("Cohen’s κ"), Column("Same decision"))
NOTE = (
    "A label not given is a decision too. α is nominal; κ is averaged over pairs of coders, each on what both coded. "
    "Intervals resample comments. Where nearly all decisions are the same, α and κ are low even if coders agree."
)


def coding(
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
        section.blocks.append(Note(f"Nobody has answered “{topic}” yet."))
        return section
    given = ratings.rename(columns={"item": "comment", "worker": "coder", "target": "label", "value": "chosen"})
    given = given[["comment", "coder", "label", "chosen"]].reset_index(drop=True)
    targets = source.questions[topic].targets
    names = {label: targets.get(label, label) for label in given["label"].unique()}
    try:
        coded = _agreement(source, given)
    except ValueError as error:
        section.blocks.append(Note(f"The labels cannot be counted: {error}.", "warning"))
        return section
    final, differing = final_labels(given, _adjudicated(source, topic))
    section.data |= {"labels": coded, "unsettled": differing}
    section.blocks += _warnings(given, differing)
    section.blocks.append(_shares(source, final, names, null_labels, section))
    section.blocks.append(_table("Labels and agreement", "Label", [(names[each.label], each) for each in coded], NOTE))
    if categories:
        section.blocks.append(_by_category(source, given, final, null_labels, categories, section))
    return section


def _agreement(source: Source, given: pd.DataFrame) -> list[Coded]:
    arrays = [given[name] for name in ("comment", "coder", "label", "chosen")]
    return label_agreement(*arrays, level=source.plan.level)


def _adjudicated(source: Source, topic: str) -> pd.DataFrame:
    found = source.data.adjudications
    found = found[(found["question"] == topic) & found["item"].isin(source.items.index)]
    return found.rename(columns={"item": "comment", "target": "label", "value": "chosen"})


def _warnings(given: pd.DataFrame, differing: int) -> list[Block]:
    found: list[Block] = []
    if given["coder"].nunique() < 2:
        found.append(Note("There is only one coder, so the agreement is not known.", "warning"))
    if differing:
        what = f"Coders differ about {counted(differing, 'comment')} that nobody has settled yet."
        found.append(Note(f"{what} There, a label counts if any coder gave it.", "warning"))
    return found


def _shares(
    source: Source, final: pd.DataFrame, names: Mapping[str, str], null_labels: Sequence[str], section: Section
) -> Figure:
    arrays = [final[name] for name in ("comment", "label", "chosen")]
    shares, dropped = adjudicated_shares(*arrays, null_labels=null_labels, level=source.plan.level)
    section.data |= {"shares": shares, "dropped": dropped}
    return _figure(source, {names.get(label, label): each for label, each in shares.items()}, dropped)


def _by_category(
    source: Source,
    given: pd.DataFrame,
    final: pd.DataFrame,
    null_labels: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    section: Section,
) -> Table:
    """Comments with only null labels are left out of the shares here too."""
    telling = final[(final["chosen"] == 1) & ~final["label"].isin(list(null_labels))]
    ends = in_categories(final[final["comment"].isin(set(telling["comment"]))], categories)
    arrays = [ends[name] for name in ("comment", "label", "chosen")]
    shares, _ = adjudicated_shares(*arrays, level=source.plan.level)
    agreed = {each.label: each for each in _agreement(source, in_categories(given, categories))}
    section.data["categories"] = {
        name: {"share": shares.get(name), "agreement": agreed.get(name)} for name in categories if name in agreed
    }
    rows = [
        (name, shares.get(name), agreed[name].alpha, agreed[name].kappa, agreed[name].percent)
        for name in categories
        if name in agreed
    ]
    columns = [Column("Category", "text"), Column("Share of comments", digits=3), *AGREEMENT]
    note = "A comment is in a category if it has any of its labels in the end; agreement is on whether it has."
    return Table("Categories", columns, rows, note)


def _table(caption: str, first: str, coded: Sequence[tuple[str, Coded]], note: str) -> Table:
    rows = [(name, each.chosen, each.share, each.alpha, each.kappa, each.percent) for name, each in coded]
    return Table(caption, [Column(first, "text"), *COLUMNS, *AGREEMENT], rows, note)


def _figure(source: Source, shares: dict[str, Estimate], dropped: int) -> Figure:
    title = "Share of comments with each label"
    rows = list(shares.items())
    described = "; ".join(f"{name}: {number(each.value)}" for name, each in rows) + "."
    words = plots.Words(source.key("coding-plot"), title, described, "Share of comments")
    drawn = [(name[:28], each.value, each.low, each.high) for name, each in rows]
    caption = f"{title}, in the end. Comments that say nothing and are left out: {dropped:,}."
    table = Table(title, [Column("Label", "text"), Column("Share", digits=3)], rows)
    return Figure(plots.intervals(words, drawn), caption, table)
