"""The console's pages of the analysis: a study's report, shown and as files."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from analysis.exports import FORMATS, KINDS
from analysis.reports import NUMBERS, PAGE, kept
from analysis.tasks import make_report
from annotation.models import Study
from annotation.views.console.page import SignedIn, member, study_page

log = logging.getLogger(__name__)

#: The report carries its style with it; it has no script, and fetches nothing.
POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
TYPES = {PAGE: "text/html; charset=utf-8", NUMBERS: "application/json"}
BAR = "<!--bar-->"


@require_safe
@member()
def report(request: SignedIn, study: Study) -> HttpResponseBase:
    """The report of the data as they are; of a large study the last one made, while a new one is on its way."""
    found = kept.look(study)
    if not found.fresh and not found.failed:
        found = refresh(study, found)
    page = read(found.folder)
    if page is None:
        context = {"failed": found.failed and not found.building}
        return study_page(request, study, "report_waiting.html", context, section="report", status=202)
    bar = render_to_string("analysis/bar.html", bar_context(study, found), request)
    response = HttpResponse(page.replace(BAR, bar, 1))
    response.headers["Content-Security-Policy"] = POLICY
    return response


def refresh(study: Study, found: kept.Kept) -> kept.Kept:
    """Make a small study's report now, have a large one's made."""
    if found.building or not kept.claim(study):
        return kept.look(study)
    if kept.is_small(study):
        kept.make(study)
        return kept.look(study)
    try:
        make_report.delay(study.pk)
    except OperationalError:
        log.exception("No broker takes the report of %s", study.slug)
        kept.release(study)
        return replace(found, failed=True)
    return kept.look(study)


def read(folder: Path | None) -> str | None:
    """The page, or None where there is none (any more)."""
    try:
        return (folder / PAGE).read_text(encoding="utf-8") if folder else None
    except FileNotFoundError:
        return None


def bar_context(study: Study, found: kept.Kept) -> dict[str, object]:
    exports = [
        (kind, [(format, reverse("export", args=[study.slug, kind, format])) for format in FORMATS]) for kind in KINDS
    ]
    return {"study": study, "kept": found, "exports": exports, "page": PAGE, "numbers": NUMBERS}


@require_safe
@member()
def report_file(request: HttpRequest, study: Study, name: str) -> HttpResponseBase:
    """The report as a file to keep. Where it is not made yet, the page that makes it."""
    if name not in TYPES:
        raise Http404("No such file.")
    found = kept.look(study)
    if not found.fresh:
        found = refresh(study, found)
    try:
        file = (found.folder / name).open("rb") if found.folder else None
    except FileNotFoundError:
        file = None
    if file is None:
        return redirect("report", study.slug)
    response = FileResponse(file, as_attachment=True, filename=f"{study.slug}-{name}", content_type=TYPES[name])
    response.headers["Content-Security-Policy"] = POLICY
    return response
