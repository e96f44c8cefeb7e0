"""Exports as downloads: the ratings of studies, the samples of generation runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from django.http import Http404, HttpRequest, HttpResponseBadRequest, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from analysis import exports
from analysis.exports.cells import protect_cell
from annotation.access import run_for, study_for
from annotation.services.audit import record
from generation.exporting import FORMATS, Wanted, format_called, rows_of, wanted_of
from generation.models import GenerationRun

_SIMULATED = {"": None, "no": False, "only": True}


@require_safe
def export_view(request: HttpRequest, slug: str, kind: str, format: str) -> HttpResponseBase:
    """One export, for members of the study; with ``?worker_ids=1`` for its owners. ``?simulated=no|only`` chooses."""
    with_worker_ids = request.GET.get("worker_ids") == "1"
    study = study_for(request.user, slug, role="owner" if with_worker_ids else "viewer")
    if kind not in exports.KINDS or format not in exports.FORMATS:
        raise Http404("No such export.")
    chosen = request.GET.get("simulated", "")
    if chosen not in _SIMULATED:
        return HttpResponseBadRequest("simulated is “no”, “only”, or left out.", content_type="text/plain")
    simulated = _SIMULATED[chosen]
    try:
        pieces = exports.rows(study, kind=kind, format=format, with_worker_ids=with_worker_ids, simulated=simulated)
    except exports.ExportError as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
    if with_worker_ids:
        record(study=study, actor=request.user.get_username(), action="export worker ids", kind=kind)
    name = exports.file_name(study, kind=kind, format=format, simulated=simulated)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
    return StreamingHttpResponse(pieces, content_type=exports.CONTENT_TYPES[format], headers=headers)


@require_safe
def run_samples(request: HttpRequest, name: str, format: str) -> HttpResponseBase:
    """The samples of a run, for whoever may see it."""
    run = run_for(request.user, name)
    if format not in FORMATS:
        raise Http404("No such export.")
    headers = {
        "Content-Disposition": f'attachment; filename="{run.name}-{format}.csv"',
        "Cache-Control": "private, no-store",
    }
    pieces = run_pieces(run, format, wanted_of(run))
    return StreamingHttpResponse(pieces, content_type="text/csv; charset=utf-8", headers=headers)


def run_pieces(run: GenerationRun, format: str, wanted: Wanted) -> Iterator[str]:
    """The file in pieces of about 64 kB. What a study reads back as items keeps every cell as it is."""
    kind = format_called(format)
    out = io.StringIO()
    writer = csv.DictWriter(out, kind.columns(wanted), lineterminator="\n")
    writer.writeheader()
    for row in rows_of(run, format=format, wanted=wanted, left_out=lambda number: None):
        writer.writerow(row if kind.items else {name: protect_cell(cell) for name, cell in row.items()})
        if out.tell() > 65_536:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()
