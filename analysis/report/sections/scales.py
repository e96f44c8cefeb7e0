"""The section of studies that rate one text on several statements with n-point scales.

Counts, mean, median, diverging bars; reliability by Krippendorff's α and ICC(1,k). Source: Clark 2021, §2.6.2
(third parties rate finished texts on 7-point scales).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import pandas as pd

from analysis import plots
from analysis.description import Point, QuestionDescription, Scale, Score
from analysis.estimate import Estimate
from analysis.inference import mean_estimate
from analysis.report.blocks import Figure, Figures, Note, Section
from analysis.report.estimates import attempt, how
from analysis.report.records import Records
from analysis.report.sections.answers import agreement, is_about_no_item, location
from analysis.report.source import MANY_POINTS, NUMERIC, Source
from analysis.report.tables import Column, Table, keyed
from analysis.scores import item_means

MOST_ROWS = 500
#: How answers can be grouped.
GROUPINGS = ("arm", "parameter")
#: The ratings on each statement.
Frames = dict[str, pd.DataFrame]


def make_section(source: Source, *, topics: Sequence[str] = (), by: str = "", title: str = "Statements") -> Section:
    """Compare statements. ``topics``: which (default: all with a mean); ``by``: "arm" or "parameter" of the item."""
    section = Section(source.key("scales"), title)
    frames = {
        topic: source.ratings_on(topic)
        for topic in topics or source.questions
        if topic in source.questions and source.questions[topic].scale.level in NUMERIC
    }
    frames = {topic: frame for topic, frame in frames.items() if not frame.empty}
    missing = [topic for topic in topics if topic not in frames]
    if missing:
        section.add(Note(f"No ratings on a scale of: {', '.join(missing)}."))
    if not frames:
        section.add(Note("Nobody has answered a question on a scale yet."))
        return section
    if figures := charts(source, frames):
        section.add(Figures(figures))
    statements = statements_table(source, frames)
    section.data["statements"] = keyed(statements.records, "topic")
    section.add(statements)
    if by:
        add_groups(source, section, frames, by)
    add_items(source, section, frames)
    return section


def charts(source: Source, frames: Frames) -> list[Figure]:
    """One diverging chart for all statements with the same points; none for sliders, whose bars would be hairs."""
    together: dict[tuple[Any, ...], list[str]] = {}
    for topic in frames:
        points = ascending(source.questions[topic].ratings_scale)
        if 1 < len(points) <= MANY_POINTS:
            together.setdefault(tuple((point.value, point.label) for point in points), []).append(topic)
    return [chart(source, {topic: frames[topic] for topic in topics}) for topics in together.values()]


def ascending(scale: Scale) -> list[Point]:
    return sorted(scale.points, key=lambda point: point.value)


def chart(source: Source, frames: Frames) -> Figure:
    first = next(iter(frames))
    points = ascending(source.questions[first].ratings_scale)
    counts = [
        (topic, [int((frame["value"] == point.value).sum()) for point in points]) for topic, frame in frames.items()
    ]
    title = "Answers to the statements" if len(frames) > 1 else f"Answers to “{first}”"
    ends = (points[0].text, points[-1].text)
    words = plots.Words(
        source.key("scales-plot"),
        title,
        f"Stacked bars around the middle of the scale, from {ends[0]} on the left to {ends[1]} on the right.",
        "Share of ratings on either side of the middle",
    )
    svg = plots.diverging(words, counts, [point.key for point in points], ends=ends)
    columns = [Column("Statement", "text"), *(Column(point.text) for point in points)]
    table = Table(title, columns, [(topic, *numbers) for topic, numbers in counts], "Number of ratings.")
    return Figure(svg, f"{title}: the numbers in the bars are points of the scale.", table)


def statements_table(source: Source, frames: Frames) -> Table:
    """For each statement: n, mean with interval, s.d., median; in the data its reliability, too."""
    statements = []
    for topic, frame in frames.items():
        level = location(source, topic, frame)
        alpha, icc_1k = reliability(source, source.questions[topic], frame)
        statements.append(
            {
                "topic": topic,
                "label": source.questions[topic].label,
                "n": len(frame),
                "mean": level["Mean"],
                "sd": level["Standard deviation"],
                "median": float(frame["value"].median()),
                "alpha": alpha,
                "icc_1k": icc_1k,
            }
        )
    sizes = sizes_in_words(statements)
    columns = [
        Column("Statement", "text", shows="topic"),
        Column("n", shows="n"),
        Column("Mean", shows="mean"),
        Column("s.d.", shows=lambda statement: statement["sd"].value),
        Column("Median", shows="median"),
    ]
    if source.description.own_work:
        note = (
            "Mean, s.d. (n − 1) and median of all answers. Workers rated their own texts, so intervals are about new "
            f"workers; the prompts are a fixed condition. {sizes}"
        )
        return Table("Statements", columns, statements, note)
    note = (
        "Mean, s.d. (n − 1) and median of all ratings. The mean’s interval is about new items and new workers; of a "
        f"question about no item, about new workers. {sizes} How far workers agree is under “Answers and agreement”."
    )
    return Table("Statements", columns, statements, note)


def sizes_in_words(statements: Sequence[dict[str, Any]]) -> str:
    """How each mean's interval was made, with its numbers of items and workers; statements alike are named once."""
    ways: dict[str, list[str]] = {}
    for statement in statements:
        ways.setdefault(how(statement["mean"]), []).append(statement["topic"])
    if len(ways) == 1:
        return next(iter(ways))
    return " ".join(f"{', '.join(topics)}: {way}" for way, topics in ways.items())


