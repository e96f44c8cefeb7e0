"""Duplicates a study as a draft that belongs to the user who asks for it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import Item, Study
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.duplicating import duplicate_study
from annotation.studies.pages.forms import DuplicateForm
from common.problems import Refused


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="viewer", write="viewer")
def duplicate(request: SignedIn, study: Study) -> HttpResponse:
    """Anyone who can see a study can duplicate it."""
    initial = {"title": f"{study.title} (copy)"[:200], "with_items": True}
    form = DuplicateForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            draft = duplicate_study(
                study=study,
                slug=form.cleaned_data["slug"],
                title=form.cleaned_data["title"],
                with_items=form.cleaned_data["with_items"],
                actor=request.user.get_username(),
                owner=request.user,
            )
        except Refused as refused:
            for problem in refused.problems:
                field = problem.where if problem.where in form.fields else None
                form.add_error(field, f"{problem.what} {problem.fix}".strip())
        else:
            messages.success(request, f"The draft “{draft.title}” is a duplicate of “{study.title}”.")
            return redirect("console_settings", draft.slug)
    context = {"form": form, "n_items": Item.objects.filter(study=study).count()}
    return study_page(request, study, "studies/duplicate.html", context, section="", status=422 if form.errors else 200)
