"""The workers' pages inside the console: start page and every step, with one of the study's items.

Drawn from the workers' own templates and nothing else, so that what is looked at here is what they get. Unlike the
public preview it works for drafts, holds the start page, and all its links stay within the frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from annotation.instrument import Instrument, shown_to
from annotation.models import Item, Study, Submission
from annotation.views.console.framing import embeds_own_pages, framed_by_own_pages
from annotation.views.console.page import SignedIn, member, study_page
from annotation.views.console.stepper import stepper
from annotation.views.work_pages import Notice, page
from annotation.views.work_start import preview_context, preview_steps

WIDTHS = ("phone", "wide")


@require_safe
@embeds_own_pages
@member()
def preview(request: SignedIn, study: Study) -> HttpResponse:
    width = request.GET.get("width", "")
    context = {
        "steps": stepper(study, "preview") if study.status == Study.Status.DRAFT else [],
        "has_items": Item.objects.filter(study=study).exists(),
        "width": width if width in WIDTHS else WIDTHS[0],
        "frame_url": reverse("console_preview_page", args=[study.slug]),
    }
    return study_page(request, study, "preview.html", context, section="preview")


@csrf_exempt  # the start page's button sends a form as it does for workers; here it only turns the page
@require_http_methods(["GET", "HEAD", "POST"])
@framed_by_own_pages
@member(write="viewer")
def preview_page(request: SignedIn, study: Study) -> HttpResponse:
    here = reverse("console_preview_page", args=[study.slug])
    specs = preview_steps(study, items=study.items_per_hit)
    if request.method == "POST" and specs:
        return redirect(f"{here}?step=1")
    at = _step_number(request, len(specs))
    if at == 0:
        return page("annotation/start.html", _start_context(study, here))
    context = preview_context(study, specs[at - 1], at=at, steps=len(specs))
    return page(specs[at - 1].template, context | {"start_url": here})


@require_safe
@member()
def submission_page(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """The pages as one worker saw them, everything in its recorded order, with what they answered."""
    submission = get_object_or_404(Submission.objects.select_related("assignment", "participant"), pk=pk, study=study)
    instrument = Instrument.of(study)
    specs = instrument.steps(shown_to(submission.assignment, instrument))
    at = _step_number(request, len(specs)) or 1
    back = reverse("console_submission", args=[study.slug, pk])
    context = {
        **preview_context(study, specs[at - 1], at=at, steps=len(specs)),
        "start_url": back,
        "values": {name: _typed(answer) for name, answer in submission.answers[at - 1].items()},
        "notice": Notice(
            "",
            f"What {submission.participant.pseudonym} saw and answered",
            "Everything stands where it stood for them.",
        ),
    }
    return page(specs[at - 1].template, context)


def _typed(answer: object) -> str:
    """An answer as its form field held it."""
    return f"{answer:g}" if isinstance(answer, float | int) else str(answer or "")


def _step_number(request: SignedIn, steps: int) -> int:
    wanted = request.GET.get("step", "0")
    return int(wanted) if wanted in {str(number) for number in range(steps + 1)} else 0


def _start_context(study: Study, here: str) -> Mapping[str, Any]:
    return {
        "study": study,
        "instructions": Instrument.of(study).texts["instructions"],
        "start": "",
        "preview_url": f"{here}?step=1",
        "problems": [],
    }
