"""What a study's draft already says about its plan: systems, items, scale, who rates what, reward and time.

And the variances of an earlier study on this server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import pandas as pd

from analysis.data import StudyData
from analysis.description import Factor
from analysis.factors import factors_of, item_levels, levels_in_order
from analysis.planning.aims import SHARES, Goal
from analysis.planning.costs import Work
from analysis.planning.pilot import pilot_of
from analysis.planning.scales import MOST_POINTS, Scale
from analysis.planning.study_design import Crossing
from analysis.planning.variances import LIKERT, Variances, fitted_variances
from annotation.models import Study
from annotation.results.frames import study_data
from annotation.work.hourly_pay import time_per_hit

#: Ratings of a study whose questions have no scale with a mean are planned as if on this one.
ASSUMED = "The study has no question with a scale, so the plan assumes one from 1 to 5."


@dataclass(frozen=True, slots=True)
class StudyFacts:
    """What the draft says. ``items`` are those of each system; ``factor`` says what the systems are, and ``reference``
    with which of them the others are compared, if not all with each other. ``scales`` has the scale of every criterion.
    ``texts_per_worker`` None: a worker may rate everything. ``notes``: what was assumed."""

    goal: Goal
    scales: dict[str, Scale]
    factor: str
    reference: str
    systems: int
    items: int
    same_items: bool
    crossing: Crossing
    raters: int
    work: Work
    texts_per_worker: int | None
    notes: tuple[str, ...]


def facts_of(study: Study) -> StudyFacts:
    data = study_data(study)
    notes: list[str] = []
    factor, systems, items, same_items = _systems_of(data, notes)
    goal, scales = _scales_of(data)
    if not scales:
        scales = {"rating": LIKERT}
        notes.append(ASSUMED)
    if data.description.own_work:
        notes.append("Workers answer about what they write themselves. The plan is for texts that others rate.")
    if goal != "difference":
        items, systems = items * systems, 1
    elif systems == 1:
        notes.append("The items name no systems, so the plan assumes two. A column “system” would name them.")
        systems, items = 2, max(1, items // 2) if items else 0
    time = time_per_hit(study)
    minutes = Decimal(0) if time is None else (Decimal(str(time.seconds)) / 60).quantize(Decimal("0.001"))
    return StudyFacts(
        goal,
        scales,
        factor.name if factor else "",
        factor.reference if factor else "",
        systems,
        items,
        same_items,
        "one" if factor is not None and factor.of == "arm" else "some",
        study.ratings_per_item,
        Work(
            study.items_per_hit,
            study.reward,
            minutes or None,  # programs that send forms need almost none
        ),
        None if study.hits_per_worker is None else study.hits_per_worker * study.items_per_hit,
        tuple(notes),
    )


def _systems_of(data: StudyData, notes: list[str]) -> tuple[Factor | None, int, int, bool]:
    """The first factor of items or arms, its number of levels, the items of each, and whether they share contexts."""
    main = data.items[data.items["role"] == "main"]
    factor = next((factor for factor in factors_of(data) if factor.of in ("item", "arm")), None)
    if factor is None:
        return None, 1, len(main), True
    if factor.of == "arm":
        return factor, max(1, len([name for name in levels_in_order(data, factor) if name])), len(main), True
    levels = item_levels(main, factor.name)
    levels = levels[levels != ""]
    systems = int(levels.nunique())
    contexts = pd.Series(main["context"].to_numpy(dtype=object), index=main["item"]).reindex(levels.index).fillna("")
    shared = bool((contexts != "").all()) and contexts.nunique() < len(contexts)
    if not shared:
        notes.append("The texts of different systems share no context, so every system counts as having its own items.")
    return factor, max(1, systems), round(len(levels) / max(1, systems)), shared


def _scales_of(data: StudyData) -> tuple[Goal, dict[str, Scale]]:
    """What the study's questions can show, and the scale of each that has one."""
    description = data.description
    if any(section.name == "human_or_machine" for section in description.sections):
        return "accuracy", {"accuracy": SHARES}
    scored = [score.topic for score in description.scores]
    numeric = [
        question
        for question in description.questions
        if question.scale.level in ("ordinal", "interval") and not question.targets
    ]
    numeric.sort(key=lambda question: question.topic not in scored)
    scales = {
        question.topic: Scale(scale.low, scale.high, len(scale.points))
        for question in numeric
        if 2 <= len((scale := question.ratings_scale).points) <= MOST_POINTS
    }
    if not scales and any(question.scale.level == "pairwise" for question in description.questions):
        return "share", {"choice": SHARES}
    return "difference", scales


def variances_of_study(study: Study, scale: Scale, criterion: str = "") -> Variances:
    """Those of an earlier study's answers, as its report has them. ValueError: they cannot be used here."""
    data = study_data(study)
    try:
        pilot = pilot_of(data, criterion)
    except ValueError:
        if not criterion:
            raise
        pilot = pilot_of(data)  # its criterion may have another name, if it has only one
    by = f" by {pilot.factor}" if pilot.factor else ""
    return fitted_variances(pilot.fit, pilot.scale, scale, f"{study.slug}, {pilot.criterion}{by}")


def raters_to_try(most: int, own: int, least: int = 1) -> Sequence[int]:
    """Four or five numbers of raters from ``least`` to ``most``, further and further apart, and the study's ``own``."""
    most = max(least, most)
    numbers = {least, round(most ** (1 / 3)), round(most ** (2 / 3)), most, own}
    return sorted(number for number in numbers if least <= number <= most)
