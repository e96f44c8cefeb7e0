"""Per question: how the answers are distributed, and how far workers agree. The scale's level decides what fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
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
from analysis.diversity.association import Floats
from analysis.diversity.resampling import bootstrap_estimate
from analysis.estimate import Estimate
from analysis.reports.blocks import (
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
from analysis.reports.source import Source
from annotation.task_types.questions import Question, Scale

#: Pairwise answers (one, the other, neither) are categories without an order.
ALPHA_LEVEL: dict[str, AlphaLevel] = {
    "ordinal": "ordinal",
    "nominal": "nominal",
    "interval": "interval",
    "pairwise": "nominal",
}
NUMERIC = ("ordinal", "interval")
MOST_BARS = 25


def answers(source: Source) -> Section:
    """One part per question that is answered on a scale."""
    section = Section("answers", "Answers and agreement")
    for place, (topic, question) in enumerate(source.questions.items()):
        if question.scale.level == "text":
            continue
        frame = source.ratings_on(topic)
        blocks, data = one_question(source, f"q{place}", topic, question, frame)
        section.blocks += blocks
        section.data[topic] = data
        if topic in source.scored_topics:
            section.highlights += headline(topic, data)
    if not section.data:
        section.blocks.append(Note("No question of this study is answered on a scale: all answers are texts."))
    return section


def one_question(
    source: Source, key: str, topic: str, question: Question, frame: pd.DataFrame
) -> tuple[list[Block], dict[str, Any]]:
    level = question.scale.level
    blocks: list[Block] = [Heading(topic, question.label if question.label != topic else "")]
    if topic in source.unknown:
        blocks.append(
            Note("The task type does not describe this question: its answers are taken as interval.", "warning")
        )
    if frame.empty:
        blocks.append(Note("Nobody has answered this question yet."))
        return blocks, {"level": level, "n": 0}
    counts = distribution(source.instrument.task.stored_scale(question), frame["value"])
    centre = location(source, frame) if level in NUMERIC else []
    ratings = as_ratings(question, frame)
    agreed = agreement(source, ratings, level)
    figures = [bar_figure(key, topic, counts)]
    if any(not math.isnan(estimate.value) for _, estimate in agreed):
        figures.append(agreement_figure(key, topic, agreed))
    blocks.append(Figures(figures))
    if centre:
        caption = f"{topic}: level and spread of {len(frame):,} ratings"
        blocks.append(estimates_table(caption, centre, digits=2))
    units = "items" if frame["unit"].nunique() == frame["item"].nunique() else "parts of items"
    note = f"A unit is what was rated: here {units}. " + explanation(level)
    if units != "items":
        note += " Parts of one item are resampled singly, as if they were independent."
    blocks.append(estimates_table(f"{topic}: agreement ({level} scale)", agreed, note=note))
    data = {
        "level": level,
        "n": len(frame),
        "distribution": counts,
        "location": dict(centre),
        "agreement": dict(agreed),
    }
    return blocks, data


def distribution(scale: Scale, values: pd.Series) -> pd.DataFrame:
    """Count of every point of the scale from its low end up, used or not; other values in order, if there are any.

    A scale without points and with many values is cut into ten classes.
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


def location(source: Source, frame: pd.DataFrame) -> list[tuple[str, Estimate]]:
    """Mean and standard deviation of all ratings; items are what is resampled, for they repeat."""
    grouped = frame.groupby("item", sort=False)["value"]
    count = grouped.size().to_numpy(dtype=np.float64)
    shift = float(frame["value"].mean())
    off = grouped.sum().to_numpy() - count * shift
    square = ((frame["value"] - shift) ** 2).groupby(frame["item"], sort=False).sum().to_numpy()

    def mean(weights: Floats) -> Floats:
        return np.asarray(shift + (weights @ off) / (weights @ count))

    def deviation(weights: Floats) -> Floats:
        n = weights @ count
        inside = np.maximum(weights @ square - (weights @ off) ** 2 / n, 0)
        variance = np.divide(inside, n - 1, out=np.full(len(n), math.nan), where=n > 1)
        return np.asarray(np.sqrt(variance))

    def estimated(statistic: Callable[[Floats], Floats], why: str = "") -> Estimate:
        value = float(statistic(np.ones((1, len(count))))[0])
        found = bootstrap_estimate(value, statistic, len(count), source.plan)
        note = why if math.isnan(value) else found.note
        return replace(found, method=found.method.replace("sets", "items"), n_of="items", note=note)

    return [
        ("Mean", attempt(lambda: estimated(mean))),
        ("Standard deviation", attempt(lambda: estimated(deviation, "one rating has no spread"))),
    ]


