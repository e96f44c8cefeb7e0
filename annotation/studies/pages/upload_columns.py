"""An uploaded file that waits: how to read it, and which of its columns is which."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import Item, Study
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.studies import importing_items
from annotation.studies.images import Images
from annotation.studies.pages.column_form import ColumnForm, OptionsForm
from annotation.studies.pages.stepper import stepper
from annotation.studies.pages.upload import say_imported
from annotation.studies.staged_uploads import StagedUpload, discard_upload, staged_upload
from annotation.table_files import ReadingOptions, Table, TableProblems, read_table
from annotation.table_files.mapping import renamed
from annotation.task_types.registry import get_type
from common.problems import Refused
from common.words import counted

#: Rows and columns that the page shows.
SHOWN_ROWS, SHOWN_COLUMNS = 5, 30


@dataclass(slots=True)
class _Reading:
    """A file as the chosen options read it: the table, or why there is none."""

    options_form: OptionsForm
    options: ReadingOptions
    table: Table | None = None
    refused: TableProblems | None = None

    @property
    def digest(self) -> str:
        """Shows whether a form was about these columns: with other options, a file has others."""
        columns = self.table.columns if self.table else []
        return hashlib.sha256("\n".join(columns).encode()).hexdigest()[:16]


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor", write="editor")
def upload_columns(request: SignedIn, study: Study, staged: str) -> HttpResponse:
    if study.status != Study.Status.DRAFT:
        messages.info(request, "You cannot change the items of a study after its launch: its ratings belong to them.")
        return redirect("console_items", study.slug)
    upload = staged_upload(study=study, user=request.user, key=staged)
    if upload is None:
        messages.info(request, "This file is no longer stored here. Choose it again.")
        return redirect("console_upload", study.slug)
    action = request.POST.get("action", "")
    if action == "discard":
        discard_upload(upload)
        return redirect("console_upload", study.slug)
    reading = _read(upload, request.POST)
    form = _column_form(study, reading, request.POST)
    refused = reading.refused
    if action == "import" and form is not None and form.is_bound and form.is_valid():
        options = replace(reading.options, mapping=form.mapping())
        try:
            table = _table(upload, options)
            count = importing_items.import_items(study=study, table=table, actor=request.user.get_username())
        except TableProblems as error:
            refused = importing_items.also_in_rows(error, study.task_type, study.config, Images(study))
        except Refused as error:
            say_refused(request, error)
            return redirect("console_upload", study.slug)
        else:
            discard_upload(upload)
            message = " ".join([f"{counted(count, 'item')} imported from {upload.name[:100]}.", *table.notes])
            say_imported(request, study, message)
            return redirect("console_upload", study.slug)
    context = {
        "upload": upload,
        "options_form": reading.options_form,
        "form": form,
        "digest": reading.digest,
        "refused": refused,
        "so_far": _problems_so_far(study, reading, form),
        "offer": reading.refused.offer if reading.refused else None,
        "notes": reading.table.notes if reading.table else (),
        "n_rows": len(reading.table.rows) if reading.table else 0,
        "n_items": Item.objects.filter(study=study).count(),
        "steps": stepper(study, "items"),
        **_preview(reading.table, form),
    }
    failed = action == "import" and (refused or form is None or not form.is_bound or form.errors)
    return study_page(
        request, study, "studies/upload_columns.html", context, section="items", status=422 if failed else 200
    )


def _table(upload: StagedUpload, options: ReadingOptions) -> Table:
    with upload.path.open("rb") as file:
        return read_table(file, name=upload.name, options=options)


def _read(upload: StagedUpload, data: Mapping[str, Any]) -> _Reading:
    """The file with the options in the request. The form then only has the fields that the file needs."""
    reading = _Reading(OptionsForm(data), OptionsForm(data).options())
    try:
        reading.table = _table(upload, reading.options)
    except TableProblems as error:
        reading.refused = error
    source = reading.refused or reading.table
    reading.options_form.show_only(source.offer if source else None, reading.options)
    return reading


def _column_form(study: Study, reading: _Reading, data: Mapping[str, Any]) -> ColumnForm | None:
    """None if the file could not be read. Filled in only if it was sent for the same columns."""
    if reading.table is None:
        return None
    return ColumnForm(
        data if data.get("digest") == reading.digest else None,
        file_columns=reading.table.columns,
        columns=get_type(study.task_type).columns(study.config),
        earlier=importing_items.last_mapping(study),
    )


def _problems_so_far(study: Study, reading: _Reading, form: ColumnForm | None) -> TableProblems | None:
    """What is wrong with the rows if the columns are those that the form shows at first."""
    if reading.table is None or form is None or form.is_bound:
        return None
    try:
        table = renamed(replace(reading.table, options=reading.options), form.guessed())
        importing_items.read_items(study.task_type, study.config, table, Images(study))
    except TableProblems as error:
        return error
    return None


def _preview(table: Table | None, form: ColumnForm | None) -> dict[str, Any]:
    """The first rows, with the new name of each column if it gets one."""
    if table is None or form is None:
        return {"header": [], "rows": []}
    mapping = form.mapping() if form.is_bound and form.is_valid() else form.guessed()
    columns = table.columns[:SHOWN_COLUMNS]
    return {
        "header": [(name, mapping.get(name, "")) for name in columns],
        "rows": [[row.cells[name] for name in columns] for row in table.rows[:SHOWN_ROWS]],
        "n_hidden_columns": len(table.columns) - len(columns),
    }
