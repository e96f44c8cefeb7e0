"""The section of studies that score sets of texts: do scores and metrics follow what varies between the sets?

Source: Tevet & Berant 2021: decTest, conTest and OCA, human scores, metrics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from analysis import plots
from analysis.diversity.metrics import METRICS
from analysis.diversity.oca import Threshold
from analysis.estimate import LARGEST, Estimate
from analysis.findings.answers import names_in_words
from analysis.report.blocks import Block, Figure, Figures, Fold, Heading, Highlight, Note, Part, Section
from analysis.report.estimates import interval, number, with_interval
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.sections.set_figures import (
    MOST_ROWS,
    as_entered,
    by_parameter,
    metric_figure,
    score_histogram,
    title_of,
)
from analysis.report.sections.sets import Sets, Tested, groups_of, numbered, sets_of, tested, with_people
from analysis.report.sections.stability import stability_parts
from analysis.report.source import Source
from analysis.report.tables import Column, Table, estimates_table
from common.words import counted

ENDS = 5
SECOND = {"contest": "OCA", "dectest": "Pearson’s r", "ranking": "Accuracy of the sign"}
#: What intervals are about, by test.
ABOUT = {
    "contest": "The interval of ρ of the score is about new items and new workers; those of OCA and of metrics are the "
    "published bootstrap over items, which takes the workers as they are.",
    "dectest": "The intervals of the score are about new items and new workers; those of metrics are the published "
    "bootstrap over items.",
    "ranking": "The interval of ρ of the score is about new items and new workers; those of accuracy and of metrics "
    "are over items, and take the workers as they are.",
}


def make_section(source: Source, *, metrics: Sequence[str] = ()) -> Section:
    """One part per score that the type declares.

    ``metrics``: columns of the items' file to compare with the scores; without it, all columns named ``metric_…``.
    """
    section = Section(source.key("diversity"), "Diversity")
    scores = source.description.scores
    for score in scores:
        sets = sets_of(source, score, metrics)
        if len(scores) > 1:
            section.add(Heading(score.title))
        if sets.rated.empty:
            section.add(Note(f"No item has a rating of “{score.topic}”: there are no scores."))
            section.data[score.topic] = {"rated": 0}
        else:
            section.data[score.topic] = add_score(source, section, sets, source.key("d"))
    if not scores:
        section.add(Note("This type of task gives no scores of items."))
    return section


def add_score(source: Source, section: Section, sets: Sets, key: str) -> dict[str, Any]:
    """Show all about one score. Returns its numbers for ``report.json``."""
    data: dict[str, Any] = {
        "title": sets.score.title,
        "rated": len(sets.rated),
        "with_parameter": len(sets.usable),
        "parameter": sets.name,
        "test": sets.kind,
        "sets": sets.table.drop(columns="context").reset_index(),
    }
    section.add(Note(summary(sets)))
    if sets.kind == "none":
        section.add(score_histogram(sets, key))
    else:
        tests = [tested(sets, source, measure) for measure in ("score", *sets.metrics)]
        data["tests"] = {title_of(sets, test.measure): test for test in tests}
        section.highlights += headlines(sets, tests[0])
        section.answers.append((sets.score.title, tests_in_words(sets, tests)))
        section.add(*test_blocks(sets, tests, key))
    section.add(*metric_blocks(source, sets, key, data))
    if sets.kind != "none":
        section.add(Fold("Planning the next study", stability_parts(source, sets, key, data)))
    section.add(Fold("The items with their scores", set_tables(source, sets)))
    return data


def tests_in_words(sets: Sets, tests: Sequence[Tested]) -> str:
    """How well people's score follows the parameter, and the best automatic metric."""
    people, *metrics = tests
    if math.isnan(people.spearman.value):
        return f"It cannot be tested against {sets.name}: {people.spearman.note}."
    second = f"{SECOND[sets.kind].replace('Accuracy', 'accuracy')} {with_interval(people.second)}"
    largest = f" ({LARGEST})" if LARGEST in people.spearman.note else ""
    sentence = f"It follows {sets.name} with Spearman’s ρ {with_interval(people.spearman)}{largest}; {second}."
    defined = [test for test in metrics if not math.isnan(test.spearman.value)]
    if not defined:
        return sentence
    best = max(defined, key=lambda test: abs(test.spearman.value))
    return (
        f"{sentence} Of {counted(len(defined), 'metric')}, {best.measure} does best: ρ {with_interval(best.spearman)}."
    )


