"""Tables and figures of the section on judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis import plots
from analysis.judges.beside import Beside
from analysis.report.blocks import Figure
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted

PROBLEMS = {
    "empty": "nothing",
    "prose": "words without JSON",
    "broken": "broken JSON",
    "missing": "a question left out",
    "off": "an answer that is not possible",
    "cut": "cut off",
    "too_long": "page too long",
    "declined": "declined",
}


@dataclass(frozen=True)
class Compared:
    """A judge beside people on one question, or on one option of it."""

    judge: str
    model: str
    question: str
    both: Beside


def judges_table(judges: pd.DataFrame) -> Table:
    columns = [
        Column("Judge", "text", shows="judge"),
        Column("Model", "text", shows="model"),
        Column("How", "prose", shows=how_asked),
        Column("Items", shows="items"),
        Column("Answered", "text", shows=lambda row: f"{row['done']:,} of {row['places']:,}"),
        Column("Asked again", shows="again"),
        Column("Did not count", "prose", shows=problems_in_words),
        Column("Tokens", shows=lambda row: int(row["tokens_in"] + row["tokens_out"])),
        Column("Cost, $", digits=4, shows=lambda row: float(row["cost"])),
    ]
    note = "An answer that did not count was asked for again, as often as the judge’s settings allow."
    return Table("Judges", columns, judges.to_dict("records"), note)


def how_asked(row: Mapping[str, Any]) -> str:
    way = "all answers scored" if row["method"] == "scored" else "JSON"
    return f"{way}, {counted(row['samples'], 'sample')}, temperature {row['temperature']:g}"


def problems_in_words(row: Mapping[str, Any]) -> str:
    counts = (f"{int(count)} × {PROBLEMS.get(name, name)}" for name, count in row["problems"].items())
    left = int(row["refused"] + row["invalid"])
    return "; ".join([*counts, *([f"{counted(left, 'place')} without an answer"] if left else [])]) or "none"


def agreement_table(compared: Sequence[Compared]) -> Table:
    records = [
        {
            "judge": one.judge,
            "question": one.question,
            "items": one.both.n_items,
            "measure": one.both.measure,
            "agreement": one.both.agreement,
            "ceiling": one.both.ceiling[0],
            "winning_rate": one.both.test.winning_rate,
            "advantage": one.both.test.advantage,
            "tested": one.both.test.people,
            "judge_spread": one.both.judge_spread,
            "people_spread": one.both.people_spread,
        }
        for one in compared
    ]
    columns = [
        Column("Judge", "text", shows="judge"),
        Column("Question", "text", shows="question"),
        Column("Items", shows="items"),
        Column("Measure", "text", shows="measure"),
        Column("Judge with people", shows="agreement"),
        Column("A person with the others", shows="ceiling"),
        Column("Winning rate", shows="winning_rate"),
        Column("Advantage", shows="advantage"),
        Column("People tested", shows="tested"),
        Column("S.d. of samples", shows="judge_spread"),
        Column("S.d. of people", shows="people_spread"),
    ]
    note = (
        "A person with the others, one left out at a time, is the ceiling: a judge above it agrees with people better "
        "than a person does. Winning rate and advantage are of the alternative annotator test; the judge can stand in "
        "for a person from a winning rate of 0.5. Standard deviations are within an item."
    )
    return Table("Agreement with people", columns, records, note)


def estimates_of(compared: Sequence[Compared]) -> Table:
    """Means, then differences between levels: by people alone and by both."""
    records = []
    for one in compared:
        powered = one.both.powered
        assert powered is not None  # noqa: S101 - the caller looked
        for level in powered.levels:
            records.append(
                {
                    "judge": one.judge,
                    "question": one.question,
                    "of": level.name or "all",
                    "people": level.people,
                    "both": level.both,
                    "judge_alone": level.judge,
                    "weight": level.weight,
                    "rated": level.rated,
                    "unrated": level.unrated,
                }
            )
        names = [level.name for level in powered.levels]
        for first in range(len(names)):
            for second in range(first + 1, len(names)):
                people, both = powered.difference(first, second)
                of = f"{names[first]} − {names[second]}"
                own = {"judge": one.judge, "question": one.question, "of": of, "people": people, "both": both}
                alone = powered.levels[first].judge - powered.levels[second].judge
                records.append(own | {"judge_alone": alone, "weight": None, "rated": None, "unrated": None})
    columns = [
        Column("Judge", "text", shows="judge"),
        Column("Question", "text", shows="question"),
        Column("Mean of", "text", shows="of"),
        Column("People alone", shows="people"),
        Column("People and judge", shows="both"),
        Column("Judge alone", shows="judge_alone"),
        Column("Weight", shows="weight"),
        Column("Rated by people", shows="rated"),
        Column("Only by the judge", shows="unrated"),
    ]
    note = (
        "People and judge: a prediction-powered estimate of what people would say about all items. It is right if it "
        "was chance which items people rated. Without items that only the judge rated, both are the same."
    )
    return Table("Means by people alone, and with the judge", columns, records, note)


def bias_figure(source: Source, compared: Sequence[Compared]) -> Figure:
    """Of one judge on all questions."""
    title = f"{compared[0].judge}: rating less people’s answer"
    rows = [
        (f"{one.question}, {level}" if level else one.question, estimate)
        for one in compared
        for level, estimate in one.both.bias.items()
    ]
    words = plots.Words(source.key("judges-plot"), title, values_in_words(rows), "Points above people’s answers")
    columns = [Column("Question", "text"), Column("Difference"), Column("Low"), Column("High")]
    svg = plots.intervals(words, interval_bars(rows, longest=20))
    return Figure(svg, f"{title}, with 95% intervals.", Table(title, columns, interval_bars(rows)))


def biases_table(compared: Sequence[Compared]) -> Table:
    records = []
    for one in compared:
        both, who = one.both, {"judge": one.judge, "question": one.question}
        if both.position is not None:
            flips = (
                f"{100 * both.position.flips:.0f}% of {both.position.pairs} pairs get another winner in the other order"
            )
            records.append(who | {"bias": "first side", "value": both.position.shift, "about": flips})
        if not math.isnan(both.length[0]):
            about = "Spearman’s ρ of length with what the judge rates higher than people"
            records.append(who | {"bias": "length", "value": both.length[0], "about": about})
        if both.own_texts is not None:
            about = f"how much more than people it favours texts by {one.model}, its own model"
            records.append(who | {"bias": "own texts", "value": both.own_texts, "about": about})
        for level, estimate in both.bias.items():
            about = "the judge’s rating less people’s answer"
            records.append(who | {"bias": level or "all items", "value": estimate, "about": about})
    columns = [
        Column("Judge", "text", shows="judge"),
        Column("Question", "text", shows="question"),
        Column("Bias", "text", shows="bias"),
        Column("Value", shows="value"),
        Column("Meaning", "prose", shows="about"),
    ]
    return Table("Biases", columns, records)


def calibration_table(compared: Sequence[Compared]) -> Table:
    records = []
    for one in compared:
        measured = one.both.calibration
        assert measured is not None  # noqa: S101 - the caller looked
        for low, high, cells, stated, observed in measured.rows:
            records.append(
                {
                    "judge": one.judge,
                    "question": one.question,
                    "bin": f"{low:.1f} to {high:.1f}",
                    "cells": cells,
                    "stated": stated,
                    "observed": observed,
                    "error": measured.error,
                    "from": "samples" if measured.from_samples else "stated",
                }
            )
    columns = [
        Column("Judge", "text", shows="judge"),
        Column("Question", "text", shows="question"),
        Column("Probability", "text", shows="bin"),
        Column("Answers of items", shows="cells"),
        Column("Judge says", digits=3, shows="stated"),
        Column("People say", digits=3, shows="observed"),
        Column("Calibration error", digits=3, shows="error"),
        Column("Probabilities", "text", shows="from"),
    ]
    note = (
        "Every possible answer about every item: how likely the judge says it is, and the share of people who gave it. "
        "The error is the mean gap. Probabilities are the model’s own (stated), or shares of its samples."
    )
    return Table("Calibration", columns, records, note)


def differing_table(compared: Sequence[Compared], texts: Mapping[str, str]) -> Table:
    records = [
        {"judge": one.judge, "question": one.question, "item": item, "text": texts.get(str(item), "")}
        | {"people": row["people"], "judge_rating": row["judge"], "difference": row["difference"]}
        for one in compared
        for item, row in one.both.differing().to_dict("index").items()
    ]
    columns = [
        Column("Judge", "text", shows="judge"),
        Column("Question", "text", shows="question"),
        Column("Item", "name", shows="item"),
        Column("Text", "prose", shows="text"),
        Column("People", shows="people"),
        Column("Judge’s rating", shows="judge_rating"),
        Column("Difference", shows="difference"),
    ]
    return Table("Items that differ most", columns, records)
