"""The section of studies in which workers write sets of texts, one diverse and one not.

Source: Tevet & Berant 2021, §6.4 (workers as testers): do the sets differ as the writers were asked?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.estimate import Estimate
from analysis.inference import Bounds, Dimensions, mean_estimate
from analysis.productions import normal_form, set_diversity
from analysis.report.blocks import Column, Figure, Highlight, Note, Section, Table, attempt, estimates_table, number
from analysis.report.source import Source
from common.text_length import count_words

SET = ["submission", "item", "worker"]


def productions(source: Source, *, high: str = "high", low: str = "low") -> Section:
    """Sets by one writer about one item. ``high`` and ``low`` are the topics of their texts, one rating per text."""
    section = Section(source.key("productions"), "Sets that were written")
    sets = {topic: sets_on(source, topic) for topic in (high, low)}
    if any(found.empty for found in sets.values()):
        missing = ", ".join(topic for topic, found in sets.items() if found.empty)
        section.blocks.append(Note(f"Nobody has written anything yet for: {missing}."))
    sets = {topic: found for topic, found in sets.items() if not found.empty}
    if not sets:
        return section
    section.blocks.append(counts_table(sets, section.data))
    diversity = {topic: mean_diversity(found) for topic, found in sets.items()}
    rows = [(f"Distinct-n of {topic}", each) for topic, each in diversity.items()]
    section.data["distinct_n"] = diversity
    if len(sets) == 2:
        rows.append((f"{high} − {low}", difference(sets[high], sets[low])))
        section.data["difference"] = rows[-1][1]
        section.highlights.append(Highlight("Distinct-n apart", number(rows[-1][1].value), f"{high} − {low}"))
    section.blocks.append(figure(source, sets))
    note = (
        "Mean over sets, with an interval about new writers: what one person writes is alike. The prompts are a fixed "
        "condition. The difference is taken within each writer’s pair of sets."
    )
    section.blocks.append(estimates_table("Diversity of the sets", rows, note=note))
    return section


def sets_on(source: Source, topic: str) -> pd.DataFrame:
    """One row per set: SET, ``texts``, ``diversity`` (distinct-n), in the order of submission."""
    texts = source.texts_on(topic)
    found = texts.groupby(SET, sort=False)["text"].agg(list).rename("texts").reset_index()
    return found.assign(diversity=[set_diversity(each) for each in found["texts"]])


def counts_table(sets: dict[str, pd.DataFrame], data: dict[str, Any]) -> Table:
    """Numbers of sets and texts, lengths, and how many differ by more than case, spacing and punctuation."""
    rows = []
    data["sets"] = {}
    for topic, found in sets.items():
        every = [text for texts in found["texts"] for text in texts]
        words = np.array([count_words(text) for text in every])
        whole = sum(all_different(texts) for texts in found["texts"])
        different = len({normal_form(text) for text in every})
        rows.append((topic, len(found), len(every), float(words.mean()), float(np.median(words)), different, whole))
        names = ("sets", "texts", "words_mean", "words_median", "different_texts", "sets_all_different")
        data["sets"][topic] = dict(zip(names, rows[-1][1:], strict=True))
    columns = [Column("Sets", "name"), *map(Column, ("n", "Texts", "Words per text, mean", "Median"))]
    columns += [Column("Different texts"), Column("Sets all different")]
    return Table(
        "What was written", columns, rows, "Texts that differ only in case, spacing or punctuation count as the same."
    )


def all_different(texts: Sequence[str]) -> bool:
    return len({normal_form(text) for text in texts}) == len(texts)


def mean_diversity(found: pd.DataFrame) -> Estimate:
    known = found.dropna(subset="diversity")
    return attempt(lambda: over_writers(known["diversity"], known["worker"], (0, 1)), n_of="sets")


def difference(high: pd.DataFrame, low: pd.DataFrame) -> Estimate:
    pairs = high.merge(low, on=SET, suffixes=("_high", "_low")).dropna(subset=["diversity_high", "diversity_low"])
    apart = pairs["diversity_high"] - pairs["diversity_low"]
    return attempt(lambda: over_writers(apart, pairs["worker"], (-1, 1)), n_of="sets")


def over_writers(values: pd.Series, writers: pd.Series, bounds: Bounds) -> Estimate:
    return replace(mean_estimate(values, Dimensions.of(writers=writers), bounds=bounds), n_of="sets")


def figure(source: Source, sets: dict[str, pd.DataFrame]) -> Figure:
    groups = {topic: found["diversity"].dropna() for topic, found in sets.items()}
    title = "Distinct-n of the sets"
    described = "; ".join(
        f"{topic}: mean {number(float(each.mean()))} of {len(each)}" for topic, each in groups.items()
    )
    words = plots.Words(source.key("productions-plot"), title, described + ".", "Sets", "Distinct-n")
    svg = plots.strip(
        words, [plots.Group(f"{topic} (n = {len(each):,})", each.tolist()) for topic, each in groups.items()]
    )
    columns = [
        Column("Sets", "name"),
        Column("n"),
        *(Column(name, digits=3) for name in ("Mean", "s.d.", "Least", "Most")),
    ]
    rows = [
        (topic, len(each), float(each.mean()), float(each.std(ddof=1)), float(each.min()), float(each.max()))
        for topic, each in groups.items()
    ]
    return Figure(svg, f"{title}: a dot is a set, the short line the mean of its column.", Table(title, columns, rows))