def as_ratings(question: Question, frame: pd.DataFrame) -> Ratings:
    """With the scale's points as categories, so that those nobody chose are known."""
    points = sorted(point.value for point in question.scale.points)
    known = points if points and set(frame["value"]) <= set(points) else None
    return ratings_from_frame(frame, unit="unit", rater="worker", categories=known)


def agreement(source: Source, ratings: Ratings, level: str) -> list[tuple[str, Estimate]]:
    """What the level allows; an entry that cannot be had says why."""
    draws, seed = source.draws, source.seed
    alpha = ALPHA_LEVEL[level]
    wanted: list[tuple[str, Callable[[], Estimate]]] = [
        (f"Krippendorff’s α, {alpha}", lambda: krippendorff_alpha(ratings, alpha, draws=draws, seed=seed))
    ]
    if level != "interval":
        wanted.append(("Fleiss’ κ", lambda: fleiss_kappa(ratings, draws=draws, seed=seed)))
        wanted.append(("Percent agreement", lambda: percent_agreement(ratings, draws=draws, seed=seed)))
    if level in NUMERIC:
        wanted.append(("ICC(1,1)", lambda: icc(ratings, "1,1")))
        wanted.append(("ICC(1,k)", lambda: icc(ratings, "1,k")))
        wanted.append(("Split-half", lambda: split_half(ratings, draws=draws, seed=seed)))
        wanted.append(("Noise ceiling", lambda: noise_ceiling(ratings, draws=draws, seed=seed)))
    units = int((ratings.per_unit > 0).sum())
    return [(name, attempt(make, n=units)) for name, make in wanted]


def explanation(level: str) -> str:
    if level not in NUMERIC:
        return "α and κ are 1 for full agreement and 0 for what chance would give; percent agreement knows no chance."
    return (
        "α and ICC(1,1) tell how far single ratings agree (1 fully, 0 as by chance). ICC(1,k) and split-half tell how "
        "reliable the mean rating of an item is, the noise ceiling how high a perfect metric could correlate with it. "
        "Fleiss’ κ and percent agreement take the points of the scale as mere categories: a near miss counts as a miss."
    )


def bar_figure(key: str, topic: str, counts: pd.DataFrame) -> Figure:
    """Bars from the top of the scale down, as workers saw it."""
    down = counts[::-1]
    total = int(counts["n"].sum())
    most = counts.iloc[int(counts["n"].argmax())]
    words = plots.Words(
        f"{key}-bars",
        f"Distribution of {topic}",
        f"{total:,} ratings; the most frequent answer is {most['answer']}, with {most['n']:,}.",
        x="Number of ratings",
    )
    svg = plots.bars(words, down["answer"].tolist(), down["n"].tolist())
    columns = [Column("Answer", "text"), Column("n"), Column("Share", digits=3)]
    rows = list(down[["answer", "n", "share"]].itertuples(index=False, name=None))
    caption = f"How often each answer to “{topic}” was given."
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
    """α of a question that makes scores."""
    found = []
    for name, estimate in data.get("agreement", {}).items():
        if name.startswith("Krippendorff"):
            detail = topic if math.isnan(estimate.low) else f"[{number(estimate.low)}, {number(estimate.high)}] {topic}"
            found.append(Highlight(name, number(estimate.value), detail))
    return found
