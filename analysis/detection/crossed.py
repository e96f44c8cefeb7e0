"""Accuracy by one factor, such as the model or the training, in every domain and overall.

Each row has the figures about new texts and new workers, and beside them the tests of Clark 2021, ch. 6 (Tables 6.1 and
6.2), in which one worker is one observation and texts are taken as fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from analysis.detection.groups import GroupDifference, differences
from analysis.detection.judgements import Judgements, Measures, measures, worker_scores
from analysis.detection.published_tests import Anova, MeanTest, TukeyPair, anova, mean_against, mean_difference, tukey
from analysis.diversity.association import Floats
from analysis.inference import holm

OVERALL = "Overall"


@dataclass(frozen=True, slots=True)
class Cell:
    """One level in one domain. OVERALL stands for all levels or domains. ``p_corrected``: of accuracy against one half,
    by Holm over all cells of the table. ``published``: None with fewer than two workers."""

    level: str
    domain: str
    measures: Measures
    p_corrected: float
    published: MeanTest | None


@dataclass(frozen=True, slots=True)
class LevelPair:
    """Two levels in one domain, or OVERALL. ``published`` is the t test of two groups, Tukey's of more, or None."""

    domain: str
    pair: GroupDifference
    published: MeanTest | TukeyPair | None


@dataclass(frozen=True, slots=True)
class DomainTest:
    """Domains within one level or OVERALL: all pairs, and the paper's analysis of variance (None if it has none)."""

    level: str
    pairs: list[GroupDifference]
    anova: Anova | None


@dataclass(frozen=True)
class Crossed:
    """A factor's cells, pairs of levels and tests of domains. ``only``: the levels of other factors that are compared,
    because only they have several levels of this one; empty: all."""

    factor: str
    cells: list[Cell]
    pairs: list[LevelPair]
    domains: list[DomainTest]
    only: dict[str, list[str]]


def comparable(judgements: Judgements, factor: str, others: Sequence[str]) -> tuple[Judgements, dict[str, list[str]]]:
    """The judgements in which the factor varies while the others stay the same, and which levels of these they have.

    In a design with two models without training, and trainings for one of them, models are compared without training,
    and trainings with that model. If there is no such part, all judgements: the factors then vary together.
    """
    frame = judgements.frame[judgements.frame[factor] != ""]
    if not others:
        return Judgements(frame), {}
    several = frame.groupby(list(others), sort=False)[factor].transform("nunique") > 1
    if several.all() or not several.any():
        return Judgements(frame), {}
    chosen = frame[several]
    only = {
        name: list(dict.fromkeys(chosen[name])) for name in others if chosen[name].nunique() < frame[name].nunique()
    }
    return Judgements(chosen), only


def crossed(
    judgements: Judgements,
    factor: str,
    *,
    domain: str = "",
    others: Sequence[str] = (),
    tests: int = 1,
    level: float = 0.95,
) -> Crossed:
    """Everything by the column ``factor``; ``domain`` is a column too, empty if it does not vary.

    ``others``: further columns that must not vary with the factor (`comparable`). ``tests``: how many cells the paper's
    Bonferroni correction counts. ValueError: no judgement has a level.
    """
    chosen, only = comparable(judgements, factor, others)
    if not len(chosen):
        raise ValueError(f"no judgement has a level of “{factor}”")
    frame = chosen.frame
    levels = list(dict.fromkeys(frame[factor]))
    domains = [name for name in dict.fromkeys(frame[domain]) if name] if domain else []
    cells = []
    for name, place in product([*levels, OVERALL], [OVERALL, *domains]):
        part = Judgements(_part(frame, {factor: name, domain: place}))
        if len(part):
            accuracies = worker_scores(part)["accuracy"].to_numpy()
            published = mean_against(accuracies, tests=tests, level=level) if len(accuracies) > 1 else None
            of_cell = measures(part, level=level)
            cells.append(Cell(name, place, of_cell, of_cell.p_chance, published))
    corrected = holm([cell.measures.p_chance for cell in cells]).tolist()
    cells = [
        Cell(cell.level, cell.domain, cell.measures, p, cell.published)
        for cell, p in zip(cells, corrected, strict=True)
    ]
    pairs = [
        pair for place in [OVERALL, *domains] for pair in _pairs(_part(frame, {domain: place}), factor, place, level)
    ]
    tests_of_domains = [
        _domain_test(name, _part(frame, {factor: name}), domain, level)
        for name in ([*levels, OVERALL] if len(domains) > 1 else [])
    ]
    return Crossed(factor, cells, pairs, tests_of_domains, only)


def _part(frame: pd.DataFrame, values: dict[str, str]) -> pd.DataFrame:
    """The rows with these values by column; OVERALL is any value."""
    for column, value in values.items():
        if value != OVERALL:
            frame = frame[frame[column] == value]
    return frame


def _pairs(frame: pd.DataFrame, factor: str, domain: str, level: float) -> list[LevelPair]:
    part = Judgements(frame)
    pairs = differences(part, factor, level=level) if frame[factor].nunique() > 1 else []
    groups = {name: scores for name, scores in accuracies_by(frame, factor).items() if len(scores) > 1}
    try:
        by_tukey = {(test.first, test.second): test for test in tukey(groups)} if len(groups) > 2 else {}
    except ValueError:
        by_tukey = {}
    records = []
    for pair in pairs:
        published: MeanTest | TukeyPair | None = by_tukey.get((pair.first, pair.second))
        if len(groups) == 2 and pair.first in groups and pair.second in groups:
            published = mean_difference(groups[pair.first], groups[pair.second], level=level)
        records.append(LevelPair(domain, pair, published))
    return records


def _domain_test(name: str, frame: pd.DataFrame, domain: str, level: float) -> DomainTest:
    pairs = differences(Judgements(frame), domain, level=level) if frame[domain].nunique() > 1 else []
    groups = {name: scores for name, scores in accuracies_by(frame, domain).items() if name and len(scores) > 1}
    try:
        return DomainTest(name, pairs, anova(groups) if len(groups) > 1 else None)
    except ValueError:
        return DomainTest(name, pairs, None)


def accuracies_by(frame: pd.DataFrame, column: str) -> dict[str, Floats]:
    """The accuracy of every worker within each value of the column, in order of first appearance."""
    means = frame.groupby([column, "worker"], sort=False)["right"].mean()
    names = means.index.get_level_values(0)
    return {str(name): np.asarray(means[names == name], dtype=float) for name in dict.fromkeys(names)}
