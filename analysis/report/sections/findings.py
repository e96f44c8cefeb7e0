"""The first section: what the study found, criterion by criterion, and the comparison of levels behind each sentence.

A criterion is a score or a question whose answers have a mean. Source of the methods: `analysis.findings`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.description import Factor, Score
from analysis.estimate import Estimate, merged_methods
from analysis.factor_checks import design_problems, unanswered_by_workers
from analysis.factors import level_names, levels_in_order, levels_without
from analysis.findings import Answers, Comparison, compare_levels, level_codes
from analysis.findings.answers import Codes, names_in_words
from analysis.findings.crossing import Crossing, cross_levels
from analysis.rating_codes import first_places
from analysis.report.blocks import Block, Figure, Figures, Fold, Heading, Note, Section, Sentences
from analysis.report.estimates import how
from analysis.report.figures import interval_bars, values_in_words
from analysis.report.sections.detection import JUDGEMENT, judged
from analysis.report.sections.finding_sentences import (
    comparison_sentence,
    letters_in_words,
    mean_sentences,
    possible_ranks,
)
from analysis.report.sections.findings_of_pairs import add_pairs
from analysis.report.sections.findings_of_shares import add_shares
from analysis.report.sections.looks import add_looks
from analysis.report.source import MANY_POINTS, Source
from analysis.report.tables import Column, Table, estimates_table

#: More figures would fill the page; the table has all criteria.
MOST_FIGURES = 6
#: Longer tables of differences are folded at first.
MOST_ROWS = 3
#: With more factors, their combinations are folded at first.
MOST_CROSSED = 2


#: What the level of an answer follows from, by what a factor is of.
CODE_OF = {"item": "item_code", "arm": "arm_code", "worker": "worker_code"}
#: Codes (N,) of answers' levels, and the levels' names.
Levels = tuple[Codes, tuple[str, ...]]


@dataclass(frozen=True)
class Criterion:
    """The answers on a topic, the rows that they were made from, and the name that people read. ``elsewhere`` are
    factors by which another section compares these answers. ``levels``: those of the answers by factor, once somebody
    asked."""

    topic: str
    name: str
    rows: pd.DataFrame
    answers: Answers
    elsewhere: frozenset[str] = frozenset()
    levels: dict[str, Levels] = field(default_factory=dict)


def make_section(source: Source) -> Section | None:
    """None if nothing can be compared, and no criterion has a mean."""
    section = Section(source.key("findings"), "What the study found")
    criteria: list[Criterion] = []
    for score in source.scores:
        if (criterion := criterion_of(source, score, criteria)) is not None:
            criteria.append(criterion)
    criteria = [as_accuracy(source, criterion) for criterion in criteria]
    factors = list(source.factors)
    sentences: list[tuple[str, str]] = []
    evidence = Section("", "")
    compared_topics: set[str] = set()
    for factor in list(factors):
        if has_problems(source, evidence, factor, criteria):
            factors.remove(factor)
            continue
        if factor.of == "part":
            sentences += add_pairs(source, evidence, factor)
        comparisons = compared(source, evidence, factor, [c for c in criteria if factor.name not in c.elsewhere])
        if comparisons:
            add_comparisons(source, evidence, factor, criteria, comparisons)
            compared_topics |= comparisons.keys()
            sentences += [
                (topic, comparison_sentence(factor.name, comparison)) for topic, comparison in comparisons.items()
            ]
        ends = {criterion.name: criterion.answers.bounds for criterion in criteria}
        sentences += add_looks(source, evidence, factor, {name: (of, ends[name]) for name, of in comparisons.items()})
        if factor.of != "part":
            sentences += add_shares(source, evidence, factor)
    add_all_crossings(source, evidence, [factor for factor in factors if factor.of != "part"], criteria)
    compared_topics |= {topic for topic, _ in sentences}
    means = [criterion for criterion in criteria if not criterion.elsewhere and criterion.name not in compared_topics]
    sentences += mean_sentences([(criterion.name, criterion.answers) for criterion in means])
    if not sentences:
        return None
    section.add(Sentences(sentences), *evidence.blocks)
    section.data |= {"sentences": [{"criterion": topic, "sentence": text} for topic, text in sentences]}
    section.data |= evidence.data
    return section


def has_problems(source: Source, evidence: Section, factor: Factor, criteria: Sequence[Criterion]) -> bool:
    """Whether a declared factor cannot be compared at all. Adds what is wrong with it.

    Levels and a reference without answers are noted beside the criteria that lack them.
    """
    if factor not in source.description.factors:
        return False
    problems = design_problems(factor, source.description, source.items.reset_index())
    if factor.of == "worker" and not any(codes_of(source, factor, criterion)[1] for criterion in criteria):
        problems.append(unanswered_by_workers(factor))
    for problem in problems:
        if problem.setting != "reference":
            evidence.add(Note(f"By {factor.name}: {problem}", "warning"))
    return any(problem.blocks for problem in problems)


def criterion_of(source: Source, score: Score, earlier: Sequence[Criterion] = ()) -> Criterion | None:
    """None if nobody has answered, or the question chooses or orders, so that its ratings have no mean of their own.
    A score of each part has one.

    What workers answered about is worked out once for all criteria on which they answered about the same.
    """
    question = source.questions.get(score.topic)
    if score.topic not in source.derived and (
        question is None
        or (question.targets and score.over != "part")
        or question.scale.level == "pairwise"
        or score.middle is not None
    ):
        return None
    rows = source.ratings_on(score.topic)
    if rows.empty:
        return None
    ends = source.ends_of(score.topic)
    bounds = None if ends is None else (min(score.sign * end for end in ends), max(score.sign * end for end in ends))
    values = score.sign * rows["value"].to_numpy(dtype=float)
    for other in earlier:
        if about_the_same(rows, other.rows):
            answers = replace(other.answers, values=values, bounds=bounds)
            return Criterion(score.topic, score.topic, rows, answers, levels=other.levels)
    own = source.description.own_work or source.about_no_item(rows)
    answers = Answers.of(
        values,
        items=None if own else rows["item_code"].to_numpy(),
        workers=rows["worker_code"].to_numpy(),
        parts=rows["target_code"].to_numpy(),
        contexts=None if own else rows["item"].map(source.items["context"]),
        bounds=bounds,
    )
    return Criterion(score.topic, score.topic, rows, answers)


def about_the_same(rows: pd.DataFrame, others: pd.DataFrame) -> bool:
    """Whether both are about the same items, parts, workers and arms, in the same order."""
    columns = ("item_code", "target_code", "worker_code", "arm_code")
    return all(np.array_equal(rows[name].to_numpy(), others[name].to_numpy()) for name in columns)


def as_accuracy(source: Source, criterion: Criterion) -> Criterion:
    """Where texts are judged to be by a person or a machine: how often that is right, not what was answered."""
    for section in source.description.sections:
        parameters = dict(section.parameters)
        if section.name != "human_or_machine" or parameters.pop("topic", JUDGEMENT) != criterion.topic:
            continue
        try:
            right = judged(source, criterion.rows, **parameters).frame["right"].to_numpy(dtype=float)
        except ValueError:
            continue  # the section on detection says why
        answers = replace(criterion.answers, values=right, bounds=(0.0, 1.0))
        columns = {parameters.get("text_source", "source"), parameters.get("domain", "domain"), "model"}
        of_arms = {factor.name for factor in source.factors if factor.of == "arm"}
        return replace(criterion, name="accuracy", answers=answers, elsewhere=frozenset(columns | of_arms))
    return criterion


def codes_of(source: Source, factor: Factor, criterion: Criterion) -> Levels:
    """The codes of the answers' levels and their names, worked out once."""
    if factor.name not in criterion.levels:
        rows, order = criterion.rows, levels_in_order(source.data, factor)
        if factor.of in CODE_OF:  # one answer of each item, arm or worker says which level all of them have
            codes, distinct = pd.factorize(rows[CODE_OF[factor.of]].to_numpy())
            of_each, names = level_codes(
                level_names(source.data, factor, rows.iloc[first_places(codes, len(distinct))]), order
            )
            criterion.levels[factor.name] = of_each[codes], names
        else:
            criterion.levels[factor.name] = level_codes(level_names(source.data, factor, rows), order)
    return criterion.levels[factor.name]


