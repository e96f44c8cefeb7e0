"""Quality control of a study: its rules (locked at launch), what they have found, and a check on demand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from analysis.quality_control.rules import RULE
from annotation.models import Study
from annotation.review import tasks
from annotation.review.quality_findings import quality_of
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.storing import FROZEN_WHEN_LIVE, change_study
from annotation.work.quality_rules import ExclusionForm, QualityForm, rules_of
from common.problems import Refused

STALE = (
    "Somebody else changed this study while you had this page open, so nothing was saved. What you entered is still "
    "here. Save again to replace their changes."
)


class RulesPage:
    """Both forms of one request. After the launch, nobody can change them."""

    def __init__(self, study: Study, data: Mapping[str, Any] | None = None) -> None:
        quality, rules = rules_of(study)
        self.study, self.data = study, data
        self.quality: forms.Form = QualityForm(data, initial=quality, prefix="quality")
        self.exclusion: forms.Form = ExclusionForm(data, initial=rules, prefix="exclude")
        self.frozen = study.status != Study.Status.DRAFT
        self.reason = FROZEN_WHEN_LIVE["quality_control"]
        self.version = fingerprint(study)
        if self.frozen:
            for field in (*self.quality.fields.values(), *self.exclusion.fields.values()):
                field.disabled = True

    @property
    def options(self) -> list[forms.BoundField]:
        """The fields that are not a rule's threshold."""
        return [field for field in self.quality if field.name not in RULE]

    @property
    def thresholds(self) -> list[forms.BoundField]:
        return [field for field in self.quality if field.name in RULE]

    @property
    def refused(self) -> bool:
        return self.data is not None and bool(self.quality.errors or self.exclusion.errors)

    def problems(self) -> list[tuple[str, str, str]]:
        """Id, label and error of every field with an error, in page order."""
        if not self.refused:
            return []
        bound = (field for form in (self.quality, self.exclusion) for field in form)
        return [(field.id_for_label, str(field.label), str(error)) for field in bound for error in field.errors]

    def save(self, actor: str) -> bool:
        """Stores both. False if there are problems, which the page then shows."""
        if not all([self.quality.is_valid(), self.exclusion.is_valid()]):
            return False
        try:
            change_study(
                study=self.study,
                quality_control=self.quality.cleaned_data,
                exclusion=self.exclusion.cleaned_data,
                actor=actor,
            )
        except Refused as refused:
            for problem in refused.problems:
                part, _, name = problem.where.partition(".")
                form = self.quality if part == "quality_control" else self.exclusion
                form.add_error(name if name in form.fields else None, f"{problem.what} {problem.fix}".strip())
            return False
        return True


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def quality(request: SignedIn, study: Study) -> HttpResponse:
    """The rules and what they found. Saves them in a draft."""
    page = RulesPage(study, request.POST if request.method == "POST" else None)
    stale = request.method == "POST" and request.POST.get("version") != page.version
    if stale:
        page.quality.add_error(None, STALE)
    elif request.method == "POST" and page.save(request.user.get_username()):
        messages.success(request, "Saved.")
        return redirect("console_quality", study.slug)
    context = {"page": page, "found": quality_of(study), "fixed": page.frozen}
    status = 409 if stale else 422 if page.refused else 200
    section = "settings" if study.status == Study.Status.DRAFT else "quality"
    return study_page(request, study, "review/quality.html", context, section=section, status=status)


@require_POST
@member()
def check(request: SignedIn, study: Study) -> HttpResponse:
    """Checks all submissions in the background."""
    if tasks.start_quality_check(study, request.user.get_username()):
        messages.success(request, "The check has started. Reload this page in a minute to see what it found.")
    else:
        messages.error(request, "The check could not start: the task queue does not respond. Try again in a minute.")
    return redirect("console_quality", study.slug)
