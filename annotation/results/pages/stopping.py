"""The rule by which a study stops early: declared in a draft, simulated before the launch, and its looks afterwards."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import Study
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.stopping_checks import stopping_problems
from annotation.studies.stopping_rule import StoppingForm, rule_of
from annotation.studies.storing import FROZEN_WHEN_LIVE, change_study
from common.problems import Refused

STALE = (
    "Somebody else changed this study while you had this page open, so nothing was saved. What you entered is still "
    "here. Save again to replace their changes."
)


@require_http_methods(["GET", "HEAD", "POST"])
@member(answers=True)
def stopping(request: SignedIn, study: Study) -> HttpResponse:
    """The rule, what it would do, and what it has seen. Saves it in a draft."""
    frozen = study.status != Study.Status.DRAFT
    form = StoppingForm(request.POST if request.method == "POST" else None, initial=study.stopping)
    if frozen:
        for field in form.fields.values():
            field.disabled = True
    status = 200
    if request.method == "POST" and frozen:
        form.add_error(None, f"{FROZEN_WHEN_LIVE['stopping']} Nothing was saved.")
    elif request.method == "POST" and request.POST.get("version") != fingerprint(study):
        form.add_error(None, STALE)
        status = 409
    elif request.method == "POST" and form.is_valid():
        try:
            change_study(study=study, stopping=form.cleaned_data, actor=request.user.get_username())
        except Refused as refused:
            for problem in refused.problems:
                name = problem.where.removeprefix("stopping.")
                form.add_error(name if name in form.fields else None, f"{problem.what} {problem.fix}".strip())
        else:
            messages.success(request, "Saved.")
            return redirect("console_stopping", study.slug)
    status = 422 if form.errors and status == 200 else status
    rule = rule_of(study.stopping)
    context: dict[str, Any] = {
        "form": form,
        "rule": rule,
        "frozen": frozen,
        "reason": FROZEN_WHEN_LIVE["stopping"],
        "version": fingerprint(study),
        "looks": study.stopping_looks.order_by("-number"),
        "problems": [] if frozen or rule is None else stopping_problems(study),
    }
    if rule is not None and not frozen and not context["problems"]:
        from annotation.results.stopping_form import form_and_forecasts  # loads pandas, which takes a second

        context |= form_and_forecasts(study, rule, request.user, request.GET)
    section = "report" if frozen else "settings"
    return study_page(request, study, "results/stopping.html", context, section=section, status=status)