def compared(source: Source, evidence: Section, factor: Factor, criteria: Sequence[Criterion]) -> dict[str, Comparison]:
    """The factor's levels on every criterion whose answers have any; a note for those that cannot be compared."""
    comparisons: dict[str, Comparison] = {}
    problems: dict[str, list[str]] = {}
    unrated: dict[str, list[str]] = {}
    all_levels = levels_without(source.data, factor, ())
    for criterion in criteria:
        codes, names = codes_of(source, factor, criterion)
        if not names or (len(names) == 1 and factor not in source.description.factors):
            continue  # such as answers about suggestions, which one arm alone has
        if without := [level for level in all_levels if level not in names]:
            unrated.setdefault(names_in_words(without), []).append(criterion.name)
        try:
            reference = factor.reference if factor.reference in names else ""
            comparisons[criterion.name] = compare_levels(criterion.answers, codes, names, reference=reference)
        except ValueError as error:
            problems.setdefault(str(error), []).append(criterion.name)
        else:
            if factor.reference and not reference:
                missing = f"no answer has the reference {factor.reference}: all levels are compared with each other"
                problems.setdefault(missing, []).append(criterion.name)
    for levels, topics in unrated.items():
        evidence.add(Note(f"By {factor.name}, without answers on {', '.join(topics)}, so not compared: {levels}."))
    for problem, topics in problems.items():
        evidence.add(Note(f"By {factor.name}, on {', '.join(topics)}: {problem}.", "warning"))
    return comparisons