def summary(sets: Sets) -> str:
    """The meaning of a score, the number of sets, and their parameter."""
    sign = "minus the mean" if sets.score.sign < 0 else "the mean"
    n_rated = counted(len(sets.rated), "item")
    verb = "has" if len(sets.rated) == 1 else "have"
    scored = f"The {sets.score.title} score of an item is {sign} of its ratings; {n_rated} {verb} one."
    missing = len(sets.rated) - len(sets.usable)
    if not sets.name:
        return f"{scored} The items carry no parameter (label), so there is nothing to test the scores against."
    if sets.kind == "none":
        return f"{scored} All of them have the same {sets.name}, so there is nothing to test the scores against."
    should = "a set should be" if sets.middle is None else "the first set should be than the second"
    values = f"{counted(sets.usable['parameter'].nunique(), 'value')} of {sets.name}"
    text = f"{scored} They were made with {values}; the larger it is, the more diverse {should}."
    if missing:
        verb = "has" if missing == 1 else "have"
        text += f" {counted(missing, 'scored item')} {verb} no {sets.name} and cannot be tested."
    return text


def headlines(sets: Sets, of_score: Tested) -> list[Highlight]:
    estimates = [(f"ρ with {sets.name}", of_score.spearman), (SECOND[sets.kind], of_score.second)]
    return [
        Highlight(name, number(estimate.value), estimate.note if math.isnan(estimate.low) else interval(estimate, 2))
        for name, estimate in estimates
    ]


def test_blocks(sets: Sets, tests: list[Tested], key: str) -> list[Block]:
    """Human score (the first of the tests) and metrics against the parameter."""
    first, *others = [by_parameter(sets, test, key) for test in tests if sets.usable[test.measure].notna().any()]
    thresholds = [threshold_text(title_of(sets, test.measure), test.threshold) for test in tests if test.threshold]
    note = {
        "contest": "OCA is the best accuracy that a single threshold on the score can reach; chance gives half for two "
        f"classes of the same size. {' '.join(thresholds)}",
        "dectest": f"r is taken with log10 of {sets.name}." if sets.log10 else "",
        "ranking": f"The difference of a pair is its mean rating less {sets.middle or 0:g}, the middle of the scale. "
        "ρ takes every pair in both orders, because which set is the first is arbitrary.",
    }[sets.kind]
    shared = "Items that share a context belong together." if groups_of(sets.usable) is not None else ""
    notes = " ".join(part for part in (note, ABOUT[sets.kind], shared) if part)
    blocks: list[Block] = [Figures([first, test_figure(sets, tests, key)]), tests_table(sets, tests, notes)]
    return blocks + ([Fold(f"Every metric by {sets.name}", [Figures(others)])] if others else [])


def tests_table(sets: Sets, tests: Sequence[Tested], note: str) -> Table:
    """One row per measure, as Tevet & Berant 2021 (Table 5) print them."""
    columns = [
        Column("Measure", "name", shows=lambda test: title_of(sets, test.measure)),
        Column("Sets", shows=lambda test: int(sets.usable[test.measure].notna().sum())),
        Column("Spearman’s ρ", digits=3, shows="spearman"),
        Column(SECOND[sets.kind], digits=3, shows="second"),
        Column("Undefined because", "how", shows=lambda test: test.spearman.note if undefined(test) else ""),
    ]
    if not any(undefined(test) for test in tests):
        columns.pop()
    largest = [title_of(sets, test.measure) for test in tests if LARGEST in test.spearman.note]
    if largest:
        note = f"{note} ρ of {names_in_words(largest)}: {LARGEST}."
    return Table(f"Scores against {sets.name}", columns, tests, note)


def undefined(test: Tested) -> bool:
    return math.isnan(test.spearman.value)


def test_figure(sets: Sets, tests: list[Tested], key: str) -> Figure:
    """ρ of people and metrics with the parameter, on one axis."""
    correlations = [(title_of(sets, test.measure), test.spearman) for test in tests]
    title = f"Spearman’s ρ with {sets.name}"
    words = plots.Words(f"{key}-tests", title, values_in_words(correlations), f"ρ with {sets.name}")
    bars = interval_bars(correlations)
    low = min((end for _, *ends in bars for end in ends if math.isfinite(end)), default=0.0)
    svg = plots.intervals(words, bars, limits=(min(0.0, max(-1.0, math.floor(low * 10) / 10)), 1.0))
    return Figure(svg, f"{title}, with 95% intervals.", estimates_table(title, correlations))


