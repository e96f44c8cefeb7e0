"""Exports as downloads: the ratings of studies, the samples of generation runs."""

from __future__ import annotations

from django.http import Http404, HttpResponseBadRequest, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from annotation.access import run_for, study_for
from annotation.audit import record
from annotation.results import exports
from annotation.shell.page import SignedIn, blind_page, signed_in
from annotation.shell.token_access import opens_with_token
from annotation.work.member_work import works_blind
from generation.runs.export import csv_pieces, json_pieces

_SIMULATED = {"": None, "no": False, "only": True}


@require_safe
@opens_with_token
@signed_in
def export_view(request: SignedIn, slug: str, kind: str, format: str) -> HttpResponseBase:
    """One export, for members of the study; with ``?worker_ids=1`` for its owners. ``?simulated=no|only`` chooses."""
    with_worker_ids = request.GET.get("worker_ids") == "1"
    study = study_for(request.user, slug, role="owner" if with_worker_ids else "viewer")
    if format not in exports.FORMATS_OF.get(kind, ()):
        raise Http404("No such export.")
    if works_blind(study, request.user):
        return blind_page(request, study)
    chosen = request.GET.get("simulated", "")
    if chosen not in _SIMULATED:
        return HttpResponseBadRequest("simulated is “no”, “only”, or left out.", content_type="text/plain")
    simulated = _SIMULATED[chosen]
    try:
        pieces = exports.pieces(study, kind=kind, format=format, with_worker_ids=with_worker_ids, simulated=simulated)
    except exports.ExportError as error:
        return HttpResponseBadRequest(str(error), content_type="text/plain; charset=utf-8")
    if with_worker_ids:
        record(study=study, actor=request.user.get_username(), action="export worker ids", kind=kind)
    name = exports.file_name(study, kind=kind, format=format, simulated=simulated)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
    return StreamingHttpResponse(pieces, content_type=exports.CONTENT_TYPES[format], headers=headers)


@require_safe
@opens_with_token
@signed_in
def run_samples(request: SignedIn, name: str, format: str) -> HttpResponseBase:
    """The samples of a run, for anyone who can see it."""
    run = run_for(request.user, name)
    pieces = {"csv": csv_pieces, "jsonl": json_pieces}.get(format)
    if pieces is None:
        raise Http404("No such export.")
    headers = {
        "Content-Disposition": f'attachment; filename="{run.name}-samples.{format}"',
        "Cache-Control": "private, no-store",
    }
    return StreamingHttpResponse(pieces(run), content_type=exports.CONTENT_TYPES[format], headers=headers)