def add_comparisons(
    source: Source,
    section: Section,
    factor: Factor,
    criteria: Sequence[Criterion],
    comparisons: dict[str, Comparison],
) -> None:
    section.add(Heading(f"By {factor.name}"))
    figures = []
    for criterion in [criterion for criterion in criteria if criterion.name in comparisons][:MOST_FIGURES]:
        figures.append(means_figure(source, factor, criterion.name, comparisons[criterion.name]))
        if chart := shares_figure(source, factor, criterion):
            figures.append(chart)
    levels = [{"criterion": topic, "level": level} for topic, of in comparisons.items() for level in of.levels]
    differences = [{"criterion": topic, "pair": pair} for topic, of in comparisons.items() for pair in of.differences]
    first = next(iter(comparisons.values()))
    notes = list(dict.fromkeys(note for of in comparisons.values() for note in of.notes))
    several = len(comparisons) > 1
    if not several:
        section.add(Figures(figures))
    section.add_named(f"levels by {factor.name}", levels_table(factor, levels, notes))
    section.add_named(f"differences by {factor.name}", differences_table(factor, differences, first))
    if several:
        section.add(Fold(f"Figures by {factor.name}", [Figures(figures)]))


def means_figure(source: Source, factor: Factor, topic: str, comparison: Comparison) -> Figure:
    estimates = [(f"{level.name[:24]}  {level.letters}", level.mean) for level in comparison.levels]
    title = f"{topic} by {factor.name}"
    words = plots.Words(source.key("findings-plot"), title, values_in_words(estimates), f"Mean {topic}")
    bars = interval_bars(estimates)
    limits = plots.padded([end for _, *ends in bars for end in ends if math.isfinite(end)])
    svg = plots.intervals(words, bars, limits=limits)
    meaning = letters_in_words([level.letters for level in comparison.levels])
    caption = f"{title}: means with 95% intervals. {meaning}"
    return Figure(svg, caption, estimates_table(title, estimates, digits=2))


def levels_table(factor: Factor, records: Sequence[dict[str, Any]], notes: Sequence[str]) -> Table:
    columns = [
        Column("Criterion", "name", shows="criterion"),
        Column(factor.name, "name", shows=lambda record: record["level"].name),
        Column("Mean", shows=lambda record: record["level"].mean),
        Column("Standardised", shows=lambda record: record["level"].standardised),
        Column("Rank", "code", shows=lambda record: possible_ranks(record["level"])),
        Column("Cluster", shows=lambda record: record["level"].cluster),
        Column("Letters", "code", shows=lambda record: record["level"].letters),
        Column("Answers", shows=lambda record: record["level"].answers),
        Column("Items", shows=lambda record: record["level"].items),
        Column("Workers", shows=lambda record: record["level"].workers),
    ]
    note = (
        f"{ways_in_words([record['level'].mean for record in records])}"
        "Every item counts the same in a mean. Standardised: in standard deviations from each worker’s own mean. "
        "Ranks, clusters and letters: from all pairs of levels of a criterion, at 5% with Holm’s correction. A cluster "
        "ends where every level above differs from every level below."
    )
    return Table(f"Levels of {factor.name}", columns, records, " ".join([note, *notes]))


def ways_in_words(estimates: Sequence[Estimate]) -> str:
    """How the intervals were made, or why there are none; the same way is named once."""
    return "".join(f"{way} " for way in merged_methods(how(estimate) for estimate in estimates))


def differences_table(factor: Factor, records: Sequence[dict[str, Any]], comparison: Comparison) -> Table:
    columns = [
        Column("Criterion", "name", shows="criterion"),
        Column("Levels", "text", shows=lambda record: f"{record['pair'].first} − {record['pair'].second}"),
        Column("Difference", shows=lambda record: record["pair"].difference),
        Column("p", "p", shows=lambda record: record["pair"].p),
        Column("p, Holm", "p", shows=lambda record: record["pair"].p_corrected),
        Column("Cohen’s d", shows=lambda record: record["pair"].effect),
        Column("Equivalent within ±", shows=lambda record: record["pair"].equivalent_within),
        Column("Standardised", shows=lambda record: record["pair"].standardised),
    ]
    note = (
        f"{ways_in_words([record['pair'].difference for record in records])}"
        f"Holm’s correction is over {comparison.family}, on each criterion. Cohen’s d is in standard deviations of "
        "single answers. Equivalent within: two one-sided tests at 5% at most show a difference smaller than any "
        "larger margin."
    )
    return Table(f"Differences between levels of {factor.name}", columns, records, note, fold=len(records) > MOST_ROWS)


