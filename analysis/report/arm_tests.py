"""The section that tests questions about no item, or about each worker's texts, between arms.

Source: Clark 2021, §2.6 (arms solo and machine in the loop): independent t-test and Mann–Whitney U.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis.estimate import Estimate
from analysis.inference import holm, ratios
from analysis.report.blocks import Column, Section, Table
from analysis.report.source import NUMERIC, Source
from analysis.writing.two_groups import TwoGroups, two_groups


def arm_tests(source: Source, *, topics: Sequence[str] = ()) -> Section | None:
    """For each question (``topics``; default: all with a mean) and pair of arms. None without two arms with answers.

    The difference and its p are about new workers, and about new items if the question is about items. In the paper's
    tests, a worker counts once, with the mean of their ratings.
    """
    section = Section(source.key("arm_tests"), "Tests between arms")
    tests: list[tuple[str, str, str, Estimate, float, TwoGroups]] = []
    for topic in topics or source.questions:
        question = source.questions.get(topic)
        if question is None or question.scale.level not in NUMERIC:
            continue
        ratings = source.ratings_on(topic)
        means = ratings.groupby(["arm", "worker"], sort=False)["value"].mean()
        values = {arm: means.loc[arm] for arm in source.arms if arm in means.index.get_level_values("arm")}
        for first, second in combinations(values, 2):
            difference, p = apart(source, topic, ratings, first, second)
            tests.append((topic, first, second, difference, p, two_groups(values[first], values[second])))
    if not tests:
        return None
    corrected = holm([p for *_, p, _ in tests]).tolist()
    rows = []
    for (topic, first, second, difference, p, found), p_corrected in zip(tests, corrected, strict=True):
        shift = found.shift
        pair = f"{first} ({shift.n_first}) − {second} ({shift.n_second})"
        papers = (found.t, found.p, found.p_welch, shift.u, shift.p)
        rows.append((topic, pair, found.mean_first, found.mean_second, difference, p, p_corrected, *papers))
        told: dict[str, Any] = {"first": first, "second": second} | asdict(found)
        told |= {"difference": difference, "p": p, "p_corrected": p_corrected, "p_student": found.p}
        section.data.setdefault(topic, []).append(told)
    section.blocks.append(table(rows))
    return section


def apart(source: Source, topic: str, ratings: pd.DataFrame, first: str, second: str) -> tuple[Estimate, float]:
    """The difference of the means over all ratings, and its two-sided p."""
    rows = ratings[ratings["arm"].isin([first, second])]
    sides = (rows["arm"].to_numpy()[:, None] == np.array([first, second], dtype=object)).astype(float)
    values = rows["value"].to_numpy(dtype=float)[:, None]
    figures = ratios(values * sides, sides, source.dimensions_of(rows))
    ends = source.ends_of(topic)
    bounds = None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])
    return figures.difference(0, 1, bounds=bounds), figures.p_difference(0, 1, bounds=bounds)


def table(rows: Sequence[Sequence[object]]) -> Table:
    columns = [Column("Question", "text"), Column("Arms", "text"), Column("First"), Column("Second")]
    columns += [Column("Difference"), Column("p", "p"), Column("p, Holm", "p"), Column("t"), Column("p, Student", "p")]
    columns += [Column("p, Welch", "p"), Column("U", digits=1), Column("p, U", "p")]
    note = (
        "First and second: means over workers, each with the mean of their ratings; numbers of workers are in "
        "brackets. Difference and p: of the means over all ratings, about new workers, and about new items if the "
        "question is about items; with fewer than five workers in an arm there is no interval. Holm’s correction is "
        "over the rows. The paper’s tests are of workers’ means and two-sided: Student’s t assumes equal variances, "
        "Welch’s does not, U is Mann–Whitney’s. They ignore that an item may suit one arm, and are not corrected."
    )
    return Table("Two arms on each question", columns, rows, note)
