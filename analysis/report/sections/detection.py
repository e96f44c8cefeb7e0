"""The section of studies that ask whether a text is by a person or a machine (Clark 2021, ch. 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.detection import (
    AgainstChance,
    Judgements,
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
from analysis.estimate import p_equals
from analysis.report.blocks import Figure, Heading, Highlight, Note, Section
from analysis.report.estimates import interval, number
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table
from common.words import counted

#: The topic of the question, unless the type names another.
JUDGEMENT = "judgement"
#: The measures of a group of answers after its accuracy: field, name, short name.
MEASURES = (
    ("precision", "Precision", "Precision"),
    ("recall", "Recall", "Recall"),
    ("f1", "F1", "F1"),
    ("alpha", "Krippendorff’s α", "α"),
    ("said_human", "Answered human", "Human"),
    ("confident", "Answered definitely", "Definitely"),
)
#: What answers can be compared between: column, title.
FACTORS = (("model", "Between models"), ("domain", "Between domains"), ("arm", "Between arms"))
PUBLISHED = (
    "Clark (2021) tests workers’ own accuracies: one worker is one observation, and the texts count as fixed. Where "
    "texts differ in how hard they are, these p values are too small. Use them to compare with the paper."
)


def make_section(
    source: Source,
    *,
    topic: str = JUDGEMENT,
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
        section.add(Note(f"Nobody has answered “{topic}” yet."))
        return section
    try:
        judgements = judged(source, ratings, text_source, domain, human)
    except ValueError as error:
        section.add(Note(f"The answers cannot be counted: {error}.", "warning"))
        return section
    level = source.plan.level
    overall, signal = measures(judgements, level=level), sensitivity(judgements, level=level)
    section.data |= {"measures": overall, "sensitivity": signal}
    estimates = {"Accuracy": overall.accuracy} | {name: getattr(overall, field) for field, name, _ in MEASURES}
    estimates |= {"d′": signal.d_prime, "Criterion c": signal.criterion}
    note = (
        "“Definitely” and “possibly” are taken together. Precision, recall and F1 are of the class machine; α is "
        "nominal on two classes. The criterion is above 0 where people lean to human. Intervals are about new texts "
        "and new workers, who both differ."
    )
    section.add(estimates_table("All answers", estimates, note=note))
    section.data["score_counts"] = score_counts(judgements)
    section.add(scores_figure(source, section.data["score_counts"]))
    add_cells(section, judgements, level)
    add_comparisons(section, judgements, level)
    add_published_tests(section, worker_scores(judgements))
    accuracy = overall.accuracy
    section.highlights.append(Highlight("Accuracy", number(accuracy.value), interval(accuracy)))
    return section


def judged(
    source: Source,
    ratings: pd.DataFrame,
    text_source: str = "source",
    domain: str = "domain",
    human: str = "human",
) -> Judgements:
    """Judgements with ``domain``, ``model`` (the machine source that the worker saw) and ``arm``. ValueError: no
    source."""
    cells = source.items["cells"]
    origin = ratings["item"].map(cells.map(lambda row: str(row.get(text_source, "")).strip()))
    if not (origin != "").any():
        raise ValueError(f"the items have no column “{text_source}”")
    domains = ratings["item"].map(cells.map(lambda row: str(row.get(domain, "")).strip()))
    machines = origin.where(origin != human)
    models = machines.groupby(ratings["worker"]).agg(lambda sources: " and ".join(sorted(set(sources.dropna()))))
    return judgements_from_arrays(
        ratings["worker"],
        ratings["item"],
        origin,
        ratings["value"],
        human=human,
        groups={"domain": domains, "model": ratings["worker"].map(models), "arm": ratings["arm"]},
    )


def scores_figure(source: Source, counts: pd.DataFrame) -> Figure:
    top = int(counts["score"].max())
    title = f"Texts judged right, out of {top}"
    rows = [(int(score), int(workers), float(guessing)) for score, workers, guessing in counts.itertuples(index=False)]
    described = "; ".join(f"{score}: {workers} workers" for score, workers, _ in rows) + "."
    words = plots.Words(source.key("detection-scores"), title, described, "Texts judged right", "Workers")
    edges = [score - 0.5 for score in range(top + 2)]
    svg = plots.histogram(words, edges, [workers for _, workers, _ in rows], mark=plots.Mark(top / 2, "guessing"))
    columns = [Column("Right"), Column("Workers"), Column("Expected if all guessed", digits=1)]
    return Figure(svg, f"{title}: how many workers got how many right.", Table(title, columns, rows))


def varying(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The columns with more than one value."""
    return [name for name in names if frame[name].nunique() > 1]


def add_cells(section: Section, judgements: Judgements, level: float) -> None:
    """One row per combination of domain, model and arm, if there is more than one."""
    by = varying(judgements.frame, ("domain", "model", "arm"))
    if not by:
        return

    def value_of(field: str) -> Callable[[dict[str, Any]], object]:
        return lambda cell: getattr(cell["measures"], field).value

    cells = [
        dict(zip(by, key, strict=True)) | {"measures": measures_of_cell}
        for key, measures_of_cell in breakdown(judgements, by, level=level)
    ]
    columns = [
        *(Column(name.capitalize(), "name", shows=name) for name in by),
        Column("Workers", shows=lambda cell: cell["measures"].workers),
        Column("Accuracy", digits=3, shows=lambda cell: cell["measures"].accuracy),
        *(Column(name, shows=value_of(field)) for field, _, name in MEASURES),
    ]
    note = "Human and definitely: the shares of these answers."
    section.add(Heading("By domain, model and arm"))
    section.add_named("cells", Table("Accuracy and related measures in each cell", columns, cells, note))