def shares_figure(source: Source, factor: Factor, criterion: Criterion) -> Figure | None:
    """How often every point of a scale was chosen, by level; None if the scale is not ordinal, or too long."""
    if criterion.topic in source.derived:
        return None
    scale = source.questions[criterion.topic].ratings_scale
    if scale.level != "ordinal" or not 2 <= len(scale.points) <= MANY_POINTS:
        return None
    points = sorted(scale.points, key=lambda point: point.value)
    codes, names = codes_of(source, factor, criterion)
    values = criterion.rows["value"].to_numpy(dtype=float)
    counts = [
        (name, [int(((codes == code) & (values == point.value)).sum()) for point in points])
        for code, name in enumerate(names)
    ]
    title = f"Answers on {criterion.topic} by {factor.name}"
    ends = (points[0].text, points[-1].text)
    described = f"Stacked bars around the middle of the scale, from {ends[0]} on the left to {ends[1]} on the right."
    words = plots.Words(
        source.key("findings-shares"), title, described, "Share of answers on either side of the middle"
    )
    svg = plots.diverging(words, [(name[:24], row) for name, row in counts], [p.key for p in points], ends=ends)
    columns = [Column(factor.name, "name"), *(Column(point.text) for point in points)]
    return Figure(svg, f"{title}.", Table(title, columns, [(name, *row) for name, row in counts], "Number of answers."))


def add_all_crossings(
    source: Source, section: Section, factors: Sequence[Factor], criteria: Sequence[Criterion]
) -> None:
    """All pairs of factors; folded if there are more than two factors: nobody reads all combinations."""
    evidence = Section("", "")
    for first, second in combinations(factors, 2):
        # Who wrote a text is what accuracy is about.
        crossed = [c for c in criteria if not (c.elsewhere and "source" in (first.name, second.name))]
        add_crossings(source, evidence, first, second, crossed)
    parts: list[Block] = list(evidence.parts)
    if len(factors) > MOST_CROSSED:
        parts = (
            [Fold("Two factors at a time: all combinations, and interactions", list(evidence.parts))] if parts else []
        )
    section.add(*parts)
    section.data |= evidence.data


def add_crossings(
    source: Source, section: Section, first: Factor, second: Factor, criteria: Sequence[Criterion]
) -> None:
    """The means of every combination of two factors' levels with overall rows, and interactions."""
    crossings: dict[str, Crossing] = {}
    for criterion in criteria:
        sides = [codes_of(source, factor, criterion) for factor in (first, second)]
        if any(not 2 <= len(names) <= MANY_POINTS for _, names in sides):
            continue
        try:
            crossings[criterion.name] = cross_levels(criterion.answers, *sides)
        except ValueError:
            continue
    if not crossings:
        return
    cells = [{"criterion": topic, "cell": cell} for topic, of in crossings.items() for cell in of.cells if cell.answers]
    columns = [
        Column("Criterion", "name", shows="criterion"),
        Column(first.name, "name", shows=lambda record: record["cell"].first),
        Column(second.name, "name", shows=lambda record: record["cell"].second),
        Column("Mean", shows=lambda record: record["cell"].mean),
        Column("Answers", shows=lambda record: record["cell"].answers),
    ]
    notes = " ".join(dict.fromkeys(note for of in crossings.values() for note in of.notes))
    both = f"{first.name} and {second.name}"
    section.add(Heading(f"By {both}"))
    section.add_named(f"cells by {both}", Table(f"Means by {both}", columns, cells, notes, fold=len(cells) > 12))
    tests = [{"criterion": topic, "test": test} for topic, of in crossings.items() for test in of.interactions]
    if not tests:
        return
    columns = [
        Column("Criterion", "name", shows="criterion"),
        Column(first.name, "text", shows=lambda record: f"{record['test'].first} − {record['test'].first_base}"),
        Column(
            second.name, "text", shows=lambda record: f"{record['test'].second} against {record['test'].second_base}"
        ),
        Column("Interaction", shows=lambda record: record["test"].difference),
        Column("p", "p", shows=lambda record: record["test"].p),
        Column("p, Holm", "p", shows=lambda record: record["test"].p_corrected),
    ]
    note = (
        f"{ways_in_words([test.difference for of in crossings.values() for test in of.interactions])}"
        f"By how much a difference of {first.name} at one level of {second.name} exceeds that at another. Holm’s "
        "correction is over the interactions of a criterion."
    )
    section.add_named(f"interactions of {both}", Table(f"Interactions of {both}", columns, tests, note, fold=True))
