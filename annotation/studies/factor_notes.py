"""What a study's items and arms say about its factors: problems with those that are declared, and suggestions.

The rules are those of the report: `analysis.factor_checks` and `analysis.factors`. They need the items, so a study file
or a page checks them after its changes are written, in the same transaction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analysis.description import ArmDescription, Factor, QuestionDescription
from annotation.models import Item, Study
from annotation.studies.declared_factors import declared_factors
from annotation.studies.declared_scores import instruments_of, questions_of
from annotation.studies.provenance import provenance_columns
from annotation.task_types.registry import get_type
from common.problems import Problem
from common.words import counted

if TYPE_CHECKING:
    import pandas as pd

BATCH = 10_000
#: Levels that a suggestion names.
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class FactorNotes:
    """``problems``: why the declared factors are refused, with their places in a study file. ``warnings``: what is good
    to know about them. ``suggested``: what findings compare besides them, with the levels of each. ``incomparable``:
    by factor, why its levels cannot be compared, refused or not."""

    factors: Sequence[Factor]
    problems: Sequence[Problem]
    warnings: Sequence[str]
    suggested: Sequence[tuple[Factor, Sequence[str]]]
    incomparable: Mapping[str, Problem]

    @property
    def suggestion(self) -> str:
        """The suggested factors in one sentence; empty if there are none."""
        if not self.suggested:
            return ""
        described = [
            f"{factor.name} ({counted(len(levels), 'level')}: {', '.join(levels[:MOST_NAMED])}"
            f"{', …' if len(levels) > MOST_NAMED else ''})"
            if levels
            else factor.name
            for factor, levels in self.suggested
        ]
        return f"The report will compare what looks like a factor: {'; '.join(described)}."


@dataclass(frozen=True, slots=True)
class _Design:
    """See `analysis.description.Comparable`."""

    config: Mapping[str, Any]
    arms: Sequence[ArmDescription]
    questions: Sequence[QuestionDescription]
    worker_questions: Sequence[QuestionDescription]
    suggested_factors: Sequence[Factor]
    factors: Sequence[Factor] = field(default=())


def factor_notes(study: Study) -> FactorNotes:
    """Reads all items. The number of queries is fixed."""
    from analysis.factor_checks import design_problems
    from analysis.factors import suggested_besides, unit_levels

    design, items = _design_of(study), _items_of(study)
    problems: list[Problem] = []
    warnings: list[str] = []
    incomparable: dict[str, Problem] = {}
    for factor in design.factors:
        for problem in design_problems(factor, design, items):
            if problem.blocks:
                incomparable[factor.name] = Problem("", problem.what, problem.fix)
            if problem.refused:
                where = f"factors.{factor.name[:60]}" + (f".{problem.setting}" if problem.setting else "")
                problems.append(Problem(where, problem.what, problem.fix))
            else:
                warnings.append(str(problem))
    suggested = []
    for factor in suggested_besides(design.factors, design, items):
        levels = (
            []
            if factor.of == "worker" or (factor.of == "part" and not factor.parts)
            else unit_levels(factor, design, items)
        )
        suggested.append((factor, [level for level in dict.fromkeys(levels) if level]))
    return FactorNotes(design.factors, problems, warnings, suggested, incomparable)


def _design_of(study: Study) -> _Design:
    task, arms = get_type(study.task_type), list(study.arms.order_by("position"))
    instruments = instruments_of(study, arms)
    questions = questions_of(instruments)
    around = [*questions, *(question.describe() for question in instruments[0].asked.all_questions)]
    return _Design(
        config=study.config,
        arms=[ArmDescription(arm.name, study.reward, config=arm.config, factors=arm.factors) for arm in arms],
        questions=questions,
        worker_questions=around,
        suggested_factors=task.factors(study.config),
        factors=declared_factors(study, arms, [question.topic for question in around]),
    )


def _items_of(study: Study) -> pd.DataFrame:
    """The main items, with the columns that factors need."""
    import pandas as pd

    task, origins = get_type(study.task_type), provenance_columns(study)

    def rows() -> Iterator[tuple[Any, ...]]:
        items = Item.objects.filter(study=study, role=Item.Role.MAIN).order_by("position")
        for pk, name, payload in items.values_list("pk", "external_id", "payload").iterator(BATCH):
            parameter, value = task.describe_item(payload).parameter or ("", math.nan)
            yield name, {**task.export_columns(payload), **origins.get(pk, {})}, parameter, value

    return pd.DataFrame.from_records(list(rows()), columns=["item", "cells", "parameter", "parameter_value"])
