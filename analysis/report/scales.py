"""The section of studies that rate one text on several statements with n-point scales.

Counts, mean, median, diverging bars; reliability by Krippendorff's α (ordinal) and ICC(1,k). Source: Clark 2021, §2.6.2
(third parties rate finished texts on 7-point scales).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from analysis import plots
from analysis.agreement import icc, krippendorff_alpha
from analysis.description import QuestionDescription, Scale, Score
from analysis.estimate import Estimate
from analysis.inference import mean_estimate
from analysis.report.answers import as_ratings, compares_nobody, is_about_no_item, location
from analysis.report.blocks import Block, Column, Figure, Figures, Heading, Note, Section, Table, attempt, how
from analysis.report.source import NUMERIC, Source
from analysis.scores import item_scores

MOST_ROWS = 500
#: How answers can be grouped, and the name on the page.
GROUPINGS = {"arm": "arm", "parameter": "parameter"}


def scales(source: Source, *, topics: Sequence[str] = (), by: str = "", title: str = "Statements") -> Section:
    """Compare statements. ``topics``: which (default: all with a mean); ``by``: "arm" or "parameter" of the item."""
    section = Section(source.key("scales"), title)
    wanted = [topic for topic in topics or source.questions if topic in source.questions]
    asked = {topic: source.questions[topic] for topic in wanted if source.questions[topic].scale.level in NUMERIC}
    frames = {topic: source.ratings_on(topic) for topic in asked}
    frames = {topic: frame for topic, frame in frames.items() if not frame.empty}
    missing = [topic for topic in topics if topic not in frames]
    if missing:
        section.blocks.append(Note(f"No ratings on a scale of: {', '.join(missing)}."))
    if not frames:
        section.blocks.append(Note("Nobody has answered a question on a scale yet."))
        return section
    section.blocks += charts(source, {topic: asked[topic] for topic in frames}, frames)
    section.blocks.append(statements(source, asked, frames, section.data))
    if by:
        section.blocks += grouped(source, frames, by, section.data)
    section.blocks += by_item(source, asked, frames, section.data)
    return section


def charts(source: Source, asked: dict[str, QuestionDescription], frames: dict[str, pd.DataFrame]) -> list[Block]:
    """One diverging chart for all statements with the same scale points."""
    together: dict[tuple[Any, ...], list[str]] = {}
    for topic, question in asked.items():
        if len(question.ratings_scale.points) > 1:
            points = tuple((point.value, point.label) for point in ascending(question.ratings_scale))
            together.setdefault(points, []).append(topic)
    figures = [chart(source, asked, frames, topics) for topics in together.values()]
    return [Figures(figures)] if figures else []


def ascending(scale: Scale) -> list[Any]:
    return sorted(scale.points, key=lambda point: point.value)


def chart(
    source: Source, asked: dict[str, QuestionDescription], frames: dict[str, pd.DataFrame], topics: Sequence[str]
) -> Figure:
    points = ascending(asked[topics[0]].ratings_scale)
    rows = [(topic, [int((frames[topic]["value"] == point.value).sum()) for point in points]) for topic in topics]
    title = "Answers to the statements" if len(topics) > 1 else f"Answers to “{topics[0]}”"
    ends = (points[0].text, points[-1].text)
    words = plots.Words(
        source.key("scales-plot"),
        title,
        f"Stacked bars around the middle of the scale, from {ends[0]} on the left to {ends[1]} on the right.",
        "Share of ratings on either side of the middle",
    )
    svg = plots.diverging(words, rows, [point.key for point in points], ends=ends)
    columns = [Column("Statement", "text"), *(Column(point.text) for point in points)]
    table = Table(words.title, columns, [(topic, *counts) for topic, counts in rows], "Number of ratings.")
    return Figure(svg, f"{title}: the numbers in the bars are points of the scale.", table)


def statements(
    source: Source, asked: dict[str, QuestionDescription], frames: dict[str, pd.DataFrame], data: dict[str, Any]
) -> Table:
    """For each statement: n, mean with interval, s.d., median, reliability."""
    rows = []
    for topic, frame in frames.items():
        (_, mean), (_, spread) = location(source, topic, frame)
        alpha, mean_of_k = reliability(source, asked[topic], frame)
        middle = float(frame["value"].median())
        rows.append((topic, len(frame), mean, spread.value, middle, alpha, mean_of_k))
        data.setdefault("statements", {})[topic] = {
            "label": asked[topic].label,
            "n": len(frame),
            "mean": mean,
            "sd": spread,
            "median": middle,
            "alpha": alpha,
            "icc_1k": mean_of_k,
        }
    sizes = sizes_in_words(data["statements"])
    columns = [Column("Statement", "text"), Column("n"), Column("Mean"), Column("s.d."), Column("Median")]
    if source.description.own_work:
        note = (
            "Mean, s.d. (n − 1) and median of all answers. Workers rated their own texts, so intervals are about new "
            f"workers; the prompts are a fixed condition. {sizes}"
        )
        return Table("Statements", columns, [row[: len(columns)] for row in rows], note)
    columns += [Column("α, ordinal"), Column("ICC(1,k)")]
    note = (
        "Mean, s.d. (n − 1) and median of all ratings. The mean’s interval is about new items and new workers; of a "
        f"question about no item, about new workers. {sizes} "
        "α shows how far single ratings agree, ICC(1,k) how reliable item means are."
    )
    return Table("Statements", columns, rows, note)


def sizes_in_words(statements: dict[str, dict[str, Any]]) -> str:
    """How each mean's interval was made, with its numbers of items and workers; statements alike are named once."""
    ways: dict[str, list[str]] = {}
    for topic, data in statements.items():
        ways.setdefault(how(data["mean"]), []).append(topic)
    if len(ways) == 1:
        return next(iter(ways))
    return " ".join(f"{', '.join(topics)}: {way}" for way, topics in ways.items())


