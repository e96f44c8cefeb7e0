"""Sample files: examples of a task type's items, to start from."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from annotation.models import Study
from annotation.services.checking import default_config
from annotation.task_types.base import TaskType
from annotation.task_types.items import Json
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.task_types.sample_rows import sample_rows
from annotation.views.console.page import SignedIn, member, signed_in
from common.cells import protect_cell
from common.csv_files import CsvWriter


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
