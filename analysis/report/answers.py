"""Per question: the distribution of answers, and how much workers agree, as the level of the scale allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from analysis import plots
from analysis.agreement import (
    Ratings,
    fleiss_kappa,
    icc,
    krippendorff_alpha,
    noise_ceiling,
    percent_agreement,
    ratings_from_frame,
    split_half,
)
from analysis.agreement.krippendorff import Level as AlphaLevel
from analysis.description import QuestionDescription, Scale
from analysis.estimate import Estimate
from analysis.inference import mean_estimate, sd_estimate
from analysis.report.blocks import (
    Block,
    Column,
    Figure,
    Figures,
    Heading,
    Highlight,
    Note,
    Section,
    Table,
    attempt,
    estimates_table,
    number,
)
from analysis.report.preference import in_order_of_names
from analysis.report.source import MANY_POINTS, NUMERIC, Source
from common.words import counted

#: Pairwise answers (one, the other, neither) are categories without an order.
ALPHA_LEVEL: dict[str, AlphaLevel] = {
    "ordinal": "ordinal",
    "nominal": "nominal",
    "interval": "interval",
    "pairwise": "nominal",
}
MOST_BARS = 25
OPTION_FIGURE = {
    "choices": "share of answers that chose each option",
    "ranking": "mean rank of each option, 1 the best",
}
OPTION_NOTE = "Intervals are about new workers, and about new items where the question is about items."


def answers(source: Source) -> Section:
    """One part per question with answers on a scale."""
    section = Section(source.key("answers"), "Answers" if source.description.own_work else "Answers and agreement")
    for topic, question in source.questions.items():
        if question.scale.level == "text":
            continue
        frame = source.ratings_on(topic)
        blocks, data = one_question(source, source.key("q"), topic, question, frame)
        section.blocks += blocks
        section.data[topic] = data
        if topic in source.scored_topics:
            section.highlights += headline(topic, data)
    if source.description.own_work and section.data:
        note = "Workers answered about what they wrote themselves, so there is nothing for them to agree on."
        section.blocks.insert(0, Note(note))
    if not section.data:
        section.blocks.append(Note("No question of this study is answered on a scale: all answers are texts."))
    return section


def one_question(
    source: Source, key: str, topic: str, question: QuestionDescription, frame: pd.DataFrame
) -> tuple[list[Block], dict[str, Any]]:
    level = question.scale.level
    blocks: list[Block] = [Heading(topic, question.label if question.label != topic else "")]
    if topic in source.unknown:
        blocks.append(
            Note(
                "The task type does not describe this question: its answers count as numbers on an interval scale.",
                "warning",
            )
        )
    if frame.empty:
        blocks.append(Note("Nobody has answered this question yet."))
        return blocks, {"level": level, "n": 0}
    counts = distribution(question.ratings_scale, frame["value"])
    centre = location(source, topic, frame) if level in NUMERIC and not question.targets else []
    options = by_option(source, topic, question, frame)
    compared = not compares_nobody(source, frame)
    rated = in_order_of_names(source, frame) if level == "pairwise" else frame
    agreed = agreement(source, as_ratings(question, rated), level) if compared else []
    figures = [bar_figure(key, topic, counts)]
    if any(not math.isnan(estimate.value) for _, estimate in agreed):
        figures.append(agreement_figure(key, topic, agreed))
    blocks.append(Figures(figures))
    if options:
        blocks.append(estimates_table(f"{topic}: {OPTION_FIGURE[question.kind]}", options, note=OPTION_NOTE))
    if centre:
        caption = f"{topic}: level and spread of {counted(len(frame), 'rating')}"
        blocks.append(estimates_table(caption, centre, digits=2))
    if agreed or not source.description.own_work:
        blocks.append(agreement_block(topic, level, frame, agreed))
    data = {
        "level": level,
        "n": len(frame),
        "distribution": counts,
        "location": dict(centre),
        "agreement": dict(agreed),
    }
    if options:
        data["options"] = dict(options)
    return blocks, data


def agreement_block(topic: str, level: str, frame: pd.DataFrame, agreed: list[tuple[str, Estimate]]) -> Block:
    if not agreed:
        return Note("This question is not about an item, so there is nothing for workers to agree on.")
    units = "items" if frame["unit"].nunique() == frame["item"].nunique() else "parts of items"
    note = f"A unit is what was rated: here {units}. " + explanation(level)
    if units != "items":
        note += " Parts of an item are resampled separately, as if they were independent."
    return estimates_table(f"{topic}: agreement ({level} scale)", agreed, note=note)


def distribution(scale: Scale, values: pd.Series) -> pd.DataFrame:
    """The count of every point of the scale from its low end up, used or not; then other values in order, if any.

    If a scale has no points and many values, they are grouped into ten classes.
    """
    labels = {point.value: point.text for point in scale.points}
    found = values.value_counts()
    if not labels and len(found) > MOST_BARS:
        classes = pd.cut(values, 10).value_counts(sort=False)
        shares = classes / len(values)
        return pd.DataFrame({"answer": [str(each) for each in classes.index], "n": classes.tolist(), "share": shares})
    points = sorted(set(labels) | {float(value) for value in found.index})
    counts = [int(found.get(point, 0)) for point in points]
    return pd.DataFrame(
        {
            "answer": [labels.get(point, f"{point:g}") for point in points],
            "value": points,
            "n": counts,
            "share": [count / len(values) for count in counts],
        }
    )


def location(source: Source, topic: str, frame: pd.DataFrame) -> list[tuple[str, Estimate]]:
    """Mean and standard deviation of all ratings. Intervals are about new items and new workers.

    If the question is not about an item, or about the worker's own text, they are about new workers.
    """
    values, dimensions = frame["value"], source.dimensions_of(frame)
    return [
        ("Mean", attempt(lambda: mean_estimate(values, dimensions, bounds=source.ends_of(topic)))),
        ("Standard deviation", attempt(lambda: sd_estimate(values, dimensions))),
    ]


def by_option(
    source: Source, topic: str, question: QuestionDescription, frame: pd.DataFrame
) -> list[tuple[str, Estimate]]:
    """The mean rating of each option of a question: the share of workers who chose it, or its mean rank."""
    options = []
    bounds = source.ends_of(topic)
    for target, label in question.targets.items():
        rows = frame[frame["target"] == target]
        mean = partial(mean_estimate, rows["value"], source.dimensions_of(rows), bounds=bounds) if len(rows) else None
        nobody = Estimate(math.nan, n_of="answers", note="nobody has answered")
        options.append((label, attempt(mean, n_of="answers") if mean else nobody))
    return options


def compares_nobody(source: Source, frame: pd.DataFrame) -> bool:
    """Whether workers answered about different things, so that they cannot agree or disagree."""
    return source.description.own_work or is_about_no_item(frame)


def is_about_no_item(frame: pd.DataFrame) -> bool:
    return bool((frame["item"] == "").all())


def as_ratings(question: QuestionDescription, frame: pd.DataFrame) -> Ratings:
    """Ratings with the scale's points as categories, including those that nobody chose."""
    points = sorted(point.value for point in question.scale.points)
    known = points if points and set(frame["value"]) <= set(points) else None
    return ratings_from_frame(frame, unit="unit", rater="worker", categories=known)


