"""Importing items, and looking at them."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Item, Study
from annotation.queries import overview as queries
from annotation.services import studies as service
from annotation.tables import TableProblems, read_table
from annotation.task_types.registry import get_type
from annotation.views.console.forms import UploadForm
from annotation.views.console.page import SignedIn, member, page_of, query_without_page, say_refused, study_page
from annotation.views.console.stepper import stepper

Status = Study.Status
SHOWN_ITEMS = 8


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor", write="editor")
def upload(request: SignedIn, study: Study) -> HttpResponse:
    if study.status != Status.DRAFT:
        messages.info(request, "The items of a study that is live cannot be changed: its ratings belong to them.")
        return redirect("console_items", study.slug)
    form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
    refused_file: TableProblems | None = None
    if request.method == "POST" and form.is_valid():
        try:
            count = _import(study, form, request.user.get_username())
        except TableProblems as refused:
            refused_file = refused
        except service.Refused as refused:
            say_refused(request, refused)
            return redirect("console_items", study.slug)
        else:
            messages.success(request, f"{count:,} item{'s' if count != 1 else ''} imported from {_name(form)}.")
            return redirect("console_upload", study.slug)
    context = _upload_context(study, form, refused_file)
    status = 422 if refused_file or form.errors else 200
    return study_page(request, study, "upload.html", context, section="items", status=status)


def _name(form: UploadForm) -> str:
    return str(form.cleaned_data["file"].name)[:100]


def _import(study: Study, form: UploadForm, actor: str) -> int:
    file = form.cleaned_data["file"]
    table = read_table(file.file, name=file.name)
    return service.import_items(study=study, table=table, actor=actor)


def _upload_context(study: Study, form: UploadForm, refused: TableProblems | None) -> dict[str, object]:
    task = get_type(study.task_type)
    first = list(Item.objects.filter(study=study).order_by("position")[:SHOWN_ITEMS])
    return {
        "form": form,
        "file_name": _name(form) if refused else "",
        "refused": refused,
        "columns": task.columns(study.config),
        "limit_mb": settings.MAX_UPLOAD_BYTES // 1024**2,
        "limit_bytes": settings.MAX_UPLOAD_BYTES,
        "n_items": Item.objects.filter(study=study).count(),
        "rows": [(item, task.export_columns(item.payload)) for item in first],
        "header": _header([task.export_columns(item.payload) for item in first]),
        "steps": stepper(study, "items"),
    }


def _header(rows: list[dict[str, str]]) -> list[str]:
    """All columns of some rows, in the order in which they are met."""
    return list(dict.fromkeys(name for row in rows for name in row))


@require_safe
@member()
def items(request: SignedIn, study: Study) -> HttpResponse:
    task = get_type(study.task_type)
    text = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    page = page_of(queries.find_items(study, text), request, 25)
    found = list(page)
    rows = queries.with_scores(found, task.scores(), [task.export_columns(item.payload) for item in found])
    context = {
        "page": page,
        "rows": rows,
        "scores": task.scores(),
        "text": text,
        "filters": query_without_page(request),
        "wanted": study.ratings_per_item,
    }
    return study_page(request, study, "items.html", context, section="items")


@require_safe
@member()
def item(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    found = get_object_or_404(Item, pk=pk, study=study)
    task = get_type(study.task_type)
    cells = task.export_columns(found.payload)
    context = {
        "item": found,
        "cells": cells,
        "row": queries.with_scores([found], task.scores(), [cells])[0],
        "page": page_of(queries.ratings_of(found), request),
        "topics": task.question_topics(study.config),
        "previous": Item.objects.filter(study=study, position__lt=found.position).order_by("-position").first(),
        "next": Item.objects.filter(study=study, position__gt=found.position).order_by("position").first(),
    }
    return study_page(request, study, "item.html", context, section="items")
