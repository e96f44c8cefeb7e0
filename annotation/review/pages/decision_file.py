"""Decisions in a spreadsheet: download the results, upload them with approvals and rejections. For owners."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from annotation.audit import record
from annotation.models import Study
from annotation.review.bulk_decisions import plan_rows
from annotation.review.decision_file_export import batch_csv
from annotation.review.decision_files import read_decisions
from annotation.shell.forms import UploadForm
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.table_files import TableProblems, read_table
from common.problems import Refused


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="payer", write="payer", answers=True)
def batch(request: SignedIn, study: Study) -> HttpResponse:
    """Reads an uploaded file, then shows what it would do. Nothing is done until somebody confirms that."""
    form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
    refused_table: TableProblems | None = None
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            decisions = read_decisions(study=study, table=read_table(file.file, name=file.name))
            bulk = plan_rows(study=study, rows=decisions, actor=request.user.get_username())
            return redirect("console_action", study.slug, bulk.pk)
        except TableProblems as refused:
            refused_table = refused
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_batch", study.slug)
    form.fields["file"].help_text = "The downloaded file, saved as CSV in UTF-8."
    context = {"form": form, "refused": refused_table}
    status = 422 if refused_table or form.errors else 200
    return study_page(request, study, "review/review_batch.html", context, section="submissions", status=status)


@require_safe
@member(read="payer", answers=True)
def batch_file(request: SignedIn, study: Study) -> HttpResponseBase:
    """The results as CSV, with the workers' ids on their platform."""
    record(study=study, actor=request.user.get_username(), action="export worker ids", kind="batch")
    headers = {
        "Content-Disposition": f'attachment; filename="{study.slug}-batch.csv"',
        "Cache-Control": "private, no-store",
    }
    return StreamingHttpResponse(batch_csv(study), content_type="text/csv; charset=utf-8", headers=headers)
