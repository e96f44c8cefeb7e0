"""Sample files: examples of a task type's items, to start from."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from annotation.models import Study
from annotation.shell.page import SignedIn, member, signed_in
from annotation.studies.checking import default_config
from annotation.task_types.base import TaskType
from annotation.task_types.items import Json, Row
from annotation.task_types.registry import UnknownTaskType, get_type
from common.cells import protect_cell
from common.csv_files import CsvWriter

#: How many items are enough to show what a file looks like.
ENOUGH = 3


@require_safe
@signed_in
def sample_of_type(request: SignedIn, task_type: str) -> HttpResponse:
    """A sample file for the type's default settings, before there is a study."""
    try:
        task = get_type(task_type)
    except UnknownTaskType as error:
        raise Http404(str(error)) from None
    return _file(task, default_config(task))


@require_safe
@member()
def sample_items(request: SignedIn, study: Study) -> HttpResponse:
    """A sample file for the settings of a study."""
    return _file(get_type(study.task_type), study.config)


def _file(task: TaskType, config: Json) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{task.name}-sample.csv"'
    rows = sample_rows(task, config)
    writer = CsvWriter(response)
    header = list(dict.fromkeys(name for row in rows for name in row))
    writer.writerow(header)
    writer.writerows([protect_cell(row.get(name, "")) for name in header] for row in rows)
    return response


def sample_rows(task: TaskType, config: Json) -> list[dict[str, str]]:
    """Rows of valid examples that the type can read together with these settings.

    Without such an example, one row of the columns' own examples.
    """
    rows: list[dict[str, str]] = []
    for example in task.examples():
        if example.problems or example.errors:
            continue
        added = [dict(row) for row in example.rows if dict(row) not in rows]
        together = [*rows, *added]
        # As in a file, every row has a cell for every column.
        empty = dict.fromkeys((name for row in together for name in row), "")
        numbered = [Row(number, empty | row) for number, row in enumerate(together, 1)]
        items, problems = task.read_items(numbered, config)
        if added and not problems:
            rows += added
            if len(items) >= ENOUGH:
                break
    return rows or [{column.name: column.example for column in task.columns(config)}]