def agreement(source: Source, ratings: Ratings, level: str) -> list[tuple[str, Estimate]]:
    """The coefficients that the level allows. An entry that cannot be computed gives the reason."""
    draws, seed = source.draws, source.seed
    alpha = ALPHA_LEVEL[level]
    wanted: list[tuple[str, Callable[[], Estimate]]] = [
        (f"Krippendorff’s α, {alpha}", lambda: krippendorff_alpha(ratings, alpha))
    ]
    if level != "interval":
        wanted.append(("Fleiss’ κ", lambda: fleiss_kappa(ratings)))
        wanted.append(("Percent agreement", lambda: percent_agreement(ratings)))
    if level in NUMERIC:
        wanted.append(("ICC(1,1)", lambda: icc(ratings, "1,1")))
        wanted.append(("ICC(1,k)", lambda: icc(ratings, "1,k")))
        wanted.append(("Split-half", lambda: split_half(ratings, seed=seed)))
        wanted.append(("Noise ceiling", lambda: noise_ceiling(ratings, draws=draws, seed=seed)))
    units = int((ratings.per_unit > 0).sum())
    return [(name, attempt(make, n=units)) for name, make in wanted]


def explanation(level: str) -> str:
    if level not in NUMERIC:
        return "α and κ are 1 for full agreement and 0 for agreement by chance; percent agreement ignores chance."
    return (
        "α and ICC(1,1) show how far single ratings agree (1 fully, 0 as by chance). ICC(1,k) and split-half show how "
        "reliable the mean rating of an item is, the noise ceiling how high a perfect metric could correlate with it. "
        "Fleiss’ κ and percent agreement treat the points of the scale as categories: a near miss counts as a miss."
    )


