"""The factors of a study: what its report compares. They can change at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import Study
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.declared_factors import LONGEST_LEVEL, LONGEST_NAME, MOST_FACTORS, OF
from annotation.studies.factor_notes import FactorNotes, factor_notes
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.pages.pairs import PairsProblem, pairs_in, pairs_in_words
from annotation.studies.pages.stepper import stepper
from annotation.studies.spec import stored_factors
from annotation.studies.storing import change_study
from annotation.task_types.items import Json
from annotation.task_types.settings import Cell, TableField
from common.problems import Problem, Refused, refuse_if_any

STALE = (
    "Somebody else changed this study while you had this page open. Nothing was saved; check the page and save again."
)
CELLS = (
    Cell("name", "Name", max_length=LONGEST_NAME),
    Cell("of", "What has a level", required=False, choices=list(OF.items())),
    Cell("reference", "Compare with", required=False, max_length=LONGEST_LEVEL),
    Cell("parts", "Columns of the parts", required=False, max_length=500),
)


class FactorsForm(forms.Form):
    """The declared factors. The services check the values."""

    factors = TableField(
        cells=CELLS,
        most=MOST_FACTORS,
        label="Factors",
        help_text="The name is that of a column of the items, of a factor of the arms, or of a question about the "
        "workers themselves; it also decides what has a level if you leave that empty. Leave “Compare with” "
        "empty to compare every level with every other. Only parts of items, such as both texts of a pair, need "
        "columns: 1: system_1; 2: system_2.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def factors(request: SignedIn, study: Study) -> HttpResponse:
    """The declared factors, what is wrong with them, and what looks like a factor."""
    stored = stored_factors(study)
    form = FactorsForm(
        request.POST if request.method == "POST" else None,
        initial={
            "factors": [
                {
                    "name": name,
                    "of": settings.get("of", ""),
                    "reference": settings.get("reference", ""),
                    "parts": pairs_in_words(settings.get("parts", {})),
                }
                for name, settings in stored.items()
            ]
        },
    )
    problems: list[Problem] = []
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
                if request.POST.get("version") != fingerprint(now):
                    refuse_if_any([Problem("factors", STALE)])
                changed = change_study(
                    study=now,
                    factors=_settings(form.cleaned_data["factors"], request.POST.get("declare", ""), study),
                    actor=request.user.get_username(),
                )
                refuse_if_any(factor_notes(changed).problems)
        except Refused as refused:
            problems = refused.problems
        else:
            messages.success(request, "Saved.")
            return redirect("console_factors", study.slug)
    notes = factor_notes(study)
    context = {
        "form": form,
        "problems": problems,
        "notes": notes,
        "suggested": [(factor, OF[factor.of].partition(" (")[0], levels) for factor, levels in notes.suggested],
        "has_items": study.items.exists(),
        "version": fingerprint(Study.objects.get(pk=study.pk)),
        "steps": stepper(study, "settings") if study.status == Study.Status.DRAFT else [],
    }
    status = 422 if problems or (request.method == "POST" and form.errors) else 200
    return study_page(request, study, "studies/factors.html", context, section="settings", status=status)


def _settings(rows: Sequence[Mapping[str, str]], declare: str, study: Study) -> dict[str, Json]:
    """The rows as settings by factor, and those of the suggestion to ``declare``. Raises Invalid."""
    settings: dict[str, Json] = {}
    problems: list[Problem] = []
    for row in rows:
        name = row["name"]
        if name in settings:
            problems.append(Problem(f"factors.{name[:60]}", f"{name} is in the list twice.", "Keep one of them."))
        try:
            parts = pairs_in(row["parts"])
        except PairsProblem as wrong:
            what = f"Columns of the parts of {name}: {wrong}"
            problems.append(Problem(f"factors.{name[:60]}.parts", what, "Write them as in 1: system_1; 2: system_2."))
            continue
        values: dict[str, Any] = {"of": row["of"], "reference": row["reference"], "parts": parts}
        settings[name] = {key: value for key, value in values.items() if value}
    refuse_if_any(problems)
    if declare:
        suggestions: FactorNotes = factor_notes(study)
        settings |= {
            factor.name: {"of": factor.of}
            | ({"reference": factor.reference} if factor.reference else {})
            | ({"parts": dict(factor.parts)} if factor.parts else {})
            for factor, _ in suggestions.suggested
            if factor.name == declare
        }
    return settings
