"""The paper's tests of third parties' ratings by where texts come from, such as the arm of their writers.

Source: Clark 2021, §2.6. A text counts once, with the mean of its ratings; the figures about new items and new workers
are in the section on findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from analysis.description import Factor
from analysis.factors import level_names
from analysis.report.blocks import Fold, Section
from analysis.report.source import NUMERIC, Source
from analysis.report.tables import Column, Table
from analysis.writing.two_groups import two_groups

#: The beginning of the names of factors that say where a text comes from.
FROM = "from:"
#: Of more levels there would be more pairs than anybody reads.
MOST_LEVELS = 4


def make_section(source: Source, *, topics: Sequence[str] = ()) -> Section | None:
    """For each origin, question (``topics``; default: all with a mean) and pair of levels: Student's and Welch's t,
    Mann–Whitney's U. None if the items do not say where their texts come from."""
    section = Section(source.key("origin_tests"), "Texts by origin")
    tables = []
    for factor in source.factors:
        if factor.of != "item" or not factor.name.startswith(FROM):
            continue
        tests = [test for topic in topics or source.questions for test in tests_on(source, topic, factor)]
        if tests:
            section.data[factor.name] = tests
            tables.append(tests_table(factor.name, tests))
    if not tables:
        return None
    section.add(Fold("The paper’s tests of texts by origin", tables))
    return section


def tests_on(source: Source, topic: str, factor: Factor) -> list[dict[str, Any]]:
    question = source.questions.get(topic)
    if question is None or question.scale.level not in NUMERIC or question.targets:
        return []
    ratings = source.ratings_on(topic)
    ratings = ratings.assign(level=level_names(source.data, factor, ratings))
    means = ratings[ratings["level"] != ""].groupby(["level", "item"], sort=False)["value"].mean()
    levels = list(dict.fromkeys(means.index.get_level_values(0)))
    if not 2 <= len(levels) <= MOST_LEVELS:
        return []
    return [
        {"topic": topic, "first": first, "second": second, "test": two_groups(means.loc[first], means.loc[second])}
        for first, second in combinations(levels, 2)
    ]


def tests_table(name: str, tests: Sequence[dict[str, Any]]) -> Table:
    def pair(record: dict[str, Any]) -> str:
        shift = record["test"].shift
        return f"{record['first']} ({shift.n_first}) − {record['second']} ({shift.n_second})"

    columns = [
        Column("Question", "text", shows="topic"),
        Column("Levels", "text", shows=pair),
        Column("First", shows=lambda record: record["test"].mean_first),
        Column("Second", shows=lambda record: record["test"].mean_second),
        Column("Difference", shows=lambda record: record["test"].difference),
        Column("t", shows=lambda record: record["test"].t),
        Column("p, Student", "p", shows=lambda record: record["test"].p),
        Column("p, Welch", "p", shows=lambda record: record["test"].p_welch),
        Column("U", digits=1, shows=lambda record: record["test"].shift.u),
        Column("p, U", "p", shows=lambda record: record["test"].shift.p),
    ]
    note = (
        "A text counts once, with the mean of its ratings; numbers of texts are in brackets. The tests are two-sided, "
        "take the workers and prompts as they are, and are not corrected. The section on findings has the differences "
        "about new items and new workers."
    )
    return Table(f"Texts by {name}: the paper’s tests", columns, tests, note)
