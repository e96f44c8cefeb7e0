"""A generation run's samples as the items of a study, in one step."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass

from annotation.models import Study
from annotation.services.importing import import_items
from annotation.services.refusals import FieldProblem, Invalid
from annotation.tables import read_table
from annotation.task_types.registry import get_type
from generation.exporting import rows_of, wanted_of
from generation.models import GenerationRun
from generation.problems import Invalid as RunInvalid


@dataclass(frozen=True, slots=True)
class Imported:
    """How many items there are now, and how many samples of the run are in none of them."""

    items: int
    left_out: int


def items_from_run(
    *,
    study: Study,
    run: GenerationRun,
    actor: str,
    set_size: int | None = None,
    domain: str = "",
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Replace the draft's items by the run's samples, as the study's type takes them.

    HDS types get sets of ``set_size`` samples labelled with the decoder's parameter. The rows go the way of an
    imported file, with the type's own checks. Raises Invalid, TableProblems or Frozen; then nothing has changed.
    """
    format = get_type(study.task_type).run_format
    if not format:
        what = f"Studies of the type {study.task_type} are not made of generated samples."
        raise Invalid([FieldProblem("task_type", what, "Choose a study of another type.")])
    if run.state != GenerationRun.State.DONE:
        what = f"The run {run.name} is not done ({run.get_state_display().lower()})."
        raise Invalid([FieldProblem("run", what, f"See: manage.py generate status {run.name}")])
    left_out = 0

    def count(number: int) -> None:
        nonlocal left_out
        left_out += number

    file = io.BytesIO()
    try:
        wanted = wanted_of(run, set_size=set_size, domain=domain)
        for row in rows_of(run, format=format, wanted=wanted, left_out=count):
            file.write(json.dumps(row).encode() + b"\n")
    except RunInvalid as refused:
        raise Invalid([FieldProblem(each.place, each.what, each.mend) for each in refused.problems]) from None
    if not file.tell():
        what = f"The run {run.name} has no samples that make an item."
        mend = "Sets take at least two samples of one decoder." if format == "diversity" else ""
        raise Invalid([FieldProblem("run", what, mend)])
    file.seek(0)
    table = read_table(file, name=f"run {run.name}.jsonl", limit=None)
    return Imported(import_items(study=study, table=table, actor=actor, progress=progress), left_out)
