"""What workers wrote: how many texts, how long, and a sample."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report.blocks import Facts, Heading, Note, Section
from analysis.report.estimates import number
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
    for topic in topics:
        rows = source.texts_on(topic)
        section.add(Heading(topic, source.questions[topic].label))
        if rows.empty:
            section.add(Note("Nobody has written anything yet."))
            section.data[topic] = {"n": 0}
            continue
        words = pd.Series([count_words(text) for text in rows["text"]])
        section.data[topic] = {
            "n": len(rows),
            "different": int(rows["text"].nunique()),
            "words_median": float(words.median()),
            "words_sd": float(words.std(ddof=1)),
        }
        counts = section.data[topic]
        median, spread = number(counts["words_median"], 1), number(counts["words_sd"])
        facts = [
            ("Texts", f"{counts['n']:,}, of which {counts['different']:,} different"),
            ("Words", f"median {median}, s.d. {spread}"),
        ]
        drawn = np.sort(rng.choice(len(rows), min(SAMPLE, len(rows)), replace=False))
        sample = rows.iloc[drawn].to_dict("records")
        columns = [
            Column("Worker", "code", shows="worker"),
            Column("Item", "name", shows="item"),
            Column("Text", "prose", shows="text"),
        ]
        simulated = " Simulated workers choose from a short list." if rows["synthetic"].any() else ""
        note = f"{len(sample)} of {len(rows):,}, drawn with seed {source.seed}.{simulated}"
        section.add(Facts(facts), Table(f"{topic}: a sample", columns, sample, note))
    return section
