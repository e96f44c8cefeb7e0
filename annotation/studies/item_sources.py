"""Rows for items from the server's own data: a generation run's samples, and the outputs of another study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from annotation.models import Output, Study
from annotation.studies.checking import check_settings
from annotation.studies.importing_items import import_items
from annotation.studies.provenance import reserved_columns
from annotation.table_files import Table, TableProblems, table_of
from annotation.task_types.base import TaskType
from annotation.task_types.items import Json, SourceOutput, SourceRow
from annotation.task_types.registry import get_type
from common.problems import Problem, invalid, refuse_if_any
from generation.models import GenerationRun
from generation.runs.samples import samples_of


@dataclass(frozen=True, slots=True)
class Imported:
    """How many items there are now, and how many samples of the run are in no item."""

    items: int
    left_out: int


def check_run(*, task: TaskType, run: GenerationRun, options: Mapping[str, Any]) -> tuple[Json, list[Problem]]:
    """The cleaned options of the type's ``sample_form``, and what prevents the run's samples from becoming items."""
    if task.sample_form is None:
        what = f"Studies of the type {task.name} cannot use generated samples."
        return {}, [Problem("items", what, "Choose another source of items.")]
    clean, problems = check_settings(form=task.sample_form, settings=options, prefix="items.")
    if run.state != GenerationRun.State.DONE:
        what = f"The run {run.name} is not complete ({run.get_state_display().lower()})."
        problems.append(Problem("items", what, f"To see its progress, run: manage.py generate status {run.name}"))
    return clean, problems


def samples_table(
    *, task: TaskType, run: GenerationRun, options: Json, added: Table | None = None
) -> tuple[Table, int]:
    """The rows that the type makes from the run's samples and the file ``added``, and how many samples are in no row.

    Raises Invalid, or TableProblems with the rows of the file.
    """
    rows: list[SourceRow] = []
    left_out = 0
    for samples in samples_of(run):
        table_rows, without = task.from_samples(samples, options)
        rows += table_rows
        left_out += without
    chosen = list(task.choose_rows(rows, options))
    left_out += sum(len(row.sources) for row in rows) - sum(len(row.sources) for row in chosen)
    rows = chosen
    if not rows:
        what = f"No samples of the run {run.name} make an item ({left_out:,} were left over)."
        raise invalid("items", what, "Choose other options, or another run.")
    if added is not None:
        if not task.adds_file:
            what = f"Studies of the type {task.name} cannot add a file to the samples of a run."
            raise invalid("items.with_file", what, "Import either the run or the file.")
        joined, problems = task.add_file(rows, added.rows, options)
        if problems := [*reserved_columns(added.columns), *problems]:
            raise TableProblems(problems)
        file_rows = zip(joined, added.rows, strict=True)
        rows += [replace(row, file_row=(added.name, file_row.number)) for row, file_row in file_rows]
    return table_of(rows, name=run.name, origin="run"), left_out


def import_run(
    *, study: Study, run: GenerationRun, options: Mapping[str, Any], actor: str, added: Table | None = None
) -> Imported:
    """Replace the draft's items with what its type makes from a run's samples and the file ``added``.

    Raises Invalid, TableProblems or Frozen. Nothing has changed then.
    """
    task = get_type(study.task_type)
    clean, problems = check_run(task=task, run=run, options=options)
    refuse_if_any(problems)
    table, left_out = samples_table(task=task, run=run, options=clean, added=added)
    return Imported(import_items(study=study, table=table, actor=actor), left_out)


def outputs_table(*, task: TaskType, source: Study, outputs: Iterable[Output]) -> Table:
    """The rows that the type makes from another study's outputs, in the given order. Raises TableProblems."""
    rows = task.from_outputs(source_outputs(source=source, outputs=outputs))
    return table_of(rows, name=source.slug, origin="study")


def source_outputs(*, source: Study, outputs: Iterable[Output]) -> list[SourceOutput]:
    """The outputs in the form that task types accept."""
    maker = get_type(source.task_type)
    return [
        SourceOutput(
            id=output.pk,
            kind=output.kind,
            context=output.context,
            texts=output.texts,
            label=None if output.label_value is None else (output.label_name, output.label_value),
            item=output.item.external_id if output.item else "",
            author=output.submission.participant.pseudonym,
            arm=output.submission.participant.arm.name,
            cells=maker.export_columns(output.item.payload) if output.item else {},
        )
        for output in outputs
    ]
