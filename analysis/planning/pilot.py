"""Variance components of an earlier study, from its bundle: the answers on one criterion, as its report has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.data import StudyData
from analysis.description import Factor
from analysis.factors import factors_of
from analysis.planning.components import Fit, fit_components
from analysis.planning.scales import MOST_POINTS, Scale
from analysis.report.sections.findings import Criterion, as_accuracy, codes_of, criterion_of
from analysis.report.source import Source


@dataclass(frozen=True, slots=True)
class Pilot:
    """``fit`` on the ``scale`` of a criterion; ``factor`` says what the systems were, empty if there was one."""

    fit: Fit
    scale: Scale
    criterion: str
    factor: str


def pilot_of(data: StudyData, criterion: str = "", factor: str = "") -> Pilot:
    """ValueError: no such criterion or factor, several criteria and none named, one item or worker."""
    source = Source(data)
    criteria = [criterion_of(source, score) for score in source.scores]
    chosen = _chosen([as_accuracy(source, rated) for rated in criteria if rated is not None], criterion)
    factors = {of_study.name: of_study for of_study in factors_of(data) if of_study.of != "part"}
    if factor and factor not in factors:
        named = ", ".join(factors) or "none"
        raise ValueError(f"the study has no factor “{factor[:40]}”; there are {named}")
    system: Factor | None = factors.get(factor) if factor else next(iter(factors.values()), None)
    answers = chosen.answers
    if answers.own:
        raise ValueError(f"workers answered about their own work, so {chosen.name} has no items to plan with")
    rows = np.ones(len(answers), dtype=bool)
    levels = None
    if system is not None:
        codes, names = codes_of(source, system, chosen)
        if len(names) > 1:
            levels, rows = codes, codes >= 0
    of_part = answers.contexts * (int(answers.parts.max()) + 1) + answers.parts
    fit = fit_components(
        answers.values[rows],
        items=of_part[rows],
        workers=answers.workers[rows],
        systems=None if levels is None else levels[rows],
    )
    return Pilot(fit, _scale_of(source, chosen), chosen.name, system.name if system and levels is not None else "")


def _chosen(criteria: list[Criterion], name: str) -> Criterion:
    names = [criterion.name for criterion in criteria]
    if not names:
        raise ValueError("no question of the study has answers with a mean, so there is nothing to plan with")
    if not name and len(names) > 1:
        raise ValueError(f"the study has several criteria: name one of {', '.join(names)}")
    for criterion in criteria:
        if name in ("", criterion.name, criterion.topic):
            return criterion
    raise ValueError(f"the study has no criterion “{name[:40]}” with a mean; there are {', '.join(names)}")


def _scale_of(source: Source, criterion: Criterion) -> Scale:
    """The points of the question; any number between the lowest and highest answer if it has none."""
    values = criterion.answers.values
    if criterion.name == "accuracy":
        return Scale(0, 1, 2)
    points = source.questions[criterion.topic].ratings_scale.points
    bounds = criterion.answers.bounds
    if bounds is None or not 2 <= len(points) <= MOST_POINTS:
        return Scale(float(values.min()), float(values.max()))
    return Scale(*bounds, len(points))
