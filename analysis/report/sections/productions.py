"""The section of studies in which workers write sets of texts, one diverse and one not.

Source: Tevet & Berant 2021, §6.4 (workers as testers): do the sets differ as the writers were asked?
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis import plots
from analysis.diversity.metrics import normal_form, set_diversity
from analysis.estimate import Estimate
from analysis.inference import Bounds, Dimensions, mean_estimate
from analysis.report.blocks import Figure, Highlight, Note, Section
from analysis.report.estimates import attempt, number, with_interval
from analysis.report.sections.finding_sentences import larger_first
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table, keyed
from common.text_length import count_words

SET = ["submission", "item", "worker"]


def make_section(source: Source, *, high: str = "high", low: str = "low") -> Section:
    """Sets by one writer about one item. ``high`` and ``low`` are the topics of their texts, one rating per text."""
    section = Section(source.key("productions"), "Sets that were written")
    sets = {topic: sets_on(source, topic) for topic in (high, low)}
    missing = [topic for topic, written in sets.items() if written.empty]
    if missing:
        section.add(Note(f"Nobody has written anything yet for: {', '.join(missing)}."))
    sets = {topic: written for topic, written in sets.items() if not written.empty}
    if not sets:
        return section
    counts = counts_table(sets)
    section.data["sets"] = keyed(counts.records, "topic")
    section.data["distinct_n"] = {topic: mean_diversity(written) for topic, written in sets.items()}
    estimates = {f"Distinct-n of {topic}": estimate for topic, estimate in section.data["distinct_n"].items()}
    if len(sets) == 2:
        apart = f"{high} − {low}"
        section.data["difference"] = estimates[apart] = difference(sets[high], sets[low])
        section.answers.append(("distinct-n", difference_in_words(high, low, estimates[apart])))
        section.highlights.append(Highlight("Distinct-n apart", number(estimates[apart].value), apart))
    note = (
        "Mean over sets, with an interval about new writers: what one person writes is alike. The prompts are a fixed "
        "condition. The difference is taken within each writer’s pair of sets."
    )
    table = estimates_table("Diversity of the sets", estimates, note=note)
    section.add(counts, diversity_figure(source, sets), table)
    return section


def sets_on(source: Source, topic: str) -> pd.DataFrame:
    """One row per set: SET, ``texts``, ``diversity`` (distinct-n), in the order of submission."""
    sets = source.texts_on(topic).groupby(SET, sort=False)["text"].agg(list).rename("texts").reset_index()
    return sets.assign(diversity=[set_diversity(texts) for texts in sets["texts"]])


def counts_table(sets: dict[str, pd.DataFrame]) -> Table:
    """Numbers of sets and texts, lengths, and how many differ by more than case, spacing and punctuation."""
    counts = []
    for topic, written in sets.items():
        texts = [text for set_texts in written["texts"] for text in set_texts]
        words = np.array([count_words(text) for text in texts])
        counts.append(
            {
                "topic": topic,
                "sets": len(written),
                "texts": len(texts),
                "words_mean": float(words.mean()),
                "words_median": float(np.median(words)),
                "different_texts": n_different(texts),
                "sets_all_different": sum(n_different(set_texts) == len(set_texts) for set_texts in written["texts"]),
            }
        )
    columns = [
        Column("Sets", "name", shows="topic"),
        Column("n", shows="sets"),
        Column("Texts", shows="texts"),
        Column("Words per text, mean", shows="words_mean"),
        Column("Median", shows="words_median"),
        Column("Different texts", shows="different_texts"),
        Column("Sets all different", shows="sets_all_different"),
    ]
    note = "Texts that differ only in case, spacing or punctuation count as the same."
    return Table("What was written", columns, counts, note)


def n_different(texts: Sequence[str]) -> int:
    return len({normal_form(text) for text in texts})


def mean_diversity(sets: pd.DataFrame) -> Estimate:
    defined = sets.dropna(subset="diversity")
    return attempt(lambda: over_writers(defined["diversity"], defined["worker"], (0, 1)), n_of="sets")


def difference(high: pd.DataFrame, low: pd.DataFrame) -> Estimate:
    pairs = high.merge(low, on=SET, suffixes=("_high", "_low")).dropna(subset=["diversity_high", "diversity_low"])
    apart = pairs["diversity_high"] - pairs["diversity_low"]
    return attempt(lambda: over_writers(apart, pairs["worker"], (-1, 1)), n_of="sets")


def over_writers(values: pd.Series, writers: pd.Series, bounds: Bounds) -> Estimate:
    return replace(mean_estimate(values, Dimensions.of(writers=writers), bounds=bounds), n_of="sets")


def diversity_figure(source: Source, sets: dict[str, pd.DataFrame]) -> Figure:
    values = {topic: written["diversity"].dropna() for topic, written in sets.items()}
    rows = [
        (topic, len(d), float(d.mean()), float(d.std(ddof=1)), float(d.min()), float(d.max()))
        for topic, d in values.items()
    ]
    title = "Distinct-n of the sets"
    described = "; ".join(f"{topic}: mean {number(mean)} of {n}" for topic, n, mean, *_ in rows)
    words = plots.Words(source.key("productions-plot"), title, described + ".", "Sets", "Distinct-n")
    svg = plots.strip(words, [plots.Group(f"{topic} (n = {len(d):,})", d.tolist()) for topic, d in values.items()])
    columns = [Column("Sets", "name"), Column("n")]
    columns += [Column(name, digits=3) for name in ("Mean", "s.d.", "Least", "Most")]
    return Figure(svg, f"{title}: a dot is a set, the short line the mean of its column.", Table(title, columns, rows))


def difference_in_words(high: str, low: str, difference: Estimate) -> str:
    """By how much writers' own two sets differ, and which way."""
    first, second = (low, high) if difference.value < 0 else (high, low)
    _, size = larger_first(high, low, difference)
    sentence = f"Sets called {first} have a distinct-n {with_interval(size)} larger than those called {second}"
    why = f" There is no interval: {difference.note}." if difference.note and math.isnan(difference.low) else ""
    return f"{sentence}, by the same writers.{why}"
