"""Files: uploaded with a form's answers, downloaded from the addresses of GetFileUploadURL."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from marketplace.models import Assignment
from marketplace.questions import Form
from marketplace.services.hits import uploaded_files
from marketplace.services.refusals import Refusal
from marketplace.sites.work.form_page import Files


def chosen_files(assignment: Assignment | None, form: Form) -> Files:
    """The files that the worker has chosen so far; none in a preview."""
    if not form.takes_files:
        return Files()
    return Files(kept=uploaded_files.kept(assignment) if assignment else {}, most_bytes=uploaded_files.largest(form))


def take_files(request: HttpRequest, assignment: Assignment, form: Form) -> Files:
    """Save each file that was sent separately, so an error in another answer does not lose it."""
    if not form.takes_files:
        return Files()
    most, problems = uploaded_files.largest(form), {}
    for number, question in enumerate(form.questions, start=1):
        upload = request.FILES.get(f"q{number}") if question.kind == "file" else None
        try:
            if upload is not None:
                uploaded_files.keep(assignment=assignment, question=question, upload=upload, most=most)
            elif question.kind == "file" and f"q{number}-remove" in request.POST:
                uploaded_files.drop(assignment=assignment, question_identifier=question.identifier)
        except Refusal as refused:
            problems[question.identifier] = refused.message
    return Files(kept=uploaded_files.kept(assignment), problems=problems, most_bytes=most)


@require_safe
def download(request: HttpRequest, token: str) -> HttpResponseBase:
    """The file at a temporary address. Anybody with the address can fetch it; no session is needed.

    It comes from a stranger, so browsers can only save it. They must never show it or run it as part of this site.
    """
    file = uploaded_files.file_of_token(token)
    content = uploaded_files.open_content(file) if file else None
    if file is None or content is None:
        raise Http404("There is no file at this address.")
    name = uploaded_files.name_to_save(file)
    response = FileResponse(content, as_attachment=True, filename=name, content_type="application/octet-stream")
    response["Content-Length"] = str(file.size)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox; frame-ancestors 'none'"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    patch_cache_control(response, no_store=True, private=True)
    return response
