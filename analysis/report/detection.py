"""The section of studies that ask whether a text is by a person or a machine (Clark 2021, ch. 6)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.detection import (
    Judgements,
    Measures,
    against_chance,
    anova,
    breakdown,
    differences,
    judgements_from_arrays,
    mean_against,
    mean_difference,
    measures,
    score_counts,
    sensitivity,
    tukey,
    worker_scores,
)
from analysis.estimate import Estimate, p_equals
from analysis.report.blocks import (
    Block,
    Column,
    Figure,
    Heading,
    Highlight,
    Note,
    Section,
    Table,
    estimates_table,
    interval,
    number,
)
from analysis.report.source import Source
from common.words import counted

PUBLISHED = (
    "Clark (2021) tests workers’ own accuracies: one worker is one observation, and the texts count as fixed. Where "
    "texts differ in how hard they are, these p values are too small. Use them to compare with the paper."
)


def detection(
    source: Source,
    *,
    topic: str = "judgement",
    text_source: str = "source",
    domain: str = "domain",
    human: str = "human",
) -> Section:
    """Accuracy and related measures, d′, workers' scores, comparisons with chance and between models, domains and arms.

    ``topic``: the question with answers 1 … 4 (`analysis.detection`). ``text_source`` and ``domain`` are columns of the
    items' file; ``human`` is the source of texts by people. Domains and models are those that a worker saw; a worker
    who saw several counts in no test between them.
    """
    section = Section(source.key("human_or_machine"), "Human or machine")
    ratings = source.ratings_on(topic)
    if ratings.empty:
        section.blocks.append(Note(f"Nobody has answered “{topic}” yet."))
        return section
    try:
        found = judged(source, ratings, text_source, domain, human)
    except ValueError as error:
        section.blocks.append(Note(f"The answers cannot be counted: {error}.", "warning"))
        return section
    level = source.plan.level
    whole, signal = measures(found, level=level), sensitivity(found, level=level)
    section.data |= {"measures": whole, "sensitivity": signal}
    rows = [*measure_rows(whole), ("d′", signal.d_prime), ("Criterion c", signal.criterion)]
    note = (
        "“Definitely” and “possibly” are taken together. Precision, recall and F1 are of the class machine; α is "
        "nominal on two classes. The criterion is above 0 where people lean to human. Intervals are about new texts "
        "and new workers, who both differ."
    )
    section.blocks += [estimates_table("All answers", rows, note=note), scores_figure(source, found, section.data)]
    section.blocks += cell_blocks(source, found, section.data)
    section.blocks += comparison_blocks(found, section.data, level)
    section.blocks += published_tests(found, section.data)
    accuracy = whole.accuracy
    section.highlights.append(Highlight("Accuracy", number(accuracy.value), interval(accuracy)))
    return section


def judged(source: Source, ratings: pd.DataFrame, text_source: str, domain: str, human: str) -> Judgements:
    """Judgements with ``domain``, ``model`` (the machine source that the worker saw) and ``arm``. ValueError: no
    source."""
    cells = source.items["cells"]
    origin = ratings["item"].map(cells.map(lambda row: str(row.get(text_source, "")).strip()))
    if not (origin != "").any():
        raise ValueError(f"the items have no column “{text_source}”")
    domains = ratings["item"].map(cells.map(lambda row: str(row.get(domain, "")).strip()))
    machines = origin.where(origin != human)
    models = machines.groupby(ratings["worker"]).agg(lambda seen: " and ".join(sorted(set(seen.dropna()))))
    return judgements_from_arrays(
        ratings["worker"],
        ratings["item"],
        origin,
        ratings["value"],
        human=human,
        groups={"domain": domains, "model": ratings["worker"].map(models), "arm": ratings["arm"]},
    )


def measure_rows(found: Measures) -> list[tuple[str, Any]]:
    return [
        ("Accuracy", found.accuracy),
        ("Precision", found.precision),
        ("Recall", found.recall),
        ("F1", found.f1),
        ("Krippendorff’s α", found.alpha),
        ("Answered human", found.said_human),
        ("Answered definitely", found.confident),
    ]


def scores_figure(source: Source, found: Judgements, data: dict[str, Any]) -> Figure:
    counts = score_counts(found)
    data["score_counts"] = counts
    top = int(counts["score"].max())
    title = f"Texts judged right, out of {top}"
    rows = [(int(s), int(w), float(g)) for s, w, g in counts.itertuples(index=False)]
    described = "; ".join(f"{score}: {workers} workers" for score, workers, _ in rows) + "."
    words = plots.Words(source.key("detection-scores"), title, described, "Texts judged right", "Workers")
    edges = [at - 0.5 for at in range(top + 2)]
    svg = plots.histogram(words, edges, [workers for _, workers, _ in rows], mark=plots.Mark(top / 2, "guessing"))
    columns = [Column("Right"), Column("Workers"), Column("Expected if all guessed", digits=1)]
    return Figure(svg, f"{title}: how many workers got how many right.", Table(title, columns, rows))


def cell_blocks(source: Source, found: Judgements, data: dict[str, Any]) -> list[Block]:
    """One row per combination of domain, model and arm, if there is more than one."""
    by = [name for name in ("domain", "model", "arm") if found.frame[name].nunique() > 1]
    if not by:
        return []
    cells = breakdown(found, by, level=source.plan.level)
    data["cells"] = [dict(zip(by, key, strict=True)) | {"measures": each} for key, each in cells]
    columns = [*(Column(name.capitalize(), "name") for name in by), Column("Workers"), Column("Accuracy", digits=3)]
    columns += [Column(name, digits=2) for name in ("Precision", "Recall", "F1", "α", "Human", "Definitely")]
    rows = []
    for key, each in cells:
        others = (each.precision, each.recall, each.f1, each.alpha, each.said_human, each.confident)
        rows.append((*key, each.workers, each.accuracy, *(one.value for one in others)))
    note = "Human and definitely: the shares of these answers."
    return [
        Heading("By domain, model and arm"),
        Table("Accuracy and related measures in each cell", columns, rows, note),
    ]


FACTORS = (("model", "Between models"), ("domain", "Between domains"), ("arm", "Between arms"))


def comparison_blocks(found: Judgements, data: dict[str, Any], level: float) -> list[Block]:
    """Accuracy in each cell against chance, and between models, domains and arms, for new texts and new workers."""
    by = [name for name, _ in FACTORS if found.frame[name].nunique() > 1]
    cells = against_chance(found, by, level=level)
    data["against_chance"] = {", ".join(each.group) or "all answers": each for each in cells}
    columns = [Column("Answers in", "name"), Column("n"), Column("Accuracy", digits=3)]
    columns += [Column("p", "p"), Column("p, corrected", "p")]
    rows = [
        (name, each.accuracy.n, each.accuracy, each.p, each.corrected) for name, each in data["against_chance"].items()
    ]
    note = (
        "Two-sided, against 0.5. Texts and workers both vary (two-way clusters). "
        f"Corrected for {counted(len(cells), 'test')} by Holm. A dash: {few_reason(cells[0].accuracy)}"
    )
    blocks: list[Block] = [Heading("Better than chance?"), Table("Accuracy against chance", columns, rows, note)]
    for name, title in FACTORS:
        pairs = differences(found, name, level=level) if name in by else []
        if not pairs:
            continue
        data[f"between_{name}s"] = pairs
        rows_of_pairs = [(f"{each.first} − {each.second}", each.difference, each.p, each.corrected) for each in pairs]
        shown = [Column("Difference", "name"), Column("of accuracies", digits=3), Column("p", "p")]
        shown.append(Column("p, corrected", "p"))
        note = f"Texts and workers both vary. Corrected for {counted(len(pairs), 'pair')} by Holm."
        blocks.append(Table(title, shown, rows_of_pairs, note))
    return blocks


def few_reason(accuracy: Estimate) -> str:
    return accuracy.note + "." if accuracy.note else "fewer than five texts or workers, or all answers alike."


def published_tests(found: Judgements, data: dict[str, Any]) -> list[Block]:
    """The paper's tests on workers' own accuracies, which take the texts as fixed."""
    scores = worker_scores(found)
    blocks: list[Block] = [Heading("The paper’s tests"), Note(PUBLISHED)]
    cells = _groups(scores, [name for name in ("domain", "model", "arm") if scores[name].nunique() > 1])
    tests = max(1, len(cells))
    rows, kept = [], {}
    for name, values in cells.items():
        if len(values) < 2:
            continue
        kept[name] = test = mean_against(values, tests=tests)
        rows.append((name, len(values), test.mean, test.t, int(test.df), test.p, test.corrected, test.d))
    data["published_against_chance"] = kept
    columns = [Column("Workers in", "name"), Column("n"), Column("Mean accuracy", digits=3), Column("t"), Column("df")]
    columns += [Column("p", "p"), Column("p, corrected", "p"), Column("Cohen’s d")]
    note = f"One-sample t tests against 0.5, two-sided; {significant_if(tests)}. n and df are of the workers here."
    if rows:
        blocks.append(Table("The paper’s test against chance", columns, rows, note))
    for by, title in FACTORS:
        blocks += between(scores, by, f"{title}, the paper’s test", data)
    return blocks if len(blocks) > 2 else [*blocks, Note("Tests need two workers or more.")]


def significant_if(tests: int) -> str:
    """The limit for p in a family of tests at the level of 5%."""
    if tests == 1:
        return "significant if p < 0.05 (1 test, no correction)"
    return f"significant if p < {0.05 / tests:.3g} (Bonferroni, {counted(tests, 'test')})"


def between(scores: pd.DataFrame, by: str, title: str, data: dict[str, Any]) -> list[Block]:
    """Two groups: a t test. More: an analysis of variance and Tukey's HSD."""
    groups = {name: values for name, values in _groups(scores, [by]).items() if len(values) > 1}
    if scores[by].nunique() < 2 or len(groups) < 2:
        return []
    if len(groups) == 2:
        (first, one), (second, two) = groups.items()
        test = mean_difference(one, two)
        data[f"published_between_{by}s"] = test
        columns = [
            Column("Difference", "name"),
            Column("Mean", digits=3),
            Column("t"),
            Column("df"),
            Column("p", "p"),
        ]
        row = (f"{first} − {second}", test.mean, test.t, int(test.df), test.p, test.d)
        return [Table(title, [*columns, Column("Cohen’s d")], [row], "Two-sample t test, equal variances, two-sided.")]
    try:
        variance, pairs = anova(groups), tukey(groups)
    except ValueError as error:
        return [Note(f"{title}: no test, because {error}.")]
    data[f"published_between_{by}s"] = {"anova": variance, "tukey": pairs}
    rows = [(f"{each.first} − {each.second}", each.difference, each.p) for each in pairs]
    note = (
        f"Analysis of variance: F({variance.df_between}, {variance.df_within}) = {variance.f:.2f}, "
        f"p {p_equals(variance.p)}, η² = {variance.eta_squared:.3f}. Differences are by Tukey’s HSD, corrected."
    )
    return [Table(title, [Column("Difference", "name"), Column("Mean", digits=3), Column("p", "p")], rows, note)]


def _groups(scores: pd.DataFrame, by: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Accuracies by the values of these columns; workers with an empty one are left out. No column: all workers."""
    if not by:
        return {"all cells": scores["accuracy"].to_numpy()}
    whole = scores[(scores[by] != "").all(axis=1)]
    return {
        ", ".join(map(str, key if isinstance(key, tuple) else (key,))): rows["accuracy"].to_numpy()
        for key, rows in whole.groupby(by, sort=False)
        if not math.isnan(rows["accuracy"].iloc[0])
    }
