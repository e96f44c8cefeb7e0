"""The section of studies that ask whether a text is by a person or a machine (Clark 2021, ch. 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from analysis import plots
from analysis.detection import (
    Judgements,
    crossed,
    judgements_from_arrays,
    measures,
    score_counts,
    sensitivity,
    worker_scores,
)
from analysis.detection.published_tests import mean_against
from analysis.estimate import p_equals
from analysis.factors import level_names
from analysis.report.blocks import Figure, Figures, Fold, Highlight, Note, Part, Section
from analysis.report.estimates import interval, number, with_interval
from analysis.report.sections.detection_tables import MEASURES, PUBLISHED, add_crossed, significant_if
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table
from common.words import counted

#: The topic of the question, unless the type names another.
JUDGEMENT = "judgement"
DOMAIN, MODEL = "domain", "model"
#: Columns of judgements, which no factor of an arm may be called.
RESERVED = ("worker", "text", "source", "answer", "said_machine", "is_machine", "right", "confident")


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
    items' file; ``human`` is the source of texts by people. An answer's model is the one whose texts the worker saw.
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
    section.data |= {"measures": overall, "sensitivity": signal, "score_counts": score_counts(judgements)}
    estimates = {"Accuracy": overall.accuracy} | {name: getattr(overall, field) for field, name, _ in MEASURES}
    estimates |= {"d′": signal.d_prime, "Criterion c": signal.criterion}
    note = (
        "“Definitely” and “possibly” are taken together. Precision, recall and F1 are of the class machine; α is "
        "nominal on two classes. The criterion is above 0 where people lean to human. Intervals are about new texts "
        "and new workers, who both differ."
    )
    everything = estimates_table("All answers", estimates, note=note)
    scores: list[Part] = [scores_figure(source, section.data["score_counts"])]
    if of_models := scores_by_model(section, source, judgements):
        scores.append(Figures(of_models))
    factors = factors_in(judgements)
    accuracy, p = overall.accuracy, overall.p_chance
    sure = f"; p {p_equals(p)} against one half" if not math.isnan(p) else ""
    why = f" There is no interval: {accuracy.note}." if accuracy.note else ""
    section.answers.append(("accuracy", f"{with_interval(accuracy)} of all answers are right{sure}.{why}"))
    if factors:
        add_factors(section, judgements, factors, level)
        section.add(Fold("All answers together, and workers’ scores", [everything, *scores]))
    else:
        section.add(everything, Note(against_chance_in_words(section, judgements)), *scores)
    section.highlights.append(Highlight("Accuracy", number(accuracy.value), interval(accuracy)))
    return section


def factors_in(judgements: Judgements) -> list[str]:
    """What answers can be compared by: the model and what arms differ in; the domain, if only that varies."""
    columns = [name for name in judgements.frame.columns if name not in (*RESERVED, DOMAIN)]
    varying = [name for name in columns if levels_of(judgements, name) > 1]
    return varying or ([DOMAIN] if levels_of(judgements, DOMAIN) > 1 else [])


def levels_of(judgements: Judgements, name: str) -> int:
    levels = judgements.frame[name]
    return int(levels[levels != ""].nunique())


def add_factors(section: Section, judgements: Judgements, factors: Sequence[str], level: float) -> None:
    """The tables of every factor. The paper's correction counts all combinations of levels in the study."""
    domain = DOMAIN if DOMAIN not in factors and levels_of(judgements, DOMAIN) > 1 else ""
    by = [*factors, domain] if domain else list(factors)
    tests = len(judgements.frame.drop_duplicates(by))
    for factor in factors:
        others = [name for name in factors if name != factor]
        tables = crossed(judgements, factor, domain=domain, others=others, tests=tests, level=level)
        add_crossed(section, tables, tests=tests, domain=domain)


