"""The reports of studies and generation runs, as pages and as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from analysis.report import NUMBERS, PAGE
from analysis.report.png_files import png_file, with_links
from annotation.access import run_for
from annotation.models import Study
from annotation.results import exports
from annotation.results import saved_reports as kept
from annotation.results.paper_folder import PAPER
from annotation.results.tasks import make_paper, make_report, make_run_report
from annotation.shell.page import SignedIn, member, signed_in, study_page
from annotation.shell.token_access import opens_with_token
from common.task_queue import handed_over

#: The report contains its own styles. It has no scripts and fetches nothing.
POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
TYPES = {PAGE: "text/html; charset=utf-8", NUMBERS: "application/json", PAPER: "application/zip"}
BAR = "<!--bar-->"


@require_safe
@opens_with_token
@member(answers=True)
def report(request: SignedIn, study: Study) -> HttpResponseBase:
    """The report on the current data. For a large study, the previous report until the new one is ready."""
    saved = brought_up_to_date(kept.of_study(study), lambda: make_report.delay(study.pk))
    page = read(saved.folder)
    if page is None:
        context = {"failed": saved.failed and not saved.building, "why": kept.why_slow(study)}
        return study_page(request, study, "results/report_waiting.html", context, section="report", status=202)
    return with_bar(page, render_to_string("results/report_bar.html", bar_context(study, saved), request))


@require_safe
@opens_with_token
@signed_in
def run_report(request: SignedIn, name: str) -> HttpResponseBase:
    """The same for a generation run."""
    run = run_for(request.user, name)
    saved = brought_up_to_date(kept.of_run(run), lambda: make_run_report.delay(run.pk))
    page = read(saved.folder)
    if page is None:
        context = {"run": run, "failed": saved.failed and not saved.building, "here": "runs"}
        return render(request, "results/run_report_waiting.html", context, status=202)
    context = {"run": run, "kept": saved, "page": PAGE, "numbers": NUMBERS}
    return with_bar(page, render_to_string("results/run_report_bar.html", context, request))


def with_bar(page: str, bar: str) -> HttpResponse:
    """A saved page with the console's links at the top, and links to the PNGs of figures."""
    response = HttpResponse(with_links(page).replace(BAR, bar, 1))
    response.headers["Content-Security-Policy"] = POLICY
    return response


def brought_up_to_date(subject: kept.Subject, enqueue: Callable[[], object]) -> kept.Kept:
    """The saved report. If it is out of date, makes a small one now and queues a large one."""
    saved = kept.look(subject)
    if saved.fresh:
        return saved
    mark = None if saved.failed or saved.building else kept.claim(subject)
    if mark is None:
        return kept.look(subject)
    if subject.is_small():
        kept.make(subject)
        kept.release(mark)  # the data may have changed since the claim
        return kept.look(subject)
    if not handed_over(enqueue):
        kept.release(mark)
        return replace(saved, failed=True)
    return kept.look(subject)


def read(folder: Path | None) -> str | None:
    """The page as text; None if it does not exist, or no longer does."""
    try:
        return (folder / PAGE).read_text(encoding="utf-8") if folder else None
    except FileNotFoundError:
        return None


def bar_context(study: Study, saved: kept.Kept) -> dict[str, object]:
    files = [
        (kind, [(format, reverse("export", args=[study.slug, kind, format])) for format in exports.FORMATS_OF[kind]])
        for kind in exports.kinds_of(study)
    ]
    return {"study": study, "kept": saved, "exports": files, "page": PAGE, "numbers": NUMBERS}


@require_safe
@opens_with_token
@member(answers=True)
def report_file(request: HttpRequest, study: Study, name: str) -> HttpResponseBase:
    """The report as a download. If there is none yet, redirects to the page that makes it."""
    if name == PAPER:
        raise Http404("No such file.")
    saved = brought_up_to_date(kept.of_study(study), lambda: make_report.delay(study.pk))
    return file_of(saved, name, study.slug) or redirect("report", study.slug)


@require_safe
@opens_with_token
@member(answers=True)
def report_figure(request: HttpRequest, study: Study, key: str) -> HttpResponseBase:
    """A figure of the report as a PNG, drawn when it is first wanted and saved beside the report."""
    saved = brought_up_to_date(kept.of_study(study), lambda: make_report.delay(study.pk))
    return png_of(saved, key, study.slug) or redirect("report", study.slug)


@require_safe
@member(answers=True)
def paper(request: SignedIn, study: Study) -> HttpResponseBase:
    """What the paper's part of the study contains, with a button that downloads it; made in the background first."""
    saved = brought_up_to_date(kept.of_paper(study), lambda: make_paper.delay(study.pk))
    context = {"kept": saved, "ready": saved.folder is not None, "failed": saved.failed and not saved.building}
    status = 200 if saved.folder else 202
    return study_page(request, study, "results/paper.html", context, section="report", status=status)


@require_safe
@opens_with_token
@member(answers=True)
def paper_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The paper's part as a zip file. If there is none yet, redirects to the page that makes it."""
    saved = brought_up_to_date(kept.of_paper(study), lambda: make_paper.delay(study.pk))
    return file_of(saved, PAPER, study.slug) or redirect("paper", study.slug)


@require_safe
@opens_with_token
@signed_in
def run_report_file(request: SignedIn, run_name: str, name: str) -> HttpResponseBase:
    """The same for a generation run."""
    if name == PAPER:
        raise Http404("No such file.")
    run = run_for(request.user, run_name)
    saved = brought_up_to_date(kept.of_run(run), lambda: make_run_report.delay(run.pk))
    return file_of(saved, name, run.name) or redirect("run_report", run.name)


@require_safe
@opens_with_token
@signed_in
def run_report_figure(request: SignedIn, run_name: str, key: str) -> HttpResponseBase:
    """The same for a generation run."""
    run = run_for(request.user, run_name)
    saved = brought_up_to_date(kept.of_run(run), lambda: make_run_report.delay(run.pk))
    return png_of(saved, key, run.name) or redirect("run_report", run.name)


def png_of(saved: kept.Kept, key: str, of: str) -> HttpResponseBase | None:
    """The figure as a download; None if there is no report yet. Raises Http404 for a figure that it does not have."""
    if saved.folder is None:
        return None
    try:
        path = png_file(saved.folder, key)
        if path is None:
            raise Http404("No such figure.")
        return as_download(path.open("rb"), f"{of}-{key}.png", "image/png")
    except FileNotFoundError:  # a newer report has taken its place
        return None


def file_of(saved: kept.Kept, name: str, of: str) -> HttpResponseBase | None:
    """The file as a download; None if it does not exist yet. Raises Http404 for a file that reports do not have."""
    if name not in TYPES:
        raise Http404("No such file.")
    try:
        file = (saved.folder / name).open("rb") if saved.folder else None
    except FileNotFoundError:
        file = None
    return None if file is None else as_download(file, f"{of}-{name}", TYPES[name])


def as_download(file: BinaryIO, name: str, media_type: str) -> FileResponse:
    response = FileResponse(file, as_attachment=True, filename=name, content_type=media_type)
    response.headers["Content-Security-Policy"] = POLICY
    return response