def given_part(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts without the points at both ends of a long scale that nobody chose, such as 20 to 50 of a count."""
    given = counts["n"].to_numpy().nonzero()[0]
    return counts if len(counts) <= MANY_POINTS else counts.iloc[given[0] : given[-1] + 1]


def bar_figure(key: str, topic: str, counts: pd.DataFrame) -> Figure:
    """Bars from the top of the scale down, in the order that workers saw."""
    shown = given_part(counts)
    down = shown[::-1]
    total = int(counts["n"].sum())
    most = counts.iloc[int(counts["n"].argmax())]
    words = plots.Words(
        f"{key}-bars",
        f"Distribution of {topic}",
        f"{counted(total, 'rating')}; the most frequent answer is {most['answer']}, with {most['n']:,}.",
        x="Number of ratings",
    )
    svg = plots.bars(words, down["answer"].tolist(), down["n"].tolist())
    columns = [Column("Answer", "text"), Column("n"), Column("Share", digits=3)]
    rows = list(down[["answer", "n", "share"]].itertuples(index=False, name=None))
    caption = f"How often each answer to “{topic}” was given."
    if len(shown) < len(counts):
        first, last = counts["answer"].iloc[0], counts["answer"].iloc[-1]
        caption += f" The scale goes from {first} to {last}; nobody gave the answers that are not shown."
    return Figure(svg, caption, Table(words.title, columns, rows))


def agreement_figure(key: str, topic: str, agreed: list[tuple[str, Estimate]]) -> Figure:
    shown = [(name, each.value, each.low, each.high) for name, each in agreed]
    lowest = min((number for _, *rest in shown for number in rest if math.isfinite(number)), default=0.0)
    limits = (min(0.0, max(-1.0, math.floor(lowest * 10) / 10)), 1.0)
    words = plots.Words(
        f"{key}-agreement",
        f"Agreement on {topic}",
        "Dots are estimates, bars their 95% intervals; 1 is full agreement.",
        x="Coefficient",
    )
    table = estimates_table(words.title, agreed)
    return Figure(plots.intervals(words, shown, limits=limits), f"Agreement on “{topic}”, with 95% intervals.", table)


def headline(topic: str, data: dict[str, Any]) -> list[Highlight]:
    """α of a question that gives scores."""
    found = []
    for name, estimate in data.get("agreement", {}).items():
        if name.startswith("Krippendorff"):
            detail = topic if math.isnan(estimate.low) else f"[{number(estimate.low)}, {number(estimate.high)}] {topic}"
            found.append(Highlight(name, number(estimate.value), detail))
    return found
