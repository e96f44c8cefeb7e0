"""The section that tests questions about no item, or about each worker's texts, between arms.

Source: Clark 2021, §2.6 (arms solo and machine in the loop): independent t-test and Mann–Whitney U.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from analysis.estimate import Estimate
from analysis.report.blocks import Column, Section, Table, p_value
from analysis.report.source import NUMERIC, Source
from analysis.writing.two_groups import TwoGroups, two_groups


def arm_tests(source: Source, *, topics: Sequence[str] = ()) -> Section | None:
    """For each question (``topics``; default: all with a mean) and every two arms. None without two arms with answers.

    A worker counts once, with the mean of their ratings.
    """
    section = Section(source.key("arm_tests"), "Tests between arms")
    rows = []
    for topic in topics or source.questions:
        question = source.questions.get(topic)
        if question is None or question.scale.level not in NUMERIC:
            continue
        means = source.ratings_on(topic).groupby(["arm", "worker"], sort=False)["value"].mean()
        values = {arm: means.loc[arm] for arm in source.arms if arm in means.index.get_level_values("arm")}
        for first, second in combinations(values, 2):
            found = two_groups(values[first], values[second])
            rows.append(as_row(topic, first, second, found))
            told: dict[str, Any] = {"first": first, "second": second} | asdict(found)
            section.data.setdefault(topic, []).append(told | {"difference": found.difference})
    if not rows:
        return None
    section.blocks.append(table(rows))
    return section


def as_row(topic: str, first: str, second: str, found: TwoGroups) -> tuple[object, ...]:
    shift = found.shift
    pair = f"{first} ({shift.n_first}) − {second} ({shift.n_second})"
    means: tuple[float, float, Estimate] = (found.mean_first, found.mean_second, found.difference)
    return (topic, pair, *means, found.t, p_value(found.p), p_value(found.p_welch), shift.u, p_value(shift.p))


def table(rows: Sequence[Sequence[object]]) -> Table:
    columns = [Column("Question", "text"), Column("Arms", "text"), Column("First"), Column("Second")]
    columns += [Column("Difference"), Column("t"), Column("p", digits=4), Column("p, Welch", digits=4)]
    columns += [Column("U", digits=1), Column("p, U", digits=4)]
    note = (
        "Means over workers, each with the mean of their ratings; numbers of workers are in brackets. Student’s t-test "
        "assumes equal variances, Welch’s does not; U is Mann–Whitney’s. All are two-sided and not corrected for how "
        "many there are."
    )
    return Table("Two arms on each question", columns, rows, note)