def against_chance_in_words(section: Section, judgements: Judgements) -> str:
    """The paper's test of all workers against chance, where there is nothing to compare."""
    accuracies = worker_scores(judgements)["accuracy"].to_numpy()
    if len(accuracies) < 2:
        return "Tests need two workers or more."
    test = section.data["published_against_chance"] = mean_against(accuracies)
    if math.isnan(test.t):
        return f"The paper’s test is not defined: {test.d.note}."
    return (
        f"The paper’s test of workers’ accuracies against 0.5: mean {with_interval(test.mean, 3)}, t({test.df:.0f}) = "
        f"{number(test.t)}, p {p_equals(test.p)}, {significant_if(1)}. {PUBLISHED}"
    )


def judged(
    source: Source,
    ratings: pd.DataFrame,
    text_source: str = "source",
    domain: str = "domain",
    human: str = "human",
) -> Judgements:
    """Judgements with ``domain``, ``model`` (the machine source that the worker saw) and what arms differ in, such as
    ``training``. ValueError: a text without source."""
    cells = source.items["cells"]
    origin = ratings["item"].map(cells.map(lambda row: str(row.get(text_source, "")).strip()))
    if not (origin != "").any():
        raise ValueError(f"the items have no column “{text_source}”")
    if (unknown := ratings.loc[origin == "", "item"]).any():
        texts = counted(unknown.nunique(), "text")
        raise ValueError(
            f"the column “{text_source}” is empty for {texts}, such as {unknown.iloc[0]}: say who wrote them"
        )
    domains = ratings["item"].map(cells.map(lambda row: str(row.get(domain, "")).strip()))
    machines = origin.where(origin != human)
    models = machines.groupby(ratings["worker"]).agg(lambda sources: " and ".join(sorted(set(sources.dropna()))))
    return judgements_from_arrays(
        ratings["worker"],
        ratings["item"],
        origin,
        ratings["value"],
        human=human,
        groups=factors_of_arms(source, ratings) | {DOMAIN: domains, MODEL: ratings["worker"].map(models)},
    )


def factors_of_arms(source: Source, ratings: pd.DataFrame) -> dict[str, pd.Series]:
    """What arms differ in, such as training, with the level of every answer; what the texts say is theirs to say."""
    factors = [factor for factor in source.factors if factor.of == "arm"]
    other_columns = (*RESERVED, DOMAIN, MODEL)
    return {
        factor.name: level_names(source.data, factor, ratings) for factor in factors if factor.name not in other_columns
    }


def scores_by_model(section: Section, source: Source, judgements: Judgements) -> list[Figure]:
    """A histogram for each model, if there are several: the paper draws its models apart (Clark 2021, ch. 6). Workers
    whose texts were by several models are left out."""
    frame = judgements.frame
    models = [name for name in dict.fromkeys(frame[MODEL]) if name and " and " not in name]
    if len(models) < 2:
        return []
    counts = {name: score_counts(Judgements(frame[frame[MODEL] == name])) for name in models}
    section.data["score_counts_by_model"] = counts
    return [scores_figure(source, of_model, name) for name, of_model in counts.items()]


def scores_figure(source: Source, counts: pd.DataFrame, model: str = "") -> Figure:
    top = int(counts["score"].max())
    title = f"Texts judged right, out of {top}{f': {model}' if model else ''}"
    rows = [(int(score), int(workers), float(guessing)) for score, workers, guessing in counts.itertuples(index=False)]
    described = "; ".join(f"{score}: {workers} workers" for score, workers, _ in rows) + "."
    words = plots.Words(source.key("detection-scores"), title, described, "Texts judged right", "Workers")
    edges = [score - 0.5 for score in range(top + 2)]
    svg = plots.histogram(words, edges, [workers for _, workers, _ in rows], mark=plots.Mark(top / 2, "guessing"))
    columns = [Column("Right"), Column("Workers"), Column("Expected if all guessed", digits=1)]
    return Figure(svg, f"{title}: how many workers got how many right.", Table(title, columns, rows))