def reliability(source: Source, question: QuestionDescription, frame: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """Krippendorff's α and ICC(1,k), as the section on answers has them.

    Undefined if workers answered about different things.
    """
    coefficients = agreement(source, question, frame)
    undefined = Estimate(math.nan, note="workers answered about different things")
    alpha = next((value for name, value in coefficients.items() if name.startswith("Krippendorff")), undefined)
    return alpha, coefficients.get("ICC(1,k)", undefined)


def add_groups(source: Source, section: Section, frames: Frames, by: str) -> None:
    """The mean of each statement in each group."""
    if by not in GROUPINGS:
        text = f"Answers cannot be separated by “{by}”, only by {' or '.join(GROUPINGS)}."
        section.add(Note(text, "warning"))
        return
    if by == "arm" and not source.description.has_arms:
        return
    means = []
    for topic, frame in frames.items():
        groups = frame["arm"] if by == "arm" else frame["item"].map(source.items["parameter_value"])
        bounds = source.ends_of(topic)
        for group, rows in frame.groupby(groups, sort=True):
            mean = attempt(partial(mean_estimate, rows["value"], source.dimensions_of(rows), bounds=bounds))
            means.append({"topic": topic, by: group, "n": len(rows), "mean": mean})
    if not means:
        section.add(Note(f"The items carry no {by}, so the answers cannot be separated by it."))
        return
    columns = [
        Column("Statement", "text", shows="topic"),
        Column(by.capitalize(), "name", shows=lambda mean: mean[by] if by == "arm" else f"{mean[by]:g}"),
        Column("n", shows="n"),
        Column("Mean", shows="mean"),
        Column("How", "how", shows="mean"),
    ]
    table = Table(f"Statements by {by}", columns, means, "Mean of the ratings in the group.", fold=True)
    section.add_named(f"by_{by}", table)


def add_items(source: Source, section: Section, frames: Frames) -> None:
    """The mean of every item on every statement, by the rule of `analysis.scores`."""

    def mean_of(topic: str) -> Callable[[dict[str, Any]], object]:
        return lambda record: record[topic]["mean"]

    declared = {score.topic: score for score in source.scores if score.over != "part"}
    scores = {
        topic: item_means(source.in_codes(frame), declared.get(topic, Score(topic, topic)))
        for topic, frame in frames.items()
        if not is_about_no_item(frame)
    }
    if not scores:
        return
    means = pd.DataFrame({topic: of_items["score"] for topic, of_items in scores.items()})
    counts = pd.DataFrame({topic: of_items["n"] for topic, of_items in scores.items()})
    means.index = counts.index = pd.Index([source.item_names[code] for code in means.index], dtype=object)
    means = means.reindex(source.items.index[source.items.index.isin(means.index)])
    counts = counts.reindex(means.index)
    by_topic = {topic: Records({"mean": means[topic].tolist(), "n": counts[topic].tolist()}) for topic in scores}
    records = Records({"item": means.index.tolist(), **by_topic})
    section.data["items"] = records
    columns = [
        Column("Item", "name", shows="item"),
        *(Column(topic, shows=mean_of(topic)) for topic in scores),
    ]
    cut = f"The first {MOST_ROWS} of {len(means):,}; report.json holds all." if len(means) > MOST_ROWS else ""
    section.add(Table("Mean of each item", columns, list(islice(records, MOST_ROWS)), cut, fold=True))