def reliability(source: Source, question: QuestionDescription, frame: pd.DataFrame) -> list[Estimate]:
    """Krippendorff's α (ordinal) and ICC(1,k); undefined if workers answered about different things."""
    if compares_nobody(source, frame):
        return [Estimate(float("nan"), note="workers answered about different things")] * 2
    ratings = as_ratings(question, frame)
    wanted: list[Callable[[], Estimate]] = [
        lambda: krippendorff_alpha(ratings, "ordinal"),
        lambda: icc(ratings, "1,k"),
    ]
    return [attempt(make) for make in wanted]


def grouped(source: Source, frames: dict[str, pd.DataFrame], by: str, data: dict[str, Any]) -> list[Block]:
    """The mean of each statement in each group."""
    if by not in GROUPINGS:
        return [Note(f"Answers cannot be separated by “{by}”, only by {' or '.join(GROUPINGS)}.", "warning")]
    if by == "arm" and not source.description.has_arms:
        return []
    rows, told = [], []
    for topic, frame in frames.items():
        values = frame["arm"] if by == "arm" else frame["item"].map(source.items["parameter_value"])
        bounds = source.ends_of(topic)
        for value, group in frame.groupby(values, sort=True):
            name = str(value) if by == "arm" else f"{value:g}"
            mean = attempt(partial(mean_estimate, group["value"], source.dimensions_of(group), bounds=bounds))
            rows.append((topic, name, len(group), mean, how(mean)))
            told.append({"topic": topic, by: value, "n": len(group), "mean": mean})
    if not rows:
        return [Note(f"The items carry no {by}, so the answers cannot be separated by it.")]
    data[f"by_{by}"] = told
    columns = [Column("Statement", "text"), Column(by.capitalize(), "name"), Column("n"), Column("Mean")]
    columns.append(Column("How", "how"))
    note = "Mean of the ratings in the group."
    return [Table(f"Statements by {by}", columns, rows, note)]


def by_item(
    source: Source, asked: dict[str, QuestionDescription], frames: dict[str, pd.DataFrame], data: dict[str, Any]
) -> list[Block]:
    """The mean of every item on every statement, by the rule of `item_scores`."""
    declared = {score.topic: score for score in source.description.scores}
    means = {
        topic: item_scores(frame, declared.get(topic, Score(topic, topic)))
        for topic, frame in frames.items()
        if not is_about_no_item(frame)
    }
    if not means:
        return []
    found = pd.DataFrame({topic: scores["score"] for topic, scores in means.items()})
    found = found.reindex([item for item in source.items.index if item in found.index])
    counts = pd.DataFrame({topic: scores["n"] for topic, scores in means.items()}).reindex(found.index)
    data["items"] = [
        {"item": item, **{topic: {"mean": row[topic], "n": n[topic]} for topic in means}}
        for (item, row), n in zip(found.iterrows(), counts.to_dict("records"), strict=True)
    ]
    rows = [(str(item), *(float(value) for value in row)) for item, row in found.head(MOST_ROWS).iterrows()]
    cut = f"The first {MOST_ROWS} of {len(found):,}; report.json holds all." if len(found) > MOST_ROWS else ""
    columns = [Column("Item", "name"), *map(Column, means)]
    return [Heading("Items"), Table("Mean of each item", columns, rows, cut, fold=len(rows) > 12)]
