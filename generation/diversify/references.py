"""Human references of a run's contexts: what the relevance of responses is measured against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from common.problems import Invalid, Problem, refuse_if_any, unknown
from common.words import counted
from generation.models import GenerationRun, RunContext
from generation.runs.contexts import read_rows

COLUMN = "reference"
References = Mapping[str, Sequence[str]]


def references_in_columns(run: GenerationRun, columns: Sequence[str]) -> References:
    """The texts of these fields of the run's contexts, by id; empty ones are left out. Raises Invalid."""
    references: dict[str, list[str]] = {}
    for context in RunContext.objects.filter(run=run).order_by("number").iterator(chunk_size=2000):
        if missing := [name for name in columns if name not in context.fields]:
            raise Invalid([unknown("references", missing[0], context.fields)])
        references[context.external_id] = [context.fields[name] for name in columns if context.fields[name].strip()]
    return _complete(run, references, f"the columns {', '.join(columns)}")


def references_in_file(run: GenerationRun, path: Path, *, id_column: str = "id") -> References:
    """The references of a data set: a CSV, TSV or JSON lines file with the columns id and reference, and as many rows
    for a context as it has references. Raises Invalid."""
    rows, problems = read_rows(path)
    for name in (id_column, COLUMN):
        if rows and name not in rows[0][1]:
            problems.append(unknown(f"columns of {path.name}", name, rows[0][1]))
    refuse_if_any(problems)
    references: dict[str, list[str]] = defaultdict(list)
    for _, cells in rows:
        if cells[COLUMN].strip():
            references[cells[id_column].strip()].append(cells[COLUMN])
    return _complete(run, references, path.name)


def _complete(run: GenerationRun, references: Mapping[str, Sequence[str]], where: str) -> References:
    """Every context must have a reference, because a mean over some of them would say something else."""
    ids = run.contexts.order_by("number").values_list("external_id", flat=True)
    lacking = [name for name in ids if not references.get(name)]
    if lacking:
        shown = ", ".join(lacking[:10]) + (f" … and {len(lacking) - 10:,} more" if len(lacking) > 10 else "")
        what = f"There is no reference in {where} for {counted(len(lacking), 'context')}: {shown}."
        refuse_if_any([Problem("references", what, "Add one, or leave these contexts out of the run.")])
    return references
