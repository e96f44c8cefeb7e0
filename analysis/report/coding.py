"""The section of studies in which coders give comments any number of labels (Clark 2021, app. C.3)."""

from __future__ import annotations

from collections.abc import Sequence

from analysis import plots
from analysis.detection import adjudicated_shares, label_agreement
from analysis.estimate import Estimate
from analysis.report.blocks import Column, Figure, Note, Section, Table, number
from analysis.report.source import Source


def coding(source: Source, *, topic: str = "labels", null_labels: Sequence[str] = ()) -> Section:
    """Per label: how often coders gave it, and their agreement.

    ``topic``: a question with several choices; each rating is 1 or 0 about the label that its target names.
    ``null_labels`` (targets) say that a comment says nothing: comments with no other label are counted and left out of
    the shares of comments, where a label counts if any coder gave it.
    """
    section = Section(source.key("coding"), "Labels of comments")
    ratings = source.ratings_on(topic)
    if ratings.empty:
        section.blocks.append(Note(f"Nobody has answered “{topic}” yet."))
        return section
    question = source.questions[topic]
    names = {target: question.targets.get(target, target) for target in ratings["target"].unique()}
    try:
        coded = label_agreement(
            ratings["item"], ratings["worker"], ratings["target"], ratings["value"], plan=source.plan
        )
    except ValueError as error:
        section.blocks.append(Note(f"The labels cannot be counted: {error}.", "warning"))
        return section
    given = ratings.groupby(["item", "target"], sort=False)["value"].max().reset_index()
    shares, dropped = adjudicated_shares(
        given["item"], given["target"], given["value"], null_labels=null_labels, plan=source.plan
    )
    section.data |= {"labels": coded, "shares": shares, "dropped": dropped}
    rows = [
        (names[each.label], each.chosen, each.share, each.alpha, each.kappa.value, each.percent.value) for each in coded
    ]
    columns = [Column("Label", "text"), Column("Given"), Column("Share of decisions", digits=3)]
    columns += [Column("Krippendorff’s α"), Column("Cohen’s κ"), Column("Same decision")]
    note = (
        "A label not given is a decision too. α is nominal; κ is averaged over pairs of coders; intervals resample "
        "comments. Where nearly all decisions are the same, α and κ are low even if coders agree."
    )
    section.blocks += [_figure(source, {names[name]: each for name, each in shares.items()}, dropped)]
    section.blocks.append(Table("Labels and agreement", columns, rows, note))
    return section


def _figure(source: Source, shares: dict[str, Estimate], dropped: int) -> Figure:
    title = "Share of comments with each label"
    rows = list(shares.items())
    described = "; ".join(f"{name}: {number(each.value)}" for name, each in rows) + "."
    words = plots.Words(source.key("coding-plot"), title, described, "Share of comments")
    drawn = [(name[:28], each.value, each.low, each.high) for name, each in rows]
    caption = f"{title}, given by any coder. Comments that say nothing and are left out: {dropped:,}."
    table = Table(title, [Column("Label", "text"), Column("Share", digits=3)], rows)
    return Figure(plots.intervals(words, drawn), caption, table)
