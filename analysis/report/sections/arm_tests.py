"""The section that tests questions about no item, or about each worker's texts, between arms.

Source: Clark 2021, §2.6 (arms solo and machine in the loop): independent t-test and Mann–Whitney U.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis.estimate import Estimate
from analysis.inference import bounds_of_difference, holm, ratios
from analysis.report.blocks import Section
from analysis.report.source import NUMERIC, Source
from analysis.report.tables import Column, Table, grouped
from analysis.writing.two_groups import two_groups


def make_section(source: Source, *, topics: Sequence[str] = ()) -> Section | None:
    """For each question (``topics``; default: all with a mean) and pair of arms. None without two arms with answers.

    The difference and its p are about new workers, and about new items if the question is about items. In the paper's
    tests, a worker counts once, with the mean of their ratings.
    """
    section = Section(source.key("arm_tests"), "Tests between arms")
    tests = [test for topic in topics or source.questions for test in tests_on(source, topic)]
    if not tests:
        return None
    for test, p_corrected in zip(tests, holm([test["p"] for test in tests]).tolist(), strict=True):
        test["p_corrected"] = p_corrected
    section.data |= grouped(tests, "topic")
    section.add(tests_table(tests))
    return section


def tests_on(source: Source, topic: str) -> Iterator[dict[str, Any]]:
    """The tests of one question between all pairs of arms with answers, not corrected yet."""
    question = source.questions.get(topic)
    if question is None or question.scale.level not in NUMERIC:
        return
    ratings = source.ratings_on(topic)
    means = ratings.groupby(["arm", "worker"], sort=False)["value"].mean()
    values = {arm: means.loc[arm] for arm in source.arms if arm in means.index.get_level_values("arm")}
    for first, second in combinations(values, 2):
        difference, p = difference_of_means(source, topic, ratings, first, second)
        groups = two_groups(values[first], values[second])
        test = {"topic": topic, "first": first, "second": second} | asdict(groups)
        yield test | {"difference": difference, "p": p, "p_corrected": math.nan, "p_student": groups.p}


def difference_of_means(
    source: Source, topic: str, ratings: pd.DataFrame, first: str, second: str
) -> tuple[Estimate, float]:
    """The difference of the means over all ratings, and its two-sided p."""
    rows = ratings[ratings["arm"].isin([first, second])]
    sides = (rows["arm"].to_numpy()[:, None] == np.array([first, second], dtype=object)).astype(float)
    values = rows["value"].to_numpy(dtype=float)[:, None]
    figures = ratios(values * sides, sides, source.dimensions_of(rows))
    bounds = bounds_of_difference(source.ends_of(topic))
    return figures.difference(0, 1, bounds=bounds), figures.p_difference(0, 1, bounds=bounds)


def tests_table(tests: list[dict[str, Any]]) -> Table:
    def pair(test: dict[str, Any]) -> str:
        shift = test["shift"]
        return f"{test['first']} ({shift['n_first']}) − {test['second']} ({shift['n_second']})"

    columns = [
        Column("Question", "text", shows="topic"),
        Column("Arms", "text", shows=pair),
        Column("First", shows="mean_first"),
        Column("Second", shows="mean_second"),
        Column("Difference", shows="difference"),
        Column("p", "p", shows="p"),
        Column("p, Holm", "p", shows="p_corrected"),
        Column("t", shows="t"),
        Column("p, Student", "p", shows="p_student"),
        Column("p, Welch", "p", shows="p_welch"),
        Column("U", digits=1, shows=lambda test: test["shift"]["u"]),
        Column("p, U", "p", shows=lambda test: test["shift"]["p"]),
    ]
    note = (
        "First and second: means over workers, each with the mean of their ratings; numbers of workers are in "
        "brackets. Difference and p: of the means over all ratings, about new workers, and about new items if the "
        "question is about items; with fewer than five workers in an arm there is no interval. Holm’s correction is "
        "over the rows. The paper’s tests are of workers’ means and two-sided: Student’s t assumes equal variances, "
        "Welch’s does not, U is Mann–Whitney’s. They ignore that an item may suit one arm, and are not corrected."
    )
    return Table("Two arms on each question", columns, tests, note)
