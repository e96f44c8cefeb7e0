"""Before the launch: what the study could show, and what it would cost, with more or fewer items and raters."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from annotation.models import Study
from annotation.shell.page import SignedIn, member, study_page


@require_safe
@member()
def plan(request: SignedIn, study: Study) -> HttpResponse:
    """The form; with its values in the address, the plans. A study that has been launched has no more to plan."""
    if study.status != Study.Status.DRAFT:
        messages.info(request, "This study has already been launched. Plan the next one from a draft: duplicate it.")
        return redirect("console_study", study.slug)
    from annotation.results.plan_form import form_and_plans  # loads pandas, which workers' requests never need

    context, status = form_and_plans(study, request.user, request.GET)
    return study_page(request, study, "results/plan.html", context, section="plan", status=status)
