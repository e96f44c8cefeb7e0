"""The list of studies, and one study: its progress, its status, its links and what was done to it."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Study
from annotation.platforms import link
from annotation.queries import overview as queries
from annotation.queries.progress import progress
from annotation.services import studies as service
from annotation.views.console.charts import hourly_bars
from annotation.views.console.forms import PersonalLinksForm
from annotation.views.console.page import SignedIn, member, page_of, say_refused, signed_in, study_page, task_title
from annotation.views.console.stepper import stepper

Status = Study.Status
POLLED = (Status.LIVE, Status.PAUSED)


@require_safe
@signed_in
def studies(request: SignedIn) -> HttpResponse:
    page = page_of(queries.studies_of(request.user), request, 30)
    rows = [(study, task_title(study.task_type)) for study in page]
    return render(request, "console/studies.html", {"rows": rows, "page": page, "here": "studies"})


@require_safe
@member()
def overview(request: SignedIn, study: Study) -> HttpResponse:
    if study.status == Status.DRAFT:
        return study_page(request, study, "draft.html", {"steps": stepper(study, "")}, section="overview")
    context = progress_context(study) | {
        "study_url": link.study_url(study),
        "invited": study.access == Study.Access.INVITED,
    }
    return study_page(request, study, "study.html", context, section="overview")


@require_safe
@member()
def progress_fragment(request: SignedIn, study: Study) -> HttpResponse:
    """What the study page fetches again every few seconds."""
    return render(request, "console/_progress.html", {"study": study} | progress_context(study))


def progress_context(study: Study) -> dict[str, object]:
    found = progress(study)
    return {"progress": found, "bars": hourly_bars(found.per_hour), "polled": study.status in POLLED}


@require_safe
@member()
def activity(request: SignedIn, study: Study) -> HttpResponse:
    context = {"page": page_of(queries.latest_entries(study), request)}
    return study_page(request, study, "activity.html", context, section="activity")


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor", write="editor")
def personal_links(request: SignedIn, study: Study) -> HttpResponse:
    """Links for named people. Nothing is stored, so a POST shows them instead of redirecting."""
    form = PersonalLinksForm(request.POST or None)
    links: list[tuple[str, str]] = []
    if request.method == "POST" and form.is_valid():
        try:
            links = link.personal_links(study, form.cleaned_data["names"])
        except service.Refused as refused:
            form.add_error("names", [f"{problem.what} {problem.mend}" for problem in refused.problems])
    context = {"form": form, "links": links, "invited": study.access == Study.Access.INVITED}
    return study_page(request, study, "links.html", context, section="overview", status=422 if form.errors else 200)


def _change_status(done: str, act: Callable[..., object]) -> Callable[..., HttpResponseBase]:
    @require_POST
    @member()
    def view(request: SignedIn, study: Study) -> HttpResponse:
        try:
            act(study=study, actor=request.user.get_username())
        except service.Refused as refused:
            say_refused(request, refused)
        else:
            messages.success(request, done)
        return redirect("console_study", study.slug)

    return view


pause = _change_status("Paused: nobody is given new work. Hits in progress can still be finished.", service.pause_study)
resume = _change_status("Live again.", service.resume_study)
close = _change_status("Closed: nothing more comes in.", service.close_study)


@require_POST
@member(write="owner")
def delete(request: SignedIn, study: Study) -> HttpResponse:
    title = study.title
    try:
        service.delete_draft(study=study, actor=request.user.get_username())
    except service.Refused as refused:
        say_refused(request, refused)
        return redirect("console_study", study.slug)
    messages.success(request, f"The draft “{title}” is deleted.")
    return redirect("console_studies")
