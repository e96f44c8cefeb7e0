"""Setting up a study: type, settings, launch. Items, arms and preview have their own modules."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Item, Study
from annotation.rich_text import as_html
from annotation.shell.page import SignedIn, for_members, member, say_refused, signed_in, study_page
from annotation.studies import launching
from annotation.studies.pages.launch_plan import plan_of
from annotation.studies.pages.miniatures import Shape, miniature
from annotation.studies.pages.settings import SettingsPage
from annotation.studies.pages.stepper import stepper
from annotation.studies.spec import stored_factors
from annotation.studies.storing import change_study
from annotation.task_types.base import TaskType
from annotation.task_types.questions import MAX_CHARS, clean_text
from annotation.task_types.registry import UnknownTaskType, get_type, grouped_types
from common.problems import Refused

Status = Study.Status


def type_cards() -> list[tuple[str, list[tuple[TaskType, Sequence[Shape]]]]]:
    """Every type with a picture of its page, under its group, the most used on this server first."""
    used = dict(Study.objects.order_by().values_list("task_type").annotate(n=Count("pk")))
    return [(group, [(task, miniature(task)) for task in types]) for group, types in grouped_types(used)]


@require_safe
@signed_in
def choose_type(request: SignedIn) -> HttpResponse:
    context = {"groups": type_cards(), "steps": stepper(None, "type"), "here": "new"}
    return render(request, "studies/types.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_study(request: SignedIn, task_type: str) -> HttpResponse:
    task = _type_or_404(task_type)
    page = SettingsPage(task, user=request.user, data=request.POST if request.method == "POST" else None)
    if request.method == "POST" and page.is_valid():
        study = page.create()
        if study:
            messages.success(request, "The draft is saved. Only its members can see it.")
            return redirect("console_upload", study.slug)
    context = {"page": page, "task": task, "steps": stepper(None, "settings"), "here": "new"}
    return render(request, "studies/new_settings.html", context, status=422 if page.refused else 200)


@require_safe
@signed_in
def wording(request: SignedIn, task_type: str) -> HttpResponse:
    """The type's own texts for the settings in the form, before anything is saved."""
    page = SettingsPage(_type_or_404(task_type), user=request.user, data=request.GET)
    if page.type_form.errors:
        return HttpResponse(status=204)
    return render(request, "studies/_wording.html", {"page": page})


@require_POST
@signed_in
def formatted(request: SignedIn) -> HttpResponse:
    """How a long text will look to workers, before it is saved: as HTML, for use inside a page of the console."""
    return HttpResponse(as_html(clean_text(request.POST.get("text", ""))[:MAX_CHARS], 3))


def _type_or_404(name: str) -> TaskType:
    try:
        return get_type(name)
    except UnknownTaskType as error:
        raise Http404(str(error)) from None


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def type_of_study(request: SignedIn, study: Study) -> HttpResponse:
    """Changes the type of a draft. Deletes its settings, wordings, arms and items, which belong to the old type."""
    if request.method == "POST":
        task_type = request.POST.get("task_type", "")
        try:
            change_study(
                study=study,
                task_type=task_type,
                config={},
                texts={},
                interface={},
                arms=[],
                actor=request.user.get_username(),
            )
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_type", study.slug)
        messages.success(request, f"This is now a {get_type(task_type).title} study. Check its settings.")
        return redirect("console_settings", study.slug)
    context = {
        "groups": type_cards(),
        "steps": stepper(study, "type") if study.status == Status.DRAFT else [],
        "n_items": Item.objects.filter(study=study).count(),
    }
    return study_page(request, study, "studies/type.html", context, section="settings")


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def settings_of_study(request: SignedIn, study: Study) -> HttpResponse:
    data = request.POST if request.method == "POST" else None
    page = SettingsPage(_type_or_404(study.task_type), user=request.user, study=study, data=data)
    if request.method == "POST" and page.is_valid() and page.change():
        messages.success(request, "Saved.")
        return redirect("console_upload" if "next" in request.POST else "console_settings", page.study.slug)
    context = {
        "page": page,
        "steps": stepper(study, "settings") if study.status == Status.DRAFT else [],
        "arms": study.arms.exclude(name="").order_by("position"),
        "factors": list(stored_factors(study)),
        "stopping": study.stopping,
    }
    status = 409 if page.stale else 422 if page.refused else 200
    return study_page(request, study, "studies/settings.html", context, section="settings", status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor", write="editor")
def publish(request: SignedIn, study: Study) -> HttpResponse:
    if study.status != Status.DRAFT:
        messages.info(request, "This study has already been launched.")
        return redirect("console_study", study.slug)
    plan = plan_of(study)
    if request.method == "POST" and request.POST.get("version") == plan.version:
        try:
            launching.publish(study=study, actor=request.user.get_username())
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_publish", study.slug)
        then = "Members can start under Coding." if for_members(study.task_type) else "Share the study link below."
        messages.success(request, f"The study is live. {then}")
        return redirect("console_study", study.slug)
    context = {"plan": plan, "steps": stepper(study, "publish"), "changed": request.method == "POST"}
    status = 409 if request.method == "POST" else 200
    return study_page(request, study, "studies/publish.html", context, section="publish", status=status)


@require_POST
@member()
def estimate(request: SignedIn, study: Study) -> HttpResponse:
    """Saves how long a hit takes, which people enter next to the pay per hour."""
    minutes = request.POST.get("estimated_minutes", "").strip() or None
    try:
        change_study(study=study, values={"estimated_minutes": minutes}, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
    else:
        messages.success(request, "Saved.")
    return redirect("console_publish" if study.status == Status.DRAFT else "console_study", study.slug)