def threshold_text(name: str, threshold: Threshold) -> str:
    if math.isinf(threshold.value):
        return f"{name}: no threshold does better than calling all sets the same."
    side = "at or above" if threshold.direction == "above" else "below"
    return f"{name}: high when {side} {number(threshold.value, 3)}."


def metric_blocks(source: Source, sets: Sets, key: str, data: dict[str, Any]) -> list[Block]:
    """Automatic metrics with the human score."""
    notes: list[Block] = []
    if sets.not_metrics:
        listed = ", ".join(sets.not_metrics)
        notes.append(Note(f"Not shown as metrics, because they hold scores by people: {listed}."))
    if not sets.metrics:
        none = Note("There is no automatic metric of a single set to compare with this score.")
        return [*notes, none] if sets.middle is None else notes
    tests = [with_people(sets, source, metric) for metric in sets.metrics]
    data["metrics_with_human"] = {test.measure: test for test in tests}
    computed = ", ".join(metric for metric in sets.metrics if metric in METRICS)
    of_file = ", ".join(metric for metric in sets.metrics if metric not in METRICS)
    origins = [f"{computed}: computed from the texts that were judged; larger means more diverse."] if computed else []
    origins += [f"{of_file}: from the items’ file."] if of_file else []
    if sets.middle is not None:
        origins.append("Of a pair, the metric of set 1 less that of set 2.")
    title = f"Metrics against the {sets.score.title} score"
    return [
        Heading("Automatic metrics", " ".join(origins)),
        *notes,
        people_table(sets, title, tests),
        Fold(f"{sets.score.title} against every metric", [Figures([metric_figure(sets, test, key) for test in tests])]),
    ]


def people_table(sets: Sets, title: str, tests: Sequence[Tested]) -> Table:
    columns = [
        Column("Metric", "name", shows="measure"),
        Column("Items", shows=lambda test: int(sets.rated[test.measure].notna().sum())),
        Column("Spearman’s ρ", digits=3, shows="spearman"),
        Column("Pearson’s r", digits=3, shows="second"),
    ]
    return Table(title, columns, tests, "Intervals are about new items and new workers.")


def set_tables(source: Source, sets: Sets) -> list[Part]:
    """The items with the highest and lowest scores, with their texts, and all scores."""

    def float_of(name: str) -> Callable[[dict[str, Any]], float]:
        return lambda scored: float(scored[name])

    texts = source.items["texts"]
    ordered = sets.rated.sort_values("score", ascending=False, kind="stable").reset_index().to_dict("records")
    columns = [
        Column("Item", "name", shows=lambda scored: str(scored["item"])),
        Column("Score", shows="score"),
        Column("s.d.", shows="sd"),
        Column("n", shows="n"),
    ]
    if sets.name:
        columns.append(Column(sets.name, shows=lambda scored: as_entered(scored["parameter"])))
    with_texts = [
        *columns,
        Column("Context", "prose", shows="context"),
        Column("Texts", "texts", shows=lambda scored: numbered(texts[str(scored["item"])])),
    ]
    if len(ordered) <= 2 * ENDS:
        return [Table("All items, highest score first", with_texts, ordered)]
    columns += [
        Column("Score with interval", shows=lambda scored: Estimate(scored["score"], scored["low"], scored["high"])),
        *(Column(metric, digits=3, shows=float_of(metric)) for metric in sets.metrics),
    ]
    cut = f" The {MOST_ROWS} highest of {len(ordered):,}; report.json has all." if len(ordered) > MOST_ROWS else ""
    note = (
        f"s.d. is over workers, with n in the denominator; the interval of the mean is Student’s t over workers.{cut}"
    )
    return [
        Table(f"The {ENDS} items that score highest", with_texts, ordered[:ENDS]),
        Table(f"The {ENDS} items that score lowest", with_texts, ordered[: -ENDS - 1 : -1]),
        Table("All scores", columns, ordered[:MOST_ROWS], note),
    ]
