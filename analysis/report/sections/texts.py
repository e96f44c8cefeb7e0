"""What workers wrote: how many texts, how long, and a sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.report.blocks import Fold, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.text_length import count_words

SAMPLE = 12


def make_section(source: Source) -> Section | None:
    """A seeded sample of what workers wrote, per question answered in words; None if there is no such question."""
    topics = [topic for topic, question in source.questions.items() if question.scale.level == "text"]
    if not topics:
        return None
    section = Section(source.key("texts"), "Texts by workers")
    rng = np.random.default_rng(source.seed)
    counts: list[dict[str, Any]] = []
    samples: list[Table] = []
    for topic in topics:
        rows = source.texts_on(topic)
        if rows.empty:
            section.data[topic] = {"n": 0}
            counts.append({"topic": topic, "n": 0, "different": 0, "words_median": math.nan, "words_sd": math.nan})
            continue
        words = pd.Series([count_words(text) for text in rows["text"]])
        section.data[topic] = {
            "n": len(rows),
            "different": int(rows["text"].nunique()),
            "words_median": float(words.median()),
            "words_sd": float(words.std(ddof=1)),
        }
        counts.append({"topic": topic} | section.data[topic])
        drawn = np.sort(rng.choice(len(rows), min(SAMPLE, len(rows)), replace=False))
        sample = rows.iloc[drawn].to_dict("records")
        columns = [
            Column("Worker", "code", shows="worker"),
            Column("Item", "name", shows="item"),
            Column("Text", "prose", shows="text"),
        ]
        simulated = " Simulated workers choose from a short list." if rows["synthetic"].any() else ""
        note = f"{len(sample)} of {len(rows):,}, drawn with seed {source.seed}.{simulated}"
        samples.append(Table(f"{topic}: a sample", columns, sample, note))
    columns = [
        Column("Question", "text", shows="topic"),
        Column("Texts", shows="n"),
        Column("Different", shows="different"),
        Column("Words, median", digits=1, shows="words_median"),
        Column("s.d.", shows="words_sd"),
    ]
    section.add(Table("What workers wrote", columns, counts))
    if samples:
        section.add(Fold("A sample of the texts", samples))
    return section