def add_comparisons(section: Section, judgements: Judgements, level: float) -> None:
    """Accuracy in each cell against chance, and between models, domains and arms, for new texts and new workers."""

    def group_name(test: AgainstChance) -> str:
        return ", ".join(test.group) or "all answers"

    by = varying(judgements.frame, [name for name, _ in FACTORS])
    tests = against_chance(judgements, by, level=level)
    section.data["against_chance"] = {group_name(test): test for test in tests}
    columns = [
        Column("Answers in", "name", shows=group_name),
        Column("n", shows=lambda test: test.accuracy.n),
        Column("Accuracy", digits=3, shows="accuracy"),
        Column("p", "p", shows="p"),
        Column("p, corrected", "p", shows="corrected"),
    ]
    few = tests[0].accuracy.note or "fewer than five texts or workers, or all answers alike"
    note = (
        "Two-sided, against 0.5. Texts and workers both vary (two-way clusters). "
        f"Corrected for {counted(len(tests), 'test')} by Holm. A dash: {few}."
    )
    section.add(Heading("Better than chance?"), Table("Accuracy against chance", columns, tests, note))
    columns = [
        Column("Difference", "name", shows=lambda pair: f"{pair.first} − {pair.second}"),
        Column("of accuracies", digits=3, shows="difference"),
        Column("p", "p", shows="p"),
        Column("p, corrected", "p", shows="corrected"),
    ]
    for name, title in FACTORS:
        pairs = differences(judgements, name, level=level) if name in by else []
        if pairs:
            note = f"Texts and workers both vary. Corrected for {counted(len(pairs), 'pair')} by Holm."
            section.add_named(f"between_{name}s", Table(title, columns, pairs, note))


def add_published_tests(section: Section, scores: pd.DataFrame) -> None:
    """The paper's tests on workers' own accuracies, which take the texts as fixed."""
    introduction = Note(PUBLISHED)
    section.add(Heading("The paper’s tests"), introduction)
    groups = accuracies_by(scores, varying(scores, ("domain", "model", "arm")))
    n_tests = max(1, len(groups))
    tests = [
        {"group": name, "n": len(accuracies), "test": mean_against(accuracies, tests=n_tests)}
        for name, accuracies in groups.items()
        if len(accuracies) > 1
    ]
    section.data["published_against_chance"] = {record["group"]: record["test"] for record in tests}
    columns = [
        Column("Workers in", "name", shows="group"),
        Column("n", shows="n"),
        Column("Mean accuracy", digits=3, shows=lambda record: record["test"].mean),
        Column("t", shows=lambda record: record["test"].t),
        Column("df", shows=lambda record: int(record["test"].df)),
        Column("p", "p", shows=lambda record: record["test"].p),
        Column("p, corrected", "p", shows=lambda record: record["test"].corrected),
        Column("Cohen’s d", shows=lambda record: record["test"].d),
    ]
    note = f"One-sample t tests against 0.5, two-sided; {significant_if(n_tests)}. n and df are of the workers here."
    if tests:
        section.add(Table("The paper’s test against chance", columns, tests, note))
    for factor, title in FACTORS:
        add_published_comparison(section, scores, factor, f"{title}, the paper’s test")
    if section.blocks[-1] is introduction:
        section.add(Note("Tests need two workers or more."))


def significant_if(tests: int) -> str:
    """The limit for p in a family of tests at the level of 5%."""
    if tests == 1:
        return "significant if p < 0.05 (1 test, no correction)"
    return f"significant if p < {0.05 / tests:.3g} (Bonferroni, {counted(tests, 'test')})"


def add_published_comparison(section: Section, scores: pd.DataFrame, factor: str, title: str) -> None:
    """Two groups: a t test. More: an analysis of variance and Tukey's HSD."""
    groups = {name: accuracies for name, accuracies in accuracies_by(scores, [factor]).items() if len(accuracies) > 1}
    if scores[factor].nunique() < 2 or len(groups) < 2:
        return
    if len(groups) == 2:
        first, second = groups
        test = mean_difference(*groups.values())
        section.data[f"published_between_{factor}s"] = test
        columns = [
            Column("Difference", "name", shows=lambda _: f"{first} − {second}"),
            Column("Mean", digits=3, shows="mean"),
            Column("t", shows="t"),
            Column("df", shows=lambda test: int(test.df)),
            Column("p", "p", shows="p"),
            Column("Cohen’s d", shows="d"),
        ]
        section.add(Table(title, columns, [test], "Two-sample t test, equal variances, two-sided."))
        return
    try:
        variance, pairs = anova(groups), tukey(groups)
    except ValueError as error:
        section.add(Note(f"{title}: no test, because {error}."))
        return
    section.data[f"published_between_{factor}s"] = {"anova": variance, "tukey": pairs}
    columns = [
        Column("Difference", "name", shows=lambda pair: f"{pair.first} − {pair.second}"),
        Column("Mean", digits=3, shows="difference"),
        Column("p", "p", shows="p"),
    ]
    note = (
        f"Analysis of variance: F({variance.df_between}, {variance.df_within}) = {variance.f:.2f}, "
        f"p {p_equals(variance.p)}, η² = {variance.eta_squared:.3f}. Differences are by Tukey’s HSD, corrected."
    )
    section.add(Table(title, columns, pairs, note))


def accuracies_by(scores: pd.DataFrame, columns: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Accuracies by the values of these columns; workers with an empty one are left out. No column: all workers."""
    if not columns:
        return {"all cells": scores["accuracy"].to_numpy()}
    complete = scores[(scores[columns] != "").all(axis=1)]
    return {
        ", ".join(map(str, key if isinstance(key, tuple) else (key,))): rows["accuracy"].to_numpy()
        for key, rows in complete.groupby(columns, sort=False)
        if not math.isnan(rows["accuracy"].iloc[0])
    }
